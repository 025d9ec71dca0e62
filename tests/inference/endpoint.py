"""A small OpenAI-compatible endpoint for tests: it does what it is told to, request by request, and keeps what it heard."""

import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    server: "Endpoint"

    def log_message(self, *arguments: Any) -> None: ...

    def do_GET(self) -> None:
        self.reply(self.server.models_status, {"data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.heard.append(body)
            self.server.keys.append(self.headers.get("Authorization"))
            behaviour = self.server.plan.pop(0) if self.server.plan else answers
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        try:
            behaviour(self, body)
        finally:
            with self.server.lock:
                self.server.now -= 1

    def reply(self, status: int, content: Any, **headers: str) -> None:
        self.raw(status, json.dumps(content).encode(), **headers)

    def raw(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


class Endpoint(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *plan: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan = list(plan)
        self.heard: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.models_status = 200
        self.lock = threading.Lock()
        self.now = self.most = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, address: Any) -> None: ...


def choice(text: str | None, **more: Any) -> dict[str, Any]:
    return {"index": 0, "message": {"role": "assistant", "content": text, **more}, "finish_reason": "stop"}


def answers(handler: Handler, body: dict[str, Any]) -> None:
    """As it should: n choices that name their seed."""
    found = [choice(f"{body.get('seed')}+{index}") for index in range(body.get("n", 1))]
    usage = {"prompt_tokens": 100, "completion_tokens": 10 * len(found), "prompt_tokens_details": {"cached_tokens": 60}}
    usage["completion_tokens_details"] = {"reasoning_tokens": 3 * len(found)}
    handler.reply(200, {"choices": found, "usage": usage})


def status(code: int, message: str = "no", **headers: str) -> Behaviour:
    return lambda handler, body: handler.reply(code, {"error": {"message": message}}, **headers)


def hangs(handler: Handler, body: dict[str, Any]) -> None:
    time.sleep(3)


def cuts(handler: Handler, body: dict[str, Any]) -> None:
    """The connection is gone in the middle of the answer."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)


def malformed(handler: Handler, body: dict[str, Any]) -> None:
    handler.raw(200, b'{"choices": [{"message": ')


def says(content: Any) -> Behaviour:
    return lambda handler, body: handler.reply(200, content)


def too_long(limit: int, characters_per_token: float) -> Behaviour:
    """Refuses prompts as vLLM's server does, and answers those that fit."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        asked = int(len(body["messages"][0]["content"]) / characters_per_token) + body["max_tokens"]
        if asked <= limit:
            return answers(handler, body)
        said = f"This model's maximum context length is {limit} tokens. However, you requested {asked} tokens. Reduce it."
        return handler.reply(400, {"error": {"message": said, "code": "context_length_exceeded"}})

    return behave
