"""Output of commands on a terminal of 80 and 120 columns, with and without colors; golden files in `terminal/`.

`PYPTX_UPDATE_GOLDEN=1` writes the files from the present output; read the difference before you commit them.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from pyptx_ir.terminal.color import plain

FOLDER = Path(__file__).parent / "terminal"
FILES = {
    "bad.ptx": """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
	.reg .b32 %r<3>;
	add.u33 %r1, %r2, 1;
	mov.u32 %r9, 0;
	ret;
}
""",
    "wide.ptx": """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
	.reg .b32 %r<3>;
	.shared .b32 words[32];
	mov.u32 %r1, %tid.x;
	st.shared.u32 [words], %r1;
	ld.shared.u32 %r2, [words+4];
	ret;
}
""",
}
FILES["other.ptx"] = FILES["wide.ptx"].replace("words+4", "words+8").replace("%r1, %tid.x", "%r1, %laneid")
COMMANDS = (
    "help",
    "chekc",
    "check --taget sm_90 bad.ptx",
    "check bad.ptx wide.ptx",
    "isa try",
    "diff wide.ptx other.ptx",
    "sim --block 64 wide.ptx",
    "sim wide.ptx --block 0",
    "explain modifier",
    "fmt --check bad.ptx wide.ptx",
)
PROGRAM = """
import sys
from pyptx_ir.commands import main
for command in sys.argv[1:]:
    print(f"$ pyptx {command}", flush=True)
    status = main(command.split())
    sys.stderr.flush()
    print(f"[status {status}]", flush=True)
"""


def on_terminal(folder: Path, columns: int, environment: dict[str, str], program: str = PROGRAM) -> str:
    """Return what a terminal of this width gets from all commands."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-c", program, *COMMANDS],
        cwd=folder,
        env={**kept, "TERM": "xterm", **environment},
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=writer,
    )
    os.close(writer)
    shown = b""
    while True:
        try:
            part = os.read(reader, 1 << 16)
        except OSError:  # Linux: all writers have closed the terminal
            break
        if not part:
            break
        shown += part
    os.close(reader)
    assert process.wait() == 0, shown.decode()
    return shown.decode().replace("\r\n", "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the PTX files."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.long
def test_terminal_shows_what_is_in_the_golden_files(folder: Path, columns: int) -> None:
    shown = on_terminal(folder, columns, {})
    golden = FOLDER / f"{columns}.txt"
    escaped = shown.replace("\x1b", "\N{SYMBOL FOR ESCAPE}")
    if os.environ.get("PYPTX_UPDATE_GOLDEN"):
        golden.write_bytes(escaped.encode())
    assert escaped == golden.read_bytes().decode()
    assert on_terminal(folder, columns, {"NO_COLOR": "1"}) == plain(shown)


@pytest.mark.long
def test_rich_only_wraps_tables(folder: Path) -> None:
    without = on_terminal(folder, 80, {}, f"import sys\nsys.modules['rich'] = None\n{PROGRAM}")
    assert plain(without).split() == plain(on_terminal(folder, 80, {})).split()
    assert max(map(len, plain(without).splitlines())) > 80
