"""Why candidates fail and what they miss: beside PostcondBench's sections 5.2 and 5.3, as far as a machine can tell."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from analysis import ablations
from analysis.ablations import LLM, Operators
from analysis.grid import Grid, unpacked
from analysis.paper import LANGUAGES, mean, ratio, share
from analysis.sheets import Cell, Sheet, Value
from ensures.task import Language, Task
from ensures.verdict import Reason

# Section 5.2's categories, by reason. Misuse of the pre-state is told apart by the message (`_PRE_STATE`).
MISUSE, PRE_STATE, RAISED, SEMANTIC, OTHER = (
    "syntax or API misuse",
    "pre-state misuse",
    "condition raised",
    "semantic",
    "other",
)
CATEGORIES = (MISUSE, PRE_STATE, RAISED, SEMANTIC, OTHER)
_CATEGORY = {
    Reason.SYNTAX_ERROR: MISUSE,
    Reason.COMPILE_ERROR: MISUSE,
    Reason.UNSUPPORTED: MISUSE,
    Reason.CONDITION_RAISED: RAISED,
    Reason.POSTCONDITION_VIOLATED: SEMANTIC,
    Reason.NOT_EVALUATED: MISUSE,
}
_PRE_STATE = re.compile(r"\bOLD\b|\\old\b|[Ss]napshot|\bcapture\b")


Tally = Mapping[str, Mapping[str, Counter[str]]]  # model -> repository -> what -> how often


def _share(found: Mapping[str, Counter[str]], kinds: Sequence[str]) -> Cell:
    """Of all that is counted, by an interval over repositories."""
    over = [sum(counts[kind] for kind in kinds) for counts in found.values()]
    return share(list(found), over, [counts.total() for counts in found.values()])


def category(reason: str, message: str) -> str:
    """Of a candidate that is not correct."""
    found = _CATEGORY.get(Reason(reason), OTHER)
    misused = found in (MISUSE, RAISED) and _PRE_STATE.search(message or "")
    return PRE_STATE if misused else found


def reasons(grid: Grid) -> Sheet:
    """What came of candidates on the original, by model."""
    kinds = sorted({str(reason) for reason in grid.reason}, key=lambda reason: (reason != "passed", reason))
    rows: list[tuple[Value, ...]] = []
    for position, model in enumerate(grid.models):
        own = grid.only(grid.model == position)
        rows.append((model, len(own), *(ratio(own, own.reason == kind, np.ones(len(own))) for kind in kinds)))
    return Sheet("reasons", "What candidates came to on the original", ("Model", "candidates", *kinds), tuple(rows))


def categories(counted: Tally) -> Sheet:
    """Section 5.2: of the candidates that are not correct, by model."""
    rows: list[tuple[Value, ...]] = []
    for model, found in sorted(counted.items()):
        total = sum(counts.total() for counts in found.values())
        rows.append((model, total, *(_share(found, [kind]) for kind in CATEGORIES)))
    notes = (
        "Told by the verdict's reason and message: syntax or API misuse is what does not parse, compile or apply; "
        "pre-state misuse is that or a raised condition whose message names OLD, \\old or a snapshot; semantic is a "
        "violation on the original. The paper's shares are a person's labels of 50 candidates of two models.",
    )
    columns = ("Model", "not correct", *CATEGORIES)
    return Sheet("categories", "Why candidates are not correct", columns, tuple(rows), notes)


def survivors(grid: Grid, operators: Operators) -> Sheet:
    """Which mutants correct candidates leave alive, by what made them and by what the method returns (section 5.3)."""
    found: dict[str, list[tuple[str, float]]] = {}
    right = grid.only(grid.correct)
    for row, task in enumerate(grid.tasks):
        alive = right.alive[right.task == row]
        if not len(alive):
            continue
        language = LANGUAGES.get(task.language.value, task.language.value)
        mutants = task.counted
        for mutant, left_alive in zip(mutants, unpacked(alive, len(mutants)).mean(axis=0), strict=True):
            names = [name for name in (ablations.operator_of(task, mutant, operators),) if name]
            names += [LLM] if LLM in mutant.families else []
            left = (task.repository, float(left_alive))
            for name in names or ["rule, operator not known"]:
                found.setdefault(f"{language}: {name}", []).append(left)
            found.setdefault(f"{language}: returns {returned(task)}", []).append(left)
    rows = tuple(
        (name, len(of), share([repository for repository, _ in of], [value for _, value in of], [1.0] * len(of)))
        for name, of in sorted(found.items())
    )
    notes = (
        "Each mutant counts once a row that it belongs to: its operators, and the type that its method declares to return.",
    )
    columns = ("Mutants", "mutants", "alive")
    return Sheet("survivors", "Share of correct candidates that leave a mutant alive", columns, rows, notes)


_NOTHING = ("None", "void", "NoReturn", "Never")
_SCALARS = re.compile(
    r"^(int|float|bool|str|bytes|complex|long|double|short|byte|char|boolean|String|CharSequence|Integer|Long|Double|Float|"
    r"Boolean|Character|Short|Byte|BigInteger|BigDecimal|Decimal|Path)$"
)
_CONTAINERS = re.compile(
    r"^(list|dict|set|frozenset|tuple|List|Dict|Set|FrozenSet|Tuple|Sequence|Mapping|Iterable|Iterator|Generator|Collection|Map|"
    r"SortedMap|SortedSet|Queue|Deque|deque|defaultdict|OrderedDict|Counter|ArrayList|HashMap|HashSet|LinkedList)$"
)


def returned(task: Task) -> str:
    """What the signature says that the method returns: nothing, a scalar, a collection, another type, or not said."""
    signature = " ".join(task.signature.split())
    if task.language is Language.PYTHON:
        found = re.search(r"->\s*(.+?)\s*:\s*(?:#.*)?$", signature)
        text = found[1].strip("'\"") if found else ("None" if task.qualname.endswith("__init__") else "")
        text = re.sub(r"^Optional\[(.*)\]$", r"\1", text).replace(" | None", "").replace("None | ", "")
    else:
        name = task.qualname.rpartition(".")[2].partition("(")[0]
        before = signature.partition(f" {name}(")[0]
        words = re.sub(r"@\w+(\([^)]*\))?|<[^<>]*(<[^<>]*>[^<>]*)*>", " ", before).split()
        text = words[-1] if words and words[-1] not in ("public", "protected", "private", "static", "final") else "void"
    if not text:
        return "what is not said"
    head = re.split(r"[\[<]", text.rpartition(".")[2] if "[" not in text else text)[0]
    if text in _NOTHING:
        return "nothing"
    if text.endswith("[]") or _CONTAINERS.match(head):
        return "a collection"
    return "a scalar" if _SCALARS.match(head) else "another type"


def causes(violated: Grid, raised: Grid, on_mutants: Tally) -> Sheet:
    """What correct candidates' verdicts on mutants are, and Comp@1 if a condition that raises were taken for a kill."""
    shown = [Reason.POSTCONDITION_VIOLATED, Reason.PASSED, Reason.CONDITION_RAISED, Reason.TEST_FAILED, Reason.TIMEOUT]
    rest = [reason for reason in Reason if reason not in shown]
    rows: list[tuple[Value, ...]] = []
    for position, model in enumerate(violated.models):
        one, other = (grid.only(grid.model == position) for grid in (violated, raised))
        counts = on_mutants.get(model, {})
        total = sum(found.total() for found in counts.values())
        shares = [_share(counts, [reason]) for reason in shown] + [_share(counts, rest)]
        figures: list[Cell] = [Cell(None)] * 3
        if len(one):
            before, after = one.at_k(one.complete(), 1), other.at_k(other.complete(), 1)
            figures = [mean(one, before), mean(other, after), mean(one, after - before)]
        rows.append((model, *figures, total, *shares))
    columns = ("Model", "Comp@1", "if a raise counted", "difference", "verdicts", "violated", "held", "raised", "test failed")
    notes = (
        "Only a violation kills. A condition that raises says nothing under either rule: section 5.3's lack of guards is "
        "what would be gained. Test failed: the mutant was noticed by a test and by no condition.",
    )
    title = "What kills: a violation, or also a condition that raises"
    return Sheet("causes", title, (*columns, "timeout", "other"), tuple(rows), notes)
