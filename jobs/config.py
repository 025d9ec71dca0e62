"""Configuration: typed dataclasses beside what they configure, registered with Hydra here and nowhere else.

`load` turns overrides into a `RunConfig`, or raises InputError with one line. Hydra's own messages run over several lines
and its `+` lets anything in: both are caught here, and Hydra writes nothing of its own.
"""

import difflib
import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from benchmark.evalplus import EvalPlusConfig, MbppConfig
from benchmark.fixeval import FixEvalConfig
from benchmark.folder import FolderConfig
from benchmark.postcondbench import PostcondBenchConfig
from benchmark.sample import JavaSampleConfig, SampleConfig
from containers.backends.apptainer import ApptainerConfig
from containers.backends.bubblewrap import BubblewrapConfig
from containers.backends.docker import DockerConfig
from containers.backends.podman import PodmanConfig
from containers.backends.process import ProcessConfig
from containers.choose import AutoConfig
from ensures.errors import InputError
from ensures.task import PROMPTED
from evaluation.asserts.session import AssertConfig
from evaluation.checker import Limit
from evaluation.java.session import JmlConfig
from evaluation.python.session import IcontractConfig
from inference.dialects.icontract import Parsing
from inference.engines.invariants import InvariantsConfig
from inference.engines.openai import OpenaiConfig
from inference.engines.reference import ReferenceConfig
from inference.engines.replay import ReplayConfig
from inference.engines.vllm import VllmConfig
from inference.prompts import PromptConfig
from inference.prompts import check as check_prompt
from inference.strategies import multi_turn, random_sampling
from inference.strategies.exploratory import ExploratoryConfig
from inference.strategies.greedy import GreedyConfig
from inference.strategies.random_sampling import RandomSamplingConfig
from inference.strategies.single_pass import SinglePassConfig
from jobs.ray_cluster import LocalClusterConfig, NoClusterConfig
from jobs.ray_joined import RayClusterConfig, SlurmClusterConfig
from jobs.tracker import NoTrackerConfig, WandbConfig

CONF = Path(__file__).resolve().parent.parent / "conf"
GROUPS = ("dataset", "model", "prompt", "strategy", "checker", "sandbox", "cluster", "tracker")
MAPPINGS = ("dataset.repositories", "model.body", "model.template")
REPORTED = (1, 3, 5)
DEFAULTS = {"dataset": "sample", "model": "invariants"}


@dataclass
class AutoCheckerConfig:
    """The checker of the tasks' language."""

    name: str = "auto"


@dataclass
class EvaluationConfig:
    workers: int = 0  # 0: one a core
    timeout: float = 30.0  # seconds for one whole execution of a subject's covering tests
    limit: Limit = Limit.PAPER  # measured: ten times what the original takes, where that is less than timeout
    sessions: int = 4  # tasks that a worker keeps open where a strategy waits for feedback
    clauses: bool = False  # every clause of every candidate is judged alone, too
    audit_fraction: float = 0.02  # of the verdicts of shared executions, repeated in isolation; 0: none


@dataclass
class RunConfig:
    dataset: Any = MISSING
    model: Any = MISSING
    prompt: Any = MISSING
    strategy: Any = MISSING
    checker: Any = MISSING
    sandbox: Any = MISSING
    cluster: Any = MISSING
    tracker: Any = MISSING
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    settings: list[str] = field(default_factory=lambda: [setting.value for setting in PROMPTED])
    k: int = 5
    report_k: list[int] | None = None  # default: 1, 3, 5 up to k
    seed: int = 0
    parsing: Parsing = Parsing.PUBLISHED
    part: str = ""  # as in 2/8: of the tasks, for the jobs of an array that share a run
    name: str = ""  # default: dataset-model
    out: str = "runs"

    @property
    def reported(self) -> list[int]:
        return self.report_k if self.report_k is not None else [k for k in REPORTED if k <= self.k]


