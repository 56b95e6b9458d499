"""Modules with one fault each, its position marked by « and »."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
REGISTERS = "\t.reg .pred %p<4>;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<8>;\n\t.reg .f32 %f<8>;\n"
PAIR = ".func (.param .b32 sum) pair(.param .b32 a, .param .b64 b)\n{\n\tst.param.b32 [sum], 1;\n\tret;\n}\n"
VALUES = ".const .b32 values[8];\n.global .b32 places[8];\n"
ARGUMENTS = "\t.param .b32 x;\n\t.param .b64 y;\n\t.param .b32 z;\n"


@dataclass(frozen=True, slots=True)
class Broken:
    """Module whose only fault has this code, at the marked position.

    ptxas rejects an error and accepts a warning; if it does not, `exception` says why.
    """

    name: str
    code: str
    marked: str
    exception: str = ""

    @property
    def text(self) -> str:
        return self.marked.replace("«", "").replace("»", "")

    @property
    def place(self) -> tuple[int, int, int]:
        """Line and column (from 1) and width of the fault."""
        before, _, rest = self.marked.partition("«")
        return before.count("\n") + 1, len(before) - before.rfind("\n"), len(rest.partition("»")[0])


def entry(body: str, *, parameters: str = "", directives: str = "", above: str = "", head: str = HEAD) -> str:
    """Return a module of one entry with a few registers."""
    return f"{head}{above}.visible .entry k({parameters}) {directives}\n{{\n{REGISTERS}\t{body}\n\tret;\n}}\n"


def with_textures(body: str) -> str:
    """Return a module in independent texture mode, with a texture and a sampler."""
    head = ".version 9.0\n.target sm_90a, texmode_independent\n.address_size 64\n"
    return entry(body, above=".global .texref tex0;\n.global .samplerref smp0;\n", head=head)


def before_hopper(body: str, version: str = "7.0", target: str = "sm_80") -> str:
    return entry(body, head=f".version {version}\n.target {target}\n.address_size 64\n")


BROKEN: tuple[Broken, ...] = (
    # Faults of syntax
    Broken("add.s32 without its second operand", "syntax", entry("add.s32 %r1, «,» %r2;")),
    Broken("no semicolon", "syntax", entry("mov.b32 %r1, 1\n\t«mov.b32» %r2, 2;")),
    Broken("state space .reg before .entry", "syntax", f"{HEAD}.reg «.entry» k() {{ ret; }}\n"),
    Broken(".align before .func", "syntax", f"{HEAD}.align 8 «.func» f() {{ ret; }}\n"),
    Broken(".attribute before .func", "syntax", f"{HEAD}.attribute(.unified(1, 2)) «.func» f() {{ ret; }}\n"),
    Broken(".common before .entry", "syntax", f"{HEAD}.common «.entry» k() {{ ret; }}\n"),
    Broken("an entry declaration without a semicolon", "syntax", f"{HEAD}.entry k()\n«.func» f() {{ ret; }}\n"),
    Broken("an instruction after a function declaration", "syntax", f"{HEAD}.func f()\n«ret»;\n"),
    Broken("an unknown directive", "syntax", entry("", directives="«.maxntidx» 128")),
    Broken("a stray semicolon after an instruction", "empty-statement", entry("mov.b32 %r1, 1;«;»")),
    Broken("instructions after a function", "outside-function", entry("") + "«mov.b32» %r1, 1;\nret;\n"),
    Broken("an extra closing brace", "outside-function", entry("@%p1 bra L;\n\tL: }\n\t«mov.b32» %r1, 1;\n{")),
    # Faults of the module header
    Broken("no version", "missing-version", "«.target» sm_90a\n.visible .entry k() { ret; }\n"),
    Broken("no target", "missing-target", "«.version» 9.0\n.visible .entry k() { ret; }\n"),
    Broken(
        ".address_size before .target",
        "misplaced-directive",
        ".version 9.0\n.address_size 64\n«.target» sm_90a\n",
    ),
    Broken("PTX 7.9, which does not exist", "unknown-version", entry("", head=".version «7.9»\n.target sm_90a\n")),
    Broken("an unknown target", "unknown-target", entry("", head=".version 9.0\n.target «sm_91»\n")),
    Broken("an unknown option", "unknown-target", entry("", head=".version 9.0\n.target sm_90a, «fast»\n")),
    Broken("target sm_90a in PTX 7.8", "target-version", entry("", head=".version 7.8\n.target «sm_90a»\n")),
    Broken("a retired target", "retired-target", ".version 3.2\n.target «sm_20»\n.entry k() { exit; }\n"),
    Broken(".version after a function", "misplaced-directive", entry("") + "«.version» 9.0\n"),
    Broken(".target after a function", "misplaced-directive", entry("") + "«.target» sm_90a\n"),
    Broken(
        ".address_size 16",
        "directive-argument",
        entry("", head=".version 9.0\n.target sm_90a\n.address_size «16»\n"),
    ),
    Broken(
        "two texture modes",
        "directive-conflict",
        entry("", head=".version 9.0\n.target sm_90a, texmode_unified, «texmode_independent»\n"),
    ),
    # Faults of directives
    Broken(
        ".explicitcluster on sm_89, which lacks clusters",
        "target",
        before_hopper("", "8.0", "sm_89").replace("() ", "() «.explicitcluster»"),
    ),
    Broken(
        "maxclusterrank in version 7.0", "version", before_hopper("", "7.0").replace("() ", "() «.maxclusterrank» 8")
    ),
    Broken("a removed directive", "removed", entry("", directives=".maxntid 128, 1, 1 «.maxnctapersm» 2")),
    Broken("header directive .maxntid in a body", "misplaced-directive", entry("«.maxntid» 128, 1, 1;")),
    Broken("a .reg declaration outside functions", "misplaced-directive", entry("", above="«.reg» .b32 outside;\n")),
    Broken("a .local variable outside functions", "misplaced-directive", entry("", above="«.local» .b32 outside;\n")),
    Broken(".maxntid of 0 threads", "directive-argument", entry("", directives="«.maxntid» 0")),
    Broken("a name as an argument of .maxntid", "directive-argument", entry("", directives="«.maxntid» 16, WIDTH")),
    Broken(".reqntid with four dimensions", "directive-argument", entry("", directives="«.reqntid» 8, 8, 2, 1")),
    Broken("both maxntid and reqntid", "directive-conflict", entry("", directives=".maxntid 128 «.reqntid» 128")),
    Broken(
        ".reqnctapercluster with .maxclusterrank",
        "directive-conflict",
        entry("", directives=".reqnctapercluster 2 «.maxclusterrank» 8"),
    ),
    Broken(
        ".noreturn twice on one function",
        "directive-conflict",
        f"{HEAD}.func f() «.noreturn» .noreturn {{ exit; }}\n",
    ),
    Broken(
        ".noreturn after another header directive",
        "directive-conflict",
        f"{HEAD}.func f() .abi_preserve 8 «.noreturn» {{ exit; }}\n",
    ),
    Broken("sampler variable in unified mode", "directive-conflict", entry("", above=".global .samplerref «smp0»;\n")),
    Broken("a sampler as a parameter", "directive-conflict", entry("", parameters=".param .samplerref «s»")),
    Broken("clusters without sizes", "directive-conflict", entry("", directives="«.blocksareclusters»")),
    Broken(".noreturn on an entry", "misplaced-directive", entry("", directives="«.noreturn»")),
    Broken(".maxntid on a .func", "misplaced-directive", f"{HEAD}.func f() «.maxntid» 128\n{{\n\tret;\n}}\n"),
    Broken(
        "attribute .unified in PTX 7.0, which lacks it",
        "version",
        before_hopper("").replace(".vis", ".global .attribute(«.unified»(1, 2)) .b32 g;\n.vis"),
    ),
    Broken(
        ".common in PTX 4.3, which lacks it",
        "version",
        ".version 4.3\n.target sm_50\n«.common» .global .b32 g;\n",
    ),
    Broken(".b128 registers in PTX 8.2", "version", before_hopper(".reg «.b128» %q;", "8.2")),
    Broken(".minnctapersm without .maxntid", "ignored-directive", entry("", directives="«.minnctapersm» 2")),
    # Faults of function headers and their declarations
    *(
        Broken(
            f"invalid argument of directive: {text}",
            "directive-argument",
            entry("", directives=f"«.{text[0]}» {text[1]}"),
        )
        for text in (
            ("maxntid", "-1"),
            ("maxntid", "5000000000"),
            ("reqntid", "1, 1, -1"),
            ("maxnreg", "0"),
            ("maxnreg", "4+4"),
            ("minnctapersm", "0 .maxntid 32"),
            ("maxclusterrank", "4294967296"),
        )
    ),
    Broken(
        ".abi_preserve with more registers than allowed",
        "directive-argument",
        f"{HEAD}.func f() «.abi_preserve» 240 {{ ret; }}\n",
    ),
    Broken(
        ".noreturn on a function with a return value",
        "directive-conflict",
        f"{HEAD}.func (.param .b32 r) f() «.noreturn» {{ exit; }}\n",
    ),
    Broken("an entry with a return value", "misplaced-directive", f"{HEAD}.entry (.param .b32 «r») k() {{ ret; }}\n"),
    *(
        Broken(f"invalid entry parameter: {parameter}", "declaration", entry("", parameters=parameter))
        for parameter in (
            ".param .u64 .ptr .align 3 «p»",
            ".param .u64 .ptr .global .align 0 «p»",
            ".param .b8 «p»[2][2]",
            ".param .b8 «p»[-1]",
            ".param .b8 «p»[0]",
        )
    ),
    *(
        Broken(f"invalid function parameter: {parameter}", "declaration", f"{HEAD}.func f({parameter}) {{ ret; }}\n")
        for parameter in (
            ".param .u64 .ptr .global «p»",
            ".reg .b32 «p»[4]",
            ".global .u64 «p»",
            ".param .b32 «_»",
            ".param .b8 «p»[4+4]",
        )
    ),
    Broken(
        "a .u8 argument of a call",
        "call-argument",
        f"{HEAD}.func f(.param .u8 p) {{ ret; }}\n.entry k() {{ .param .u8 a; call f, «(a)»; }}\n",
    ),
    Broken(
        "a predicate as the result of a call",
        "call-argument",
        f"{HEAD}.func (.reg .pred p) f() {{ ret; }}\n.entry k() {{ .reg .pred a; call «(a)», f; }}\n",
    ),
    Broken(
        "a second .target after .address_size 64", "misplaced-directive", entry("", head=f"{HEAD}«.target» sm_90a\n")
    ),
    Broken(
        "options without a device", "directive-argument", ".version 9.0\n.target «debug», sm_90a\n.entry k() { ret; }\n"
    ),
    Broken("no double precision", "directive-argument", ".version 9.0\n.target sm_90a, «map_f64_to_f32»\n"),
    Broken("a common constant", "misplaced-directive", entry("", above="«.common» .const .b32 c;\n")),
    Broken("linking inside a function", "misplaced-directive", entry("«.visible» .shared .b32 s;")),
    Broken("a .shared::cta variable", "misplaced-directive", entry("", above="«.shared::cta» .b32 s;\n")),
    Broken("a variable in .const[3]", "misplaced-directive", entry("", above="«.const[3]» .b32 c;\n")),
    Broken("too many registers", "declaration", entry(".reg .b32 «%q»<4294967296>;")),
    Broken(
        "a negative argument of .unified",
        "directive-argument",
        entry("", above=".global .attribute(«.unified»(1, -2)) .b32 g;\n"),
    ),
    Broken("an array of size -1", "declaration", entry("", above=".global «.b8» g[-1];\n")),
    Broken("a .v8 variable", "declaration", entry("", above=".global .v8 «.b8» g;\n")),
    Broken("a .texref variable in .const", "declaration", entry("", above=".const «.texref» t;\n")),
    Broken("a function pragma at module level", "directive-argument", entry("", above='«.pragma» "noreturn";\n')),
    Broken("a function as its own alias", "redefined-function", f"{HEAD}.func f() {{ ret; }}\n.alias «f», f;\n"),
    Broken(
        "an alias whose function has other parameters",
        "redefined-function",
        f"{HEAD}.func f() {{ ret; }}\n.func a(.param .b32 x);\n.alias «a», f;\n",
    ),
    Broken(".extern on a function with a body", "redefined-function", f"{HEAD}«.extern» .func f() {{ ret; }}\n"),
    *(
        Broken(f"invalid data line: {data}", "section-data", f"{entry('')}.section .debug_info {{\nL:\n«{data}\n}}\n")
        for data in (
            ".b8» 256",
            ".b8» 1, -129",
            ".b16» 65536",
            ".b16» L",
            ".b32» 1+2",
            ".b64» 1.5",
            ".b32» L, 1",
            ".b32» L-4",
        )
    ),
    Broken(
        "one label declared twice in a section",
        "redefined-label",
        f"{entry('')}.section .debug_info {{\nL:\n.b8 1\n«L»:\n.b8 2\n}}\n",
    ),
    # Faults of constant expressions
    Broken("an operand that divides by zero", "operand-kind", entry("mov.b32 %r1, «1/0»;")),
    Broken("an array index of 1.5", "operand-kind", entry("ld.const.b32 %r1, «v[1.5]»;", above=".const .b32 v[4];\n")),
    Broken("a constant sum of float and integer", "operand-kind", entry("mov.f32 %f1, «1.5+1»;")),
    # Faults of initializers
    *(
        Broken(
            f"an initializer: {declaration}",
            "initializer",
            entry("", above=f".global .b8 h[8];\n.shared .b32 s;\n.func f() {{ ret; }}\n.global {declaration};\n"),
        )
        for declaration in (
            ".u64 «g» = s",
            ".u64 «g»[2] = {generic(s), 1}",
            ".u64 «g» = h*2",
            ".u64 «g» = h-4",
            ".u64 «g» = f+4",
            ".b64 «g» = h",
            ".u32 «g» = 1.5",
            ".b32 «g» = 1/0",
            ".f32 «g» = 1.5+1",
            ".f64 «g» = 1.0e400",
            ".f32 «g» = 1<<3",
            ".b32 «g» = 08",
            ".u8 «g»[1] = {0xFF(h), 0xFF00(h)}",
            ".u8 «g»[9] = {0xFF(h), 0xFF0000000000000000(h)}",
            ".u8 «g» = 0xFFFF(h)",
            ".u16 «g» = 0xFF(h)",
            ".v2 .b32 «g» = {1}",
        )
    ),
    # Faults of names
    Broken("an undeclared register", "undefined-register", entry("mov.b32 %r1, «%q1»;")),
    Broken("a register number beyond the declared range", "undefined-register", entry("mov.b32 %r1, «%r8»;")),
    Broken("a component of a scalar", "undefined-register", entry("mov.b32 %r1, «%r2.x»;")),
    Broken(
        "component .z of a two-element vector",
        "undefined-variable",
        entry(".reg .v2 .b32 v;\n\tmov.b32 %r1, «v.z»;"),
        exception="ptxas does not check components: reads past the last are undefined",
    ),
    Broken("a component of a special register", "undefined-register", entry("mov.b32 %r1, «%laneid.x»;")),
    Broken(
        "a float register as an array index",
        "operand-kind",
        entry("ld.const.u32 %r1, «values[%f1]»;", above=VALUES),
    ),
    Broken(
        "a float register plus 1 as an array index",
        "operand-kind",
        entry("ld.const.u32 %r1, «values[%f1+1]»;", above=VALUES),
    ),
    Broken(
        "a predicate as an array index",
        "operand-kind",
        entry("st.global.u32 «places[%p1]», %r1;", above=VALUES),
    ),
    Broken(
        "special register %tid.x as an array index",
        "operand-kind",
        entry("ld.const.u32 %r1, «values[%tid.x]»;", above=VALUES),
    ),
    Broken(
        "a 128-bit register as an array index",
        "operand-kind",
        entry(".reg .b128 %q; ld.const.u32 %r1, «values[%q]»;", above=VALUES),
    ),
    Broken("the lowest byte of a register as a source of mov", "operand-kind", entry("mov.b32 %r1, «%r2.b0»;")),
    # Faults of addresses
    *(
        Broken(f"constant as an address: {name}", "operand-kind", entry(body))
        for name, body in (
            ("global", "st.global.b32 «[0]», %r1;"),
            ("generic", "ld.b32 %r1, «[4096]»;"),
            ("shared", "mbarrier.init.shared.b64 «[0]», 1;"),
            ("reduction", "red.global.add.u32 «[4096]», 1;"),
            ("parameter", "ld.param.b32 %r1, «[0]»;"),
            ("expression", "ld.const.b32 %r1, «[(4+4)*2]»;"),
            ("float", "ld.local.b32 %r1, «[1.5]»;"),
            ("float in hexadecimal", "ld.local.b32 %r1, «[0f00000000]»;"),
        )
    ),
    *(
        Broken(f"32-bit register as an address: {name}", "operand-type", entry(body))
        for name, body in (
            ("global", "ld.global.b32 %r1, «[%r2]»;"),
            ("generic", "st.b32 «[%r2+4]», %r1;"),
            ("atomic", "atom.global.add.u32 %r1, «[%r2]», %r1;"),
            ("prefetch", "prefetch.global.L1 «[%r2]»;"),
            ("barrier", "mbarrier.init.b64 «[%r2]», 1;"),
        )
    ),
    Broken("an unknown special register", "undefined-register", entry("mov.u32 %r1, «%tid.q»;")),
    Broken(
        "a register used before its declaration", "undefined-register", entry("mov.b32 «%late», 1;\n\t.reg .b32 %late;")
    ),
    Broken(
        "a register of a closed inner block",
        "undefined-register",
        entry("{ .reg .b32 %in; mov.b32 %in, 1; }\n\tmov.b32 %r1, «%in»;"),
    ),
    Broken("an undeclared variable", "undefined-variable", entry("ld.global.b32 %r1, [«values»];")),
    Broken("an undeclared parameter", "undefined-variable", entry("ld.param.b64 %rd1, [«k_param_0»];")),
    Broken("use before declaration", "undefined-variable", entry("mov.u64 %rd1, «later»;") + ".global .b32 later;\n"),
    Broken(
        "an initializer with an undeclared symbol",
        "undefined-variable",
        entry("", above=".global .u64 table[2] = {«missing», 0};\n"),
    ),
    Broken("a branch to an undeclared label", "undefined-label", entry("bra «DONE»;")),
    Broken(
        "a branch into a block", "undefined-label", entry("@%p1 bra «INSIDE»;\n\t{\nINSIDE:\n\tmov.b32 %r1, 1;\n\t}")
    ),
    Broken(
        "a branch into another function",
        "undefined-label",
        entry("bra «THERE»;", above=".func f()\n{\nTHERE:\n\tret;\n}\n"),
    ),
    Broken(
        "undeclared branch target", "undefined-label", entry("L0:\n\tts: .branchtargets L0, «L1»;\n\tbrx.idx %r1, ts;")
    ),
    Broken("a call of an undeclared function", "undefined-function", entry("call «f»;")),
    Broken("a call before the declaration", "undefined-function", entry("call «f»;") + ".func f() { ret; }\n"),
    Broken("a .visible function without a body", "undefined-function", entry("", above=".visible .func «f»();\n")),
    Broken("alias of unknown function", "undefined-function", entry("", above=".weak .func a();\n.alias a, «b»;\n")),
    Broken("a register twice", "redefined-register", entry(".reg .b32 %a;\n\t.reg .b32 «%a»;")),
    Broken("a register in an already declared range", "redefined-register", entry(".reg .b32 «%r5»;")),
    Broken("a range twice", "redefined-register", entry(".reg .f32 «%r»<4>;")),
    Broken("a parameter and a register", "redefined-register", entry(".reg .b32 «n»;", parameters=".param .u32 n")),
    Broken("a variable twice", "redefined-variable", entry("", above=".global .b32 g;\n.global .b32 «g»;\n")),
    Broken("two parameters of one name", "redefined-variable", entry("", parameters=".param .u32 «n», .param .u32 n")),
    Broken(
        "an .extern declaration of another type than the definition",
        "redefined-variable",
        entry("", above=".extern .global .b32 g;\n.visible .global .b64 «g»;\n"),
    ),
    Broken("a label twice", "redefined-label", entry("L:\n\tmov.b32 %r1, 1;\n«L»:\n\t@%p1 bra L;")),
    Broken("a label and a register", "redefined-label", entry(".reg .b32 L;\n«L»:\n\tmov.b32 %r1, 1;")),
    Broken("a function twice", "redefined-function", f"{HEAD}.func f() {{ ret; }}\n.func «f»() {{ ret; }}\n"),
    Broken("an entry twice", "redefined-function", f"{HEAD}.entry k() {{ ret; }}\n.entry «k»() {{ ret; }}\n"),
    Broken(
        "a definition with other parameters than the declaration",
        "redefined-function",
        f"{HEAD}.func f(.param .b32 a);\n.func «f»(.param .b64 a) {{ ret; }}\n",
    ),
    Broken(
        "a function declared .extern, then defined",
        "redefined-function",
        f"{HEAD}.extern .func f();\n.func «f»() {{ ret; }}\n",
    ),
    Broken("function named like a variable", "redefined-function", f"{HEAD}.global .b32 f;\n.func «f»() {{ ret; }}\n"),
    Broken("a function named like %laneid", "redefined-function", f"{HEAD}.func «%laneid»() {{ ret; }}\n"),
    Broken("an entry named %tid", "redefined-function", f"{HEAD}.visible .entry «%tid»() {{ ret; }}\n"),
    Broken("a variable named like %clock", "redefined-variable", entry("", above=".global .b32 «%clock»;\n")),
    Broken("an entry named WARP_SZ", "redefined-function", f"{HEAD}.visible .entry «WARP_SZ»() {{ ret; }}\n"),
    Broken("registers named WARP_SZ0 to WARP_SZ2", "redefined-register", entry(".reg .b32 «WARP_SZ»<3>;")),
    Broken("a label named WARP_SZ", "redefined-label", entry("«WARP_SZ»:\n\tmov.b32 %r1, 1;")),
    Broken("two files with one number", "redefined-file", entry("", above='.file 1 "a.cu"\n.file «1» "b.cu"\n')),
    Broken("a .file directive in a function", "misplaced-directive", entry('«.file» 1 "a.cu"')),
    Broken("an unknown attribute", "directive-argument", entry("", above=".global .attribute(«.fast») .b32 g;\n")),
    Broken(".managed on .const", "directive-argument", entry("", above=".const .attribute(«.managed») .b32 g;\n")),
    Broken(".unified constant", "directive-argument", entry("", above=".const .attribute(«.unified»(1, 2)) .b32 g;\n")),
    # Faults of declarations
    Broken("a register of type .bf16", "declaration", entry(".reg «.bf16» h;")),
    Broken("a variable of unknown type .b7", "declaration", entry("", above=".global «.b7» g;\n")),
    Broken("a .local variable of type .pred", "declaration", entry(".local «.pred» p;")),
    Broken("a vector of 32 bytes", "declaration", entry("", above=".global .v4 «.f64» g;\n")),
    Broken("an odd alignment", "declaration", entry("", above=".global .align 3 «.b8» g[4];\n")),
    Broken("a vector as a parameter", "declaration", entry("", parameters=".param .v4 .f32 «v»")),
    Broken("a packed parameter", "declaration", entry("", parameters=".param .f16x2 «h»")),
    Broken("an entry parameter declared .reg", "declaration", entry("", parameters=".reg .b32 «n»")),
    Broken("an entry's parameter without a size", "declaration", entry("", parameters=".param .b8 «rest»[]")),
    Broken("an array without size or initializer", "declaration", entry("", above=".global .b32 «g»[];\n")),
    Broken("a texture in a function", "declaration", entry(".global «.texref» t;")),
    Broken("two .param return values", "declaration", f"{HEAD}.func (.param .b32 a, .param .b32 «b») f() {{ ret; }}\n"),
    Broken("too many values", "initializer", entry("", above=".global .b32 «g»[2] = {1, 2, 3};\n")),
    Broken(
        "too many values for one row", "initializer", entry("", above=".global .b32 «g»[2][2] = {{1, 2, 3}, {4, 5}};\n")
    ),
    Broken("nested array without inner braces", "initializer", entry("", above=".global .b32 «g»[2][2] = {1, 2};\n")),
    Broken("braces for a scalar", "initializer", entry("", above=".global .b32 «g» = {1};\n")),
    Broken("an integer initializer of a float", "initializer", entry("", above=".global .f32 «g» = 1;\n")),
    Broken("an initializer in shared memory", "initializer", entry(".shared .b32 «s» = 1;")),
    Broken("an initializer of two variables", "initializer", entry("", above=".global .b32 «g»<2> = 1;\n")),
    Broken("an unknown field of a .texref", "initializer", entry("", above=".global .texref «t» = {filter = 1};\n")),
    Broken("unknown filter_mode", "initializer", entry("", above=".global .texref «t» = {filter_mode = closest};\n")),
    Broken("a number as a texture initializer", "initializer", entry("", above=".global .texref «t» = {1};\n")),
    Broken("an initializer of an .extern variable", "initializer", entry("", above=".extern .global .b32 «g» = 1;\n")),
    Broken(
        "constants of 80,000 bytes",
        "constant-memory",
        entry("", above=".const .b8 a[40000];\n«.const» .b8 b[40000];\n"),
    ),
    Broken(".address_size twice", "misplaced-directive", HEAD + "«.address_size» 64\n.entry k() { ret; }\n"),
    # Faults of guards and control flow
    Broken("a 32-bit register as a guard", "guard", entry("@«%r1» mov.b32 %r2, 1;")),
    Broken("an undeclared guard", "undefined-register", entry("@«%p9» mov.b32 %r2, 1;")),
    Broken("an instruction after bra", "unreachable", entry("bra DONE;\n\t«mov.b32» %r1, 1;\nDONE:")),
    Broken("an instruction after exit", "unreachable", entry("exit;\n\t«mov.b32» %r1, 1;")),
    # Faults of functions and memory operands
    Broken("a call of an entry", "call-target", entry("call «j»;", above=".entry j() { ret; }\n")),
    Broken("too few arguments", "call-arguments", entry(f"{ARGUMENTS}\tcall (z), pair, «(x)»;", above=PAIR)),
    Broken("too many arguments", "call-arguments", entry(f"{ARGUMENTS}\tcall (z), pair, «(x, y, x)»;", above=PAIR)),
    Broken("a call without argument list", "call-arguments", entry(f"{ARGUMENTS}\tcall (z), «pair»;", above=PAIR)),
    Broken(
        "a 32-bit argument for 64 bits", "call-argument", entry(f"{ARGUMENTS}\tcall (z), pair, (x, «z»);", above=PAIR)
    ),
    Broken(
        "a .b64 register for .b32", "call-argument", entry(f"{ARGUMENTS}\tcall (z), pair, («%rd1», y);", above=PAIR)
    ),
    Broken(
        "a vector register as the argument for a scalar",
        "call-argument",
        entry(f"{ARGUMENTS}\t.reg .v2 .b32 v;\n\tcall (z), pair, («v», y);", above=PAIR),
    ),
    Broken("a .b64 for a .b32 result", "call-argument", entry(f"{ARGUMENTS}\tcall («y»), pair, (x, y);", above=PAIR)),
    Broken(
        "a .global variable as the argument of a call",
        "call-argument",
        entry(f"{ARGUMENTS}\tcall (z), pair, («g», y);", above=f".global .b32 g;\n{PAIR}"),
    ),
    Broken(
        "more arguments than the prototype has",
        "call-arguments",
        entry(
            f"{ARGUMENTS}\tproto: .callprototype (.param .b32 _) _ (.param .b32 _);\n\tcall (z), %rd1, «(x, y)», proto;"
        ),
    ),
    Broken(
        "an array as the argument for a scalar",
        "call-argument",
        entry(".param .align 8 .b8 w[8];\n\tcall f, («w»);", above=".func f(.param .b64 a) { ret; }\n"),
    ),
    Broken(
        "an array argument with too small an alignment",
        "call-argument",
        entry(".param .align 4 .b8 w[8];\n\tcall f, («w»);", above=".func f(.param .align 8 .b8 a[8]) { ret; }\n"),
    ),
    Broken("parameters of 40,000 bytes", "parameter-space", entry("").replace("k()", "«k»(.param .b8 big[40000])")),
    Broken(
        "4356 bytes of parameters in PTX 7.0",
        "parameter-space",
        before_hopper("").replace("k()", "«k»(.param .b8 big[4356])"),
    ),
    Broken("st.param to parameter n", "parameter-write", entry("st.param.b32 «[n]», %r1;", parameters=".param .u32 n")),
    Broken(
        "an 8-byte load of 4 bytes", "parameter-bounds", entry("ld.param.b64 %rd1, «[n]»;", parameters=".param .u32 n")
    ),
    Broken(
        "a load after the end of a parameter",
        "parameter-bounds",
        entry("ld.param.b32 %r1, «[n+8]»;", parameters=".param .u64 n"),
    ),
    Broken(
        "a misaligned load of a parameter",
        "parameter-alignment",
        entry("ld.param.b32 %r1, «[n+2]»;", parameters=".param .u64 n"),
    ),
    Broken(
        "64 KiB of shared memory", "shared-memory", before_hopper(".shared .b8 tile[65536];").replace(" k(", " «k»(")
    ),
    Broken(
        "64 KiB of static shared memory on sm_100f",
        "shared-memory",
        before_hopper(".shared .b8 tile[65536];", "8.8", "sm_100f").replace(" k(", " «k»("),
    ),
    Broken(
        "64 KiB of static shared memory in a called function",
        "shared-memory",
        before_hopper("call f;").replace(
            ".visible .entry k",
            ".shared .b8 tile[65536];\n.func f() { st.shared.b8 [tile], 1; ret; }\n.visible .entry «k»",
        ),
    ),
    Broken("%clusterid.x in PTX 7.0, which lacks it", "version", before_hopper("mov.u32 %r1, «%clusterid.x»;")),
    Broken("a special register of later targets", "target", before_hopper("mov.u32 %r1, «%cluster_ctarank»;", "8.0")),
    Broken("a call with a modifier", "modifier", entry("call«.fast» f;", above=".func f() { ret; }\n")),
    Broken("a call of a register", "call-target", entry("call «%f1»;")),
    Broken("a call of a variable", "call-target", entry("call «g»;", above=".global .b32 g;\n")),
    Broken("an indirect call without a prototype", "operand-count", entry("call «%rd1», ();")),
    Broken(
        "a direct call with a prototype",
        "operand-count",
        entry("p: .callprototype _ ();\n\tcall f, (), «p»;", above=".func f() { ret; }\n"),
    ),
    Broken("a call through .branchtargets", "operand-kind", entry("L: ts: .branchtargets L;\n\tcall %rd1, (), «ts»;")),
    Broken("a branch through .callprototype", "operand-kind", entry("p: .callprototype _ ();\n\tbrx.idx %r1, «p»;")),
    Broken("a 64-bit index of brx.idx", "operand-type", entry("L: ts: .branchtargets L;\n\tbrx.idx «%rd1», ts;")),
    Broken("brx.idx without an index", "operand-count", entry("L: ts: .branchtargets L;\n\t«brx.idx» ts;")),
    Broken("brx.idx with modifier .near", "modifier", entry("L: ts: .branchtargets L;\n\tbrx.idx«.near» %r1, ts;")),
    Broken("a .f32 component in an .s32 add", "operand-type", entry(".reg .v2 .f32 v;\n\tadd.s32 %r1, %r2, «v.x»;")),
    Broken("a call of two function names", "operand-count", entry("«call» f, f, ();", above=".func f() { ret; }\n")),
    # Further faults of addresses
    Broken("a register as an address offset", "operand-kind", entry("ld.global.b32 %r1, «[%rd1+%rd2]»;")),
    Broken(
        "a variable added to %rd1", "operand-kind", entry("ld.global.b32 %r1, «[%rd1+g]»;", above=".global .b32 g;\n")
    ),
    Broken("a float as an address offset", "operand-kind", entry("ld.global.b32 %r1, «[%rd1+4.0]»;")),
    Broken("a minus sign in an address", "operand-kind", entry("ld.global.b32 %r1, «[%rd1-4]»;")),
    Broken("vector component as an address", "operand-kind", entry(".reg .v2 .b64 v;\n\tld.global.b32 %r1, «[v.x]»;")),
    # Faults of instructions
    Broken("an unknown modifier", "modifier", entry("add«.f31» %f1, %f2, %f3;")),
    Broken("a rounding modifier on an integer add", "modifier", entry("add«.rm».s32 %r1, %r2, %r3;")),
    Broken("no rounding mode", "missing-modifier", entry("«fma.f32» %f1, %f2, %f3, %f4;")),
    Broken("add with two operands instead of three", "operand-count", entry("«add.s32» %r1, %r2;")),
    Broken("add.s32 with four operands", "operand-count", entry("«add.s32» %r1, %r2, %r3, %r4;")),
    Broken("an address instead of a register", "operand-kind", entry("add.s32 %r1, %r2, «[%rd1]»;")),
    Broken("ld with a register without brackets", "operand-kind", entry("ld.global.b32 %r1, «%rd1»;")),
    Broken("a float register in an integer add", "operand-type", entry("add.s32 %r1, «%f2», %r3;")),
    Broken("a 32-bit register in a 64-bit add", "operand-type", entry("add.s64 %rd1, %rd2, «%r3»;")),
    Broken("an address in a 128-bit register", "operand-type", entry(".reg .b128 %q;\n\tld.global.b32 %r1, «[%q]»;")),
    Broken("a float literal in an integer add", "operand-type", entry("add.s32 %r1, %r2, «1.5»;")),
    Broken("a vector register as a scalar operand", "operand-kind", entry(".reg .v4 .b32 v;\n\tadd.u32 %r1, «v», 1;")),
    Broken("numbered vector register as scalar", "operand-kind", entry(".reg .v2 .b32 v<3>;\n\tadd.u32 «v2», %r1, 1;")),
    Broken("a vector register as an element", "operand-kind", entry(".reg .v2 .b32 v;\n\tmov.b64 %rd1, «{v, %r1}»;")),
    Broken("a vector register as an address", "operand-type", entry(".reg .v2 .b64 v;\n\tld.global.b32 %r1, «[v]»;")),
    Broken("a vector register as a guard", "guard", entry(".reg .v2 .b32 v;\n\t@«v» exit;")),
    Broken("two-element vector register for .v4", "vector-length", entry(".reg .v2 .b32 v;\n\tmov.v4.b32 «v», %tid;")),
    Broken(
        "a .f32 vector register for .v4.u32",
        "operand-type",
        entry(".reg .v4 .f32 v;\n\tld.global.v4.u32 «v», [%rd1];"),
    ),
    Broken("no sampler", "operand-kind", with_textures("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, «[tex0, %r1]»;")),
    Broken(
        "txq of a sampler attribute on a texture", "operand-kind", with_textures("txq.filter_mode.b32 %r1, «[tex0]»;")
    ),
    Broken("two registers for ld.v4", "vector-length", entry("ld.global.v4.f32 «{%f1, %f2}», [%rd1];")),
    Broken(
        "an alias of a .weak function",
        "redefined-function",
        f"{HEAD}.func a();\n.weak .func b() {{ ret; }}\n.alias «a», b;\n{entry('').removeprefix(HEAD)}",
    ),
    Broken(
        "inlined_at a position without an earlier .loc",
        "directive-argument",
        f'{HEAD}.file 1 "a"\n.entry k() {{\n.loc 1 2 3\n.loc 1 9 9, function_name L, «inlined_at» 1 2 4\nret; }}\n'
        ".section .debug_str {\nL: .b8 0\n}\n",
    ),
    Broken("a vector element that divides by zero", "operand-kind", entry("mov.b64 %rd1, «{1/0, 1}»;")),
    Broken(
        "the upper half of a register as the index of brx.idx",
        "operand-type",
        entry("t: .branchtargets L;\n\tbrx.idx «%r1.h1», t;\nL:"),
    ),
    Broken("a prototype's local parameter", "declaration", entry("p: .callprototype _ (.local «.b32» _);")),
    Broken("a prototype parameter .v2 .e4m3", "declaration", entry("p: .callprototype _ (.param .v2 «.e4m3» _);")),
    Broken("a sum as a prototype's array size", "declaration", entry("p: .callprototype (.param «.b8» _[4+4]) _ ();")),
    Broken(
        "an indirect call through one byte of a register",
        "operand-kind",
        entry("p: .callprototype _ ();\n\tcall «%rd1.b0», p;"),
    ),
    Broken(
        "a .u16 argument of a call",
        "call-argument",
        entry("{ .param .u16 a; call.uni f, «(a)»; }", above=".func f(.param .u16 p) { ret; }\n"),
    ),
    Broken(
        ".attribute on an entry", "directive-argument", f"{HEAD}.entry .attribute(«.unified»(1, 2)) k() {{ ret; }}\n"
    ),
    Broken("a line beyond 32 bits", "directive-argument", entry(".loc 1 «4294967296» 5", above='.file 1 "a"\n')),
    Broken("a file beyond 32 bits", "directive-argument", entry("", above='.file «4294967296» "a"\n')),
    Broken("a number beyond .f64", "operand-kind", entry(".reg .f64 %d;\n\tmov.f64 %d, «1e400»;")),
    Broken("a number below .f64", "operand-kind", entry(".reg .f64 %d;\n\tmov.f64 %d, «-1.0e-400»;")),
    Broken("a bit field position of 300", "immediate-range", entry("bfe.u32 %r1, %r2, «300», 1;")),
    Broken(
        "ld.shared of a parameter name", "address-space", entry("ld.shared.u32 %r1, «[n]»;", parameters=".param .u32 n")
    ),
    Broken("redux.f32 on plain sm_100", "target", before_hopper("«redux.sync.min.f32» %f1, %f2, -1;", "8.8", "sm_100")),
    Broken(
        "ld.shared::cluster without clusters", "target", before_hopper("ld«.shared::cluster».u32 %r1, [%rd1];", "8.0")
    ),
    Broken("szext in PTX 7.0", "version", before_hopper("«szext.wrap.u32» %r1, %r2, %r3;")),
    Broken("shfl without sync and membermask", "removed", entry("«shfl.down.b32» %r1, %r2, 1, 31;")),
    Broken(
        "an unknown instruction",
        "unknown-instruction",
        entry("«frobnicate.b32» %r1;"),
        "ptxas rejects 'frobnicate', but accepts instructions newer than the table",
    ),
    # Faults: arguments of a call whose kind differs from the parameter's
    *(
        Broken(f"{what} for {parameter}", "call-argument", entry(call, above=f".func f({parameter} a) {{ ret; }}\n"))
        for what, parameter, call in (
            ("a predicate", ".param .b32", "call f, («%p1»);"),
            ("a predicate", ".reg .b16", "call f, («%p1»);"),
            ("a predicate", ".param .align 4 .b8", ".reg .pred p; call f, («p»);"),
            ("a floating-point constant", ".param .u32", "call f, «(1.0)»;"),
            ("a floating-point expression", ".reg .s64", "call f, «(1.0+1.0)»;"),
            ("an integer constant", ".reg .f32", "call f, «(1)»;"),
            ("the warp size", ".param .f64", "call f, «(WARP_SZ)»;"),
            ("the sink", ".param .b32", "call f, «(_)»;"),
            ("a sum", ".param .b32", "call f, «(%r1+1)»;"),
            ("a negated register", ".param .b32", "call f, «(-%r1)»;"),
            ("a negated predicate", ".param .b32", "call f, «(!%p1)»;"),
            ("an address", ".param .b32", "call f, «([%rd1])»;"),
            ("two registers", ".param .b32", "call f, «(%r1|%r2)»;"),
            ("two registers in braces", ".reg .v2 .b32", "call f, «({%r1, %r2})»;"),
            ("a component", ".param .b32", ".reg .v2 .b32 v; call f, («v.x»);"),
            ("a part of a register", ".param .b32", "call f, («%r1.b0»);"),
            ("a special register", ".param .b32", "call f, («%laneid»);"),
            ("a component of a special register", ".param .b32", "call f, («%tid.x»);"),
            ("a .v4 .u32 register", ".reg .v2 .u32", ".reg .v4 .u32 v; call f, («v»);"),
            ("a .v2 .u32 register", ".reg .v4 .u16", ".reg .v2 .u32 v; call f, («v»);"),
            ("a 64-bit scalar register", ".reg .v2 .u32", "call f, («%rd1»);"),
        )
    ),
    Broken("an integer as call result", "call-argument", entry("call «(1)», f;", above=".func (.reg .b32 a) f() {}\n")),
    Broken("a sum as call result", "call-argument", entry("call «(%r1+1)», f;", above=".func (.reg .b32 a) f() {}\n")),
    # Faults: forms of addresses and constants that ptxas rejects
    *(
        Broken(f"{form} in brackets", "operand-kind", entry(f"{text};", above=".global .b32 g[4];\n"))
        for form, text in (
            ("an address", "ld.global.u32 %r1, «[[g]]»"),
            ("a vector", "ld.global.u32 %r1, «[{g, g}]»"),
            ("a negated register", "ld.global.u32 %r1, «[-%rd1]»"),
            ("a negated predicate", "prefetch.global.L1 «[!%p1]»"),
            ("a generic variable", "st.global.u32 «[generic(g)]», %r1"),
            ("generic(g) plus 4", "ld.global.u32 %r1, «[generic(g)+4]»"),
            ("0xFF(g), a byte of an address,", "ld.global.u32 %r1, «[0xFF(g)]»"),
            ("two registers", "ld.global.u32 %r1, «[%rd1|%r2]»"),
            ("a list", "ld.local.u32 %r1, «[(3, 4)]»"),
            ("a minus before parentheses", "ld.global.u32 %r1, «[g-(4)]»"),
            ("two minus signs", "ld.global.u32 %r1, «[%rd1--4]»"),
            ("a minus and a plus", "ld.global.u32 %r1, «[%rd1-8+4]»"),
            ("a division by zero", "ld.global.u32 %r1, «[%rd1+4/0]»"),
            ("a division by zero in the unused case of ?:", "ld.local.u32 %r1, «[1 ? 2 : 1/0]»"),
            ("a floating-point offset", "ld.global.u32 %r1, «[%rd1+(.u64)1.0]»"),
            ("a floating-point number with an integer operator", "ld.local.u32 %r1, «[~1.0]»"),
            ("08, not an octal number", "ld.local.u32 %r1, «[08]»"),
        )
    ),
    *(
        Broken(f"{form} as the source of mov", "operand-kind", entry(f"{text};", above=".global .b32 g[4];\n"))
        for form, text in (
            ("a register times 2", "mov.u32 %r1, «%r1*2»"),
            ("a register in parentheses", "mov.u32 %r1, «(%r1)»"),
            ("a complement", "mov.u32 %r1, «~%r1»"),
            ("a variable in parentheses", "mov.u64 %rd1, «(g)»"),
            ("a generic variable", "mov.u64 %rd1, «generic(g)»"),
            ("a difference", "mov.u64 %rd1, «g-4»"),
            ("a comparison of two variables", "mov.u64 %rd1, «g==g»"),
            ("08, not an octal number", "mov.u32 %r1, «08»"),
            ("a negated 0f literal", "mov.f32 %f1, «-0f3f800000»"),
            ("a 0f literal plus a float", "mov.f32 %f1, «0f3f800000+1.0»"),
            ("a float times a 0f literal", "mov.b32 %r1, «2.0*0f3f800000»"),
            ("%tid.x plus 1", "mov.u32 %r1, «%tid.x+1»"),
            ("the address of an entry plus 4", "mov.u64 %rd1, «k+4»"),
        )
    ),
    Broken("a bit field position of -8/3", "immediate-range", entry("bfe.u32 %r1, %r2, «-8/3», 1;")),
    Broken(
        "a cp.async size of 7/2",
        "immediate-range",
        entry("cp.async.ca.shared.global [%r1], [%rd1], «7/2»;"),
    ),
    Broken("barrier number -WARP_SZ", "immediate-range", entry("bar.sync «-WARP_SZ»;")),
    # Faults: directives that are too early, too late or in the wrong statement
    Broken(
        ".abi_preserve on a prototype in PTX 8.8",
        "version",
        before_hopper("p: .callprototype _ () «.abi_preserve» 4;", "8.8"),
    ),
    Broken(
        ".noreturn on a prototype in PTX 6.3",
        "version",
        before_hopper("p: .callprototype _ () «.noreturn»;", "6.3", "sm_75"),
    ),
    Broken(
        ".abi_preserve_control on sm_75",
        "target",
        before_hopper("p: .callprototype _ () «.abi_preserve_control» 4;", "9.0", "sm_75"),
    ),
    Broken(
        ".abi_preserve with 300 registers on a prototype",
        "directive-argument",
        entry("p: .callprototype _ () «.abi_preserve» 300;"),
    ),
    Broken(
        ".noreturn twice on a prototype", "directive-conflict", entry("p: .callprototype _ () «.noreturn» .noreturn;")
    ),
    Broken("enable_smem_spilling in PTX 8.5", "version", before_hopper('«.pragma» "enable_smem_spilling";', "8.5")),
    Broken("used_bytes_mask in PTX 8.2", "version", before_hopper('«.pragma» "used_bytes_mask 0xF";', "8.2")),
    Broken("pragma frequency in PTX 8.8", "version", before_hopper('«.pragma» "frequency 7";', "8.8")),
    Broken("pragma frequency without a value", "directive-argument", entry('«.pragma» "frequency";')),
    Broken("pragma frequency in a header", "misplaced-directive", entry("", directives='«.pragma» "frequency 7";')),
    Broken(
        ".alias of an entry's name", "redefined-function", f"{HEAD}.entry f() {{ ret; }}\n.func g();\n.alias «g», f;\n"
    ),
    Broken(
        ".alias with the name of an entry",
        "redefined-function",
        f"{HEAD}.entry «g»();\n.func f() {{ ret; }}\n.alias g, f;\n".replace("«g»", "g").replace(
            "alias g", "alias «g»"
        ),
    ),
    Broken(
        ".alias of an .extern function",
        "redefined-function",
        f"{HEAD}.extern .func f();\n.func g();\n.alias «g», f;\n",
    ),
    Broken(".align after a parameter's type", "declaration", f"{HEAD}.func f(.param .u64 «.align» 8 s) {{ ret; }}\n"),
    Broken(
        ".align after the type of a return value",
        "declaration",
        f"{HEAD}.func (.param .b8 «.align» 8 s[8]) f() {{ ret; }}\n",
    ),
    Broken(".align after a variable's type", "declaration", entry(".param .u64 «.align» 8 s;")),
    Broken(".ptr in a variable declaration", "declaration", entry("", above=".global .u64 «.ptr» .align 8 s;\n")),
    Broken("32-bit address of a .global", "operand-type", entry("mov.u32 %r1, «g»;", above=".global .b32 g[4];\n")),
    Broken(
        "32-bit address of array element", "operand-type", entry("mov.b32 %r1, «g[1]»;", above=".global .b32 g[4];\n")
    ),
    Broken("32-bit cvta in a 64-bit module", "operand-type", entry("cvta.shared.u32 %r1, «%r2»;")),
    Broken("a byte-order mark", "syntax", "«\ufeff»" + entry("")),
    Broken("zero bytes at the end of a file", "syntax", entry("") + "«\0»\0\0"),
    Broken("empty parentheses before an entry's name", "syntax", f"{HEAD}.entry «(») k() {{ ret; }}\n"),
    Broken("a vertical tab", "syntax", entry("mov.b32 %r1,«\v»1;")),
    Broken("a # line other than a line marker", "syntax", f"{HEAD}«#»define X\n.visible .entry k() {{ ret; }}\n"),
    Broken("a line marker without a line end", "syntax", entry("") + '«#» 1 "a.cu"'),
    Broken("a section without a dot", "section-data", entry("") + ".section «debug_str»\n{\n.b8 1\n}\n"),
    Broken("a section name with two dots", "section-data", entry("") + ".section «.debug.str»\n{\n.b8 1\n}\n"),
    Broken(
        ".ptr with .align before the state space",
        "syntax",
        entry("", parameters=".param .u64 .ptr .align 8 «.global» p"),
    ),
    Broken(".align twice after .ptr", "syntax", entry("", parameters=".param .u64 .ptr .align 8 «.align» 8 p")),
    Broken(".ptr twice on one parameter", "syntax", entry("", parameters=".param .u64 .ptr «.ptr» p")),
    Broken(
        "a file's name beyond ASCII", "directive-argument", f'{HEAD}«.file» 1 "é.cu"\n.visible .entry k() {{ ret; }}\n'
    ),
    Broken("a pragma beyond ASCII", "directive-argument", entry('«.pragma» "é";')),
    Broken("a line of @@DWARF", "removed", f"{HEAD}«@@DWARF» .byte 1\n.visible .entry k() {{ ret; }}\n"),
    Broken("a common texture", "misplaced-directive", entry("", above="«.common» .global .texref t;\n")),
    Broken("a return value of 0 bytes", "declaration", f"{HEAD}.func (.param .b8 «r»[0]) f() {{ ret; }}\n"),
    Broken(
        "a prototype's return value of 0 bytes",
        "declaration",
        entry("p: .callprototype (.param «.b8» _[0]) _ ();"),
    ),
    Broken(
        "a texture in a prototype",
        "declaration",
        f"{HEAD}.func f() {{ p: .callprototype _ (.param «.texref» _); ret; }}\n",
    ),
    Broken("a two-dimensional prototype array", "declaration", entry("p: .callprototype _ (.param «.b8» _[2][2]);")),
    Broken(
        "a pointer in a prototype",
        "declaration",
        f"{HEAD}.func f() {{ p: .callprototype _ (.param «.u64» .ptr _); ret; }}\n",
    ),
    Broken(
        "a .f32 register for a .u32 parameter",
        "call-argument",
        entry("call f, («%f1»);", above=".func f(.param .u32 a) { ret; }\n"),
    ),
    Broken(
        "a .u32 register for a .f32 result",
        "call-argument",
        entry(".reg .u32 u; call («u»), f;", above=".func (.reg .f32 a) f() { ret; }\n"),
    ),
    Broken(
        "a .f64 variable for a .s64 parameter",
        "call-argument",
        entry(".param .f64 x; call f, («x»);", above=".func f(.param .s64 a) { ret; }\n"),
    ),
    Broken(
        "a .u32 array for a .s32 array parameter",
        "call-argument",
        entry(".param .u32 x[2]; call f, («x»);", above=".func f(.param .s32 a[2]) { ret; }\n"),
    ),
    Broken(
        "a .u16 array for a .u32 array parameter",
        "call-argument",
        entry(".param .align 4 .u16 x[4]; call f, («x»);", above=".func f(.param .u32 a[2]) { ret; }\n"),
    ),
    Broken(
        "a .v4 register for a .v2 result",
        "call-argument",
        entry(".reg .v4 .u16 v; call («v»), f;", above=".func (.reg .v2 .f32 a) f() { ret; }\n"),
    ),
    Broken(
        "a constant for a .v4 parameter",
        "call-argument",
        entry("call f, «(1)»;", above=".func f(.reg .v4 .f32 a) { ret; }\n"),
    ),
    Broken("an index after a scalar", "operand-kind", entry("ld.global.b32 %r1, «g»[0];", above=".global .b32 g;\n")),
    Broken("a float register plus 1 in mov", "operand-type", entry("mov.u32 %r1, «%f1+1»;")),
    Broken("a predicate plus 1 in mov", "operand-type", entry("mov.b32 %r1, «%p1+1»;")),
    Broken("cvta of a float register plus 8", "operand-type", entry("cvta.global.u64 %rd1, «%f1+8»;")),
    Broken("an index after a function", "operand-kind", entry("mov.u64 %rd1, «f»[0];", above=".func f() { ret; }\n")),
    *(
        Broken(f"{index} as an index", "operand-kind", entry(f"ld.global.b32 %r1, «places[{index}]»;", above=VALUES))
        for index in ("%r1-1", "-%r1", "(%r1)", "%r1*4", "1+%r1", "1 ? %r1 : 2", "%r1+1.0", "places[1]", "[%r1]")
    ),
    Broken(
        "a function name as an array index",
        "operand-kind",
        entry("mov.u64 %rd1, «places[f]»;", above=f"{VALUES}.func f() {{ ret; }}\n"),
    ),
    Broken("an array element in atom", "operand-kind", entry("atom.global.add.u32 %r1, «places[1]», 1;", above=VALUES)),
    Broken(
        "an array element as the source of cp.async",
        "operand-kind",
        entry("cp.async.ca.shared.global [s], «places[1]», 4;", above=f"{VALUES}.shared .b32 s[4];\n"),
    ),
    Broken("ld.shared of a .global array", "address-space", entry("ld.shared.b32 %r1, «places[1]»;", above=VALUES)),
    Broken(
        "cvta.shared of an array element in .global",
        "address-space",
        entry("cvta.shared.u64 %rd1, «places[1]»;", above=VALUES),
    ),
    Broken("cvta.shared of .global address", "address-space", entry("cvta.shared.u64 %rd1, «places+4»;", above=VALUES)),
    Broken("special register plus 8 in cvta", "address-space", entry("cvta.global.u64 %rd1, «%clock64+8»;")),
    Broken(
        "a vector component in a video instruction",
        "operand-type",
        entry(".reg .v2 .b32 v; vadd.u32.u32.u32 %r1, «v.x», %r2;"),
    ),
    Broken(
        "a vector component after a valid video instruction",
        "operand-type",
        entry(".reg .v2 .b32 %v; vadd.u32.u32.u32 %r1, %r1, %r2; vadd.u32.u32.u32 %r1, «%v.x», %r2;"),
    ),
    Broken(
        "one label declared in two sections",
        "redefined-label",
        entry("") + ".section .debug_str {\nL:\n}\n.section .debug_info {\n«L»:\n}\n",
    ),
    Broken("a section byte of 256", "section-data", entry("") + ".section .debug_info {\n«.byte» 256\n}\n"),
    Broken(
        "08, not octal, in data lines of a section", "section-data", entry("") + ".section .debug_info {\n«.b8» 08\n}\n"
    ),
    Broken("WARP_SZ as section data", "section-data", entry("") + ".section .debug_info {\n«.b32» WARP_SZ\n}\n"),
    Broken("a label in a .byte data line", "section-data", entry("") + ".section .debug_info {\nL:\n«.byte» L\n}\n"),
)
