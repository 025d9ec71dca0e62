"""Puts candidates around a Java method, as source text: many bodies, many candidates, one class.

The method's body, and those of its mutants, move to private twins; the method saves what the candidates' `\\old` want, runs
the twin that is the subject's, and hands the result to every candidate's clauses. A constructor keeps its body, since only
there can final fields be assigned: its clauses come after it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import tree_sitter

from ensures.errors import EnsuresError
from evaluation.java import syntax
from evaluation.java.translate import API, RESULT, Translated

_BEFORE, _AFTER = b"class Around {\n", b"\n}"
_METHODS = ("method_declaration", "constructor_declaration", "compact_constructor_declaration")
_TYPES = ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration")
_CALL = "$ensures_call"


class Unweavable(EnsuresError, ValueError):
    """The text holds no method that could be woven."""


@dataclass(frozen=True, slots=True)
class Method:
    """The parts of a method's text. `result` is empty for `void` and for constructors."""

    name: str
    modifiers: tuple[str, ...]
    type_parameters: str
    result: str
    parameters: str
    names: tuple[str, ...]
    dimensions: str
    throws: str
    body: str
    before: str  # of a constructor: its call of another
    constructor: bool
    head: str  # the text up to the body, annotations and comment, too; its parameters final

    @property
    def static(self) -> bool:
        return "static" in self.modifiers


@dataclass(frozen=True, slots=True)
class Woven:
    """`regions`: (from, to, kind, index) in UTF-16 units, as javac counts; kind is `candidate` or `body`."""

    text: str
    regions: tuple[tuple[int, int, str, int], ...]

    def at(self, offset: int) -> tuple[str, int] | None:
        """Whose text stands there: the innermost region's."""
        held = [region for region in self.regions if region[0] <= offset <= region[1]]
        return min(held, key=lambda region: region[1] - region[0])[2:] if held else None


def method(implementation: str) -> Method:
    """Raises Unweavable."""
    code = _BEFORE + implementation.encode() + _AFTER
    root = syntax.parse(code)
    node = next(syntax.outermost(root, _METHODS), None)
    if node is None or root.has_error:
        raise Unweavable("the text is no Java method")
    if node.type == "compact_constructor_declaration":
        raise Unweavable("a record's compact constructor has no state yet at its end")
    body = node.child_by_field_name("body")
    if body is None:
        raise Unweavable("the method has no body")

    text = syntax.text
    modifiers = next((child for child in node.children if child.type == "modifiers"), None)
    throws = next((child for child in node.children if child.type == "throws"), None)
    parameters = node.child_by_field_name("parameters")
    assert parameters is not None
    result = text(node.child_by_field_name("type"))
    if node.type == "constructor_declaration" and set(_assigned(body)) & set(_parameter_names(parameters)):
        raise Unweavable("a constructor that assigns its own parameters can't carry conditions")
    constructor = node.type == "constructor_declaration"
    first = body.named_children[0] if constructor and body.named_children else None
    explicit = first if first is not None and first.type == "explicit_constructor_invocation" else None
    inside = body.start_byte + 1 if explicit is None else explicit.end_byte
    return Method(
        name=text(node.child_by_field_name("name")),
        modifiers=tuple(text(child) for child in modifiers.children if "annotation" not in child.type) if modifiers else (),
        type_parameters=text(node.child_by_field_name("type_parameters")),
        result="" if result == "void" else result,
        parameters=text(parameters),
        names=tuple(_parameter_names(parameters)),
        dimensions=text(node.child_by_field_name("dimensions")),
        throws=text(throws),
        body="{" + code[inside : body.end_byte].decode(),
        before=text(explicit),
        constructor=constructor,
        head=_head(code, parameters, body.start_byte),
    )


def _head(code: bytes, parameters: tree_sitter.Node, end: int) -> str:
    """With `final` parameters: then a condition that assigns one is wrong by itself, and no other condition is."""
    found, at = [], len(_BEFORE)
    for child in parameters.named_children:
        if child.type in ("formal_parameter", "spread_parameter"):
            modifiers = next((inner.text or b"" for inner in child.children if inner.type == "modifiers"), b"")
            found += [code[at : child.start_byte], b"" if b"final" in modifiers.split() else b"final "]
            at = child.start_byte
    return b"".join([*found, code[at:end]]).decode()


def _assigned(node: tree_sitter.Node) -> Iterator[str]:
    """Names that are assigned below."""
    for child in node.children:
        if child.type == "assignment_expression":
            yield ((child.child_by_field_name("left") or child).text or b"").decode()
        elif child.type == "update_expression":
            yield (child.named_children[0].text or b"").decode()
        yield from _assigned(child)


