"""Linking of several modules: resolution of each module's names. Manual: "Linking Directives".

The rules are those of nvlink. A name without a linking directive belongs to its module. `.extern` refers to a
definition in another module. One of several `.weak` definitions is chosen if there is no `.visible` one; `.common`
variables share the largest definition. Two `.visible` definitions of a name are an error, as is a declaration that
differs from the definition.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.syntax.nodes import Alias, Function, Variable
from pyptx_sim.errors import Declaring, ProgramError
from pyptx_sim.program.layout import numbered, parameter_shape, variable_shape
from pyptx_sim.program.params import instructions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.syntax.nodes import Module, Parameter

_EXPORTED = ("visible", "weak", "common")


@dataclass(frozen=True, slots=True)
class Declared:
    """Function or variable declared at the top level of the module with index `module`."""

    module: int
    name: str
    node: Function | Variable

    @property
    def defines(self) -> bool:
        """Whether this is a definition: function with a body, variable without `.extern`, or dynamic shared memory."""
        if isinstance(self.node, Function):
            return self.node.body is not None
        return self.node.linking != "extern" or (_is_shared(self.node) and not self.size)

    @property
    def exported(self) -> bool:
        """Whether other modules may refer to this definition."""
        return self.defines and self.node.linking in _EXPORTED

    @property
    def size(self) -> int:
        """Size of a variable in bytes; 0 for a function or an array of unspecified length."""
        node = self.node
        if isinstance(node, Function):
            return 0
        with Declaring(node):
            return variable_shape(node, node.declarators[0]).size

    @property
    def kind(self) -> tuple[object, ...]:
        """Properties in which declarations must match: state space, or sizes of parameters and results."""
        node = self.node
        if isinstance(node, Variable):
            return (node.space.partition("::")[0],)
        return "func", _passed(node.parameters or ()), _passed(node.returns)


@dataclass(frozen=True, slots=True)
class LinkedFunction:
    """Function; `node.name`: key in `Linked.functions`; `ordinal`: number of its first instruction in reading order."""

    module: int
    node: Function
    ordinal: int


@dataclass(frozen=True, eq=False)
class Linked:
    """Modules with every name resolved.

    `functions`: functions by key. The key is the name, or the name with its module if several modules have a function
    of that name. `keys`: per module, the key of each function name, aliases included. `variables`: variables to place
    in memory, each with the index of its module. `imports`: per module, the imported variables' names, with the index
    of the defining module.
    """

    modules: tuple[Module, ...]
    functions: dict[str, LinkedFunction] = field(default_factory=dict[str, LinkedFunction])
    keys: tuple[dict[str, str], ...] = ()
    variables: list[tuple[int, Variable]] = field(default_factory=list[tuple[int, Variable]])
    imports: tuple[dict[str, int], ...] = ()


def link(modules: Sequence[Module]) -> Linked:
    """Resolve the names of modules that run as one program.

    An undefined `.extern` variable of a single module counts as defined there, as in ptxas. With several modules, it
    raises ProgramError, as do conflicting definitions. A function without a body is an error only if it is called.
    """
    linker = _Linker(tuple(modules))
    linker.resolve()
    return linker.linked


class _Linker:
    def __init__(self, modules: tuple[Module, ...]) -> None:
        count = len(modules)
        self.linked = Linked(modules, keys=tuple({} for _ in range(count)), imports=tuple({} for _ in range(count)))
        self._declared = [each for number, module in enumerate(modules) for each in _declared(number, module)]
        self._ordinals = _first_ordinals(modules)
        self._exports = self._exported()

    def resolve(self) -> None:
        """Resolve all names: functions first, because aliases refer to them."""
        own = {(each.module, each.name): each for each in self._declared if each.defines}
        for each in self._declared:
            meant = own.get((each.module, each.name))
            if meant is None or meant.exported:
                meant = self._exports.get(each.name, meant)
            if isinstance((meant or each).node, Function):
                self._function(each, meant or each)
            else:
                self._variable(each, meant)
        self._resolve_aliases()

    def _exported(self) -> dict[str, Declared]:
        """Return the definition of each name that other modules may refer to."""
        candidates: defaultdict[str, list[Declared]] = defaultdict(list)
        for each in self._declared:
            if each.exported:
                candidates[each.name].append(each)
        return {name: _chosen(found) for name, found in candidates.items()}

    def _function(self, declared: Declared, meant: Declared) -> None:
        _check_same(declared, meant)
        key = self._key(meant)
        self.linked.keys[declared.module][declared.name] = key
        node = meant.node
        known = self.linked.functions.get(key)
        if isinstance(node, Function) and (known is None or (known.node.body is None and node.body is not None)):
            named = node if key == node.name else replace(node, name=key)
            self.linked.functions[key] = LinkedFunction(meant.module, named, self._ordinals[id(node)])

    def _key(self, meant: Declared) -> str:
        """Return a function's key: its name, with the module's index if another module declares the same name."""
        if meant.exported or not meant.defines or not self._is_shared_name(meant):
            return meant.name
        return f"{meant.name} of modules[{meant.module}]"

    def _is_shared_name(self, meant: Declared) -> bool:
        return any(each.name == meant.name and each.module != meant.module for each in self._declared)

    def _variable(self, declared: Declared, meant: Declared | None) -> None:
        alone = len(self.linked.modules) == 1
        if meant is None and not alone:
            raise ProgramError(
                f"undefined symbol {declared.name}, declared .extern in modules[{declared.module}]",
                help="link the module that defines the symbol (.visible)",
            )
        meant = meant or declared
        _check_same(declared, meant)
        if meant is declared and isinstance(declared.node, Variable):
            self.linked.variables.append((declared.module, declared.node))
        elif meant.module != declared.module:
            self.linked.imports[declared.module][declared.name] = meant.module

    def _resolve_aliases(self) -> None:
        """Resolve aliases to their functions, also in other modules that declare the alias."""
        everywhere: dict[str, str] = {}
        for module, keys in zip(self.linked.modules, self.linked.keys, strict=True):
            for node in module.body:
                if isinstance(node, Alias) and node.aliasee in keys:
                    keys[node.name] = everywhere[node.name] = keys[node.aliasee]
        for keys in self.linked.keys:
            for name, key in keys.items():
                if self.linked.functions[key].node.body is None:
                    keys[name] = everywhere.get(name, key)


def _declared(number: int, module: Module) -> Iterator[Declared]:
    for node in module.body:
        if isinstance(node, Function):
            yield Declared(number, node.name, node)
        elif isinstance(node, Variable):
            with Declaring(node):
                every = tuple(numbered(node))
            for declarator in every:
                alone = (
                    node if node.declarators == (declarator,) else replace(node, declarators=(declarator,), raw=None)
                )
                yield Declared(number, declarator.name, alone)


def _chosen(candidates: list[Declared]) -> Declared:
    """Return the `.visible` definition of a name, else a `.weak` one, else the largest `.common` one."""
    ranked = sorted(candidates, key=lambda each: (_EXPORTED.index(each.node.linking or ""), -each.size))
    for other in ranked[1:]:
        if other.node.linking == "visible":
            raise ProgramError(
                f"duplicate symbol {other.name}: defined in modules[{ranked[0].module}] and modules[{other.module}]",
                help="define the symbol in one module and declare it .extern in the other modules",
            )
        _check_same(other, ranked[0])
    return ranked[0]


def _check_same(declared: Declared, meant: Declared) -> None:
    """Raise ProgramError if a declaration differs from its definition."""
    if declared is meant:
        return
    open_size = 0 in {declared.size, meant.size} or meant.node.linking == "common"
    if declared.kind == meant.kind and (open_size or declared.size == meant.size):
        return
    raise ProgramError(
        f"conflicting declarations of {declared.name}: {_described(meant)} in modules[{meant.module}], "
        f"{_described(declared)} in modules[{declared.module}]",
        help="use the same declaration in all modules",
    )


def _described(each: Declared) -> str:
    node = each.node
    if isinstance(node, Variable):
        return f".{node.space} of {counted(each.size, 'byte')}"
    returns, parameters = _passed(node.returns), _passed(node.parameters or ())
    return f".func ({', '.join(map(str, returns))}) of ({', '.join(map(str, parameters))}) bytes"


def _passed(parameters: tuple[Parameter, ...]) -> tuple[int, ...]:
    """Return the size in bytes of each parameter; nvlink requires equal sizes in declaration and definition."""
    return tuple(0 if each.type == "pred" else parameter_shape(each).size for each in parameters)


def _is_shared(node: Variable) -> bool:
    return node.space.partition("::")[0] == "shared"


def _first_ordinals(modules: tuple[Module, ...]) -> dict[int, int]:
    """Return, by `id` of each function node, the number of its first instruction in reading order of all modules."""
    ordinals: dict[int, int] = {}
    count = 0
    for module in modules:
        for node in module.body:
            if isinstance(node, Function):
                ordinals[id(node)] = count
                count += 0 if node.body is None else sum(1 for _ in instructions_of(node.body))
    return ordinals
