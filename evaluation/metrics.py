"""Corr@k and Comp@k over verdict rows (PostcondBench D.3), each under a named rule, with intervals.

For a task with n candidates of which c are correct, Corr@k is the unbiased estimate 1 - C(n-c, k) / C(n, k) that at least
one of k drawn without replacement is; Comp@k the same over the complete ones. Figures are means over (task, setting) pairs.

Rules: `strict` takes the verdicts' outcomes (`ensures.verdict`), `paper` the status that the published runs would have
given. A candidate is correct if the original holds; complete if it is correct and every mutant that counts is violated;
`comp_fraction` is the mean share of mutants killed, 0 for a candidate that is not correct; `comp_pairs` that of (input,
wrong output) pairs, where mutants are sets of those (nl2postcond, SpecMind). A pair is unresolved, and in
no mean, where a verdict is missing or fewer than k candidates are there.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensures.verdict import Outcome, published_outcome

RULES = ("strict", "paper")
ALL = "all"
VIEWS = ("all", "unseen", "seen")  # in this order; the last stands beside what scores
DRAWS = 2000
FEW_CLUSTERS = 20


def at_least_one(n: int, c: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k): the chance that k of n, drawn without replacement, hold one of the c."""
    if not 0 <= c <= n or not 1 <= k <= n:
        raise ValueError(f"n={n}, c={c}, k={k}")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


