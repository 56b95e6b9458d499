"""Emit the PTX of a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from . import programs as ast

HEAD: Final = ".version 8.5\n.target sm_90a\n.address_size 64"
# Statements printed with branches: an `if` that contains one is printed with branches too, not with guard predicates.
BRANCHING: Final = (ast.If, ast.Loop, ast.Flow, ast.Await, ast.Poll)


def ptx(program: ast.Program) -> str:
    """Return a program as a PTX module with the entry `k(inputs, outputs, memory)`."""
    functions = [_Printer().function(each) for each in program.functions]
    return "\n".join([HEAD, *functions, _Printer().entry(program), ""])


def has_mbarriers(program: ast.Program) -> bool:
    """Return whether the program uses an mbarrier."""
    return any(isinstance(each, ast.Initialize | ast.Signal | ast.Await) for each in ast.statements(program.body))


@dataclass(slots=True)
class _Printer:
    """Emitter for one function: its lines, and counters of its predicates, temporaries and labels."""

    lines: list[str] = field(default_factory=list)
    predicates: int = 0
    temporaries: int = 0
    labels: int = 0
    loops: list[tuple[str, str]] = field(default_factory=list)  # of each loop: labels for `continue` and `break`

    def entry(self, program: ast.Program) -> str:
        shared = [f".shared .align 8 .b32 sh[{program.shared}];"] if program.shared else []
        shared += [".shared .align 8 .b64 mb[4];"] if has_mbarriers(program) else []
        local = any(getattr(each, "space", "") == "local" for each in ast.statements(program.body))
        shared += [f".local .align 4 .b32 lo[{ast.LOCAL}];"] if local else []
        self.emit("ld.param.u64 %in, [inputs];", "ld.param.u64 %out, [outputs];", "ld.param.u64 %mem, [memory];")
        self.emit("mov.u32 %my_tid, %tid.x;", "mov.u32 %my_lane, %laneid;", "mov.u32 %my_cta, %ctaid.x;")
        self.emit("shr.u32 %my_warp, %my_tid, 5;", f"mad.lo.u32 %my_gid, %my_cta, {program.threads}, %my_tid;")
        self.emit(f"mad.wide.u32 %in, %my_gid, {4 * len(ast.VARIABLES)}, %in;")
        self.emit(f"mad.wide.u32 %out, %my_gid, {4 * len(ast.VARIABLES)}, %out;")
        self.emit(*(f"ld.global.u32 %{name}, [%in+{4 * index}];" for index, name in enumerate(ast.VARIABLES)))
        self.body(program.body)
        self.emit(
            "END:", *(f"st.global.u32 [%out+{4 * at}], %{name};" for at, name in enumerate(ast.VARIABLES)), "ret;"
        )
        names = dict.fromkeys((*ast.SPECIALS, *ast.VARIABLES, *_names(program.body)))
        head = ".visible .entry k(.param .u64 inputs, .param .u64 outputs, .param .u64 memory)"
        return "\n".join([head, "{", *shared, ".reg .b64 %in, %out, %mem;", *self.declared(names), *self.lines, "}"])

    def function(self, function: ast.Function) -> str:
        self.body(function.body)
        self.emit("END:", f"mov.u32 y, {_text(function.result)};", "ret;")
        names = dict.fromkeys((*_names(function.body), *ast.PARAMETERS, "lane", function.result))
        head = f".func (.reg .u32 y) {function.name}({', '.join(f'.reg .u32 {name}' for name in ast.PARAMETERS)})"
        start = [f"mov.u32 %{name}, {name};" for name in ast.PARAMETERS]
        return "\n".join([head, "{", *self.declared(names), *start, "mov.u32 %my_lane, %laneid;", *self.lines, "}"])

    def declared(self, names: dict[str, None]) -> list[str]:
        return [
            f".reg .b32 {', '.join(map(_text, names))};",
            f".reg .b32 %t<{self.temporaries + 1}>;",
            f".reg .b64 %q<{self.temporaries + 1}>;",
            f".reg .pred %p<{self.predicates + 1}>;",
        ]

    def emit(self, *lines: str) -> None:
        self.lines += lines

    def predicate(self) -> str:
        self.predicates += 1
        return f"%p{self.predicates}"

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def body(self, body: ast.Body, guard: str = "") -> None:
        for each in body:
            self.statement(each, guard)

    def truth(self, value: ast.Operand, guard: str = "") -> str:
        """Emit a comparison with zero; return the predicate register, true if the value is not zero."""
        name = self.predicate()
        self.emit(f"{guard}setp.ne.u32 {name}, {_text(value)}, 0;")
        return name

    def number(self, d: str, predicate: str, guard: str) -> None:
        self.emit(f"{guard}selp.u32 {_text(d)}, 1, 0, {predicate};")

    def address(self, space: str, base: int, index: ast.Operand, guard: str) -> str:
        """Emit the address computation of a word; return the address operand."""
        self.temporaries += 1
        start, wide = ("%mem", f"%q{self.temporaries}")
        if space != "global":
            start, wide = {"shared": "sh", "local": "lo"}[space], f"%t{self.temporaries}"
        if isinstance(index, int):
            return f"[{start}+{4 * (base + index)}]"
        if space != "global":
            self.emit(f"{guard}mov.u32 {wide}, {start};", f"{guard}mad.lo.u32 {wide}, {_text(index)}, 4, {wide};")
        else:
            self.emit(f"{guard}mad.wide.u32 {wide}, {_text(index)}, 4, %mem;")
        return f"[{wide}+{4 * base}]"

    def statement(self, each: ast.Statement, guard: str) -> None:
        match each:
            case ast.Let() | ast.Select():
                self.compute(each, guard)
            case ast.If():
                self.branch(each)
            case ast.Loop():
                self.loop(each)
            case ast.Flow():
                self.flow(each)
            case ast.Jump():
                self.jump(each, guard)
            case ast.Shuffle() | ast.Vote() | ast.Match() | ast.Reduce() | ast.Elect() | ast.WarpSync():
                self.collective(each, guard)
            case ast.Sync() | ast.Arrive() | ast.SyncReduce():
                self.barrier(each, guard)
            case ast.Initialize() | ast.Signal() | ast.Await():
                self.mbarrier(each, guard)
            case ast.Call():
                values = ", ".join(map(_text, (each.a, each.b, each.mask)))
                self.emit(f"{guard}call ({_text(each.d)}), {each.function}, ({values});")
            case _:
                self.access(each, guard)

    def compute(self, each: ast.Let | ast.Select, guard: str) -> None:
        d, a, b = _text(each.d), _text(each.a), _text(each.b)
        if isinstance(each, ast.Select):
            self.emit(f"{guard}selp.b32 {d}, {a}, {b}, {self.truth(each.c, guard)};")
        elif each.op in ast.COMPARISONS:
            name = self.predicate()
            self.emit(f"{guard}{ast.COMPARISONS[each.op]} {name}, {a}, {b};")
            self.number(each.d, name, guard)
        elif each.op in ast.UNARY:
            self.emit(f"{guard}{ast.UNARY[each.op]} {d}, {a};")
        else:
            self.emit(f"{guard}{ast.BINARY[each.op]} {d}, {a}, {b};")

    def branch(self, each: ast.If) -> None:
        holds = self.truth(each.condition)
        inner = (*each.then, *each.other)
        # Each guard gets a new predicate register, so a body cannot change its own guard.
        if each.guarded and not any(isinstance(one, BRANCHING) for one in inner):
            self.body(each.then, f"@{holds} ")
            self.body(each.other, f"@!{holds} ")
            return
        other, end = self.label(), self.label()
        self.emit(f"@!{holds} bra {other};")
        self.body(each.then)
        if each.other:
            self.emit(f"bra {end};")
        self.emit(f"{other}:")
        self.body(each.other)
        self.emit(f"{end}:")

    def loop(self, each: ast.Loop) -> None:
        head, following, end = self.label(), self.label(), self.label()
        counter, count = _text(each.counter), _text(each.count)
        self.emit(f"mov.u32 {counter}, 0;")
        past, again = self.predicate(), self.predicate()
        test = (f"setp.ge.u32 {past}, {counter}, {count};", f"@{past} bra {end};")
        self.emit(*((*test, f"{head}:") if each.rotated else (f"{head}:", *test)))
        self.loops.append((following, end))
        self.body(each.body)
        self.loops.pop()
        self.emit(f"{following}:", f"add.u32 {counter}, {counter}, 1;")
        if each.rotated:
            self.emit(f"setp.lt.u32 {again}, {counter}, {count};", f"@{again} bra {head};")
        else:
            self.emit(f"bra {head};")
        self.emit(f"{end}:")

    def flow(self, each: ast.Flow) -> None:
        labels, counter = [self.label() for _ in range(len(each.blocks) + 1)], _text(each.counter)
        self.emit(f"mov.u32 {counter}, {each.fuel};")
        for label, block, (operand, targets) in zip(labels, each.blocks, each.jumps, strict=False):
            self.emit(f"{label}:")
            self.body(block)
            self.emit(f"sub.u32 {counter}, {counter}, 1;")
            empty = self.predicate()
            self.emit(f"setp.eq.u32 {empty}, {counter}, 0;", f"@{empty} bra {labels[-1]};")
            if len(targets) == 1:
                self.emit(f"@{self.truth(operand)} bra {labels[targets[0]]};")
                continue
            self.temporaries += 1
            index, names = f"%t{self.temporaries}", ", ".join(labels[target] for target in targets)
            self.emit(f"and.b32 {index}, {_text(operand)}, 3;", f"T{label}: .branchtargets {names};")
            self.emit(f"brx.idx {index}, T{label};")
        self.emit(f"{labels[-1]}:")

    def jump(self, each: ast.Jump, guard: str) -> None:
        go = "exit;" if isinstance(each, ast.Exit) and not each.stores else "bra END;"
        if isinstance(each, ast.Break | ast.Continue):
            go = f"bra {self.loops[-1][isinstance(each, ast.Break)]};"
        if each.condition == 1:
            self.emit(f"{guard}{go}")
        elif guard:
            both = self.predicate()
            self.emit(f"setp.ne.u32 {both}, 0, 0;", f"{guard}setp.ne.u32 {both}, {_text(each.condition)}, 0;")
            self.emit(f"@{both} {go}")
        else:
            self.emit(f"@{self.truth(each.condition)} {go}")

    def collective(self, each: ast.Statement, guard: str) -> None:
        match each:
            case ast.Shuffle() | ast.Match():
                p = None if each.p is None else self.predicate()
                d = _text(each.d) if p is None else f"{_text(each.d)}|{p}"
                opcode, more = f"match.{each.mode}.sync", ""
                if isinstance(each, ast.Shuffle):
                    opcode, more = f"shfl.sync.{each.mode}", f"{_text(each.b)}, {each.c}, "
                self.emit(f"{guard}{opcode}.b32 {d}, {_text(each.a)}, {more}{_text(each.mask)};")
                if each.p is not None and p is not None:
                    self.number(each.p, p, guard)
            case ast.Vote(mode="ballot"):
                holds = self.truth(each.a, guard)
                self.emit(f"{guard}vote.sync.ballot.b32 {_text(each.d)}, {holds}, {_text(each.mask)};")
            case ast.Vote():
                holds, result = self.truth(each.a, guard), self.predicate()
                self.emit(f"{guard}vote.sync.{each.mode}.pred {result}, {holds}, {_text(each.mask)};")
                self.number(each.d, result, guard)
            case ast.Reduce():
                self.emit(f"{guard}redux.sync.{_typed(each.op)} {_text(each.d)}, {_text(each.a)}, {_text(each.mask)};")
            case ast.Elect():
                trivia = self.predicate()
                # Initialize the result predicate: elect.sync leaves it undefined in lanes whose guard is false.
                self.emit(f"setp.ne.u32 {trivia}, 0, 0;") if guard else None
                self.emit(f"{guard}elect.sync _|{trivia}, {_text(each.mask)};")
                self.emit(f"@{trivia} red.global.add.u32 [%mem+{4 * each.base}], 1;")
            case ast.WarpSync():
                self.emit(f"{guard}bar.warp.sync {_text(each.mask)};")

    def barrier(self, each: ast.Sync | ast.Arrive | ast.SyncReduce, guard: str) -> None:
        count = "" if each.count is None else f", {each.count}"
        name = f"{_text(each.name)}{count}"
        if not isinstance(each, ast.SyncReduce):
            self.emit(f"{guard}{each.form} {name};")
            return
        opcode, _, aligned = each.form.partition(".red")
        holds = self.truth(each.a, guard)
        if each.op == "popc":
            self.emit(f"{guard}{opcode}.red.popc{aligned}.u32 {_text(each.d)}, {name}, {holds};")
            return
        result = self.predicate()
        self.emit(f"{guard}{opcode}.red.{each.op}{aligned}.pred {result}, {name}, {holds};")
        self.number(each.d, result, guard)

    def mbarrier(self, each: ast.Initialize | ast.Signal | ast.Await, guard: str) -> None:
        where = f"[mb+{8 * each.bar}]"
        match each:
            case ast.Initialize():
                self.emit(f"{guard}mbarrier.init.shared.b64 {where}, {each.count};")
            case ast.Signal():
                self.emit(f"{guard}mbarrier.arrive.shared.b64 _, {where};")
            case ast.Await():
                head, done = self.label(), self.predicate()
                self.temporaries += 1
                parity = f"%t{self.temporaries}"
                self.emit(f"and.b32 {parity}, {_text(each.phase)}, 1;", f"{head}:")
                self.emit(f"mbarrier.{each.form}.parity.shared.b64 {done}, {where}, {parity};", f"@!{done} bra {head};")

    def access(self, each: ast.Statement, guard: str) -> None:
        match each:
            case ast.Load():
                where = self.address(each.space, each.base, each.index, guard)
                self.emit(f"{guard}ld.{each.space}.u32 {_text(each.d)}, {where};")
            case ast.Store():
                where = self.address(each.space, each.base, each.index, guard)
                self.emit(f"{guard}st.{each.space}.u32 {where}, {_text(each.a)};")
            case ast.Atomic():
                where = self.address(each.space, each.base, each.index, guard)
                sem = ".acq_rel.gpu" if each.acq_rel else ""
                start = f"red{sem}.{each.space}" if each.d is None else f"atom{sem}.{each.space}"
                d = "" if each.d is None else f"{_text(each.d)}, "
                self.emit(f"{guard}{start}.{_typed(each.op)} {d}{where}, {_text(each.a)};")
            case ast.Publish():
                self.emit(f"{guard}st.release.gpu.global.u32 [%mem+{4 * each.base}], {each.a};")
            case ast.Poll():
                head, differs = self.label(), self.predicate()
                self.temporaries += 1
                seen = f"%t{self.temporaries}"
                self.emit(f"{head}:", f"ld.acquire.gpu.global.u32 {seen}, [%mem+{4 * each.base}];")
                self.emit(f"setp.ne.u32 {differs}, {seen}, {each.a};", f"@{differs} bra {head};")
            case _:
                raise TypeError(each)


def _names(body: ast.Body) -> list[str]:
    return [name for statement in ast.statements(body) for name in ast.registers(statement)]


def _typed(op: str) -> str:
    return f"{op}.b32" if op in {"and", "or", "xor"} else f"{op}.u32"


def _text(value: ast.Operand) -> str:
    if isinstance(value, int):
        return str(value)
    return f"%my_{value}" if value in ast.SPECIALS else f"%{value}"
