"""PTX modules with declarations that are too large for memory, and the lines of their errors.

`python hostile_sizes.py` runs them in a process with limited memory and prints the outcome of each as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

HEADER = ".version 8.5\n.target sm_90\n.address_size 64\n"
HUGE = ("1000000000", "4294967295", "18446744073709551615")
# `@` is replaced by a huge size. The declaration is in line 4 (module), line 5 (header of the entry) or line 7 (body).
MODULE = {
    "global variable": ".global .b8 v[@];",
    "global table": ".global .b8 v[@][@];",
    "global vectors": ".global .v4 .b32 v[@];",
    "constant": ".const .b8 v[@];",
    "shared variable": ".shared .b8 v[@];",
    "initialized variable": ".global .b8 v[@] = {1};",
    "nested initializer": ".global .b8 v[2][@] = {{1}, {2}};",
    "texture references": ".global .texref v[@];",
    "alignment of a global variable": ".global .align @ .b8 v[4];",
    "alignment of a constant": ".const .align @ .b8 v[4];",
    "numbered variables": ".global .b32 v<@>;",
    "parameter of a function": ".func f(.param .b8 v[@]) { ret; }",
    "alignment of a parameter": ".func f(.param .align @ .b8 v[4]) { ret; }",
}
ENTRY = {
    "parameter": "(.param .u64 out, .param .b8 v[@])",
    "required block": "(.param .u64 out) .reqntid @, @, @",
    "required cluster": "(.param .u64 out) .reqnctapercluster @",
}
BODY = {
    "registers": ".reg .b32 v<@>;",
    "vector registers": ".reg .v4 .b32 v<@>;",
    "predicates": ".reg .pred v<@>;",
    "local variable": ".local .b8 v[@];",
    "local alignment": ".local .align @ .b8 v[4];",
    "shared memory variable of a function": ".shared .b8 v[@];",
    "shared alignment": ".shared .align @ .b8 v[4];",
    "numbered local variables": ".local .b32 v<@>;",
    "argument of a call": ".param .b8 v[@];",
    "branch targets": "list: .branchtargets L<@>; brx.idx r, list; L0:",
}
BYTES = 1 << 30


def cases() -> dict[str, tuple[str, int]]:
    """Return the modules and the lines of their errors, by name."""
    found: dict[str, tuple[str, int]] = {}
    for size in HUGE:
        for line, places in ((4, MODULE), (5, ENTRY), (7, BODY)):
            for name, words in places.items():
                found[f"{name} {size}"] = module(line, words.replace("@", size)), line
    return found


def module(line: int, words: str) -> str:
    """Return a module with `words` in one line; its entry calls a function declared in `words`, to compile it."""
    call = "{ .param .align 4 .b8 a[4]; call f, (a); }" if ".func" in words else ""
    return f"""{HEADER}{words if line == 4 else ""}
.visible .entry k{words if line == 5 else "(.param .u64 out)"} {{
	.reg .b64 d; .reg .b32 r;
	{words if line == 7 else ""}
	ld.param.u64 d, [out];
	mov.u32 r, %tid.x;
	{call}
	st.global.u32 [d], r;
	ret;
}}
"""


def outcome(text: str) -> dict[str, object]:
    """Run a module; return its error, its CPU seconds, and the process's peak memory so far."""
    import numpy as np

    import pyptx_sim
    from pyptx_ir.errors import PyptxError

    started, error = time.process_time(), None
    try:
        pyptx_sim.run(text, grid=1, block=32, args=[np.zeros(32, np.uint32)])
    except PyptxError as raised:
        error = [type(raised).__name__, str(raised)]
    except Exception as raised:  # noqa: BLE001 - reported with its type
        error = ["raw", f"{type(raised).__name__}: {raised}"]
    return {"error": error, "seconds": time.process_time() - started, "peak": _peak()}


def _peak() -> int:
    """Return the peak memory of this process in bytes; `ru_maxrss` would include the parent's before `exec`."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (line,) = [each for each in status.read_text(encoding="utf-8").splitlines() if each.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    outcome(module(7, ""))  # import all modules first: their CPU time must not count for a case
    resource.setrlimit(resource.RLIMIT_AS, (4 * BYTES, 4 * BYTES))
    json.dump({name: outcome(text) for name, (text, _) in cases().items()}, sys.stdout)