SCHEMAS: dict[str, dict[str, type]] = {
    "dataset": {
        "sample": SampleConfig,
        "sample-java": JavaSampleConfig,
        "folder": FolderConfig,
        "postcondbench": PostcondBenchConfig,
        "humaneval": EvalPlusConfig,
        "mbpp": MbppConfig,
        "fixeval": FixEvalConfig,
    },
    "model": {
        "invariants": InvariantsConfig,
        "reference": ReferenceConfig,
        "replay": ReplayConfig,
        "vllm": VllmConfig,
        "openai": OpenaiConfig,
    },
    "prompt": {"paper": PromptConfig},
    "strategy": {
        "single_pass": SinglePassConfig,
        "random_sampling": RandomSamplingConfig,
        "greedy": GreedyConfig,
        "exploratory": ExploratoryConfig,
    },
    "checker": {"auto": AutoCheckerConfig, "icontract": IcontractConfig, "jml": JmlConfig, "assert": AssertConfig},
    "sandbox": {
        "auto": AutoConfig,
        "apptainer": ApptainerConfig,
        "bubblewrap": BubblewrapConfig,
        "docker": DockerConfig,
        "podman": PodmanConfig,
        "process": ProcessConfig,
    },
    "cluster": {"local": LocalClusterConfig, "none": NoClusterConfig, "ray": RayClusterConfig, "slurm": SlurmClusterConfig},
    "tracker": {"wandb": WandbConfig, "none": NoTrackerConfig},
}


def _register() -> None:
    store = ConfigStore.instance()
    store.store(name="schema", node=RunConfig)
    for group, schemas in SCHEMAS.items():
        for name, schema in schemas.items():
            store.store(group=group, name=f"{name}_schema", node=schema)


def load(overrides: Sequence[str]) -> RunConfig:
    """The run's configuration. Raises InputError."""
    _register()
    GlobalHydra.instance().clear()
    overrides = [_as_meant(override) for override in overrides]
    try:
        with initialize_config_dir(str(CONF), version_base=None):
            composed = compose("config", overrides=overrides)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise InputError(_one_line(error, overrides)) from error
    _no_strangers(composed)
    try:
        config = OmegaConf.to_object(composed)
    except OmegaConfBaseException as error:
        raise InputError(_one_line(error, overrides)) from error
    assert isinstance(config, RunConfig)
    _check(config)
    return config


def sweep(arguments: Sequence[str]) -> list[list[str]]:
    """The runs that `--multirun` asks for, by Hydra's grammar: a value `a,b` takes each in turn, several keys all pairs.
    `sweep=NAME` takes conf/sweep/NAME.yaml's values first. A run is named after what differs. Raises InputError."""
    named = [argument.partition("=")[2] for argument in arguments if argument.startswith("sweep=")]
    own = [argument for argument in arguments if not argument.startswith("sweep=")]
    given = {argument.partition("=")[0] for argument in own}
    for name in named:
        path = CONF / "sweep" / f"{name}.yaml"
        if not path.is_file():
            raise InputError(f"sweep={name} is not known; choose one of {', '.join(choices('sweep'))}")
        values = OmegaConf.load(path)
        own = [f"{key!s}={value}" for key, value in values.items() if str(key) not in given] + own
    try:
        parsed = OverridesParser.create().parse_overrides([_as_meant(override) for override in own])
        (runs,) = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    except (HydraException, ValueError) as error:
        raise InputError(_one_line(error, own)) from error
    swept = [override.get_key_element() for override in parsed if override.is_sweep_override()]
    told = [key for key in swept if key not in ("model", "dataset")]
    if told or "name" in given:
        runs = [_apart(run, told or swept) for run in runs]
    group = [] if any(key.startswith("tracker") for key in given) else [f"tracker.group={'-'.join(named) or 'multirun'}"]
    return [[*run, *group] for run in runs]


def _apart(run: Sequence[str], told: Sequence[str]) -> list[str]:
    """With a name of its own: what was given, or dataset and model, and the values of the keys that are told apart."""
    values = dict(override.lstrip("+").partition("=")[::2] for override in run)
    base = values.pop("name", "") or "-".join(values.get(key, default) for key, default in DEFAULTS.items())
    parts = [re.sub(r"[^\w.]+", "-", f"{key}-{values[key.lstrip('+')]}").strip("-") for key in told]
    return [*(override for override in run if not override.startswith("name=")), f"name={'-'.join([base, *parts])}"]


def _as_meant(override: str) -> str:
    """`+model=x` where there is a model already is `model=x`; a mapping's keys are the user's own (Hydra: adding)."""
    key, _, value = override.lstrip("+").partition("=")
    kind = _enums().get(key)
    if kind is not None and value in [member.value for member in kind]:
        override = f"{key}={kind(value).name}"  # OmegaConf knows them by name alone
    if key in GROUPS:
        return override.lstrip("+")
    return f"++{override.lstrip('+')}" if key in MAPPINGS else override


