"""Transpile 200 modules with code-like names and texts, and run the output under an audit hook."""

from __future__ import annotations

import json
import sys
from random import Random

from pyptx.codegen import ptx_to_python
from pyptx_dsl.modules.builder import ModuleBuilder
from pyptx_ir.errors import PyptxError

FILES = 200
EVENTS = ("os.", "subprocess.", "open", "socket.", "shutil.", "ctypes.", "exec", "compile", "import")
NAMES = (
    *("None", "True", "class", "def", "lambda", "import", "yield", "async", "match", "print", "exec", "eval", "self"),
    *("ptx", "module", "pyptx", "STYLE", "SPELLING", "reg", "params"),
    *("i", "k", "r", "rd", "p", "Style", "b32", "shared"),
    *("__import__", "__name__", "__builtins__", "__class__", "_", "__", "$", "$$", "%", "a$b", "_$_", "global_ptrs"),
    *("_Z5scalePfi", "_ZN2os6systemEPKc", "_Z4evalILc39EEvv"),
    *("_ZN12_GLOBAL__N_16__exitEv", "_ZplRK1AS1_", "_Z1fILc92EEvv"),
    *("_ZN3ptx6moduleEv", "_ZTI4eval", "_Zli2_qPKcm"),
    *("_ZN1aIXadL_Z1bvEEE1cEv", "_Z", "_ZN", "x" * 3000, "_Z3000" + "x" * 3000),
)  # fmt: skip
TEXTS = (
    *("'", "\\", "'''", "\\n", "\\\\", "{", "}", "{{", "%s", "%(a)s"),
    *("\\x00", "#", "$", "`", "import os", "\\N{DIGIT ONE}"),
    *("__import__('os').system('true')", "{__import__('os')}", "exec(1)", "''' + eval('1') + '''", "# pylint: skip"),
    *("\u0455ys", "\u2028", "\u2029", "\x85", "\ufeff", "\u202e", "\uff07"),
    *("\U0001d41e", "\x0c", "\t", "../" * 9, "C:\\new\\u12"),
    *("\\N", "\\u", "\\U0001", "# -*- coding: utf-7 -*-", "+ACc-", "y" * 3000, "lambda: 0", "*" * 9, "/" * 9),
)  # fmt: skip


def _name(random: Random, used: set[str]) -> str:
    """Return a legal PTX name, often like Python code, that the module does not use yet."""
    name = random.choice(NAMES)
    while name in used or name in {"%", "$", "_"}:  # PTX does not allow a single one of these characters as a name
        name += random.choice(("_", "$", "1", "E"))
    used.add(name)
    return name


def _text(random: Random) -> str:
    return "".join(random.choices(TEXTS, k=random.randint(1, 5)))


def _section(random: Random) -> str:
    """Return a PTX section name: a dot and any name."""
    return f"{random.choice(('.', '.debug_'))}{random.choice(NAMES[:27])}"


def hostile(number: int) -> str:
    """Return the module generated with `number` as the seed."""
    random, used = Random(number), set[str]()
    variable, function, kernel, parameter, register, label = (_name(random, used) for _ in range(6))
    bank = f"{register}_b" if register.startswith("%") else f"%{register}_b"
    comment = _text(random).replace("*/", "").strip("/*")
    quoted = '"""' if random.random() < 0.5 else ""
    return f""".version 8.0
.target sm_90, debug
.address_size 64
// {_text(random)}{quoted}
.file 1 "{_text(random)}"
.file 2 "{_text(random)}", 1, 2
.pragma "{_text(random)}";
.global .align 4 .b32 {variable}[2] = {{1, 2}};

.func {function}()
{{
	ret;
}}

.visible .entry {kernel}(.param .u64 {parameter})
{{
	.reg .b32 {register};
	.reg .b32 {bank}<3>;
	.reg .b64 %rd<3>;
	.reg .pred %p<2>;
	.loc 1 1 1
	.pragma "{_text(random)}";
	ld.param.u64 %rd1, [{parameter}];
	mov.u64 %rd2, {variable};
{label}:
	// {_text(random)}
	mov.b32 {register}, {bank}1;
	setp.ne.b32 %p1, {register}, 0;
	/* {comment}
 {quoted} */ @%p1 bra {label};
	call {function}, ();
	ret;
}}
.section .debug_{random.choice(("str", "info", "abbrev"))}
{{
	.b8 39, 34, 92, 10
}}
.section {_section(random)}
{{
	.b8 39, 34, 92, 10
}}
"""


class Watch:
    """Recorder of the audit events of a printed file."""

    def __init__(self) -> None:
        """Install the audit hook; it cannot be removed."""
        self._on = False
        self._seen: list[str] = []
        sys.addaudithook(self._hear)

    def run(self, python: str) -> tuple[list[str], dict[str, object]]:
        """Run a printed file; return the audit events that follow the event of its own execution, and its globals."""
        code, names = compile(python, "<printed>", "exec"), dict[str, object](__name__="printed")
        self._seen, self._on = [], True
        try:
            exec(code, names)  # noqa: S102  the code under test
        finally:
            self._on = False
        return self._seen[1:], names  # the first audit event is the execution of the file itself

    def tried(self, source: str, *, sugar: bool) -> list[str]:
        """Transpile a module and run the output; return its audit events, and any error or difference in PTX bytes."""
        try:
            python = ptx_to_python(source, sugar=sugar)
            seen, names = self.run(python)
        except (PyptxError, SyntaxError) as error:
            return [f"{type(error).__name__}: {error} {error.__cause__!r:.200}"]
        module = names["module"]
        same = isinstance(module, ModuleBuilder) and module.ptx() == source and python.isascii()
        return seen if same else [*seen, "other bytes"]

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._on and event.startswith(EVENTS):
            self._seen.append(f"{event} {arguments!r:.80}")


def main() -> None:
    """Run all printed files; write their audit events, by file number and mode, and those of a harmful statement."""
    watch = Watch()
    for sugar in (False, True):  # the first runs of printed files import modules, later runs none
        watch.tried(hostile(0), sugar=sugar)
    found = {"harm": watch.run("__import__('os').listdir()")[0]}
    for number in range(FILES):
        found[f"{number}, plain"] = watch.tried(hostile(number), sugar=False)
        found[f"{number}, sugar"] = watch.tried(hostile(number), sugar=True)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
