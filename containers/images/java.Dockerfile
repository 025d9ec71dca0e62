# Made from packages.toml by python -m jobs.images --write
ARG BASE=debian:bookworm-slim
FROM $BASE
ARG WITHOUT_DOWNLOADS
ENV DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3 tzdata libbz2-1.0 libdb5.3 libexpat1 libffi8 libgdbm6 liblzma5 libncursesw6 libnsl2 libreadline8 libsqlite3-0 libssl3 libstdc++6 libtirpc3 libuuid1 zlib1g openjdk-17-jdk-headless maven junit4 junit5 libhamcrest-java python3-venv && rm -rf /var/lib/apt/lists/*
RUN if [ -z "$WITHOUT_DOWNLOADS" ]; then python3 -m venv /opt/get && /opt/get/bin/pip install --no-cache-dir install-jdk==1.1.0 && /opt/get/bin/python -c "import jdk; jdk.install('21', path='/opt/java')" && rm -rf /opt/get; fi
RUN chmod 0755 /root && mkdir -p /home && useradd --uid 1000 --create-home ensures
USER ensures
WORKDIR /tmp
CMD ["/bin/true"]