@cache
def _enums() -> dict[str, type[enum.Enum]]:
    """Keys whose values are of an enumeration. A key that several choices of a group have is the same in all."""
    found: dict[str, type[enum.Enum]] = {}

    def look(kind: type, prefix: str) -> None:
        hints = get_type_hints(kind)
        for entry in fields(kind):
            hint = hints[entry.name]
            if isinstance(hint, type) and issubclass(hint, enum.Enum):
                found[prefix + entry.name] = hint
            elif is_dataclass(hint):
                look(hint, f"{prefix}{entry.name}.")  # type: ignore[arg-type]

    look(RunConfig, "")
    for group, schemas in SCHEMAS.items():
        for schema in schemas.values():
            look(schema, f"{group}.")
    return found


def known_keys(node: Any = None, prefix: str = "") -> list[str]:
    """Every key that a user may set, of all groups' choices."""
    found = []
    for entry in fields(RunConfig if node is None else node):
        name = prefix + entry.name
        if node is None and entry.name in GROUPS:
            found.append(name)
            for schema in SCHEMAS[entry.name].values():
                found += known_keys(schema, name + ".")
        elif is_dataclass(entry.default_factory):
            found += known_keys(entry.default_factory, f"{name}.")
        else:
            found.append(name)
    return list(dict.fromkeys(found))


