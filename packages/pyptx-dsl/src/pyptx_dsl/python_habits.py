"""Help texts of errors: pyptx equivalents of expressions of Python, NumPy, CUDA and Triton."""

from __future__ import annotations

from pyptx_ir.renamed import KEYWORDS

__all__ = [
    "ARCHES",
    "ARGUMENTS",
    "BLOCKS",
    "CALLS",
    "FOREIGN_NAMES",
    "KERNEL_KEYWORDS",
    "KERNEL_NAMES",
    "OPERATORS",
    "REGISTER_NAMES",
    "RUNS_EARLY",
    "meaning_of",
]

_MATH = "emit the instruction: ptx.{0}(f32, d, x), with d = reg.scalar(f32)"
_PRODUCTS = "use ptx.mma.sync to multiply matrices, or the MMA instructions that dir(ptx) lists for the architecture"
RUNS_EARLY = "Python runs while tracing, before a register's value is known"

CALLS: dict[str, str] = {
    "range": "write `for i in ptx.range_(n):`, which emits a loop; Python's range needs numbers and unrolls the loop",
    "len": "write a loop over a register as `for i in ptx.range_(n):`; the sizes of an array are X.shape",
    "float": "convert on the GPU: ptx.cvt(f32, u32, d, x, rounding='rn')",
    "int": "convert on the GPU: ptx.cvt(s32, f32, d, x, rounding='rzi')",
    "round": "convert on the GPU: ptx.cvt(s32, f32, d, x, rounding='rni')",
    "divmod": "write x // n and x % n: each emits one instruction",
    "pow": "PTX has no power: multiply, or compute 2**(y * log2(x)) with ptx.lg2, * and ptx.ex2",
    "sum": "add registers one by one: total += x; across a warp, use ptx.warp.reduce_sum(x)",
    "sqrt": _MATH.format("sqrt"),
    "rsqrt": _MATH.format("rsqrt"),
    "sin": _MATH.format("sin"),
    "cos": _MATH.format("cos"),
    "tanh": _MATH.format("tanh"),
    "exp": "PTX has 2**x: ptx.ex2(f32, d, x * 1.4426950408889634)",
    "exp2": _MATH.format("ex2"),
    "log": "PTX has log2 only: ptx.lg2(f32, d, x), then d * 0.6931471805599453",
    "log2": _MATH.format("lg2"),
    "abs": "write abs(x)",
    "absolute": "write abs(x)",
    "fabs": "write abs(x)",
    **dict.fromkeys(("max", "fmax", "maximum"), "write x.max(y), one instruction"),
    **dict.fromkeys(("min", "fmin", "minimum"), "write x.min(y), one instruction"),
    **dict.fromkeys(("any", "all"), "across a warp, ptx.vote.sync.any(p, q) and ptx.vote.sync.all(p, q)"),
    "where": "write ptx.selp(f32, d, a, b, p)",
    "power": "PTX has no power: multiply, or compute 2**(y * log2(x)) with ptx.lg2, * and ptx.ex2",
    "floor": "write ptx.cvt(f32, f32, d, x, rounding='rmi')",
    "ceil": "write ptx.cvt(f32, f32, d, x, rounding='rpi')",
    "trunc": "write ptx.cvt(f32, f32, d, x, rounding='rzi')",
    "": f"{RUNS_EARLY}: compute with + - * / & | << >>, x.max(y), x.min(y), and the instructions of ptx",
}
"""Help for each function of Python, `math` or NumPy that requires a number; key `""`: all other functions."""

OPERATORS: dict[str, str] = {
    "** or pow()": "PTX has no power: write x * x, or compute 2**(y * log2(x)) with ptx.lg2, * and ptx.ex2",
    "@": f"{_PRODUCTS}; multiply registers with *",
    "divmod()": CALLS["divmod"],
    "": "registers have + - * / // % & | ^ ~ << >> and comparisons; convert with ptx.cvt",
}
"""Help for each operator that registers do not support, by its name in Python's messages; `""`: any other operator."""

ARGUMENTS: dict[str, str] = {
    "ptx.ret": "write results to the output arrays, and end with ptx.ret(): a kernel has no return value",
    "ptx.exit": "write results to the output arrays, and end with ptx.exit(): a kernel has no return value",
}
"""Help for arguments passed to `ptx` functions that have no operands."""

KERNEL_NAMES: dict[str, str] = {
    **dict.fromkeys(("run", "launch", "call", "forward", "apply"), "call the kernel: k(x)"),
    **dict.fromkeys(("asm", "source", "text", "code", "compile"), "k.ptx(), k.sass() and k.cubin() return it"),
    **dict.fromkeys(("grad", "backward"), "define a gradient: pyptx.differentiable_kernel(k, backward)"),
}
"""Help for each attribute that users expect of kernels and kernels lack."""

