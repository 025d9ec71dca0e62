"""Questions that come while another of their kind is being answered are asked together afterwards."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
Q = TypeVar("Q")
A = TypeVar("A")


class Gather(Generic[K, Q, A]):
    """`ask` answers several questions of one kind, in order."""

    def __init__(self, ask: Callable[[K, Sequence[Q]], Awaitable[Sequence[A]]]) -> None:
        self._ask = ask
        self._waiting: dict[K, list[tuple[Q, asyncio.Future[A]]]] = {}
        self._serving: set[asyncio.Future[None]] = set()

    async def __call__(self, kind: K, question: Q) -> A:
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        first = kind not in self._waiting
        self._waiting.setdefault(kind, []).append((question, future))
        if first:
            serving = asyncio.ensure_future(self._serve(kind))
            self._serving.add(serving)
            serving.add_done_callback(self._serving.discard)
        return await future

    async def _serve(self, kind: K) -> None:
        try:
            while asked := self._waiting[kind]:
                self._waiting[kind] = []
                try:
                    answers = await self._ask(kind, [question for question, _ in asked])
                except Exception as error:
                    for _, future in asked:
                        if not future.done():
                            future.set_exception(error)
                else:
                    for (_, future), answer in zip(asked, answers, strict=True):
                        if not future.done():
                            future.set_result(answer)
        finally:
            for _, future in self._waiting.pop(kind):
                future.cancel()
