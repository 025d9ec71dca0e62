"""Any OpenAI-compatible endpoint: hosted models, `vllm serve`, llama.cpp, Ollama, gateways.

A request is tried again, with growing pauses, after 408, 409, 429, 5xx, a broken connection, a time-out, or an answer that is
no completion; what the server says to be wrong with the request is the user's to mend. The key comes from the environment
and goes into one header; it is in no message, row or configuration.
"""

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
import tenacity

from ensures.candidate import CONTEXT
from ensures.errors import EngineFailed, InputError, PromptTooLong, Stopped
from ensures.task import Setting, Task
from inference.engine import Completion, Prompt, Request, Wanted
from inference.fit import fitted, runs
from inference.prompts import LADDER
from inference.sampling import Preset, SamplingConfig, given
from inference.thinking import cut

_AGAIN = (408, 409, 425, 429)
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|context size|prompt is too long|input is too long", re.I
)
_NUMBERS = re.compile(r"(\d[\d,]{2,})")
_CHARACTERS_PER_TOKEN = 3.0  # a first guess, low for code; the server's refusals mend it


@dataclass
class PriceConfig:
    """Per million tokens, in one currency; 0 where nothing is paid."""

    input: float = 0.0
    output: float = 0.0
    currency: str = "USD"


@dataclass
class OpenaiConfig:
    """`served` is the model's name at the endpoint; `key` names the environment's variable that holds the key."""

    engine: str = "openai"
    name: str = ""  # as it appears in tables; default: served
    served: str = ""
    base_url: str = ""
    key: str = "OPENAI_API_KEY"
    key_needed: bool = True
    preset: Preset = Preset.PAPER
    paper: SamplingConfig = field(default_factory=SamplingConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    max_tokens: int = 2048
    max_tokens_field: str = "max_tokens"
    body: dict[str, Any] = field(default_factory=dict)  # further fields of the request
    n: bool = True  # the endpoint draws several samples of one request
    seeded: bool = True  # it takes a seed
    context: int = 0  # tokens of prompt and answer; 0: as the endpoint says when a prompt is too long
    thinking_end: str = ""  # the closing tag, where thinking comes in the text
    cutoff: str = ""
    concurrent: int = 32  # requests in flight
    request_seconds: float = 600.0
    attempts: int = 8
    pause_seconds: float = 1.0  # before the second attempt; doubled, with jitter, before each one after, a minute at most
    price: PriceConfig = field(default_factory=PriceConfig)

    @property
    def label(self) -> str:
        return self.name or self.served


class _Nonsense(Exception):
    """The endpoint answered, and it is no completion."""


class _Refused(Exception):
    def __init__(self, status: int, said: str, after: float = 0.0) -> None:
        super().__init__(f"HTTP {status}: {said}")
        self.status, self.said, self.after = status, said, after


class Openai:
    hostile = True
    setting: Setting | None = None

    def __init__(self, config: OpenaiConfig, environment: Mapping[str, str] = os.environ) -> None:
        self.config = config
        self.name = config.label
        if not config.served:
            raise InputError("model.served is empty: the model's name at the endpoint")
        url = urlsplit(config.base_url)
        if url.scheme not in ("http", "https") or not url.netloc:
            raise InputError(f"model.base_url={config.base_url!r} is no address; give one as in http://localhost:8000/v1")
        if "@" in url.netloc:
            raise InputError("model.base_url holds a name or key; keys come from the environment alone (model.key names it)")
        self._key = environment.get(config.key, "")
        if config.key_needed and not self._key:
            raise InputError(f"model={self.name} needs a key: set {config.key} in the environment")
        self._fields = self._sampling()
        sent = [config.served, config.base_url.rstrip("/"), self._fields, config.thinking_end, config.context]
        self.identity: Any = ["openai", *sent, LADDER]
        self.origin = {
            "engine": "openai",
            "model": config.served,
            "endpoint": config.base_url,
            "sampling": json.dumps(self._fields),
        }
        self.capacity = config.concurrent * 2
        self._limit, self._per_token = config.context, 1 / _CHARACTERS_PER_TOKEN
        self._gate = asyncio.Semaphore(config.concurrent)
        self._client: httpx.AsyncClient | None = None
        self._reached = asyncio.Lock()
        self._stopped = False

    def covers(self, task: Task, setting: Setting) -> bool:
        return True

    async def complete(self, request: Request) -> list[Completion]:
        await self._reach()
        wanted = runs(request.samples) if self.config.n else [(sample, 1) for sample in sorted(request.samples)]
        parts = await asyncio.gather(*(self._draw(request, first, n) for first, n in wanted))
        return [completion for part in parts for completion in part]

    def stop(self) -> None:
        self._stopped = True

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _sampling(self) -> dict[str, Any]:
        """What every request holds beside model and messages."""
        config = self.config
        sampling = given(config.paper, config.sampling, config.preset)
        return {config.max_tokens_field: config.max_tokens, **sampling, **config.body}

    async def _reach(self) -> None:
        """Once, before the first request: an endpoint that isn't there is the user's to mend, and at once."""
        async with self._reached:
            if self._client is not None:
                return
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            most = httpx.Limits(max_connections=self.config.concurrent, max_keepalive_connections=self.config.concurrent)
            times = httpx.Timeout(self.config.request_seconds, connect=20.0, pool=None)
            client = httpx.AsyncClient(headers=headers, timeout=times, limits=most, trust_env=True)
            try:
                answer = await client.get(self._address("models"), timeout=20.0)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                await client.aclose()
                why = self._clean(str(error)) or type(error).__name__
                raise InputError(f"model.base_url={self.config.base_url} can't be reached: {why}") from error
            except httpx.HTTPError:
                pass  # it is there, and need not list its models
            else:
                if answer.status_code in (401, 403):
                    await client.aclose()
                    raise self._key_refused(answer.status_code)
            self._client = client

    def _address(self, what: str) -> str:
        return f"{self.config.base_url.rstrip('/')}/{what}"

    async def _draw(self, request: Request, first: int, n: int) -> list[Completion]:
        prompt: Prompt | None = request.prompts[0]
        answer = request.wanted.max_tokens or self.config.max_tokens

        async def excess(one: Prompt) -> int:
            """By the tokens a character that the server's own figures gave, where it gave any."""
            return int(_length(one) * self._per_token) + answer - self._limit if self._limit else 0

        for _ in range(6):
            assert prompt is not None
            try:
                if await excess(prompt) > 0:
                    raise PromptTooLong(1)
                return await self._drawn(prompt, request, first, n)
            except PromptTooLong:
                prompt = await fitted(request.prompts, excess)
                if prompt is None:
                    break
        return [Completion(sample, "", CONTEXT, request.prompts[-1]) for sample in range(first, first + n)]

    async def _drawn(self, prompt: Prompt, request: Request, first: int, n: int) -> list[Completion]:
        """n samples; what an answer lacks of them is asked for again."""
        found: list[Completion] = []
        while len(found) < n:
            at = first + len(found)
            async with self._gate:
                if self._stopped:
                    raise Stopped()
                started = time.monotonic()
                answer = await self._ask(prompt, n - len(found), request.seed + at, request.wanted)
                seconds = time.monotonic() - started
            choices, usage = answer["choices"][: n - len(found)], answer.get("usage") or {}
            read, written = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
            cached = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
            thought = int((usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0)
            price = self.config.price
            cost = (read * price.input + written * price.output) / 1e6 / len(choices)
            for index, choice in enumerate(choices):
                thinking, text = self._parted(choice["message"])
                share, own = (total // len(choices) + (index < total % len(choices)) for total in (written, thought))
                found.append(
                    Completion(
                        at + index,
                        text,
                        choice.get("finish_reason") or "stop",
                        prompt,
                        "",
                        thinking,
                        read,
                        cached,
                        share,
                        own,
                        cost,
                        seconds / len(choices),
                    )
                )
        return found

    def _parted(self, message: dict[str, Any]) -> tuple[str, str]:
        """(thinking, answer): the endpoint keeps them apart, or the closing tag does."""
        text = message.get("content") or ""
        apart = message.get("reasoning_content") or message.get("reasoning")
        if apart:
            return apart if isinstance(apart, str) else json.dumps(apart), text
        return cut(text, self.config.thinking_end)

    async def _ask(self, prompt: Prompt, n: int, seed: int, wanted: Wanted) -> dict[str, Any]:
        """One answer with at least one choice. Raises EngineFailed when every attempt failed, InputError, PromptTooLong."""
        asked = {"temperature": wanted.temperature, self.config.max_tokens_field: wanted.max_tokens, "stop": list(wanted.stop)}
        body = {"model": self.config.served, "messages": prompt.messages, **self._fields}
        body |= {name: value for name, value in asked.items() if value not in (None, [])}
        body |= {"seed": seed} if self.config.seeded else {}
        body |= {"n": n} if self.config.n and n > 1 else {}
        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(_worth_another),
            stop=tenacity.stop_after_attempt(self.config.attempts),
            wait=self._pause,
            reraise=True,
        )
        try:
            async for attempt in attempts:
                with attempt:
                    return await self._post(body)
        except _Refused as error:
            raise self._explained(error, prompt, wanted.max_tokens or self.config.max_tokens) from error
        except (httpx.HTTPError, _Nonsense, TimeoutError) as error:
            why = self._clean(str(error)) or type(error).__name__
            raise EngineFailed(f"{self.config.base_url} failed {self.config.attempts} times, last: {why}") from error
        raise AssertionError("unreachable")

    async def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        if self._client is None:
            raise EngineFailed("the engine was closed")
        async with asyncio.timeout(self.config.request_seconds):
            answer = await self._client.post(self._address("chat/completions"), json=body)
        if answer.status_code != 200:
            raise _Refused(answer.status_code, self._clean(_said(answer)), _after(answer))
        try:
            found = answer.json()
        except ValueError as error:
            raise _Nonsense("the answer is no JSON") from error
        choices = found.get("choices") if isinstance(found, dict) else None
        if not isinstance(choices, list) or not choices:
            raise _Nonsense("the answer holds no choice")
        if not all(isinstance(choice, dict) and isinstance(choice.get("message"), dict) for choice in choices):
            raise _Nonsense("a choice of the answer holds no message")
        return dict(found)

    def _pause(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        grown = tenacity.wait_exponential_jitter(
            multiplier=self.config.pause_seconds, max=60.0, jitter=self.config.pause_seconds
        )
        return max(grown(state), error.after if isinstance(error, _Refused) else 0.0)

    def _explained(self, error: _Refused, prompt: Prompt, answer: int) -> Exception:
        if error.status in (401, 403):
            return self._key_refused(error.status)
        if error.status == 404:
            return InputError(f"{self.config.base_url} does not know the model {self.config.served}: {error.said}")
        if error.status in (400, 413, 422) and (error.status == 413 or _TOO_LONG.search(error.said)):
            self._learn(error.said, _length(prompt), answer)
            return PromptTooLong(1)
        if error.status in _AGAIN or error.status >= 500:
            return EngineFailed(f"{self.config.base_url} failed {self.config.attempts} times, last: {error}")
        return InputError(f"{self.config.base_url} refused the request: {error}")

    def _learn(self, said: str, length: int, answer: int) -> None:
        """The context and the tokens a character, of a refusal such as `maximum context length is N ... you requested M`."""
        numbers = [int(number.replace(",", "")) for number in _NUMBERS.findall(said)]
        limit = min(numbers, default=0) if len(numbers) > 1 else 0
        asked = max(numbers, default=0)
        if answer < limit < asked:
            self._limit = self._limit or limit
            self._per_token = max(self._per_token, (asked - answer) / length)
        else:  # it said no figures: nine tenths of what was refused
            held = length * self._per_token * 0.9 + answer
            self._limit = min(self._limit or int(held), int(held))

    def _key_refused(self, status: int) -> InputError:
        what = f"the key in {self.config.key}" if self._key else f"a request without a key (set {self.config.key})"
        return InputError(f"{self.config.base_url} refused {what} (HTTP {status})")

    def _clean(self, text: str) -> str:
        """One line, without the key."""
        if self._key:
            text = text.replace(self._key, "***")
        return " ".join(text.split())[:300]


def _length(prompt: Prompt) -> int:
    """Characters."""
    return sum(len(message["content"]) for message in prompt.messages)


def _worth_another(error: BaseException) -> bool:
    if isinstance(error, _Refused):
        return error.status in _AGAIN or error.status >= 500
    return isinstance(error, (httpx.TransportError, httpx.DecodingError, _Nonsense, TimeoutError))


def _said(answer: httpx.Response) -> str:
    """What the server says is wrong."""
    try:
        found = answer.json()
        error = found.get("error", found)
        return str(error.get("message") or error) if isinstance(error, dict) else str(error)
    except (ValueError, AttributeError):
        return answer.text


def _after(answer: httpx.Response) -> float:
    try:
        return min(300.0, float(answer.headers.get("retry-after", 0)))
    except ValueError:
        return 0.0
