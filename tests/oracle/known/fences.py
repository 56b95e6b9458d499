"""membar, fence."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^fence\.(acquire|release)\.": (
        "the manual requires PTX 8.6 and sm_90 for fence.acquire and fence.release; ptxas 13.0 accepts them in every "
        "version and on every target"
    ),
    r"^fence\.proxy\.(?=\S*::)\S*\.acq_rel": (
        "the manual has .acquire or .release for a unidirectional fence, not .acq_rel"
    ),
    r"^fence\.\S*sync_restrict\S*.* cannot be combined with": (
        "ptxas ignores .sync_restrict on fences for which the manual does not list it"
    ),
    r"^fence\.proxy\.(\S*\.)?(global|shared)\S*.* cannot be combined with": (
        "ptxas ignores a state space on fences for which the manual does not list one"
    ),
    r"^fence\.(?!proxy)\S*\basync\b": ("ptxas ignores .async in a fence other than fence.proxy"),
}

LAXER: dict[str, str] = {
    r"^membar\.proxy\.async;": ("the manual and ptxas 13.5 have membar.proxy.async since PTX 8.0; ptxas 13.0 lacks it"),
}