BLOCKS: dict[str, str] = {
    "if_": "with ptx.if_(x < 8):",
    "elif_": "with ptx.elif_(x < 8):",
    "else_": "with ptx.else_():",
    "loop": "with ptx.loop():",
    "while_": "with ptx.while_(lambda: i < n):",
    "range_": "for i in ptx.range_(n):",
    "scope": "with ptx.scope():",
    "expr": "with ptx.expr():",
    "block": "with ptx.block() as done:",
    "asm_region": "with ptx.asm_region():",
    "kloop": "for k in ptx.kloop(n):",
}
"""Correct Python line that opens each control flow block."""

REGISTER_NAMES: dict[str, str] = {
    "shape": "a register holds one value per thread; the sizes of an array are X.shape",
    "sum": "across a warp, ptx.warp.reduce_sum(x)",
    "sqrt": CALLS["sqrt"],
    "exp": CALLS["exp"],
    "x": "ptx.special.tid.x() is already a register",
    "value": "the value exists on the GPU only; k.simulate(…) shows the results of a kernel",
    "item": "the value exists on the GPU only; k.simulate(…) shows the results of a kernel",
}
"""Help for each attribute that users expect of registers and registers lack."""

KERNEL_KEYWORDS: dict[str, str] = {
    "num_warps": "set the block size: block=(32 * num_warps, 1, 1)",
    "num_stages": "add a template parameter: def k(X, Y, *, stages=3)",
    "num_ctas": "set the cluster size: cluster=(num_ctas, 1, 1)",
    "threads": "write block=(threads, 1, 1)",
    "blocks": "write grid=(blocks, 1, 1)",
    "num_sms": "write persistent=1: at most one CTA per SM",
    "shared": "write smem=, the number of bytes of dynamic shared memory; smem.alloc in the body needs no size",
    "shared_mem": "write smem=, the number of bytes of dynamic shared memory; smem.alloc in the body needs no size",
    "stream": "launches go to the current stream of torch or jax",
    "target": 'write arch="sm_90a"',
    "inputs": "write in_specs=(Tile(…),)",
    "outputs": "write out_specs=(Tile(…),)",
}
"""Help for each keyword that users of other systems pass to `@kernel` and pyptx lacks."""

CALL_KEYWORDS: dict[str, str] = {
    "grid": "set the grid in the decorator: @kernel(grid=…), as numbers or a function of the dimensions",
    "block": "set the block size in the decorator: @kernel(block=(128, 1, 1))",
    "stream": "launches go to the current stream of torch or jax",
    "check": 'use k.simulate(…, checks="all") to run the checks, "none" to skip them',
    "checks": 'a plain call has no checks=: k.simulate(…, checks="all") runs all checks',
    "seed": "a plain call has no seed=: k.simulate(…, seed=1) selects a schedule",
    "trace": 'a plain call has no trace=: k.simulate(…, trace="run.json") writes a timeline',
    **{old: f"{old}= is now {KEYWORDS[old]}= (of simulate)" for old in ("any_form", "dry", "late")},
    "output": "pass the arrays to write to as out=",
    "outputs": "pass the arrays to write to as out=",
    **{name: help for name, help in KERNEL_KEYWORDS.items() if name.startswith("num_")},
}
"""Help for each keyword that a kernel call rejects, but the decorator or `simulate` accepts."""

