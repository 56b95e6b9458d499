"""Canonical text of statements; `parse` reads it back to an equal tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

from pyptx_ir.syntax.nodes import (
    AddressSize,
    Alias,
    Attribute,
    Block,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Declarator,
    Directive,
    Empty,
    File,
    Function,
    HeaderDirective,
    Instruction,
    Invalid,
    Label,
    Loc,
    Module,
    Parameter,
    Pointer,
    Pragma,
    RegisterDeclaration,
    RegisterName,
    Section,
    SectionData,
    Statement,
    Target,
    Variable,
    Version,
)
from pyptx_ir.syntax.operand_spelling import spell_list, spell_operand
from pyptx_ir.syntax.operands import Operand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Spellable: TypeAlias = Module | Statement | Operand | Parameter | Attribute | HeaderDirective

_OPERANDS = frozenset(get_args(Operand))


def spell(tree: Spellable) -> str:
    """Return the canonical text of a module, a statement or an operand, regardless of trivia and source text.

    `parse_statements(spell(node)) == (node,)`, `parse_operand(spell(operand)) == operand`.
    """
    kind = tree.__class__
    write = LEAVES.get(kind)  # fast path: most statements contain no other statements
    if write is not None:
        return write(tree)
    if kind in _OPERANDS:
        return spell_operand(cast("Operand", tree))
    if isinstance(tree, Module):
        return _nested(tree.body) + "\n"
    if kind in _PARTS:
        return _PARTS[kind](tree)
    return _nested((cast("Statement", tree),))


def header(function: Function) -> str:
    """Return the canonical text of a function's header, without its body; a declaration ends in `;`."""
    name = function.name
    if function.parameters:
        name += "(\n\t" + ",\n\t".join(_parameter(one) for one in function.parameters) + "\n)"
    elif function.parameters is not None:
        name += "()"
    words = [
        *_dotted(function.linking, function.kind),
        *_attributes(function.attributes),
        *_parameters(function.returns or None),
        name,
    ]
    directives = "".join("\n" + _header_directive(one) for one in function.directives)
    return " ".join(words) + directives + ("" if function.body is not None else ";")


def _nested(body: Iterable[Statement]) -> str:
    """Return the canonical text of statements, one per line. Not recursive, so blocks may nest to any depth."""
    out: list[str] = []
    stack = [(iter(body), "")]
    while stack:
        statements, closing = stack[-1]
        leading_trivia = "\n" + "\t" * (len(stack) - 1)
        for node in statements:
            write = LEAVES.get(node.__class__)
            if write is not None:
                out.append(leading_trivia + write(node))
                continue
            opening, inner = _inside(node)
            if inner is None:
                out.append(leading_trivia + opening)
                continue
            out.append(f"{leading_trivia}{opening}{leading_trivia}{{" if opening else f"{leading_trivia}{{")
            stack.append((iter(inner), leading_trivia + "}"))
            break
        else:
            stack.pop()
            out.append(closing)
    return "".join(out).removeprefix("\n")


def _inside(node: Statement) -> tuple[str, Sequence[Statement] | None]:
    """Return the text before the brace of a statement with a body, and the statement's nested statements."""
    match node:
        case Function(body=block):
            return header(node), None if block is None else block.body
        case Section(body=body):
            return f".section {node.name}", body
        case Block(body=body):
            return "", body
        case _:
            raise TypeError(f"{node!r} is not a statement")


# --- parts ----------------------------------------------------------------------------------------


def _dotted(*names: str | None) -> list[str]:
    return [f".{name}" for name in names if name is not None]


def _aligned(alignment: int | None) -> list[str]:
    return [] if alignment is None else [f".align {alignment}"]


def _attributes(attributes: tuple[Attribute, ...]) -> list[str]:
    return [f".attribute({', '.join(map(_attribute, attributes))})"] if attributes else []


def _attribute(attribute: Attribute) -> str:
    arguments = f"({spell_list(attribute.arguments)})" if attribute.arguments else ""
    return f".{attribute.name}{arguments}"


def _argument(argument: Operand | str) -> str:
    return f'"{argument}"' if isinstance(argument, str) else spell_operand(argument)


def _arguments(arguments: tuple[Operand | str, ...]) -> str:
    return " " + ", ".join(map(_argument, arguments)) if arguments else ""


def _dimensions(dimensions: tuple[Operand | None, ...]) -> str:
    return "".join("[]" if one is None else f"[{spell_operand(one)}]" for one in dimensions)


def _pointer(pointer: Pointer | None) -> list[str]:
    return [] if pointer is None else [".ptr", *_dotted(pointer.space), *_aligned(pointer.alignment)]


