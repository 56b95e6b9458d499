"""Hostile PTX injects no code into the printed Python: strings, comments and paths that would end a literal."""

from __future__ import annotations

import sys
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyptx.codegen import ptx_to_python
from pyptx_dsl.modules.builder import ModuleBuilder

pytestmark = pytest.mark.no_cover

SOURCE = """.version 8.0
.target sm_90
.address_size 64
.file 1 "{text}"
// {comment}

.visible .entry k()
{{
	.reg .b32 %r<2>;
	mov.b32 %r1, 1; // {comment}
	/* {comment} */ ret;
}}
"""  # fmt: skip
PIECES = (
    *("'", "\\", "'''", "\\n", "{", "}", "%s", "\\x00", "#", "$", "`", "import os", "__import__('os').system('true')"),
    *("exec(1)", "\u0455ys", "\u2028", "\ufeff", "\x0c", "{__import__}", "\\N{DIGIT ONE}", "lambda: 0", "\t"),
)
EVENTS = ("os.system", "subprocess.Popen", "open", "socket.", "os.exec", "shutil.", "ctypes.")
_watched: list[str] = []
_state = {"on": False}


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _state["on"] and event.startswith(EVENTS) and not (event == "open" and arguments[1] in {"r", "rb"}):
        _watched.append(event)  # files opened for reading are not recorded: imports read files


sys.addaudithook(_watch)
pieces = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)


@cache
def imported() -> None:
    """Run a harmless printed file once, because its first imports may write to a bytecode cache."""
    python = ptx_to_python(SOURCE.format(text="", comment=""), sugar=True)
    exec(compile(python, "<printed>", "exec"), {})  # noqa: S102  the printed code under test


@given(pieces, pieces)
def test_nothing_runs_and_every_byte_comes_back(text: str, comment: str) -> None:
    source = SOURCE.format(text=text, comment=comment.replace("*/", ""))
    python = ptx_to_python(source, sugar=True)
    assert python.isascii()
    code = compile(python, "<printed>", "exec")
    names: dict[str, object] = {"__name__": "printed"}
    imported()
    _watched.clear()
    _state["on"] = True
    try:
        exec(code, names)  # noqa: S102  the code under test
    finally:
        _state["on"] = False
    module = names["module"]
    assert isinstance(module, ModuleBuilder)
    assert module.ptx() == source
    assert not _watched


@pytest.mark.parametrize("name", ["print", "module", "ptx", "reg", "k", "None", "class_", "STYLE", "b32", "__import__"])
def test_functions_and_registers_may_be_called_what_python_is(name: str) -> None:
    source = (
        f".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry {name}()\n{{\n\t.reg .b32 {name}_;\n"
        f"\t.reg .b32 %{name}<2>;\n\tmov.b32 {name}_, %{name}1;\n\tret;\n}}\n"
    )
    names: dict[str, object] = {"__name__": "printed"}
    exec(compile(ptx_to_python(source, sugar=True), "<printed>", "exec"), names)  # noqa: S102  the code under test
    module = names["module"]
    assert isinstance(module, ModuleBuilder)
    assert module.ptx() == source