def _parameter_names(parameters: tree_sitter.Node) -> Iterator[str]:
    for child in parameters.named_children:
        if child.type == "formal_parameter":
            yield ((child.child_by_field_name("name") or child).text or b"").decode()
        elif child.type == "spread_parameter":
            declarator = next(inner for inner in child.named_children if inner.type == "variable_declarator")
            yield ((declarator.child_by_field_name("name") or declarator).text or b"").decode()


def alike(one: Method, other: Method) -> bool:
    """Can their bodies stand behind one method?"""
    return len(one.names) == len(other.names) and one.before == other.before and one.constructor == other.constructor


def weave(
    file: str, first: int, last: int, original: Method, bodies: Sequence[Method], candidates: Sequence[Translated]
) -> Woven:
    """The file's text with its lines first to last (1-based, inclusive) replaced by the woven method."""
    above, below = _around(file, first, last)
    out = _Text()
    out.add(above)
    write = _constructor if original.constructor else _method
    write(out, original, bodies, candidates)
    out.add(below)
    return Woven("".join(out.parts), tuple(out.regions))


class _Text:
    """Grows a text and remembers whose parts of it are."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.regions: list[tuple[int, int, str, int]] = []
        self.length = 0

    def add(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2

    def own(self, kind: str, index: int, text: str) -> None:
        start = self.length
        self.add(text)
        self.regions.append((start, self.length, kind, index))


def _around(file: str, first: int, last: int) -> tuple[str, str]:
    """The text above and below the lines, with our import behind the package's name, on its line."""
    lines = file.split("\n")
    code = "".join(f"{line}\n" for line in lines[: first - 1]).encode()
    root = syntax.parse(code)
    package = next((node for node in root.children if node.type == "package_declaration"), None)
    at = package.end_byte if package is not None else 0
    above = code[:at] + f" import ensures.harness.{API}; ".encode() + code[at:]
    return above.decode(), "\n" + "\n".join(lines[last:])


def _method(out: _Text, given: Method, bodies: Sequence[Method], candidates: Sequence[Translated]) -> None:
    arguments = ", ".join(given.names)
    twin = f"{given.name}$ensures"
    run = f"{twin}({arguments});"
    me = "null" if given.static else "this"
    out.add(f"{given.head}{{\nvar {_CALL} = {API}.enter();\n")
    out.add(f"if ({_CALL} == null) {{ {'return ' + run if given.result else run + ' return;'} }}\n")
    out.add(f"if ({_CALL}.looks()) {_CALL}.sees({me}, new Object[] {{{arguments}}});\n")
    for index, candidate in enumerate(candidates):
        out.own("candidate", index, _before(index, candidate, given))
    if given.result:
        out.add(f"final {given.result}{given.dimensions} {RESULT};\ntry {{ {RESULT} = {run} }}")
    else:
        out.add(f"try {{ {run} }}")
    out.add(f" catch (Throwable $ensures_thrown) {{ {_CALL}.threw(); throw $ensures_thrown; }}\n")
    value = RESULT if given.result else "null"
    out.add(f"if ({_CALL}.looks()) {_CALL}.saw({me}, {value}, new Object[] {{{arguments}}});\n")
    out.add(f"{_CALL}.returned({value});\n{'return ' + RESULT + ';' if given.result else ''}\n}}\n")
    out.add(_twin(given, twin, f"{{ switch ({API}.body()) {{\n"))
    for index in range(len(bodies)):
        to = f"{twin}{index}({arguments});"
        out.add(f"case {index}: {'return ' + to if given.result else to + ' return;'}\n")
    out.add("default: throw new AssertionError(); } }\n")
    for index, body in enumerate(bodies):
        out.own("body", index, _twin(body, f"{twin}{index}", body.body) + "\n")


def _twin(given: Method, name: str, body: str) -> str:
    static = "static " if given.static else ""
    result = given.result or "void"
    head = f"private {static}{given.type_parameters} {result} {name}{given.parameters}{given.dimensions} {given.throws}"
    return f"{head} {body}"


def _before(index: int, candidate: Translated, given: Method) -> str:
    """A candidate's part before the body: its precondition, what it saves, and its clauses as a function for after."""
    lines = [f"if ({_CALL}.begins({index})) {{ try {{"]
    if candidate.requires:
        lines.append(f"if (!({_required(candidate)})) {{ {_CALL}.outside({index}); }} else {{")
    lines += [f"final var {name} = {text}\n;" for name, text in candidate.captures]
    lines.append(f"{_CALL}.check({index}, ($ensures_value) -> {{ {_clauses(candidate, given)} }});")
    if candidate.requires:
        lines.append("}")
    lines.append(f"}} catch (Throwable $ensures_thrown) {{ {_CALL}.raised({index}, $ensures_thrown); }}")
    lines.append(f"finally {{ {_CALL}.done({index}); }} }}\n")
    return "\n".join(lines)


