"""From a configuration to a sandbox. Isolation is weakened by the user's word only, never as a fallback."""

from dataclasses import dataclass

from containers.backends.bubblewrap import Bubblewrap
from containers.backends.process import PlainProcess
from containers.sandbox import Sandbox
from ensures.errors import InputError, SandboxUnavailable


@dataclass
class AutoConfig:
    kind: str = "auto"


KINDS = ("auto", "bubblewrap", "process")


def choose(kind: str, *, hostile: bool) -> tuple[Sandbox, list[str]]:
    """The sandbox of that kind, and warnings. `hostile`: text from a model will run in it.

    `auto` takes bubblewrap; without it, what no model wrote (the miner's and the reference's clauses) runs in a plain
    process with a warning, and a model's text is refused.
    """
    if kind == "bubblewrap":
        return Bubblewrap(), []
    if kind == "process":
        return PlainProcess(), ["sandbox=process: tests and candidates run without isolation on this machine"]
    if kind != "auto":
        raise InputError(f"sandbox={kind} is not known; choose one of {', '.join(KINDS)}")
    try:
        return Bubblewrap(), []
    except SandboxUnavailable as error:
        if hostile:
            raise SandboxUnavailable(
                f"{error}; a model's text runs only in a sandbox (sandbox=process runs it without one, at your own risk)"
            ) from None
        return PlainProcess(), [f"NO ISOLATION: {error}; the tests of the benchmark's packages run in a plain process"]