def _parameter(parameter: Parameter) -> str:
    words = [
        f".{parameter.space}",
        *_attributes(parameter.attributes),
        *_aligned(parameter.alignment),
        *_dotted(parameter.vector, parameter.type),
        *_pointer(parameter.pointer),
    ]
    name = parameter.name + _dimensions(parameter.dimensions)
    return " ".join([*words, name] if name else words)


def _parameters(parameters: tuple[Parameter, ...] | None) -> list[str]:
    return [] if parameters is None else [f"({', '.join(map(_parameter, parameters))})"]


def _header_directive(directive: HeaderDirective) -> str:
    end = ";" if directive.name == "pragma" else ""
    return f".{directive.name}{_arguments(directive.arguments)}{end}"


def _counted(name: str, count: int | None) -> str:
    return name if count is None else f"{name}<{count}>"


def _register_name(name: RegisterName) -> str:
    return _counted(name.name, name.count)


def _declarator(declarator: Declarator) -> str:
    text = _counted(declarator.name, declarator.count) + _dimensions(declarator.dimensions)
    return text if declarator.initializer is None else f"{text} = {spell_operand(declarator.initializer)}"


# --- statements without statements inside -----------------------------------------------------------


def _instruction(node: Instruction) -> str:
    guard, operands = node.guard, node.operands
    text = ".".join(node.opcode)
    if operands:
        text = f"{text} {spell_list(operands)}"
    return f"{text};" if guard is None else f"@{'!' if guard.negated else ''}{guard.register} {text};"


def _registers(node: RegisterDeclaration) -> str:
    words = [".reg", *_aligned(node.alignment), *_dotted(node.vector, node.type)]
    return f"{' '.join(words)} {', '.join(map(_register_name, node.names))};"


def _variable(node: Variable) -> str:
    words = [
        *_dotted(node.linking, node.space),
        *_attributes(node.attributes),
        *_aligned(node.alignment),
        *_dotted(node.vector, node.type),
    ]
    return f"{' '.join(words)} {', '.join(map(_declarator, node.declarators))};"


def _prototype(node: CallPrototype) -> str:
    # Return values of a .callprototype and its `_`; without return values, `()_`, as compilers write it.
    returns = [*_parameters(node.returns), "_"] if node.returns else ["()_"]
    words = [".callprototype", *returns, *_parameters(node.parameters)]
    return " ".join([*words, *map(_header_directive, node.directives)]) + ";"


def _loc(node: Loc) -> str:
    text = f".loc {node.file} {node.line} {node.column}"
    tail = node.inlined_at
    if tail is None:
        return text
    offset = f"+{tail.offset}" if tail.offset else ""
    return f"{text}, function_name {tail.function_label}{offset}, inlined_at {tail.file} {tail.line} {tail.column}"


def _file(node: File) -> str:
    text = f'.file {node.index} "{node.name}"'
    return ", ".join([text, *[str(number) for number in (node.timestamp, node.size) if number is not None]])


def _directive(node: Directive) -> str:
    end = ";" if node.terminated else ""
    if node.name != "@@DWARF" or not node.arguments:
        return f".{node.name}{_arguments(node.arguments)}{end}"
    kind, *rest = node.arguments
    return f"@@DWARF {_argument(kind)}{_arguments(tuple(rest))}{end}"


def _pragma(node: Pragma) -> str:
    return f".pragma{_arguments(node.values)};"


# Canonical text of statements without nested statements. Any: the function stored for a statement class takes only
# that class, which a dictionary's type cannot express.
LEAVES: dict[type, Callable[[Any], str]] = {
    Instruction: _instruction,
    Label: lambda node: f"{node.name}:",
    RegisterDeclaration: _registers,
    Variable: _variable,
    Loc: _loc,
    Empty: lambda _: ";",
    Invalid: lambda node: node.raw or "",
    BranchTargets: lambda node: f".branchtargets {', '.join(node.targets)};",
    CallTargets: lambda node: f".calltargets {', '.join(node.targets)};",
    CallPrototype: _prototype,
    Version: lambda node: f".version {node.major}.{node.minor}",
    Target: lambda node: f".target {', '.join(node.names)}",
    AddressSize: lambda node: f".address_size {node.bits}",
    File: _file,
    SectionData: lambda node: f".{node.type} {spell_list(node.values)}",
    Alias: lambda node: f".alias {node.name}, {node.aliasee};",
    Pragma: _pragma,
    Directive: _directive,
}
_PARTS: dict[type, Callable[[Any], str]] = {
    Parameter: _parameter,
    Attribute: _attribute,
    HeaderDirective: _header_directive,
}
