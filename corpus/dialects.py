"""What the corpus holds of languages inside Python, and of compilers that are libraries: one row per module.

What a case is stands in the source, in its `CASES`; a module's file is named after both.
"""

from __future__ import annotations

from plan import Build

# A source, and the pairs of a case and a target that are built of it.
TRITON: dict[str, str] = {
    "attention": (
        "causal@80 causal@90a causal@100a causal@120a full@80 full@90a small@80 tma@90a tma-wide@90a tma@120a "
        "specialised@90a specialised@100a"
    ),
}


def _builds(producer: str, folder: str, table: dict[str, str]) -> tuple[Build, ...]:
    builds: list[Build] = []
    for source, row in table.items():
        for item in row.split():
            case, _, target = item.partition("@")
            builds.append(Build(producer, f"sources/{folder}/{source}.py", f"sm_{target}", case, (case,)))
    return tuple(builds)


DIALECTS: tuple[Build, ...] = (*_builds("triton-3.9", "triton", TRITON),)
