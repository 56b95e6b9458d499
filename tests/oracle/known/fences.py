"""membar, fence."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^fence\.(acquire|release)\.": ("the manual: PTX 8.6 and sm_90; ptxas 13.0 takes them from the start"),
    r"^fence\.proxy\.(?=\S*::)\S*\.acq_rel": ("the manual: a fence of one direction acquires or releases"),
    r"^fence\.\S*sync_restrict\S*.* cannot be combined with": (
        "ptxas ignores .sync_restrict on fences for which the manual does not list it"
    ),
    r"^fence\.proxy\.(\S*\.)?(global|shared)\S*.* cannot be combined with": (
        "ptxas ignores a state space on fences for which the manual does not list one"
    ),
    r"^fence\.(?!proxy)\S*\basync\b": ("ptxas ignores .async in a fence other than fence.proxy"),
}

LAXER: dict[str, str] = {
    r"^membar\.proxy\.async;": ("the manual has it from PTX 8.0 on, and so has ptxas 13.5; 13.0 does not know it"),
}