FOREIGN_NAMES: dict[str, str] = {
    **dict.fromkeys(("threadIdx", "thread_idx", "tid", "thread_id"), "use ptx.special.tid.x() for the thread index"),
    **dict.fromkeys(
        ("blockIdx", "block_idx", "program_id", "ctaid", "block_id"), "use ptx.special.ctaid.x() for the CTA index"
    ),
    **dict.fromkeys(("blockDim", "block_dim", "ntid"), "use ptx.special.ntid.x() for the number of threads per CTA"),
    **dict.fromkeys(
        ("gridDim", "grid_dim", "num_programs", "nctaid"), "use ptx.special.nctaid.x() for the number of CTAs"
    ),
    **dict.fromkeys(("laneid", "lane_id"), "use ptx.special.laneid() for the lane"),
    **dict.fromkeys(
        ("warpid", "warp_id"), "use ptx.special.tid.x() >> 5 for the warp; %warpid may change during execution"
    ),
    **dict.fromkeys(("syncthreads", "__syncthreads", "sync_threads", "debug_barrier"), "write ptx.bar.sync(0)"),
    **dict.fromkeys(("syncwarp", "__syncwarp"), "write ptx.warp.sync()"),
    **dict.fromkeys(("threadfence", "__threadfence"), 'write ptx.membar("gl")'),
    **dict.fromkeys(("atomicAdd", "atomic_add"), "write ptx.atom.add(u32, old, ptx.addr(p), x), or ptx.red.add"),
    **dict.fromkeys(("atomicCAS", "atomic_cas"), "write ptx.atom.cas(b32, old, ptx.addr(p), expected, x)"),
    **dict.fromkeys(("atomicExch", "atomic_xchg"), "write ptx.atom.exch(b32, old, ptx.addr(p), x)"),
    **dict.fromkeys(("atomicMax", "atomic_max"), "write ptx.atom.max(u32, old, ptx.addr(p), x)"),
    **dict.fromkeys(("atomicMin", "atomic_min"), "write ptx.atom.min(u32, old, ptx.addr(p), x)"),
    **dict.fromkeys(("shfl_sync", "__shfl_sync"), "write ptx.shfl.sync.idx(d, x, lane)"),
    **dict.fromkeys(("shfl_down_sync", "__shfl_down_sync"), "write ptx.shfl.sync.down(d, x, delta)"),
    **dict.fromkeys(("shfl_up_sync", "__shfl_up_sync"), "write ptx.shfl.sync.up(d, x, delta)"),
    **dict.fromkeys(("shfl_xor_sync", "__shfl_xor_sync"), "write ptx.shfl.sync.bfly(d, x, mask)"),
    **dict.fromkeys(("ballot", "ballot_sync", "__ballot_sync"), "write ptx.vote.sync.ballot(d, p)"),
    **dict.fromkeys(("load", "ldg", "__ldg"), "write ptx.ld(f32, d, ptx.addr(p)); ptx.global_ptrs returns pointers"),
    "store": "write ptx.st(f32, ptx.addr(p), x); ptx.global_ptrs returns pointers",
    "arange": "use the index of each thread: ptx.special.tid.x()",
    "where": "write ptx.selp(f32, d, a, b, p)",
    "exp": "PTX has 2**x: ptx.ex2(f32, d, x * 1.4426950408889634)",
    "log": "PTX has log2 only: ptx.lg2(f32, d, x), then d * 0.6931471805599453",
    "pow": CALLS["pow"],
    "dot": _PRODUCTS,
    "for_": "write `for i in ptx.range_(n):`",
    "range": "write `for i in ptx.range_(n):`",
    "if": "write `with ptx.if_(p):`",
    "print": 'write ptx.printf("x = %f\\n", x)',
    "shared": "use smem.alloc(f32, 128) for shared memory",
}
"""Help for each CUDA or Triton name that `ptx` lacks."""

ARCHES: dict[str, str] = {
    **dict.fromkeys(("t4", "rtx2080", "rtx2070", "rtx2060", "turing", "quadrortx6000"), "sm_75"),
    **dict.fromkeys(("a100", "a30", "a800", "ampere"), "sm_80"),
    **dict.fromkeys(("a10", "a10g", "a40", "a16", "a2", "a6000", "rtxa6000", "rtx3090", "rtx3080", "rtx3070"), "sm_86"),
    "orin": "sm_87",
    **dict.fromkeys(
        ("l4", "l40", "l40s", "rtx4090", "rtx4080", "rtx4070", "rtx6000ada", "ada", "adalovelace"), "sm_89"
    ),
    **dict.fromkeys(("h100", "h200", "h800", "h20", "gh200", "hopper"), "sm_90a"),
    **dict.fromkeys(("b200", "b100", "gb200", "blackwell"), "sm_100a"),
    **dict.fromkeys(("b300", "gb300"), "sm_103a"),
    **dict.fromkeys(("thor", "jetsonthor"), "sm_110a"),
    **dict.fromkeys(("rtx5090", "rtx5080", "rtx5070", "rtx5060", "rtxpro6000"), "sm_120a"),
    **dict.fromkeys(("gb10", "dgxspark", "spark"), "sm_121a"),
}
"""Target of each product and architecture; keys are lower-case names without spaces and vendor.

NVIDIA: "CUDA GPU Compute Capability".
"""


def meaning_of(name: str) -> str | None:
    """Return the help for a name of CUDA or Triton; `__expf` has the help of `exp`."""
    bare = name.strip("_")
    for each in (name, bare, name.removesuffix("f"), bare.removesuffix("f")):
        if each and (meant := FOREIGN_NAMES.get(each) or CALLS.get(each)):
            return meant
    return None
