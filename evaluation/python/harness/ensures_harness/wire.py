"""Messages: JSON behind a length of four bytes, over file descriptors."""

import json
import os
import select
import struct
import time

LIMIT = 512 << 20


def send(fd, message):
    data = json.dumps(message).encode()
    view = memoryview(struct.pack(">I", len(data)) + data)
    while view:
        view = view[os.write(fd, view) :]


def receive(fd):
    """The next message; None at the end of the stream."""
    head = _exactly(fd, 4)
    if head is None:
        return None
    (size,) = struct.unpack(">I", head)
    if size > LIMIT:
        raise ValueError("a message of %d bytes" % size)
    body = _exactly(fd, size)
    return None if body is None else json.loads(body)


def _exactly(fd, size):
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class Reader:
    """Takes messages out of a descriptor that hostile code may write anything to; never blocks past a deadline."""

    def __init__(self, fd, most_bytes, most_message=1 << 20):
        self.fd, self.most_message = fd, most_message
        self.ended = False
        self.malformed = False
        self._left = most_bytes
        self._buffer = b""
        os.set_blocking(fd, False)

    def take(self):
        """What has arrived, as a list of messages."""
        while not self.ended:
            try:
                part = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                break
            if not part:
                self.ended = True
                break
            self._left -= len(part)
            if self._left < 0:
                self.malformed = True
                break
            self._buffer += part
        messages = []
        while len(self._buffer) >= 4 and not self.malformed:
            (size,) = struct.unpack(">I", self._buffer[:4])
            if size > self.most_message:
                self.malformed = True
                break
            if len(self._buffer) < 4 + size:
                break
            body, self._buffer = self._buffer[4 : 4 + size], self._buffer[4 + size :]
            try:
                message = json.loads(body)
            except ValueError:
                self.malformed = True
                break
            if not isinstance(message, dict):
                self.malformed = True
                break
            messages.append(message)
        return messages

    def torn(self):
        return self.malformed or bool(self._buffer)


def wait(fds, deadline):
    """Those of `fds` that can be read before `deadline` (time.monotonic())."""
    left = max(0.0, deadline - time.monotonic())
    return select.select(fds, [], [], left)[0]
