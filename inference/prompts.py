"""Prompts for the three settings (PostcondBench D.2, Figure 7). What a setting hides is removed on syntax trees.

c2p: comments, docstrings and lone strings are removed from method and file. n2p: the method's signature and comment, the
file without any body. f2p: everything as it stands.
"""

import hashlib
import textwrap
from pathlib import Path

import jinja2
import libcst as cst

from ensures.task import Setting, Task
from inference.engine import Prompt

TEMPLATES = Path(__file__).parent / "templates"
_LANGUAGES = {"python": ("Python", "icontract"), "java": ("Java", "JML")}


def build(task: Task, setting: Setting, module: str, template: str = "paper", dialect: str = "icontract") -> Prompt:
    """The prompt for one task. `module` is the text of the file that holds the method; `template` stands in the folder of
    the dialect."""
    method = textwrap.dedent(task.implementation)
    if setting is Setting.C2P:
        context, target = without_comments(module), without_comments(method)
    elif setting is Setting.N2P:
        context, target = without_bodies(module), _signature_and_comment(task, method)
    else:
        context, target = module, method
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    language, specification = _LANGUAGES[task.language.value]
    text = environment.get_template(f"{dialect}/{template}.jinja").render(
        language=task.language.value,
        language_name=language,
        specification=specification,
        name=task.qualname,
        code_context=context.strip("\n"),
        target_method=target.strip("\n"),
    )
    return Prompt(text, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32])


def without_comments(source: str) -> str:
    """The source without comments, docstrings and lone string statements."""
    module = cst.parse_module(source)
    return module.visit(_NoComments()).code


def without_bodies(source: str) -> str:
    """The source with signatures and comments, every function's body left out."""
    module = cst.parse_module(source)
    return module.visit(_NoBodies()).code


def _signature_and_comment(task: Task, method: str) -> str:
    stripped = without_bodies(method)
    if task.comment and not _docstring_in(stripped):
        above = "\n".join("# " + line for line in task.comment.splitlines())
        return f"{above}\n{stripped}"
    return stripped


def _docstring_in(source: str) -> bool:
    return '"""' in source or "'''" in source


def _is_lone_string(statement: cst.BaseStatement | cst.BaseSmallStatement) -> bool:
    if isinstance(statement, cst.SimpleStatementLine):
        return all(_is_lone_string(small) for small in statement.body)
    return isinstance(statement, cst.Expr) and isinstance(
        statement.value, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
    )


class _NoComments(cst.CSTTransformer):
    def leave_TrailingWhitespace(
        self, original_node: cst.TrailingWhitespace, updated_node: cst.TrailingWhitespace
    ) -> cst.TrailingWhitespace:
        return updated_node.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))

    def leave_EmptyLine(
        self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
    ) -> cst.EmptyLine | cst.RemovalSentinel:
        return cst.RemoveFromParent() if original_node.comment is not None else updated_node

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.Expr | cst.RemovalSentinel:
        return cst.RemoveFromParent() if _is_lone_string(original_node) else updated_node

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.IndentedBlock:
        if updated_node.body:
            return updated_node
        return updated_node.with_changes(body=[cst.SimpleStatementLine([cst.Pass()])])

    def leave_SimpleStatementSuite(
        self, original_node: cst.SimpleStatementSuite, updated_node: cst.SimpleStatementSuite
    ) -> cst.SimpleStatementSuite:
        return updated_node if updated_node.body else updated_node.with_changes(body=[cst.Pass()])


class _NoBodies(cst.CSTTransformer):
    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        nothing = cst.SimpleStatementLine([cst.Expr(cst.Ellipsis())])
        body = updated_node.body
        if isinstance(body, cst.IndentedBlock):
            kept = [body.body[0]] if body.body and _is_lone_string(body.body[0]) else []
            block = cst.IndentedBlock(body=[*kept, nothing], indent=body.indent)
            return updated_node.with_changes(body=block)
        return updated_node.with_changes(body=cst.SimpleStatementSuite([cst.Expr(cst.Ellipsis())]))
