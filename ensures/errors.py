"""The one tree of errors. Each says who can put it right; each is also the standard type a caller would expect.

A bad candidate is never an error: it is data, a verdict with a reason (`ensures.verdict`).
"""


class EnsuresError(Exception):
    """Root of everything that this project raises on purpose."""


class InputError(EnsuresError, ValueError):
    """The user's to mend: a configuration, a file or a name is wrong. One line: what, where, what to do. Exit code 2."""


class SandboxUnavailable(InputError):
    """The user's or the administrator's to mend: the wanted isolation can't be had on this machine."""


class WorkerLost(EnsuresError, RuntimeError):
    """The environment's fault: a sandboxed worker died, hung or answered nonsense. Retried; never a verdict."""


class EngineFailed(EnsuresError, RuntimeError):
    """The environment's fault: a model's replica or endpoint died, hung or answered nonsense. Retried; never a candidate."""


class PromptTooLong(EnsuresError, ValueError):
    """Nobody's fault: a prompt and its answer exceed the model's context by `excess` tokens. A shorter one is built."""

    def __init__(self, excess: int) -> None:
        super().__init__(f"the prompt exceeds the context by {excess} tokens")
        self.excess = excess

    def __reduce__(self) -> tuple[type["PromptTooLong"], tuple[int]]:
        return type(self), (self.excess,)


class Stopped(EnsuresError):
    """The user's wish: the run was asked to end, so nothing new is begun."""

    def __init__(self) -> None:
        super().__init__("the run was asked to end")


class PreparationFailed(EnsuresError, RuntimeError):
    """The environment's fault, for one task: its workspace can't be built or its tests don't run. The task is unresolved."""


class TrackerFailed(EnsuresError, RuntimeError):
    """The environment's fault: the experiment tracker refused. It is said and the run goes on."""
