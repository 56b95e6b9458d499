"""The table of planted faults: a kernel, a change, the marked line that it changes, and the finding that must name it.

Lines are marks of the subject's text: that of the finding, and that of the other instruction where two are involved.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyptx_sim.extension import extensions

SHIPPED = frozenset(rule.name for name in ("sim", "hopper") for rule in extensions()[name].rules)
"""The rules of what ships: other plugins may be installed, too."""


@dataclass(frozen=True, slots=True)
class Planted:
    """One fault; `number` chooses among several changes that an operator makes of one line."""

    subject: str
    operator: str
    at: str
    rule: str
    lines: tuple[str, ...]
    number: int = 0

    def __str__(self) -> str:
        """Return the row in words."""
        which = f" ({self.number + 1})" if self.number else ""
        return f"{self.subject}: {self.operator}{which} at {self.at}"


def planted(subject: str, *rows: tuple[str, str, str, str] | tuple[str, str, str, str, int]) -> tuple[Planted, ...]:
    """Return the faults of a subject: operator, line, rule, lines that the finding names, and perhaps a number."""
    return tuple(Planted(subject, row[0], row[1], row[2], tuple(row[3].split()), *row[4:]) for row in rows)


PLANTED = (
    *planted(
        "tile_pipeline",
        ("change an arrival count", "init-full", "deadlock", "wait-full"),
        ("change an arrival count", "init-full", "mbarrier-arrivals", "init-full", 1),
        ("change an arrival count", "init-empty", "deadlock", "wait-empty"),
        ("change an arrival count", "init-empty", "mbarrier-phase", "free free", 1),
        ("drop an initialisation", "init-full", "mbarrier-uninitialised", "expect"),
        ("initialise twice", "init-empty", "mbarrier-reinit", "init-empty init-empty"),
        ("drop a barrier", "ready", "mbarrier-unsynchronised", "wait-full init-full"),
        ("drop an mbarrier fence", "fence-init", "missing-proxy-fence", "copy init-full"),
        ("flip a constant", "parity-full", "uninitialised-memory", "read"),
        ("shrink a lane mask", "elect", "warp-divergence", "elect"),
        ("drop a wait", "wait-empty", "read-before-wait", "copy copy"),
        ("drop a retry", "wait-empty", "unchecked-wait", "wait-empty"),
        ("halve the expected bytes", "expect", "deadlock", "wait-full"),
        ("double the expected bytes", "expect", "deadlock", "wait-full"),
        ("expect far more bytes", "expect", "mbarrier-bytes", "expect"),
        ("drop an arrival", "expect", "deadlock", "wait-full"),
        ("arrive twice", "expect", "mbarrier-arrivals", "expect init-full"),
        ("halve a stride", "stride", "uninitialised-memory", "read-too"),
        ("copy to a place behind", "copy", "misaligned", "copy"),
        ("copy a tile of another rank", "copy", "tensor-map", "copy"),
        ("drop a copy", "copy", "deadlock", "wait-full"),
        ("move a bound", "steps", "unfinished-copy", "copy"),
        ("drop a move", "sum", "uninitialised-register", "add"),
        ("drop a wait", "wait-full", "read-before-wait", "read copy"),
        ("drop a retry", "wait-full", "unchecked-wait", "wait-full"),
        ("take the next mbarrier", "wait-full", "read-before-wait", "read copy"),
        ("shrink a lane mask", "gather", "warp-divergence", "gather"),
        ("drop a warp barrier", "gather", "early-reuse", "copy read"),
        ("drop an arrival", "free", "deadlock", "wait-empty"),
        ("let every thread", "free", "mbarrier-phase", "free free"),
        ("store far off", "store", "out-of-bounds", "store"),
    ),
    *planted(
        "copy_ring",
        ("drop a commit", "commit-first", "read-before-wait", "read first"),
        ("drop a group wait", "wait", "read-before-wait", "read first"),
        ("wait for one group less", "wait", "read-before-wait", "read first"),
        ("drop a barrier", "meet", "read-before-wait", "read first"),
        ("commit too soon", "commit", "read-before-wait", "read copy"),
        ("drop a commit", "commit", "read-before-wait", "read copy"),
        ("drop a copy", "copy-second", "uninitialised-memory", "read"),
        ("load one word off", "read", "misaligned", "read"),
        ("move a bound", "last", "out-of-bounds", "copy"),
    ),
    *planted(
        "copy_signal",
        ("change an arrival count", "init-full", "deadlock", "wait-full"),
        ("drop a wait", "wait-full", "read-before-wait", "read copy"),
        ("count the copies' arrival", "arrive", "deadlock", "wait-full"),
        ("arrive too soon", "arrive", "read-before-wait", "read copy"),
        ("drop a warp barrier", "gather", "early-reuse", "copy read"),
        ("take the next mbarrier", "free", "deadlock", "wait-empty"),
    ),
    *planted(
        "bulk_store",
        ("copy half", "store", "unwritten-output", "store"),
        ("drop a group wait", "free", "early-reuse", "write store"),
        ("wait for one group less", "free", "early-reuse", "write store"),
        ("drop a barrier", "may-write", "early-reuse", "write store"),
        ("drop a proxy fence", "publish", "missing-proxy-fence", "store write"),
        ("fence another space", "publish", "missing-proxy-fence", "store write"),
        ("drop a barrier", "written", "shared-race", "store write"),
        ("let every thread", "store", "read-before-wait", "store store"),
        ("drop a commit", "commit", "early-reuse", "write store"),
        ("wait for reads only", "wait", "read-before-wait", "read-back store"),
        ("wait for one group less", "wait", "unfinished-copy", "reduce"),
        ("copy from a place behind", "store", "out-of-bounds", "store"),
    ),
    *planted(
        "cluster_exchange",
        ("drop a cluster barrier", "arrive", "shared-race", "read write"),
        ("drop a cluster arrival", "arrive", "barrier-divergence", "wait"),
        ("drop a cluster wait", "wait", "shared-race", "read write"),
        ("relax a cluster arrival", "arrive", "shared-race", "read write"),
        ("arrive twice", "arrive", "barrier-divergence", "arrive"),
        ("move a bound", "ranks", "out-of-bounds", "read"),
        ("drop a cluster barrier", "leave", "exited-block", "read read"),
        ("relax a cluster arrival", "leave", "exited-block", "read read"),
    ),
    *planted(
        "cluster_words",
        ("drop a warp barrier", "gather", "shared-race", "read write"),
        ("access one word off", "write", "mbarrier-as-data", "write init"),
        ("narrow a scope to the block", "tell", "shared-race", "read write"),
        ("narrow a scope to the block", "wait", "shared-race", "read write"),
        ("relax a release", "tell", "shared-race", "read write"),
        ("relax an acquire", "wait", "shared-race", "read write"),
    ),
    *planted(
        "cluster_messages",
        ("drop an mbarrier fence", "fence-init", "mbarrier-unsynchronised", "send init-arrived"),
        ("drop a cluster barrier", "ready", "mbarrier-unsynchronised", "send init-arrived"),
        ("drop an arrival", "expect", "deadlock", "wait-arrived"),
        ("halve the expected bytes", "expect", "read-before-wait", "read send"),
        ("drop a wait", "wait-arrived", "read-before-wait", "read send"),
        ("arrive too soon", "take", "early-reuse", "send read"),
        ("drop a wait", "wait-taken", "read-before-wait", "send send"),
        ("stay at home", "map-taken", "read-before-wait", "send send"),
    ),
    *planted(
        "cluster_copy",
        ("stay at home", "map-full", "mbarrier-block", "copy"),
        ("drop a proxy fence", "publish", "missing-proxy-fence", "copy write"),
        ("drop a cluster barrier", "ready", "mbarrier-unsynchronised", "copy init"),
        ("drop a wait", "wait", "read-before-wait", "read copy"),
        ("drop a cluster barrier", "leave", "exited-block", "copy copy"),
    ),
    *planted(
        "multicast",
        ("drop a cluster barrier", "ready", "mbarrier-unsynchronised", "cast init-full"),
        ("drop a cluster wait", "all-ready", "unstarted-block", "cast cast"),
        ("change an arrival count", "init-empty", "deadlock", "wait-empty"),
        ("change a multicast", "cast", "deadlock", "wait-full"),
        ("copy to a place behind", "cast", "mbarrier-as-data", "cast init-full"),
        ("copy half", "cast", "deadlock", "wait-full"),
        ("drop a wait", "wait-empty", "read-before-wait", "cast cast"),
        ("stay at home", "map", "early-reuse", "cast read"),
        ("drop a warp barrier", "gather", "early-reuse", "cast read"),
        ("drop a cluster barrier", "leave", "exited-block", "free free"),
        ("drop a cluster wait", "left", "exited-block", "free free"),
    ),
    *planted(
        "named_barriers",
        ("drop a barrier", "free-first", "shared-race", "write-first read-first"),
        ("change a thread count", "free-second", "barrier-divergence", "free-second take-second", 1),
        ("take another barrier", "full-first", "deadlock", "free-first"),
        ("arrive too soon", "give-first", "shared-race", "read-first write-first"),
        ("arrive twice", "give-second", "barrier-divergence", "give-second"),
        ("drop a barrier", "take-first", "deadlock", "free-first"),
    ),
    *planted(
        "last_block",
        ("drop a barrier", "written", "shared-race", "read write"),
        ("drop a warp barrier", "warp-written", "lane-race", "read-across write-again"),
        ("let the other threads", "half", "out-of-bounds", "read"),
        ("drop a fence", "release", "global-race", "gather leave"),
        ("narrow a device scope", "release", "global-race", "gather leave"),
        ("fence too late", "release", "global-race", "gather leave"),
        ("narrow a device scope", "count", "global-race", "count count"),
        ("load far off", "load", "out-of-bounds", "load"),
        ("read without coherence", "gather", "noncoherent-read", "gather leave"),
    ),
    *planted(
        "flags",
        ("relax a release", "raise", "global-race", "read write"),
        ("narrow a device scope", "raise", "global-race", "read write"),
        ("drop a store", "raise", "deadlock", "poll"),
    ),
    *planted(
        "tile_transpose",
        ("drop an mbarrier fence", "fence-init", "missing-proxy-fence", "bring init"),
        ("drop a proxy fence", "publish", "missing-proxy-fence", "send write"),
        ("drop a barrier", "written", "shared-race", "send write"),
        ("drop a commit", "commit", "unfinished-copy", "send"),
        ("let every thread", "bring", "read-before-wait", "bring bring"),
    ),
    *planted(
        "matrices",
        ("drop a barrier", "written", "shared-race", "load write"),
        ("drop a store", "write", "uninitialised-memory", "load"),
        ("flip a constant", "places", "sparse-metadata", "multiply"),
        ("drop a barrier", "read-by-all", "shared-race", "put load-factor"),
        ("drop a barrier", "put-by-all", "shared-race", "look put"),
    ),
    *planted(
        "tokens",
        ("change an arrival count", "init", "mbarrier-phase", "arrive arrive", 1),
        ("drop an arrival", "arrive", "uninitialised-register", "wait"),
        ("drop a wait", "wait", "shared-race", "read write"),
        ("access one word off", "write", "mbarrier-as-data", "write init"),
        ("drop a retry", "wait-again", "unchecked-wait", "wait-again"),
        ("drop a barrier", "done", "mbarrier-inval", "end wait-again"),
    ),
    *planted(
        "edited_map",
        ("drop a proxy fence", "release", "missing-tensormap-fence", "copy edit"),
        ("drop a proxy fence", "acquire", "missing-tensormap-fence", "copy edit"),
    ),
    *planted(
        "registers",
        ("drop a deal of registers", "give", "deadlock", "take"),
        ("deal in more registers", "give", "deadlock", "take"),
        ("deal in more registers", "take", "deadlock", "take"),
        ("give registers for taking", "take", "register-deal", "take"),
        ("take registers for giving", "give", "register-deal", "give"),
    ),
    *planted(
        "warpgroup_product",
        ("drop a proxy fence", "publish", "missing-proxy-fence", "multiply write-left"),
        ("drop a barrier", "written", "shared-race", "multiply write-left"),
        ("drop a wgmma fence", "fence", "missing-wgmma-fence", "multiply clear"),
        ("shift a descriptor", "multiply", "out-of-bounds", "multiply", 1),
        ("drop a commit", "commit", "unfinished-product", "multiply"),
        ("drop a group wait", "wait", "register-before-wait", "store multiply"),
        ("wait for one group less", "wait", "early-reuse", "write-left multiply"),
        ("drop a barrier", "read-by-all", "early-reuse", "write-left multiply"),
        ("drop a move", "clear", "uninitialised-register", "store multiply"),
    ),
    *planted(
        "warpgroup_pipeline",
        ("drop a proxy fence", "fence-init", "missing-proxy-fence", "copy-left init-full"),
        ("shift a descriptor", "multiply", "matrix-descriptor", "multiply"),
        ("swizzle otherwise", "multiply", "matrix-descriptor", "multiply", 1),
        ("wait for one group less", "wait", "early-reuse", "copy-left multiply"),
        ("drop a wait", "wait-full", "uninitialised-memory", "store multiply"),
        ("drop a group wait", "wait-last", "register-before-wait", "store multiply-last"),
        ("drop an arrival", "free", "deadlock", "wait-empty"),
    ),
    *planted(
        "taken_over",
        ("drop a cluster barrier", "ready", "mbarrier-unsynchronised", "ask init"),
        ("drop a request for a cluster", "ask", "deadlock", "wait"),
        ("ask twice for a cluster", "ask", "read-before-wait", "ask ask"),
        ("ask all blocks' cluster for one block", "ask", "deadlock", "wait"),
        ("drop a wait", "wait", "read-before-wait", "read ask"),
        ("drop a proxy fence", "show", "missing-proxy-fence", "ask read"),
        ("drop a cluster barrier", "again", "early-reuse", "ask read"),
    ),
)