def choices(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def _suggest(key: str) -> str:
    if key in known_keys():
        group = key.partition(".")[0]
        return f"it belongs to another choice of {group} than the one taken ({', '.join(choices(group))})"
    near = difflib.get_close_matches(key, known_keys(), n=3, cutoff=0.5)
    if near:
        return "did you mean " + " or ".join(near) + "?"
    top = [entry.name for entry in fields(RunConfig)]
    return "known keys: " + ", ".join(top)


def _one_line(error: Exception, overrides: Sequence[str]) -> str:
    if str(error).startswith("Error merging override") and error.__cause__ is not None:
        override = str(error).rpartition("override ")[2]
        return _wrong_value(override, str(error.__cause__))
    if "Config group override must be" in str(error):
        group = next((o.split("=")[0] for o in overrides if re.fullmatch(r"\w+=(null|None)?", o)), GROUPS[0])
        return f"{group} needs a value; choose one of {', '.join(choices(group))}"
    text = str(error)
    missing = re.search(r"Could not find '(\w+)/([^']*)'", text)
    if missing:
        group, name = missing.groups()
        return f"{group}={name} is not known; choose one of {', '.join(choices(group))}"
    key = re.search(r"(?:Could not override|Could not append to config\.|Key) '([\w./@-]+)'", text)
    if key and ("not in struct" in text or "Could not override" in text or "not in '" in text):
        full = re.search(r"full_key: ([\w.]+)", text)
        name = full.group(1) if full else key.group(1)
        return f"{name} is not a known key; {_suggest(name)}"
    first = " ".join(text.split("\n")[0].split())
    for override in overrides:
        if override in text:
            return f"the override {override!r} can't be read: {first}"
    return first


def _wrong_value(override: str, said: str) -> str:
    """Hydra's complaint about a value, with the key in front and what would be right behind."""
    key, _, value = override.partition("=")
    first = " ".join(said.split("\n")[0].split())
    if "not in struct" in said or "Key '" in said:
        return f"{key.lstrip('+~')} is not a known key; {_suggest(key.lstrip('+~'))}"
    choice = re.search(r"expected one of \[(.*?)\]", said)
    if choice:
        return f"{override} is not known; choose one of {choice.group(1).lower()}"
    if "ListConfig" in said or "list" in said.lower():
        return f"{override}: a list is wanted, as in '{key}=[{value or '...'}]'"
    return f"{override}: {first[:1].lower()}{first[1:]}"


def _no_strangers(node: DictConfig, path: str = "") -> None:
    """Refuses keys that no dataclass has: `+foo=1` would otherwise pass."""
    kind = OmegaConf.get_type(node)
    if is_dataclass(kind):
        known = {entry.name for entry in fields(kind)}
        for key in map(str, node):
            if key not in known:
                name = f"{path}{key}"
                raise InputError(f"{name} is not a known key; {_suggest(name)}")
    for key in map(str, node):
        if OmegaConf.is_missing(node, key):
            raise InputError(f"{path}{key} has no value; choose one of {', '.join(choices(key))}")
        child = node._get_node(key)
        if isinstance(child, DictConfig) and not child._is_none():
            _no_strangers(child, f"{path}{key}.")


def _check(config: RunConfig) -> None:
    for name in GROUPS:
        if not is_dataclass(getattr(config, name)):
            raise InputError(f"{name}={getattr(config, name)} is not known; choose one of {', '.join(choices(name))}")
    for name in (entry.name for entry in fields(RunConfig)):
        if getattr(config, name) is None and name != "report_k":
            raise InputError(f"{name} has no value")
    if config.k < 1:
        raise InputError(f"k={config.k}: at least one sample must be drawn")
    if not config.settings:
        raise InputError(f"settings=[] is empty; choose from {', '.join(PROMPTED)}")
    for setting in config.settings:
        if setting not in PROMPTED:
            raise InputError(f"settings={setting} is not known; choose from {', '.join(PROMPTED)}")
    if len(set(config.settings)) < len(config.settings):
        raise InputError(f"settings={','.join(config.settings)} names one twice")
    for k in config.reported:
        if not 1 <= k <= config.k:
            raise InputError(f"report_k={k} is outside 1 to k={config.k}: it can't be estimated from {config.k} samples")
    if config.dataset.limit < 0:
        raise InputError(f"dataset.limit={config.dataset.limit}: 0 takes all tasks, n takes the first n")
    if getattr(config.dataset, "mutants", 0) < 0:
        raise InputError(f"dataset.mutants={config.dataset.mutants}: 0 takes all, n takes n a method")
    if config.evaluation.workers < 0:
        raise InputError(f"evaluation.workers={config.evaluation.workers}: 0 takes one a core, n takes n")
    if config.evaluation.timeout <= 0:
        raise InputError(f"evaluation.timeout={config.evaluation.timeout}: a limit in seconds above 0")
    if not 0 <= config.evaluation.audit_fraction <= 1:
        raise InputError(f"evaluation.audit_fraction={config.evaluation.audit_fraction}: a share, 0 to 1")
    programs = config.dataset.kind in ("humaneval", "mbpp", "fixeval")
    able = {"sample": ("icontract",), "sample-java": ("jml",)}
    wanted = ("assert",) if programs else able.get(config.dataset.kind, ("icontract", "jml"))
    if config.checker.name not in ("auto", *wanted):
        raise InputError(
            f"checker={config.checker.name} can't judge dataset={config.dataset.kind}; "
            f"that is for checker={' or '.join(wanted)}"
        )
    if programs and config.model.engine == "invariants":
        raise InputError(
            f"model=invariants needs tests to observe, dataset={config.dataset.kind} has none; choose another model="
        )
    if config.seed < 0:
        raise InputError(f"seed={config.seed}: a seed is 0 or more")
    if "/" in config.name or config.name in (".", ".."):
        raise InputError(f"name={config.name}: a run's name is one folder's name; out= says where it stands")
    part = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", config.part) if config.part else None
    if config.part and (part is None or int(part[1]) > int(part[2])):
        raise InputError(f"part={config.part}: a part is i/n, as in part=2/8")
    check_prompt(config.prompt)
    if config.evaluation.sessions < 1:
        raise InputError(f"evaluation.sessions={config.evaluation.sessions}: at least one")
    if isinstance(config.strategy, multi_turn.MultiTurnConfig):
        multi_turn.check(config.strategy)
    if isinstance(config.strategy, RandomSamplingConfig):
        random_sampling.check(config.strategy)
    if config.strategy.name != "single_pass" and config.model.engine in ("invariants", "reference"):
        raise InputError(f"strategy={config.strategy.name} needs a model that reads prompts; choose another model=")
    if isinstance(config.strategy, multi_turn.MultiTurnConfig) and config.model.engine == "replay":
        raise InputError(f"strategy={config.strategy.name} can't be replayed: its prompts depend on its answers")


def plain(config: RunConfig) -> dict[str, Any]:
    """The configuration as it is stored and shown."""
    found = OmegaConf.to_container(OmegaConf.structured(config), enum_to_str=True)
    assert isinstance(found, dict)
    return {str(key): value for key, value in found.items()}
