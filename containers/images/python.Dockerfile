# Made from packages.toml by python -m jobs.images --write
ARG BASE=debian:bookworm-slim
FROM $BASE
ARG WITHOUT_DOWNLOADS
ENV DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3 tzdata libbz2-1.0 libdb5.3 libexpat1 libffi8 libgdbm6 liblzma5 libncursesw6 libnsl2 libreadline8 libsqlite3-0 libssl3 libstdc++6 libtirpc3 libuuid1 zlib1g libgomp1 python3-venv && rm -rf /var/lib/apt/lists/*
RUN if [ -z "$WITHOUT_DOWNLOADS" ]; then python3 -m venv /opt/get && /opt/get/bin/pip install --no-cache-dir uv==0.13.9 && /opt/get/bin/uv python install --install-dir /opt/python 3.11 3.12 3.13 && rm -rf /opt/get; fi
RUN chmod 0755 /root && mkdir -p /home && useradd --uid 1000 --create-home ensures
USER ensures
WORKDIR /tmp
CMD ["/bin/true"]
