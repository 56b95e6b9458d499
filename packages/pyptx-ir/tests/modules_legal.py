"""Modules that look wrong but are legal: ptxas accepts them, and the checker must, too."""

from __future__ import annotations

from .modules_broken import ARGUMENTS, HEAD, PAIR, entry, with_textures

LEGAL: dict[str, str] = {
    # Legal names
    "register that hides an outer register": entry("{ .reg .f32 %r<4>; mov.f32 %r1, 0f00000000; }\n\tmov.b32 %r1, 1;"),
    "an outer %r3 next to an inner range %r<2>": entry("{ .reg .b32 %r<2>; mov.b32 %r3, 1; }"),
    "leading zeros in register numbers": entry("mov.b32 %r01, 1;\n\tmov.b32 %r007, 1;"),
    "register %r next to %r<8>": entry(".reg .b32 %r;\n\tmov.b32 %r, %r1;"),
    "register range %r1<5> next to %r<8>": entry(".reg .b32 %r1<5>;\n\tmov.b32 %r7, 1;"),
    "a register named like an instruction": entry(".reg .b32 add;\n\tmov.b32 add, 1;"),
    "a register named like %laneid": entry(".reg .b32 %laneid;\n\tmov.b32 %laneid, 1;"),
    "a parameter named like its function": f"{HEAD}.func f(.param .b32 f) {{ ret; }}\n",
    "a register named like a global variable": entry(".reg .b32 g;\n\tmov.b32 g, 1;", above=".global .b32 g;\n"),
    "a label that hides an outer label": entry("L:\n\t{ @%p1 bra L;\nL:\n\tmov.b32 %r1, 1; }\n\t@%p1 bra L;"),
    "a branch to a later label of the outer block": entry("{ bra L; }\nL:"),
    "a label named like its function": f"{HEAD}.func f() {{ f: bra f; }}\n",
    "a label before the end of a function": f"{HEAD}.func f() {{ bra L; L: }}\n",
    "parameter x in two entries": f"{HEAD}.entry a(.param .u32 x) {{ ret; }}\n.entry b(.param .u32 x) {{ ret; }}\n",
    "one variable name in two sibling blocks": entry("{ .param .b32 x; }\n\t{ .param .b32 x; }"),
    "components of a vector": entry(".reg .v4 .b32 v;\n\tmov.b32 %r1, v.x;\n\tmov.b32 v.w, 1;\n\tmov.b32 %r2, v.a;"),
    "vector registers as operands of loads, moves and stores": entry(
        ".reg .v4 .b32 v;\n\tld.global.v4.u32 v, [%rd1];\n\tmov.v4.b32 v, v;\n\tst.global.v4.f32 [%rd1], v;"
    ),
    "vector registers as operands of 64-bit moves": entry(
        ".reg .v2 .b32 v<3>;\n\tmov.b64 v2, %rd1;\n\tmov.b64 %rd1, v2;\n\tmov.b32 v1.y, v2.x;"
    ),
    "a vector register as texture coordinates": entry(
        ".reg .v2 .f32 c;\n\t.reg .v4 .f32 v;\n\ttex.2d.v4.f32.f32 v, [t, c];", above=".global .texref t;\n"
    ),
    "field values in a texture initializer": entry(
        "", above=".global .texref t = {filter_mode = linear, addr_mode_0 = clamp_to_edge, width = 64};\n"
    ),
    "a texture and a sampler": with_textures(
        "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex0, smp0, {%r1}];\n\ttxq.filter_mode.b32 %r1, [smp0];"
    ),
    "txq of a texture attribute": with_textures("txq.width.b32 %r1, [tex0];"),
    "sampler handle in a register, unified mode": entry("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, %rd2, {%r1}];"),
    "special register %tid as a vector of four": entry(".reg .v4 .b32 v;\n\tmov.v4.u32 v, %tid;"),
    "components of a two-element vector register": entry(".reg .v2 .b32 v;\n\tmov.b32 v.r, v.y;\n\tmov.b32 v.g, v.x;"),
    "bytes and halves of registers in vadd": entry("vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1;"),
    "numbers as addresses of local memory": entry("st.local.b32 [8+8], %r1;\n\tld.local.b32 %r1, [-4];"),
    "32-bit registers as addresses of shared, local and constant memory": entry(
        "ld.shared.b32 %r1, [%r2];\n\tst.local.b32 [%r2], %r1;\n\tld.const.b32 %r1, [%r2];"
        "\n\tmbarrier.init.shared.b64 [%r2], 1;"
    ),
    "32-bit registers as addresses of cp.async": entry("cp.async.ca.shared.global [%r1], [%r2], 4;"),
    "numbered variables from one declaration": entry(".local .b32 v<4>;\n\tld.local.b32 %r1, [v2];"),
    "numbered labels in .branchtargets": entry("ts: .branchtargets N<2>;\n\tbrx.idx %r1, ts;\nN0:\nN1:"),
    "one .extern variable declared twice": entry(
        "", above=".extern .shared .align 16 .b8 s[];\n.extern .shared .align 16 .b8 s[];\n"
    ),
    "a .visible variable, then .extern": entry("", above=".visible .global .b32 g;\n.extern .global .b32 g;\n"),
    ".extern array, later given a size": entry("", above=".extern .global .b32 g[];\n.visible .global .b32 g[4];\n"),
    "a register at module level in PTX 2.3": ".version 2.3\n.target sm_20\n.reg .b32 x;\n.func f() { ret; }\n",
    # Legal functions
    "a function declared twice and defined": f"{HEAD}.func f();\n.func f();\n.func f() {{ ret; }}\n",
    "a .visible declaration of a function without linking": f"{HEAD}.visible .func f();\n.func f() {{ ret; }}\n",
    "a function declaration without a semicolon": f"{HEAD}.func f()\n.func f() {{ ret; }}\n",
    "function declarations on one line, no semicolon": f"{HEAD}.extern .func f() .extern .func g .global .b32 x;\n",
    "a last declaration without a semicolon": f"{HEAD}.func f() {{ ret; }}\n.extern .func g()",
    "a declaration with another parameter name": f"{HEAD}.func f(.param .b32 a);\n.func f(.param .b32 b) {{ ret; }}\n",
    "an entry declared and defined": f"{HEAD}.entry k();\n.entry k() {{ ret; }}\n",
    "a function that calls itself": f"{HEAD}.func f() {{ call f; ret; }}\n",
    "an empty function": f"{HEAD}.func f() {{ }}\n",
    "a call with literals": entry(f"{ARGUMENTS}\tcall (z), pair, (1, 2);", above=PAIR),
    "a call with registers": entry(f"{ARGUMENTS}\tcall (%r1), pair, (%f2, %rd2);", above=PAIR),
    "a call with a discarded result": entry(f"{ARGUMENTS}\tcall (_), pair, (x, y);", above=PAIR),
    "a call with an array for a parameter of size 0": entry(
        "{ .param .align 4 .b8 a[8]; call f, (a); }", above=".func f(.param .align 4 .b8 p[0]) { ret; }\n"
    ),
    "a call with .b8 and .f16 arguments": entry(
        "{ .param .b8 a; .param .f16 b; call f, (a, b); }", above=".func f(.param .b8 p, .param .f16 q) { ret; }\n"
    ),
    "a predicate as one of two results": entry(
        "call (%r1, %p1), f;", above=".func (.reg .u32 a, .reg .pred p) f() { ret; }\n"
    ),
    ".u8, .u16 and predicate arguments, if another function returns two values": entry(
        "{ .param .u8 a; .reg .u16 b; call f, (a, b, %p1, 7); }",
        above=".func (.reg .u32 a, .reg .u32 b) g() { ret; }\n"
        ".func f(.param .u8 a, .reg .u16 b, .reg .pred p, .reg .s8 c) { ret; }\n",
    ),
    "vectors of .u8 and .s16 as argument and result": entry(
        ".reg .v4 .u8 v; .reg .v2 .s16 w; call (w), f, (v);",
        above=".func (.reg .v2 .s16 a) f(.reg .v4 .u8 b) { ret; }\n",
    ),
    "a .v4 .u16 argument for a .v2 .f32 parameter": entry(
        ".reg .v4 .u16 v; call f, (v);", above=".func f(.reg .v2 .f32 a) { ret; }\n"
    ),
    "a .v2 .f32 register for a .v4 .u16 result": entry(
        ".reg .v2 .f32 v; call (v), f;", above=".func (.reg .v4 .u16 a) f() { ret; }\n"
    ),
    "a 0f literal for a .f16x2 parameter": entry("call f, (0f3C003C00);", above=".func f(.reg .f16x2 a) { ret; }\n"),
    "untyped and packed arguments": entry(
        ".reg .f16x2 h; .param .b64 y; .param .b16 z[2]; call f, (h, y, z);",
        above=".func f(.param .u32 a, .param .f64 b, .param .u16 c[2]) { ret; }\n",
    ),
    "constants for untyped parameters": entry(
        "call f, (1.0, 0d3FF0000000000000, 0f3F800000);",
        above=".func f(.param .b32 a, .reg .b16 b, .reg .b64 c) { ret; }\n",
    ),
    "constants for floating-point parameters": entry(
        "call f, (1.0, 1.0+1.0);", above=".func f(.param .f64 a, .reg .f16 b) { ret; }\n"
    ),
    "a floating-point constant for a result": entry("call (1.0), f;", above=".func (.reg .f32 a) f() { ret; }\n"),
    "a call with empty parentheses": entry("call f, ();", above=".func f() { ret; }\n"),
    "a call through a pointer": entry(
        f"p: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);\n{ARGUMENTS}\tcall (z), %rd1, (x, y), p;"
    ),
    "an indirect call with a .calltargets label": entry(
        "p: .calltargets f;\n\tcall %rd1, p;", above=".func f() { ret; }\n"
    ),
    "elements of arrays": entry(
        "ld.global.b32 %r1, g[1]; st.global.b32 g[1], %r1; ldu.global.b32 %r1, g[0]; mov.u64 %rd1, g[1];\n"
        "\tcvta.global.u64 %rd1, g[1]; multimem.red.global.add.u32 g[1], %r1;",
        above=".global .b32 g[4];\n",
    ),
    "expressions after a variable's name": entry(
        "mov.u64 %rd1, g+4==4; mov.u64 %rd1, g+1<<2; mov.b64 %rd1, g+1?2:3;", above=".global .b32 g;\n"
    ),
    "sums with registers": entry("mov.u32 %r1, %r2+1; mov.b32 %r1, %f1+1; cvta.global.u64 %rd1, %rd2+8;"),
    "sums with textures": entry("mov.b64 %rd1, t+4; cvta.global.u64 %rd1, t+4;", above=".global .texref t;\n"),
    ".callprototype in an entry": entry("p: .callprototype (.param .texref _) _ (.param .u64 .ptr .align 8 _);"),
    "line markers anywhere": entry('# 1 "a.cu" 1 2\n\tmov.b32 %r1, # 2 "a.cu"\n 1; #line 3 ""\n'),
    # Legal directives and memory operands
    "two equal .target directives": entry("", head=".version 9.0\n.target sm_90a\n.target sm_90a\n"),
    "two .maxntid on one entry": entry("", directives=".maxntid 128 .maxntid 64"),
    "one-dimensional .reqntid": entry("", directives=".reqntid 128 .minnctapersm 2"),
    "static shared memory of 200 KiB on sm_90a": entry(".shared .b8 tile[204800];"),
    "300,000 bytes of shared memory that no entry uses": entry("", above=".shared .b8 tile[300000];\n"),
    "64 KiB of constants": entry("", above=".const .b8 table[65536];\n"),
    "parameters of 32,764 bytes": entry("", parameters=".param .align 4 .b8 a[32764]"),
    "40,000 bytes of parameters of a .func": f"{HEAD}.func f(.param .align 4 .b8 a[40000]) {{ ret; }}\n",
    "fewer initializers than elements": entry("", above=".global .b32 g[4] = {1, 2};\n.global .b32 h[] = {1, 2};\n"),
    "nested values": entry("", above=".global .b32 g[2][2] = {{1, 2}, {3, 4}};\n.global .v2 .f32 h = {1.0, 2.0};\n"),
    "a bit pattern for .f32, float for .b32": entry("", above=".global .f32 g = 0f3F800000;\n.global .b32 h = 1.0;\n"),
    "a parameter of 8 bits in a function that no entry calls": (
        f"{HEAD}.func f(.param .u8 p) {{ ret; }}\n.visible .func g() {{ .param .u8 a; call f, (a); ret; }}\n"
    ),
    "addresses and bytes of addresses in initializers": entry(
        "",
        above=".global .b8 h[8];\n.global .u64 a[3] = {h, h+4, generic(h)+4};\n"
        ".global .u8 b[8] = {0xFF(h), 0xFF00(h+4), 0xFF00000000000000(generic(h))};\n",
    ),
    "a negative offset after a comment": entry("ld.global.b32 %r1, [%rd1 /* base */ + /* offset */ -4];"),
    "constant expressions for offsets": entry(
        "".join(
            f"ld.global.b32 %r1, [%rd1+{offset}]; st.global.b32 [g+{offset}], %r1;\n\t"
            for offset in (
                "8/2",
                "-8/2",
                "9 % 4",
                "(.u64)4",
                "(.s64)-4",
                "-WARP_SZ",
                "WARP_SZ/8",
                "4==4",
                "4<5",
                "1&&1",
                "1?4:8",
                "1<<2",
                "-1>>1",
                "7&4",
                "4|8",
                "4^8",
                "!0",
                "~3",
                "-(4)",
                "(1<2)*4",
                "4-8",
                "1.0<2.0",
                "1<<64",
                "-4U/2",
            )
        ),
        above=".global .b32 g[8];\n",
    ),
    "constant expressions for addresses in local memory": entry(
        "ld.local.b32 %r1, [-WARP_SZ]; ld.local.b32 %r1, [4-8]; ld.local.b32 %r1, [WARP_SZ - 4];"
    ),
    "literals 0d… with operators": entry(
        ".reg .f64 %d; mov.f64 %d, -0d3ff0000000000000; mov.f64 %d, 0d3ff0000000000000*2.0; mov.f64 %d, -(0f3f800000);"
    ),
    "unsigned constants equal to small negative integers": entry(
        "mov.b32 %r1, -1U; add.s32 %r1, %r1, ~0; mov.b32 %r1, 1U-2U; mov.b32 %r1, (.u64)5-(.u64)6;"
    ),
    "32-bit moves of addresses outside .global, or with an offset": entry(
        "mov.u32 %r1, s; mov.u32 %r1, c; mov.u32 %r1, g+4; mov.u32 %r1, k;",
        above=".global .b32 g;\n.shared .b32 s;\n.const .b32 c;\n",
    ),
    ".align and .ptr after the type of an entry's parameter": entry(
        "", parameters=".param .u64 .align 8 a, .param .u64 .ptr .global .align 16 b"
    ),
    "pragmas unknown to ptxas": entry('.pragma "abc"; .pragma "used_bytes_mask 15";', directives='.pragma "abc";'),
    "section data of types .quad, .byte and .4byte": entry("L:")
    + ".section .debug_info {\nM:\n.quad 1, 18446744073709551615\n.byte 0xff\n.4byte -1\n.quad M+4\n.quad M-M\n}\n",
    "address plus integers in initializers": entry(
        "",
        above=".global .b8 h[8];\n.global .u64 a[4] = {h+4*2, h+(4)+4-2, generic(h)+(-4), h+~3};\n"
        ".global .u8 b = 0xFF(h+(1<<2));\n",
    ),
    "arrays of first dimension 0": entry("", above=".global .b8 a[0] = {1, 2};\n.global .b8 b[0][2] = {{1, 2}};\n"),
    "constant expressions": entry(
        "", above=".global .f32 a = -(1.5);\n.global .b32 b = (1<<3)|7/2;\n.global .f64 c = 1.5*2.0;\n"
    ),
    "a pointer parameter, aligned": entry("", parameters=".param .u64 .ptr .global .align 16 p"),
    "addresses and differences in a section": (
        f"{entry('')}.section .debug_abbrev {{ .b8 0 }}\n.section .debug_info {{\nL:\n"
        ".b32 L\n.b32 L+4\n.b32 L-L\n.b32 -1, 5\n.b64 L\n.b8 255, -128\n}\n"
    ),
}
