"""The eleven operators of Table 9: what each does, and that they are mutmut's."""

import textwrap

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libcst.metadata import MetadataWrapper

from construction.mutate import OPERATORS, mutants

SOURCE = '''
def sample(values, limit=3, *, flag=True):
    """A docstring with 1 and True."""
    total = 0
    name: str = "Some Text\\n"
    label = None
    for value in values:
        if not value or value is None:
            continue
        if value in (1, 2.5, 3j) and len(values) > 4:
            break
        total += value * 2 - 1
        total //= ~value
    text = name.lower().strip("x").split(",", 1)
    other = r"raw\\D".find("r", 2, 3)
    print(total, end="")
    shifted = (total << 1) ** 2 % 7 | 3 & 1 ^ 5
    result = dict(a=1, b=flag)
    def inner(x: int = 5) -> bool:
        return x != -x or isinstance(x, int)
    return [total >= limit, False, text, other, label, shifted, result, inner(+1), copy.deepcopy(values)]
'''

# What each operator makes of one line, in order.
EXAMPLES = {
    "asymmetric_str_method_swap": ("a.split(b, 1)", ["a.rsplit(b, 1)"]),
    "augassign_to_assign": ("a += b", ["a = b"]),
    "numeric_increments": ("[1, 2.5]", ["[2, 2.5]", "[1, 3.5]"]),
    "symmetric_str_method_swap": ("a.lower()", ["a.upper()"]),
    "unary_op_removal": ("not a", ["a"]),
    "boolean_constant_flip": ("True", ["False"]),
    "arg_removal": ("f(a, b)", ["f(None, b)", "f(a, None)", "f(b)", "f(a, )"]),
    "string_perturbation": ("'aB'", ["'XXaBXX'", "'ab'", "'AB'"]),
    "keyword_rewrite": ("a is b", ["a is not b"]),
    "operator_replacement": ("a + b", ["a - b"]),
    "assignment_nullification": ("a = b", ["a = None"]),
}


def test_the_names_are_table_9s() -> None:
    assert set(OPERATORS) == set(EXAMPLES)


@pytest.mark.parametrize("operator", EXAMPLES)
def test_examples(operator: str) -> None:
    line, expected = EXAMPLES[operator]
    made = [m.implementation.split("\n")[1].strip() for m in mutants(f"def f():\n    {line}") if operator in m.operators]
    assert made == expected


def test_the_same_as_mutmuts() -> None:
    """All texts of mutmut's operators that stand for Table 9's, and no others (the method's own signature aside)."""
    from mutmut.mutation import mutators
    from mutmut.mutation.file_mutation import MutationVisitor
    from mutmut.mutation.pragma_handling import IgnoredCode

    left_out = {"operator_lambda", "operator_dict_arguments", "operator_match", "operator_if_exp"}
    operators = [(kind, rule) for kind, rule in mutators.mutation_operators if rule.__name__ not in left_out]
    wrapper = MetadataWrapper(cst.parse_module(SOURCE))
    visitor = MutationVisitor(operators, IgnoredCode(set(), set(), set()), None)
    module = wrapper.visit(visitor)
    theirs = set()
    signature = SOURCE.split('"""')[0]
    for mutation in visitor.mutations:
        text = module.deep_replace(mutation.original_node, mutation.mutated_node).code
        try:
            compile(text, "m", "exec")
        except SyntaxError:
            continue
        if text.startswith(signature) and text != SOURCE:
            theirs.add(text.strip())
    ours = {mutant.implementation.strip() for mutant in mutants(SOURCE.strip("\n"))}
    assert ours == theirs
    assert len(ours) > 60


def test_methods_keep_their_margin() -> None:
    method = textwrap.indent("@property\ndef f(self):\n    '''Doc.'''\n    return self.a + 1", "    ")
    for mutant in mutants(method):
        lines = mutant.implementation.split("\n")
        assert lines[:3] == method.split("\n")[:3]
        assert lines[3].startswith("        return")


@given(st.integers(0, 9), st.sampled_from(["+", "-", "*", "//"]), st.booleans())
def test_mutants_compile_differ_and_are_distinct(number: int, operator: str, flag: bool) -> None:
    source = f"def f(a, b=1):\n    c = a {operator} {number}\n    return c if {flag} else g(a, b)"
    made = [mutant.implementation for mutant in mutants(source)]
    assert len(made) == len(set(made)) > 3
    for text in made:
        compile(text, "m", "exec")
        assert text != source
        assert text.split("\n")[0] == source.split("\n")[0]