@dataclass(frozen=True, slots=True)
class Scored:
    """One (task, setting) of one model in one view under one rule: how its n candidates did."""

    task: str
    repository: str
    language: str
    model: str
    setting: str
    view: str
    rule: str
    n: int
    correct: int
    complete: int
    fraction: float
    pair_fraction: float | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be there for a (task, model, setting) to count: how many candidates, over which mutants.

    `in_pairs`: the mutants are sets of (input, wrong output) pairs.
    """

    task: str
    repository: str
    language: str
    model: str
    setting: str
    candidates: int
    mutants: frozenset[str]
    in_pairs: bool = False


def outcome(row: Mapping[str, Any], rule: str) -> Outcome:
    if rule == "strict":
        return Outcome(row["outcome"])
    if rule == "paper":
        return published_outcome(row["status"])
    raise ValueError(rule)


def score(rows: Iterable[Mapping[str, Any]], expected: Sequence[Expected]) -> tuple[list[Scored], list[Expected]]:
    """What is resolved, under both rules, and what is not."""
    table: dict[tuple[str, str, str], dict[tuple[str, str], dict[str, Mapping[str, Any]]]] = defaultdict(dict)
    for row in rows:
        pair = table[row["task_id"], row["model"], row["setting"]]
        pair.setdefault((row["view"], row["candidate_id"]), {})[row["subject"]] = row
    scored: list[Scored] = []
    unresolved: list[Expected] = []
    for wanted in expected:
        pair = table.get((wanted.task, wanted.model, wanted.setting), {})
        views = sorted({view for view, _ in pair})
        found = []
        for view in views:
            candidates = [subjects for (of, _), subjects in sorted(pair.items()) if of == view]
            for rule in RULES:
                result = _score(wanted, view, rule, candidates)
                if result is not None:
                    found.append(result)
        if len(found) < len(RULES) * max(1, len(views)):
            unresolved.append(wanted)
        else:
            scored += found
    return scored, unresolved


def _score(wanted: Expected, view: str, rule: str, candidates: Sequence[Mapping[str, Mapping[str, Any]]]) -> Scored | None:
    correct = complete = 0
    fractions = []
    pair_fractions: list[float] = []
    for subjects in candidates:
        if "original" not in subjects:
            return None
        if outcome(subjects["original"], rule) is not Outcome.HOLDS:
            fractions.append(0.0)
            pair_fractions.append(0.0)
            continue
        if not wanted.mutants <= subjects.keys():
            return None
        correct += 1
        killed = sum(outcome(subjects[mutant], rule) is Outcome.VIOLATED for mutant in wanted.mutants)
        complete += bool(wanted.mutants) and killed == len(wanted.mutants)
        fractions.append(killed / len(wanted.mutants) if wanted.mutants else 0.0)
        pair_fractions += _pairs([subjects[mutant] for mutant in wanted.mutants], rule)
    if len(candidates) < wanted.candidates or not candidates:
        return None
    return Scored(
        wanted.task,
        wanted.repository,
        wanted.language,
        wanted.model,
        wanted.setting,
        view,
        rule,
        len(candidates),
        correct,
        complete,
        sum(fractions) / len(fractions),
        sum(pair_fractions) / len(candidates) if wanted.in_pairs and len(pair_fractions) == len(candidates) else None,
    )


def _pairs(rows: Sequence[Mapping[str, Any]], rule: str) -> list[float]:
    """The share of pairs killed, over all mutants; nothing where mutants are no sets of pairs."""
    if not rows or any(row.get("pairs") is None for row in rows):
        return []
    killed = sum(row["pairs_killed"] + (row["pairs_raised"] if rule == "paper" else 0) for row in rows)
    return [killed / sum(row["pairs"] for row in rows)]


def summarize(scored: Sequence[Scored], unresolved: Sequence[Expected], ks: Sequence[int], seed: int) -> list[dict[str, Any]]:
    """The rows of metrics.json: one for each model, setting, language, view, rule and k, `all` where aggregated over.

    Several models are compared on the (task, setting) pairs that are resolved for all of them.
    """
    models = sorted({s.model for s in scored} | {u.model for u in unresolved})
    missing = {(u.task, u.setting) for u in unresolved}
    usable = [s for s in scored if (s.task, s.setting) not in missing]
    rows = []
    for model in models:
        own = [s for s in usable if s.model == model]
        lost = [u for u in unresolved if u.model == model]
        settings = sorted({s.setting for s in own} | {u.setting for u in lost})
        languages = sorted({s.language for s in own} | {u.language for u in lost})
        for setting in settings if len(settings) == 1 else [*settings, ALL]:
            for language in languages if len(languages) == 1 else [*languages, ALL]:
                for view in sorted({s.view for s in own}, key=VIEWS.index) or [ALL]:
                    for rule in RULES:
                        part = [
                            s
                            for s in own
                            if s.view == view
                            and s.rule == rule
                            and setting in (s.setting, ALL)
                            and language in (s.language, ALL)
                        ]
                        gone = [u for u in lost if setting in (u.setting, ALL) and language in (u.language, ALL)]
                        head = {
                            "model": model,
                            "setting": setting,
                            "language": language,
                            "view": view,
                            "rule": rule,
                            "aggregation": "by task, over all",
                        }
                        rows += [{**head, **_figures(part, len(gone), k, seed)} for k in ks]
    return rows


def _figures(part: Sequence[Scored], unresolved: int, k: int, seed: int) -> dict[str, Any]:
    short = [s for s in part if s.n < k]
    part = [s for s in part if s.n >= k]
    clusters = sorted({s.repository for s in part})
    figures: dict[str, Any] = {
        "tasks": len({s.task for s in part}),
        "unresolved": unresolved + len(short),
        "clusters": len(clusters),
        "n": min((s.n for s in part), default=0),
        "k": k,
    }
    if not part:
        empty = (
            "corr",
            "comp",
            "comp_fraction",
            "comp_pairs",
            "delta",
            "rho",
            "corr_ci",
            "comp_ci",
            "corr_ci_tasks",
            "comp_ci_tasks",
        )
        return {**figures, **dict.fromkeys(empty)}
    corr = np.array([at_least_one(s.n, s.correct, k) for s in part])
    comp = np.array([at_least_one(s.n, s.complete, k) for s in part])
    cluster = np.array([clusters.index(s.repository) for s in part])
    mean_corr, mean_comp = float(corr.mean()), float(comp.mean())
    values = np.stack([corr, comp], axis=1)
    by_repository = interval(values, cluster, seed)
    by_task = interval(values, np.arange(len(part)), seed)
    return {
        **figures,
        "corr": mean_corr,
        "comp": mean_comp,
        "comp_fraction": float(np.mean([s.fraction for s in part])),
        "comp_pairs": _mean([s.pair_fraction for s in part]),
        "delta": mean_corr - mean_comp,
        "rho": mean_comp / mean_corr if mean_corr else None,
        "corr_ci": by_repository[0],
        "comp_ci": by_repository[1],
        "corr_ci_tasks": by_task[0],
        "comp_ci_tasks": by_task[1],
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def interval(values: np.ndarray, cluster: np.ndarray, seed: int) -> list[list[float]]:
    """95 % percentile intervals of the columns' means, from a bootstrap over clusters. values: (pairs, columns)."""
    count = int(cluster.max()) + 1
    sums = np.zeros((count, values.shape[1]))
    np.add.at(sums, cluster, values)
    sizes = np.bincount(cluster, minlength=count).astype(float)
    drawn = np.random.default_rng(seed).integers(0, count, size=(DRAWS, count))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1, keepdims=True)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return [[float(a), float(b)] for a, b in zip(low, high, strict=True)]
