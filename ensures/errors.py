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


class PreparationFailed(EnsuresError, RuntimeError):
    """The environment's fault, for one task: its workspace can't be built or its tests don't run. The task is unresolved."""


class TrackerFailed(EnsuresError, RuntimeError):
    """The environment's fault: the experiment tracker refused. It is said and the run goes on."""
