"""Dialects by name: the specification languages that candidates are written in."""

from types import ModuleType

from ensures.candidate import Artifact
from ensures.task import Language, Program, Task
from inference.dialects import asserts, icontract, jml

DIALECTS: dict[str, ModuleType] = {"assert": asserts, "icontract": icontract, "jml": jml}


def of(task: Task) -> str:
    """A task's own, which its checker judges."""
    if isinstance(task.source, Program):
        return "assert"
    return "jml" if task.language is Language.JAVA else "icontract"


def parse(name: str, text: str, parsing: icontract.Parsing) -> Artifact:
    """Never raises. `parsing`: how strictly icontract's completions are read."""
    found: Artifact = icontract.parse(text, parsing) if name == "icontract" else DIALECTS[name].parse(text)
    return found