def _required(candidate: Translated) -> str:
    return " && ".join(f"({text}\n)" for text in candidate.requires)


def _clauses(candidate: Translated, given: Method) -> str:
    lines = []
    if given.result:
        type_ = given.result + given.dimensions
        lines.append(f"final {type_} {RESULT} = ({type_}) $ensures_value;")
    for position, text in enumerate(candidate.clauses):
        lines.append(f"{_CALL}.clause({position}); if (!({text}\n)) return {position};")
    return "\n".join([*lines, "return -1;"])


def _constructor(out: _Text, given: Method, bodies: Sequence[Method], candidates: Sequence[Translated]) -> None:
    arguments = ", ".join(given.names)
    candidates = [candidate.renamed(index) for index, candidate in enumerate(candidates)]
    out.add(f"{given.head}{{\n{given.before}\nvar {_CALL} = {API}.enter();\n")
    out.add(f"if ({_CALL} != null && {_CALL}.looks()) {_CALL}.sees(null, new Object[] {{{arguments}}});\n")
    for index, candidate in enumerate(candidates):
        saved = (f"final var {name} = {API}.saved({_CALL}, {index}, () -> {text}\n);\n" for name, text in candidate.captures)
        out.own("candidate", index, "".join(saved))
    out.add(f"try {{ $ensures_body: switch ({API}.body()) {{\n")
    for index, body in enumerate(bodies):
        out.add(f"case {index}:\n")
        out.own("body", index, _leaving(body.body))
        out.add("\nbreak $ensures_body;\n")
    out.add("default: throw new AssertionError(); } }")
    out.add(f" catch (Throwable $ensures_thrown) {{ if ({_CALL} != null) {_CALL}.threw(); throw $ensures_thrown; }}\n")
    out.add(f"if ({_CALL} != null) {{\n")
    for index, candidate in enumerate(candidates):
        check = f"{_CALL}.check({index}, ($ensures_value) -> {{ {_clauses(candidate, given)} }});"
        if candidate.requires:
            check = f"if (!({_required(candidate)})) {_CALL}.outside({index}); else {check}"
        out.own("candidate", index, f"if ({_CALL}.saved({index})) {{ {check} }}\n")
    out.add(f"if ({_CALL}.looks()) {_CALL}.saw(this, null, new Object[] {{{arguments}}});\n")
    out.add(f"{_CALL}.returned(null);\n}}\n}}\n")


def _leaving(body: str) -> str:
    """The body, its own `return` as a way out of the labelled switch."""
    code = _BEFORE + b"{" + body.encode() + b"}" + _AFTER
    root = syntax.parse(code)
    block = next(syntax.outermost(root, ("block",)))
    cuts = [(node.start_byte, node.end_byte) for node in _returns(block)]
    for start, end in reversed(cuts):
        code = code[:start] + b"break $ensures_body;" + code[end:]
    return code[len(_BEFORE) + 1 : -len(_AFTER) - 1].decode()


def _returns(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    for child in node.children:
        if child.type == "return_statement":
            yield child
        elif child.type not in ("lambda_expression", "class_body", *_TYPES):
            yield from _returns(child)


def plainly(file: str, first: int, last: int, original: Method, body: Method, candidate: Translated) -> str:
    """The file's text with one body and one candidate, whose violation is an error that the method throws."""
    arguments = ", ".join(original.names)
    twin = f"{original.name}$ensures"
    saved = "\n".join(f"final var {name} = {text}\n;" for name, text in candidate.captures)
    checks = "\n".join(
        f'if (!({text}\n)) throw new Error("JmlAssertionError: postcondition {position}");'
        for position, text in enumerate(candidate.clauses)
    )
    if candidate.requires:
        checks = f"if ($ensures_wanted) {{ {checks} }}"
        saved = f"final boolean $ensures_wanted = {_required(candidate)};\n{saved}"
    if original.constructor:
        inside = f"$ensures_body: {{ {_leaving(body.body)} }}"
        woven = f"{original.head}{{\n{original.before}\n{saved}\n{inside}\n{checks}\n}}"
    elif original.result:
        run = f"final {original.result}{original.dimensions} {RESULT} = {twin}({arguments});"
        woven = f"{original.head}{{\n{saved}\n{run}\n{checks}\nreturn {RESULT};\n}}\n" + _twin(body, twin, body.body)
    else:
        woven = f"{original.head}{{\n{saved}\n{twin}({arguments});\n{checks}\n}}\n" + _twin(body, twin, body.body)
    above, below = _around(file, first, last)
    return above + woven + below
