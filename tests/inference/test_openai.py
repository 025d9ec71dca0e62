"""The openai engine against an endpoint that does everything wrong that endpoints do."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ensures.candidate import CONTEXT
from ensures.errors import EngineFailed, InputError, Stopped
from ensures.task import Setting
from inference.engine import Completion, Prompt, Request
from inference.engines.openai import Openai, OpenaiConfig, PriceConfig
from inference.prompts import Ladder, PromptConfig
from inference.sampling import Preset, SamplingConfig
from tests.inference import endpoint
from tests.inference.endpoint import Behaviour, Endpoint
from tests.inference.test_prompts import python_task

TASK, MODULE = python_task()
PROMPTS = (Prompt("a prompt", "h"),)
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def serve() -> Iterator[Callable[..., Endpoint]]:
    opened: list[Endpoint] = []

    def start(*plan: Behaviour) -> Endpoint:
        opened.append(Endpoint(*plan))
        return opened[-1]

    yield start
    for server in opened:
        server.shutdown()
        server.server_close()


def engine(server: Endpoint | str, **config: Any) -> Openai:
    url = server if isinstance(server, str) else server.url
    defaults: dict[str, Any] = {"served": "m", "base_url": url, "pause_seconds": 0.01, "max_tokens": 50, "key_needed": False}
    return Openai(OpenaiConfig(**{**defaults, **config}), {"OPENAI_API_KEY": KEY})


def draw(made: Openai, samples: int | list[int] = 1, prompts: Any = PROMPTS) -> list[Completion]:
    async def go() -> list[Completion]:
        try:
            wanted = range(samples) if isinstance(samples, int) else samples
            return await made.complete(Request(TASK, Setting.F2P, wanted, 7, prompts))
        finally:
            await made.close()

    return asyncio.run(go())


def test_n_samples_are_one_request(serve: Callable[..., Endpoint]) -> None:
    server = serve()
    found = draw(engine(server, price=PriceConfig(2.0, 10.0), body={"reasoning_effort": "medium"}), 5)
    assert [(c.sample, c.text) for c in found] == [(i, f"7+{i}") for i in range(5)]
    (heard,) = server.heard
    assert heard["n"] == 5
    assert heard["seed"] == 7
    assert heard["reasoning_effort"] == "medium"
    assert heard["messages"] == [{"role": "user", "content": "a prompt"}]
    assert server.keys == [f"Bearer {KEY}"]
    assert sum(c.cost for c in found) == pytest.approx((100 * 2 + 50 * 10) / 1e6)
    assert {(c.prompt_tokens, c.cached_tokens, c.completion_tokens, c.thinking_tokens) for c in found} == {(100, 60, 10, 3)}


def test_without_n_each_sample_is_a_request(serve: Callable[..., Endpoint]) -> None:
    server = serve()
    found = draw(engine(server, n=False), [2, 5])
    assert [(c.sample, c.text) for c in found] == [(2, "9+0"), (5, "12+0")]
    assert all("n" not in heard for heard in server.heard)


def test_what_is_missing_of_n_is_asked_for_again(serve: Callable[..., Endpoint]) -> None:
    server = serve(endpoint.says({"choices": [endpoint.choice("one"), endpoint.choice("two")]}))
    found = draw(engine(server), 5)
    assert [c.text for c in found] == ["one", "two", "9+0", "9+1", "9+2"]
    assert [heard.get("n") for heard in server.heard] == [5, 3]


@pytest.mark.parametrize(
    "wrong",
    [
        endpoint.status(429),
        endpoint.status(429, Retry_After="0.05"),
        endpoint.status(500),
        endpoint.status(503),
        endpoint.cuts,
        endpoint.malformed,
        endpoint.says({"choices": []}),
        endpoint.says({"choices": [{"index": 0}]}),
        endpoint.says([]),
    ],
    ids=["429", "retry-after", "500", "503", "cut", "malformed", "no choice", "empty choice", "a list"],
)
def test_what_passes_is_tried_again(serve: Callable[..., Endpoint], wrong: Behaviour) -> None:
    server = serve(wrong, wrong)
    assert [c.text for c in draw(engine(server), 2)] == ["7+0", "7+1"]
    assert len(server.heard) == 3


def test_a_hang_is_ended(serve: Callable[..., Endpoint]) -> None:
    server = serve(endpoint.hangs)
    assert [c.text for c in draw(engine(server, request_seconds=0.3))] == ["7+0"]
    assert len(server.heard) == 2


def test_what_stays_wrong_is_the_environments_fault(serve: Callable[..., Endpoint]) -> None:
    server = serve(*[endpoint.status(500, f"broken, says {KEY}")] * 9)
    with pytest.raises(EngineFailed, match=r"failed 3 times, last: HTTP 500: broken, says \*\*\*$"):
        draw(engine(server, attempts=3))
    assert len(server.heard) == 3


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (401, "refused the key in OPENAI_API_KEY"),
        (403, "refused the key in OPENAI_API_KEY"),
        (404, "does not know the model m"),
        (400, "refused the request: HTTP 400: top_k is not supported"),
    ],
)
def test_what_is_the_users_to_mend(serve: Callable[..., Endpoint], code: int, said: str) -> None:
    server = serve(endpoint.status(code, "top_k is not supported"))
    with pytest.raises(InputError, match=said) as error:
        draw(engine(server))
    assert KEY not in str(error.value)
    assert len(server.heard) == 1


def test_an_endpoint_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"model\.base_url=http://127\.0\.0\.1:9/v1 can't be reached"):
        draw(engine("http://127.0.0.1:9/v1"))


def test_a_key_that_is_refused_is_said_before_the_first_prompt(serve: Callable[..., Endpoint]) -> None:
    server = serve()
    server.models_status = 401
    with pytest.raises(InputError, match=r"refused the key in OPENAI_API_KEY \(HTTP 401\)"):
        draw(engine(server))
    assert not server.heard


def test_configuration() -> None:
    with pytest.raises(InputError, match="needs a key: set MY_KEY in the environment"):
        Openai(OpenaiConfig(served="m", base_url="http://x/v1", key="MY_KEY"), {})
    with pytest.raises(InputError, match=r"model\.served is empty"):
        Openai(OpenaiConfig(base_url="http://x/v1", key_needed=False), {})
    with pytest.raises(InputError, match="is no address"):
        Openai(OpenaiConfig(served="m", base_url="localhost:8000", key_needed=False), {})
    with pytest.raises(InputError, match="keys come from the environment alone"):
        Openai(OpenaiConfig(served="m", base_url="http://me:secret@x/v1", key_needed=False), {})


def test_the_key_is_nowhere(serve: Callable[..., Endpoint]) -> None:
    made = engine(serve())
    assert KEY not in json.dumps([made.identity, made.origin], default=str)


def test_presets(serve: Callable[..., Endpoint]) -> None:
    server = serve()
    own = {"paper": SamplingConfig(temperature=0.7), "sampling": SamplingConfig(top_p=0.5)}
    draw(engine(server, **own))
    draw(engine(server, preset=Preset.VENDOR, max_tokens_field="max_completion_tokens", seeded=False, **own))
    first, second = server.heard
    assert (first["temperature"], first["top_p"], first["max_tokens"]) == (0.7, 0.5, 50)
    assert ("temperature" in second, second["top_p"], second["max_completion_tokens"]) == (False, 0.5, 50)
    assert "seed" not in second


def test_thinking_is_cut(serve: Callable[..., Endpoint]) -> None:
    server = serve(
        endpoint.says({"choices": [endpoint.choice("<think>hm</think>\n\nthe answer")]}),
        endpoint.says({"choices": [endpoint.choice("the answer", reasoning_content="hm")]}),
        endpoint.says({"choices": [endpoint.choice("<think>never done")]}),
    )
    made = engine(server, thinking_end="</think>", n=False, concurrent=1)
    found = draw(made, 3)
    assert [(c.thinking, c.text) for c in found] == [
        ("<think>hm</think>", "the answer"),
        ("hm", "the answer"),
        ("<think>never done", ""),
    ]


def test_requests_in_flight_are_limited(serve: Callable[..., Endpoint]) -> None:
    def slow(handler: Any, body: Any) -> None:
        time.sleep(0.05)
        endpoint.answers(handler, body)

    server = serve(*[slow] * 12)
    draw(engine(server, concurrent=3, n=False), 12)
    assert server.most == 3


def test_a_prompt_that_is_too_long_is_shortened(serve: Callable[..., Endpoint]) -> None:
    ladder = Ladder(TASK, Setting.F2P, MODULE, PromptConfig(), "icontract")
    whole, least = len(ladder[0].text), len(ladder[-1].text)
    limit = (whole + least) // 2 + 50  # one character a token
    server = serve(*[endpoint.too_long(limit, 1.0)] * 20)
    (found,) = draw(engine(server), 1, ladder)
    assert found.prompt is not None
    assert found.prompt.left_out
    assert len(found.prompt.text) + 50 <= limit
    assert "BODY_TARGET" in found.prompt.text
    assert len(server.heard) <= 6


def test_a_method_that_does_not_fit_is_not_asked_for(serve: Callable[..., Endpoint]) -> None:
    ladder = Ladder(TASK, Setting.F2P, MODULE, PromptConfig(), "icontract")
    found = draw(engine(serve(), context=100), 3, ladder)
    assert [c.finish_reason for c in found] == [CONTEXT] * 3
    assert all(c.text == "" for c in found)


def test_nothing_new_is_begun_when_asked_to_stop(serve: Callable[..., Endpoint]) -> None:
    server = serve()
    made = engine(server)
    made.stop()
    with pytest.raises(Stopped):
        draw(made)
    assert not server.heard
