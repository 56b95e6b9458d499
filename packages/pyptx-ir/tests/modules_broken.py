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
    # Syntax
    Broken("an operand is missing", "syntax", entry("add.s32 %r1, «,» %r2;")),
    Broken("no semicolon", "syntax", entry("mov.b32 %r1, 1\n\t«mov.b32» %r2, 2;")),
    Broken("a state space before an entry", "syntax", f"{HEAD}.reg «.entry» k() {{ ret; }}\n"),
    Broken("an alignment before a function", "syntax", f"{HEAD}.align 8 «.func» f() {{ ret; }}\n"),
    Broken("an attribute before a function", "syntax", f"{HEAD}.attribute(.unified(1, 2)) «.func» f() {{ ret; }}\n"),
    Broken("a common entry", "syntax", f"{HEAD}.common «.entry» k() {{ ret; }}\n"),
    Broken("an entry declared without a semicolon", "syntax", f"{HEAD}.entry k()\n«.func» f() {{ ret; }}\n"),
    Broken("a function declared before an instruction", "syntax", f"{HEAD}.func f()\n«ret»;\n"),
    Broken("an unknown directive", "syntax", entry("", directives="«.maxntidx» 128")),
    Broken("a semicolon too many", "empty-statement", entry("mov.b32 %r1, 1;«;»")),
    Broken("code below a function", "outside-function", entry("") + "«mov.b32» %r1, 1;\nret;\n"),
    Broken("a brace too many", "outside-function", entry("@%p1 bra L;\n\tL: }\n\t«mov.b32» %r1, 1;\n{")),
    # The header
    Broken("no version", "missing-version", "«.target» sm_90a\n.visible .entry k() { ret; }\n"),
    Broken("no target", "missing-target", "«.version» 9.0\n.visible .entry k() { ret; }\n"),
    Broken(
        "an address size before the target",
        "misplaced-directive",
        ".version 9.0\n.address_size 64\n«.target» sm_90a\n",
    ),
    Broken("a version between", "unknown-version", entry("", head=".version «7.9»\n.target sm_90a\n")),
    Broken("an unknown target", "unknown-target", entry("", head=".version 9.0\n.target «sm_91»\n")),
    Broken("an unknown option", "unknown-target", entry("", head=".version 9.0\n.target sm_90a, «fast»\n")),
    Broken("a target newer than the version", "target-version", entry("", head=".version 7.8\n.target «sm_90a»\n")),
    Broken("a retired target", "retired-target", ".version 3.2\n.target «sm_20»\n.entry k() { exit; }\n"),
    Broken("a version below code", "misplaced-directive", entry("") + "«.version» 9.0\n"),
    Broken("a target below code", "misplaced-directive", entry("") + "«.target» sm_90a\n"),
    Broken(
        "an address size of 16",
        "directive-argument",
        entry("", head=".version 9.0\n.target sm_90a\n.address_size «16»\n"),
    ),
    Broken(
        "two texture modes",
        "directive-conflict",
        entry("", head=".version 9.0\n.target sm_90a, texmode_unified, «texmode_independent»\n"),
    ),
    # Directives
    Broken(
        "a cluster on an early target",
        "target",
        before_hopper("", "8.0", "sm_89").replace("() ", "() «.explicitcluster»"),
    ),
    Broken(
        "a cluster in an early version", "version", before_hopper("", "7.0").replace("() ", "() «.maxclusterrank» 8")
    ),
    Broken("a removed directive", "removed", entry("", directives=".maxntid 128, 1, 1 «.maxnctapersm» 2")),
    Broken("a directive of the header in the body", "misplaced-directive", entry("«.maxntid» 128, 1, 1;")),
    Broken("a register outside functions", "misplaced-directive", entry("", above="«.reg» .b32 outside;\n")),
    Broken("local memory outside functions", "misplaced-directive", entry("", above="«.local» .b32 outside;\n")),
    Broken("an unsized block", "directive-argument", entry("", directives="«.maxntid» 0")),
    Broken("a word for a number", "directive-argument", entry("", directives="«.maxntid» 16, WIDTH")),
    Broken("four dimensions", "directive-argument", entry("", directives="«.reqntid» 8, 8, 2, 1")),
    Broken("both sizes of a block", "directive-conflict", entry("", directives=".maxntid 128 «.reqntid» 128")),
    Broken(
        "both sizes of a cluster",
        "directive-conflict",
        entry("", directives=".reqnctapercluster 2 «.maxclusterrank» 8"),
    ),
    Broken(
        "a function that never returns, twice",
        "directive-conflict",
        f"{HEAD}.func f() «.noreturn» .noreturn {{ exit; }}\n",
    ),
    Broken(
        "noreturn after another directive",
        "directive-conflict",
        f"{HEAD}.func f() .abi_preserve 8 «.noreturn» {{ exit; }}\n",
    ),
    Broken("a sampler in unified mode", "directive-conflict", entry("", above=".global .samplerref «smp0»;\n")),
    Broken("a sampler as a parameter", "directive-conflict", entry("", parameters=".param .samplerref «s»")),
    Broken("clusters without sizes", "directive-conflict", entry("", directives="«.blocksareclusters»")),
    Broken("an entry that never returns", "misplaced-directive", entry("", directives="«.noreturn»")),
    Broken("a block size for a function", "misplaced-directive", f"{HEAD}.func f() «.maxntid» 128\n{{\n\tret;\n}}\n"),
    Broken(
        "a unified variable too early",
        "version",
        before_hopper("").replace(".vis", ".global .attribute(«.unified»(1, 2)) .b32 g;\n.vis"),
    ),
    Broken(
        "a common variable too early",
        "version",
        ".version 4.3\n.target sm_50\n«.common» .global .b32 g;\n",
    ),
    Broken("128-bit registers too early", "version", before_hopper(".reg «.b128» %q;", "8.2")),
    Broken("blocks per SM without their size", "ignored-directive", entry("", directives="«.minnctapersm» 2")),
    # Faults of function headers and their declarations
    *(
        Broken(
            f"a directive with a wrong number: {text}",
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
        "a function that keeps too many registers",
        "directive-argument",
        f"{HEAD}.func f() «.abi_preserve» 240 {{ ret; }}\n",
    ),
    Broken(
        "a function that never returns a value",
        "directive-conflict",
        f"{HEAD}.func (.param .b32 r) f() «.noreturn» {{ exit; }}\n",
    ),
    Broken("an entry that returns", "misplaced-directive", f"{HEAD}.entry (.param .b32 «r») k() {{ ret; }}\n"),
    *(
        Broken(f"a parameter of an entry: {parameter}", "declaration", entry("", parameters=parameter))
        for parameter in (
            ".param .u64 .ptr .align 3 «p»",
            ".param .u64 .ptr .global .align 0 «p»",
            ".param .b8 «p»[2][2]",
            ".param .b8 «p»[-1]",
            ".param .b8 «p»[0]",
        )
    ),
    *(
        Broken(f"a parameter of a function: {parameter}", "declaration", f"{HEAD}.func f({parameter}) {{ ret; }}\n")
        for parameter in (
            ".param .u64 .ptr .global «p»",
            ".reg .b32 «p»[4]",
            ".global .u64 «p»",
            ".param .b32 «_»",
            ".param .b8 «p»[4+4]",
        )
    ),
    Broken(
        "8 bits handed to a function",
        "call-argument",
        f"{HEAD}.func f(.param .u8 p) {{ ret; }}\n.entry k() {{ .param .u8 a; call f, «(a)»; }}\n",
    ),
    Broken(
        "a predicate returned by a function",
        "call-argument",
        f"{HEAD}.func (.reg .pred p) f() {{ ret; }}\n.entry k() {{ .reg .pred a; call «(a)», f; }}\n",
    ),
    Broken(
        "a second target below the address size", "misplaced-directive", entry("", head=f"{HEAD}«.target» sm_90a\n")
    ),
    Broken(
        "options without a device", "directive-argument", ".version 9.0\n.target «debug», sm_90a\n.entry k() { ret; }\n"
    ),
    Broken("no double precision", "directive-argument", ".version 9.0\n.target sm_90a, «map_f64_to_f32»\n"),
    Broken("a common constant", "misplaced-directive", entry("", above="«.common» .const .b32 c;\n")),
    Broken("linking inside a function", "misplaced-directive", entry("«.visible» .shared .b32 s;")),
    Broken("a variable of a window", "misplaced-directive", entry("", above="«.shared::cta» .b32 s;\n")),
    Broken("a bank of constants", "misplaced-directive", entry("", above="«.const[3]» .b32 c;\n")),
    Broken("too many registers", "declaration", entry(".reg .b32 «%q»<4294967296>;")),
    Broken(
        "a negative unified address",
        "directive-argument",
        entry("", above=".global .attribute(«.unified»(1, -2)) .b32 g;\n"),
    ),
    Broken("an array of less than nothing", "declaration", entry("", above=".global «.b8» g[-1];\n")),
    Broken("a variable of eight", "declaration", entry("", above=".global .v8 «.b8» g;\n")),
    Broken("a texture in constant memory", "declaration", entry("", above=".const «.texref» t;\n")),
    Broken("a pragma of no module", "directive-argument", entry("", above='«.pragma» "noreturn";\n')),
    Broken("a function that is its own alias", "redefined-function", f"{HEAD}.func f() {{ ret; }}\n.alias «f», f;\n"),
    Broken(
        "an alias with other parameters",
        "redefined-function",
        f"{HEAD}.func f() {{ ret; }}\n.func a(.param .b32 x);\n.alias «a», f;\n",
    ),
    Broken("an external function with a body", "redefined-function", f"{HEAD}«.extern» .func f() {{ ret; }}\n"),
    *(
        Broken(f"a section with {data}", "section-data", f"{entry('')}.section .debug_info {{\nL:\n«{data}\n}}\n")
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
        "a label twice in a section",
        "redefined-label",
        f"{entry('')}.section .debug_info {{\nL:\n.b8 1\n«L»:\n.b8 2\n}}\n",
    ),
    # Constant expressions
    Broken("a division by zero", "operand-kind", entry("mov.b32 %r1, «1/0»;")),
    Broken("an element between two", "operand-kind", entry("ld.const.b32 %r1, «v[1.5]»;", above=".const .b32 v[4];\n")),
    Broken("an integer added to a float", "operand-kind", entry("mov.f32 %f1, «1.5+1»;")),
    # Initializers
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
    # Names
    Broken("an undeclared register", "undefined-register", entry("mov.b32 %r1, «%q1»;")),
    Broken("a register past the last", "undefined-register", entry("mov.b32 %r1, «%r8»;")),
    Broken("a component of a scalar", "undefined-register", entry("mov.b32 %r1, «%r2.x»;")),
    Broken(
        "a component past the last",
        "undefined-variable",
        entry(".reg .v2 .b32 v;\n\tmov.b32 %r1, «v.z»;"),
        exception="ptxas does not check components: reads past the last are undefined",
    ),
    Broken("a component of a special register", "undefined-register", entry("mov.b32 %r1, «%laneid.x»;")),
    Broken(
        "a float as an index",
        "operand-kind",
        entry("ld.const.u32 %r1, «values[%f1]»;", above=VALUES),
    ),
    Broken(
        "a float and a number as an index",
        "operand-kind",
        entry("ld.const.u32 %r1, «values[%f1+1]»;", above=VALUES),
    ),
    Broken(
        "a predicate as an index",
        "operand-kind",
        entry("st.global.u32 «places[%p1]», %r1;", above=VALUES),
    ),
    Broken(
        "a component as an index",
        "operand-kind",
        entry("ld.const.u32 %r1, «values[%tid.x]»;", above=VALUES),
    ),
    Broken(
        "an index of 128 bits",
        "operand-kind",
        entry(".reg .b128 %q; ld.const.u32 %r1, «values[%q]»;", above=VALUES),
    ),
    Broken("a part of a register outside video instructions", "operand-kind", entry("mov.b32 %r1, «%r2.b0»;")),
    # Addresses
    *(
        Broken(f"a number for an address: {name}", "operand-kind", entry(body))
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
        Broken(f"an address in 32 bits: {name}", "operand-type", entry(body))
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
        "a register used above its declaration", "undefined-register", entry("mov.b32 «%late», 1;\n\t.reg .b32 %late;")
    ),
    Broken(
        "a register of an inner block",
        "undefined-register",
        entry("{ .reg .b32 %in; mov.b32 %in, 1; }\n\tmov.b32 %r1, «%in»;"),
    ),
    Broken("an undeclared variable", "undefined-variable", entry("ld.global.b32 %r1, [«values»];")),
    Broken("an undeclared parameter", "undefined-variable", entry("ld.param.b64 %rd1, [«k_param_0»];")),
    Broken("a variable below its use", "undefined-variable", entry("mov.u64 %rd1, «later»;") + ".global .b32 later;\n"),
    Broken(
        "an initializer with an undeclared symbol",
        "undefined-variable",
        entry("", above=".global .u64 table[2] = {«missing», 0};\n"),
    ),
    Broken("a branch to nowhere", "undefined-label", entry("bra «DONE»;")),
    Broken(
        "a branch into a block", "undefined-label", entry("@%p1 bra «INSIDE»;\n\t{\nINSIDE:\n\tmov.b32 %r1, 1;\n\t}")
    ),
    Broken(
        "a branch into another function",
        "undefined-label",
        entry("bra «THERE»;", above=".func f()\n{\nTHERE:\n\tret;\n}\n"),
    ),
    Broken(
        "a branch list of nothing", "undefined-label", entry("L0:\n\tts: .branchtargets L0, «L1»;\n\tbrx.idx %r1, ts;")
    ),
    Broken("a call of nothing", "undefined-function", entry("call «f»;")),
    Broken("a call above the declaration", "undefined-function", entry("call «f»;") + ".func f() { ret; }\n"),
    Broken("a function declared and nowhere defined", "undefined-function", entry("", above=".visible .func «f»();\n")),
    Broken("an alias of nothing", "undefined-function", entry("", above=".weak .func a();\n.alias a, «b»;\n")),
    Broken("a register twice", "redefined-register", entry(".reg .b32 %a;\n\t.reg .b32 «%a»;")),
    Broken("a register of a range again", "redefined-register", entry(".reg .b32 «%r5»;")),
    Broken("a range twice", "redefined-register", entry(".reg .f32 «%r»<4>;")),
    Broken("a parameter and a register", "redefined-register", entry(".reg .b32 «n»;", parameters=".param .u32 n")),
    Broken("a variable twice", "redefined-variable", entry("", above=".global .b32 g;\n.global .b32 «g»;\n")),
    Broken("two parameters of a name", "redefined-variable", entry("", parameters=".param .u32 «n», .param .u32 n")),
    Broken(
        "an external variable of another type",
        "redefined-variable",
        entry("", above=".extern .global .b32 g;\n.visible .global .b64 «g»;\n"),
    ),
    Broken("a label twice", "redefined-label", entry("L:\n\tmov.b32 %r1, 1;\n«L»:\n\t@%p1 bra L;")),
    Broken("a label and a register", "redefined-label", entry(".reg .b32 L;\n«L»:\n\tmov.b32 %r1, 1;")),
    Broken("a function twice", "redefined-function", f"{HEAD}.func f() {{ ret; }}\n.func «f»() {{ ret; }}\n"),
    Broken("an entry twice", "redefined-function", f"{HEAD}.entry k() {{ ret; }}\n.entry «k»() {{ ret; }}\n"),
    Broken(
        "a function declared with other parameters",
        "redefined-function",
        f"{HEAD}.func f(.param .b32 a);\n.func «f»(.param .b64 a) {{ ret; }}\n",
    ),
    Broken(
        "a function declared external and defined",
        "redefined-function",
        f"{HEAD}.extern .func f();\n.func «f»() {{ ret; }}\n",
    ),
    Broken("a function like a variable", "redefined-function", f"{HEAD}.global .b32 f;\n.func «f»() {{ ret; }}\n"),
    Broken("a function like a special register", "redefined-function", f"{HEAD}.func «%laneid»() {{ ret; }}\n"),
    Broken("an entry like a vector of them", "redefined-function", f"{HEAD}.visible .entry «%tid»() {{ ret; }}\n"),
    Broken("a variable like a special register", "redefined-variable", entry("", above=".global .b32 «%clock»;\n")),
    Broken("an entry like a constant", "redefined-function", f"{HEAD}.visible .entry «WARP_SZ»() {{ ret; }}\n"),
    Broken("a range like a constant", "redefined-register", entry(".reg .b32 «WARP_SZ»<3>;")),
    Broken("a label like a constant", "redefined-label", entry("«WARP_SZ»:\n\tmov.b32 %r1, 1;")),
    Broken("a file number twice", "redefined-file", entry("", above='.file 1 "a.cu"\n.file «1» "b.cu"\n')),
    Broken("a file in a function", "misplaced-directive", entry('«.file» 1 "a.cu"')),
    Broken("an unknown attribute", "directive-argument", entry("", above=".global .attribute(«.fast») .b32 g;\n")),
    Broken("managed constants", "directive-argument", entry("", above=".const .attribute(«.managed») .b32 g;\n")),
    Broken("unified constants", "directive-argument", entry("", above=".const .attribute(«.unified»(1, 2)) .b32 g;\n")),
    # Declarations
    Broken("a type of instructions", "declaration", entry(".reg «.bf16» h;")),
    Broken("a type of no size", "declaration", entry("", above=".global «.b7» g;\n")),
    Broken("a predicate in memory", "declaration", entry(".local «.pred» p;")),
    Broken("a vector of 32 bytes", "declaration", entry("", above=".global .v4 «.f64» g;\n")),
    Broken("an odd alignment", "declaration", entry("", above=".global .align 3 «.b8» g[4];\n")),
    Broken("a vector as a parameter", "declaration", entry("", parameters=".param .v4 .f32 «v»")),
    Broken("a packed parameter", "declaration", entry("", parameters=".param .f16x2 «h»")),
    Broken("a register as an entry's parameter", "declaration", entry("", parameters=".reg .b32 «n»")),
    Broken("an entry's parameter without a size", "declaration", entry("", parameters=".param .b8 «rest»[]")),
    Broken("an array without a size", "declaration", entry("", above=".global .b32 «g»[];\n")),
    Broken("a texture in a function", "declaration", entry(".global «.texref» t;")),
    Broken("two results in memory", "declaration", f"{HEAD}.func (.param .b32 a, .param .b32 «b») f() {{ ret; }}\n"),
    Broken("too many values", "initializer", entry("", above=".global .b32 «g»[2] = {1, 2, 3};\n")),
    Broken(
        "too many values in a row", "initializer", entry("", above=".global .b32 «g»[2][2] = {{1, 2, 3}, {4, 5}};\n")
    ),
    Broken("values without their braces", "initializer", entry("", above=".global .b32 «g»[2][2] = {1, 2};\n")),
    Broken("braces for a scalar", "initializer", entry("", above=".global .b32 «g» = {1};\n")),
    Broken("an integer for a float", "initializer", entry("", above=".global .f32 «g» = 1;\n")),
    Broken("values in shared memory", "initializer", entry(".shared .b32 «s» = 1;")),
    Broken("values of several variables", "initializer", entry("", above=".global .b32 «g»<2> = 1;\n")),
    Broken("a field that textures have not", "initializer", entry("", above=".global .texref «t» = {filter = 1};\n")),
    Broken("a word of no mode", "initializer", entry("", above=".global .texref «t» = {filter_mode = closest};\n")),
    Broken("a texture without fields", "initializer", entry("", above=".global .texref «t» = {1};\n")),
    Broken("values elsewhere", "initializer", entry("", above=".extern .global .b32 «g» = 1;\n")),
    Broken(
        "constants of 80,000 bytes",
        "constant-memory",
        entry("", above=".const .b8 a[40000];\n«.const» .b8 b[40000];\n"),
    ),
    Broken("an address size twice", "misplaced-directive", HEAD + "«.address_size» 64\n.entry k() { ret; }\n"),
    # Faults of guards and control flow
    Broken("a guard of 32 bits", "guard", entry("@«%r1» mov.b32 %r2, 1;")),
    Broken("an undeclared guard", "undefined-register", entry("@«%p9» mov.b32 %r2, 1;")),
    Broken("code after a branch", "unreachable", entry("bra DONE;\n\t«mov.b32» %r1, 1;\nDONE:")),
    Broken("code after an exit", "unreachable", entry("exit;\n\t«mov.b32» %r1, 1;")),
    # Faults of functions and memory operands
    Broken("a call of an entry", "call-target", entry("call «j»;", above=".entry j() { ret; }\n")),
    Broken("too few arguments", "call-arguments", entry(f"{ARGUMENTS}\tcall (z), pair, «(x)»;", above=PAIR)),
    Broken("too many arguments", "call-arguments", entry(f"{ARGUMENTS}\tcall (z), pair, «(x, y, x)»;", above=PAIR)),
    Broken("no arguments at all", "call-arguments", entry(f"{ARGUMENTS}\tcall (z), «pair»;", above=PAIR)),
    Broken(
        "an argument of another size", "call-argument", entry(f"{ARGUMENTS}\tcall (z), pair, (x, «z»);", above=PAIR)
    ),
    Broken(
        "a register of another size", "call-argument", entry(f"{ARGUMENTS}\tcall (z), pair, («%rd1», y);", above=PAIR)
    ),
    Broken(
        "a vector register as an argument",
        "call-argument",
        entry(f"{ARGUMENTS}\t.reg .v2 .b32 v;\n\tcall (z), pair, («v», y);", above=PAIR),
    ),
    Broken("a result of another size", "call-argument", entry(f"{ARGUMENTS}\tcall («y»), pair, (x, y);", above=PAIR)),
    Broken(
        "a variable as an argument",
        "call-argument",
        entry(f"{ARGUMENTS}\tcall (z), pair, («g», y);", above=f".global .b32 g;\n{PAIR}"),
    ),
    Broken(
        "an argument that the prototype lacks",
        "call-arguments",
        entry(
            f"{ARGUMENTS}\tproto: .callprototype (.param .b32 _) _ (.param .b32 _);\n\tcall (z), %rd1, «(x, y)», proto;"
        ),
    ),
    Broken(
        "an array for a scalar",
        "call-argument",
        entry(".param .align 8 .b8 w[8];\n\tcall f, («w»);", above=".func f(.param .b64 a) { ret; }\n"),
    ),
    Broken(
        "an array aligned otherwise",
        "call-argument",
        entry(".param .align 4 .b8 w[8];\n\tcall f, («w»);", above=".func f(.param .align 8 .b8 a[8]) { ret; }\n"),
    ),
    Broken("parameters of 40,000 bytes", "parameter-space", entry("").replace("k()", "«k»(.param .b8 big[40000])")),
    Broken(
        "parameters too large for the version",
        "parameter-space",
        before_hopper("").replace("k()", "«k»(.param .b8 big[4356])"),
    ),
    Broken("a store into an input", "parameter-write", entry("st.param.b32 «[n]», %r1;", parameters=".param .u32 n")),
    Broken(
        "a load past a parameter", "parameter-bounds", entry("ld.param.b64 %rd1, «[n]»;", parameters=".param .u32 n")
    ),
    Broken(
        "a load far past a parameter",
        "parameter-bounds",
        entry("ld.param.b32 %r1, «[n+8]»;", parameters=".param .u64 n"),
    ),
    Broken(
        "a load across the alignment",
        "parameter-alignment",
        entry("ld.param.b32 %r1, «[n+2]»;", parameters=".param .u64 n"),
    ),
    Broken(
        "shared memory of 64 KiB", "shared-memory", before_hopper(".shared .b8 tile[65536];").replace(" k(", " «k»(")
    ),
    Broken(
        "shared memory of 64 KiB in a family",
        "shared-memory",
        before_hopper(".shared .b8 tile[65536];", "8.8", "sm_100f").replace(" k(", " «k»("),
    ),
    Broken(
        "shared memory of a function that is called",
        "shared-memory",
        before_hopper("call f;").replace(
            ".visible .entry k",
            ".shared .b8 tile[65536];\n.func f() { st.shared.b8 [tile], 1; ret; }\n.visible .entry «k»",
        ),
    ),
    Broken("a special register too early", "version", before_hopper("mov.u32 %r1, «%clusterid.x»;")),
    Broken("a special register of later devices", "target", before_hopper("mov.u32 %r1, «%cluster_ctarank»;", "8.0")),
    Broken("a call with a modifier", "modifier", entry("call«.fast» f;", above=".func f() { ret; }\n")),
    Broken("a call of a register", "call-target", entry("call «%f1»;")),
    Broken("a call of a variable", "call-target", entry("call «g»;", above=".global .b32 g;\n")),
    Broken("a pointer without a prototype", "operand-count", entry("call «%rd1», ();")),
    Broken(
        "a prototype for a function",
        "operand-count",
        entry("p: .callprototype _ ();\n\tcall f, (), «p»;", above=".func f() { ret; }\n"),
    ),
    Broken("branch targets for a call", "operand-kind", entry("L: ts: .branchtargets L;\n\tcall %rd1, (), «ts»;")),
    Broken("call targets for a branch", "operand-kind", entry("p: .callprototype _ ();\n\tbrx.idx %r1, «p»;")),
    Broken("a list of 64 bits", "operand-type", entry("L: ts: .branchtargets L;\n\tbrx.idx «%rd1», ts;")),
    Broken("a list without an index", "operand-count", entry("L: ts: .branchtargets L;\n\t«brx.idx» ts;")),
    Broken("a branch with an odd word", "modifier", entry("L: ts: .branchtargets L;\n\tbrx.idx«.near» %r1, ts;")),
    Broken("a component of another type", "operand-type", entry(".reg .v2 .f32 v;\n\tadd.s32 %r1, %r2, «v.x»;")),
    Broken("a call with a name too many", "operand-count", entry("«call» f, f, ();", above=".func f() { ret; }\n")),
    # Addresses
    Broken("a register as an offset", "operand-kind", entry("ld.global.b32 %r1, «[%rd1+%rd2]»;")),
    Broken(
        "a variable as an offset", "operand-kind", entry("ld.global.b32 %r1, «[%rd1+g]»;", above=".global .b32 g;\n")
    ),
    Broken("a float as an offset", "operand-kind", entry("ld.global.b32 %r1, «[%rd1+4.0]»;")),
    Broken("a difference in an address", "operand-kind", entry("ld.global.b32 %r1, «[%rd1-4]»;")),
    Broken("a component as a base", "operand-kind", entry(".reg .v2 .b64 v;\n\tld.global.b32 %r1, «[v.x]»;")),
    # Instructions
    Broken("an unknown modifier", "modifier", entry("add«.f31» %f1, %f2, %f3;")),
    Broken("a modifier of another form", "modifier", entry("add«.rm».s32 %r1, %r2, %r3;")),
    Broken("no rounding mode", "missing-modifier", entry("«fma.f32» %f1, %f2, %f3, %f4;")),
    Broken("two operands for three", "operand-count", entry("«add.s32» %r1, %r2;")),
    Broken("four operands for three", "operand-count", entry("«add.s32» %r1, %r2, %r3, %r4;")),
    Broken("an address for a register", "operand-kind", entry("add.s32 %r1, %r2, «[%rd1]»;")),
    Broken("a register for an address", "operand-kind", entry("ld.global.b32 %r1, «%rd1»;")),
    Broken("a float register for an integer", "operand-type", entry("add.s32 %r1, «%f2», %r3;")),
    Broken("a narrow register for a wide one", "operand-type", entry("add.s64 %rd1, %rd2, «%r3»;")),
    Broken("an address in a 128-bit register", "operand-type", entry(".reg .b128 %q;\n\tld.global.b32 %r1, «[%q]»;")),
    Broken("a float literal for an integer", "operand-type", entry("add.s32 %r1, %r2, «1.5»;")),
    Broken("a whole vector for a scalar", "operand-kind", entry(".reg .v4 .b32 v;\n\tadd.u32 %r1, «v», 1;")),
    Broken("a whole vector of a range", "operand-kind", entry(".reg .v2 .b32 v<3>;\n\tadd.u32 «v2», %r1, 1;")),
    Broken("a whole vector in a vector", "operand-kind", entry(".reg .v2 .b32 v;\n\tmov.b64 %rd1, «{v, %r1}»;")),
    Broken("a whole vector as an address", "operand-type", entry(".reg .v2 .b64 v;\n\tld.global.b32 %r1, «[v]»;")),
    Broken("a whole vector as a guard", "guard", entry(".reg .v2 .b32 v;\n\t@«v» exit;")),
    Broken("a whole vector of two for four", "vector-length", entry(".reg .v2 .b32 v;\n\tmov.v4.b32 «v», %tid;")),
    Broken(
        "a whole vector of another type",
        "operand-type",
        entry(".reg .v4 .f32 v;\n\tld.global.v4.u32 «v», [%rd1];"),
    ),
    Broken("no sampler", "operand-kind", with_textures("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, «[tex0, %r1]»;")),
    Broken(
        "txq of a sampler attribute on a texture", "operand-kind", with_textures("txq.filter_mode.b32 %r1, «[tex0]»;")
    ),
    Broken("a vector of two for four", "vector-length", entry("ld.global.v4.f32 «{%f1, %f2}», [%rd1];")),
    Broken(
        "another name of a weak function",
        "redefined-function",
        f"{HEAD}.func a();\n.weak .func b() {{ ret; }}\n.alias «a», b;\n{entry('').removeprefix(HEAD)}",
    ),
    Broken(
        "inlined nowhere",
        "directive-argument",
        f'{HEAD}.file 1 "a"\n.entry k() {{\n.loc 1 2 3\n.loc 1 9 9, function_name L, «inlined_at» 1 2 4\nret; }}\n'
        ".section .debug_str {\nL: .b8 0\n}\n",
    ),
    Broken("a quotient of zero in a vector", "operand-kind", entry("mov.b64 %rd1, «{1/0, 1}»;")),
    Broken(
        "an index that is a part of a register",
        "operand-type",
        entry("t: .branchtargets L;\n\tbrx.idx «%r1.h1», t;\nL:"),
    ),
    Broken("a prototype's local parameter", "declaration", entry("p: .callprototype _ (.local «.b32» _);")),
    Broken("a prototype's vector of bytes of fp8", "declaration", entry("p: .callprototype _ (.param .v2 «.e4m3» _);")),
    Broken("a prototype's size that is a sum", "declaration", entry("p: .callprototype (.param «.b8» _[4+4]) _ ();")),
    Broken(
        "a call through a part of a register",
        "operand-kind",
        entry("p: .callprototype _ ();\n\tcall «%rd1.b0», p;"),
    ),
    Broken(
        "16 bits of an integer handed to a function",
        "call-argument",
        entry("{ .param .u16 a; call.uni f, «(a)»; }", above=".func f(.param .u16 p) { ret; }\n"),
    ),
    Broken(
        "an attribute of an entry", "directive-argument", f"{HEAD}.entry .attribute(«.unified»(1, 2)) k() {{ ret; }}\n"
    ),
    Broken("a line beyond 32 bits", "directive-argument", entry(".loc 1 «4294967296» 5", above='.file 1 "a"\n')),
    Broken("a file beyond 32 bits", "directive-argument", entry("", above='.file «4294967296» "a"\n')),
    Broken("a number beyond .f64", "operand-kind", entry(".reg .f64 %d;\n\tmov.f64 %d, «1e400»;")),
    Broken("a number below .f64", "operand-kind", entry(".reg .f64 %d;\n\tmov.f64 %d, «-1.0e-400»;")),
    Broken("a bit field from bit 300", "immediate-range", entry("bfe.u32 %r1, %r2, «300», 1;")),
    Broken(
        "a parameter for shared memory", "address-space", entry("ld.shared.u32 %r1, «[n]»;", parameters=".param .u32 n")
    ),
    Broken("a reduction without the a", "target", before_hopper("«redux.sync.min.f32» %f1, %f2, -1;", "8.8", "sm_100")),
    Broken(
        "a cluster's memory before clusters", "target", before_hopper("ld«.shared::cluster».u32 %r1, [%rd1];", "8.0")
    ),
    Broken("an instruction of a later version", "version", before_hopper("«szext.wrap.u32» %r1, %r2, %r3;")),
    Broken("a shuffle without its mask", "removed", entry("«shfl.down.b32» %r1, %r2, 1, 31;")),
    Broken(
        "an unknown instruction",
        "unknown-instruction",
        entry("«frobnicate.b32» %r1;"),
        "ptxas rejects it, but accepts an instruction that is newer than the table",
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
            ("a vector in braces", ".reg .v2 .b32", "call f, «({%r1, %r2})»;"),
            ("a component", ".param .b32", ".reg .v2 .b32 v; call f, («v.x»);"),
            ("a part of a register", ".param .b32", "call f, («%r1.b0»);"),
            ("a special register", ".param .b32", "call f, («%laneid»);"),
            ("a component of a special register", ".param .b32", "call f, («%tid.x»);"),
            ("a longer vector", ".reg .v2 .u32", ".reg .v4 .u32 v; call f, («v»);"),
            ("a shorter vector of the same size", ".reg .v4 .u16", ".reg .v2 .u32 v; call f, («v»);"),
            ("a scalar of the same size", ".reg .v2 .u32", "call f, («%rd1»);"),
        )
    ),
    Broken("an integer for a result", "call-argument", entry("call «(1)», f;", above=".func (.reg .b32 a) f() {}\n")),
    Broken("a sum for a result", "call-argument", entry("call «(%r1+1)», f;", above=".func (.reg .b32 a) f() {}\n")),
    # Faults: forms of addresses and constants that ptxas rejects
    *(
        Broken(f"{form} in brackets", "operand-kind", entry(f"{text};", above=".global .b32 g[4];\n"))
        for form, text in (
            ("an address", "ld.global.u32 %r1, «[[g]]»"),
            ("a vector", "ld.global.u32 %r1, «[{g, g}]»"),
            ("a negated register", "ld.global.u32 %r1, «[-%rd1]»"),
            ("a negated predicate", "prefetch.global.L1 «[!%p1]»"),
            ("a generic variable", "st.global.u32 «[generic(g)]», %r1"),
            ("a generic variable and an offset", "ld.global.u32 %r1, «[generic(g)+4]»"),
            ("a byte of an address", "ld.global.u32 %r1, «[0xFF(g)]»"),
            ("two registers", "ld.global.u32 %r1, «[%rd1|%r2]»"),
            ("a list", "ld.local.u32 %r1, «[(3, 4)]»"),
            ("a difference in parentheses", "ld.global.u32 %r1, «[g-(4)]»"),
            ("a difference of a difference", "ld.global.u32 %r1, «[%rd1--4]»"),
            ("a difference and a sum", "ld.global.u32 %r1, «[%rd1-8+4]»"),
            ("a quotient of zero", "ld.global.u32 %r1, «[%rd1+4/0]»"),
            ("a quotient of zero that is not chosen", "ld.local.u32 %r1, «[1 ? 2 : 1/0]»"),
            ("a floating-point offset", "ld.global.u32 %r1, «[%rd1+(.u64)1.0]»"),
            ("a floating-point number with an integer operator", "ld.local.u32 %r1, «[~1.0]»"),
            ("a number that is not octal", "ld.local.u32 %r1, «[08]»"),
        )
    ),
    *(
        Broken(f"{form} moved", "operand-kind", entry(f"{text};", above=".global .b32 g[4];\n"))
        for form, text in (
            ("a product of a register", "mov.u32 %r1, «%r1*2»"),
            ("a register in parentheses", "mov.u32 %r1, «(%r1)»"),
            ("a complement", "mov.u32 %r1, «~%r1»"),
            ("a variable in parentheses", "mov.u64 %rd1, «(g)»"),
            ("a generic variable", "mov.u64 %rd1, «generic(g)»"),
            ("a difference", "mov.u64 %rd1, «g-4»"),
            ("a comparison of variables", "mov.u64 %rd1, «g==g»"),
            ("a number that is not octal", "mov.u32 %r1, «08»"),
            ("a bit pattern with a sign", "mov.f32 %f1, «-0f3f800000»"),
            ("a sum with a bit pattern", "mov.f32 %f1, «0f3f800000+1.0»"),
            ("a product with a bit pattern", "mov.b32 %r1, «2.0*0f3f800000»"),
            ("a sum of a special register's component", "mov.u32 %r1, «%tid.x+1»"),
            ("a sum of an entry's address", "mov.u64 %rd1, «k+4»"),
        )
    ),
    Broken("a bit field from a negative quotient", "immediate-range", entry("bfe.u32 %r1, %r2, «-8/3», 1;")),
    Broken(
        "a quotient that is not a copy size",
        "immediate-range",
        entry("cp.async.ca.shared.global [%r1], [%rd1], «7/2»;"),
    ),
    Broken("minus the warp size for a barrier", "immediate-range", entry("bar.sync «-WARP_SZ»;")),
    # Faults: directives that are too early, too late or in the wrong statement
    Broken(
        "a prototype's directive too early",
        "version",
        before_hopper("p: .callprototype _ () «.abi_preserve» 4;", "8.8"),
    ),
    Broken(
        "a prototype that never returns too early",
        "version",
        before_hopper("p: .callprototype _ () «.noreturn»;", "6.3", "sm_75"),
    ),
    Broken(
        "a prototype's directive on an early target",
        "target",
        before_hopper("p: .callprototype _ () «.abi_preserve_control» 4;", "9.0", "sm_75"),
    ),
    Broken(
        "too many preserved registers of a prototype",
        "directive-argument",
        entry("p: .callprototype _ () «.abi_preserve» 300;"),
    ),
    Broken(
        "a prototype's directive twice", "directive-conflict", entry("p: .callprototype _ () «.noreturn» .noreturn;")
    ),
    Broken("a pragma too early", "version", before_hopper('«.pragma» "enable_smem_spilling";', "8.5")),
    Broken("a mask of bytes too early", "version", before_hopper('«.pragma» "used_bytes_mask 0xF";', "8.2")),
    Broken("a frequency too early", "version", before_hopper('«.pragma» "frequency 7";', "8.8")),
    Broken("a frequency without a value", "directive-argument", entry('«.pragma» "frequency";')),
    Broken("a frequency of a function", "misplaced-directive", entry("", directives='«.pragma» "frequency 7";')),
    Broken(
        "another name of an entry", "redefined-function", f"{HEAD}.entry f() {{ ret; }}\n.func g();\n.alias «g», f;\n"
    ),
    Broken(
        "an entry as another name",
        "redefined-function",
        f"{HEAD}.entry «g»();\n.func f() {{ ret; }}\n.alias g, f;\n".replace("«g»", "g").replace(
            "alias g", "alias «g»"
        ),
    ),
    Broken(
        "another name of an external function",
        "redefined-function",
        f"{HEAD}.extern .func f();\n.func g();\n.alias «g», f;\n",
    ),
    Broken("an alignment after a type", "declaration", f"{HEAD}.func f(.param .u64 «.align» 8 s) {{ ret; }}\n"),
    Broken(
        "an alignment after a returned type",
        "declaration",
        f"{HEAD}.func (.param .b8 «.align» 8 s[8]) f() {{ ret; }}\n",
    ),
    Broken("an alignment after a variable's type", "declaration", entry(".param .u64 «.align» 8 s;")),
    Broken("a pointer among variables", "declaration", entry("", above=".global .u64 «.ptr» .align 8 s;\n")),
    Broken("a global address in 32 bits", "operand-type", entry("mov.u32 %r1, «g»;", above=".global .b32 g[4];\n")),
    Broken(
        "an element's address in 32 bits", "operand-type", entry("mov.b32 %r1, «g[1]»;", above=".global .b32 g[4];\n")
    ),
    Broken("a conversion of an address of 32 bits", "operand-type", entry("cvta.shared.u32 %r1, «%r2»;")),
    Broken("a byte-order mark", "syntax", "«\ufeff»" + entry("")),
    Broken("zeros that fill up a file", "syntax", entry("") + "«\0»\0\0"),
    Broken("an entry with an empty list of results", "syntax", f"{HEAD}.entry «(») k() {{ ret; }}\n"),
    Broken("a vertical tab", "syntax", entry("mov.b32 %r1,«\v»1;")),
    Broken("a line marker without a file", "syntax", f"{HEAD}«#»define X\n.visible .entry k() {{ ret; }}\n"),
    Broken("a line marker that ends the text", "syntax", entry("") + '«#» 1 "a.cu"'),
    Broken("a section without a dot", "section-data", entry("") + ".section «debug_str»\n{\n.b8 1\n}\n"),
    Broken("a section's name with two dots", "section-data", entry("") + ".section «.debug.str»\n{\n.b8 1\n}\n"),
    Broken(
        "an alignment before .ptr's state space",
        "syntax",
        entry("", parameters=".param .u64 .ptr .align 8 «.global» p"),
    ),
    Broken("two alignments of a pointer", "syntax", entry("", parameters=".param .u64 .ptr .align 8 «.align» 8 p")),
    Broken("two pointers in one", "syntax", entry("", parameters=".param .u64 .ptr «.ptr» p")),
    Broken(
        "a file's name beyond ASCII", "directive-argument", f'{HEAD}«.file» 1 "é.cu"\n.visible .entry k() {{ ret; }}\n'
    ),
    Broken("a pragma beyond ASCII", "directive-argument", entry('«.pragma» "é";')),
    Broken("a line of @@DWARF", "removed", f"{HEAD}«@@DWARF» .byte 1\n.visible .entry k() {{ ret; }}\n"),
    Broken("a common texture", "misplaced-directive", entry("", above="«.common» .global .texref t;\n")),
    Broken("a returned array of no bytes", "declaration", f"{HEAD}.func (.param .b8 «r»[0]) f() {{ ret; }}\n"),
    Broken(
        "a returned array of no bytes in a prototype",
        "declaration",
        entry("p: .callprototype (.param «.b8» _[0]) _ ();"),
    ),
    Broken(
        "a texture in a prototype",
        "declaration",
        f"{HEAD}.func f() {{ p: .callprototype _ (.param «.texref» _); ret; }}\n",
    ),
    Broken("two dimensions in a prototype", "declaration", entry("p: .callprototype _ (.param «.b8» _[2][2]);")),
    Broken(
        "a pointer in a prototype",
        "declaration",
        f"{HEAD}.func f() {{ p: .callprototype _ (.param «.u64» .ptr _); ret; }}\n",
    ),
    Broken(
        "a float passed for an integer",
        "call-argument",
        entry("call f, («%f1»);", above=".func f(.param .u32 a) { ret; }\n"),
    ),
    Broken(
        "an integer as a float result",
        "call-argument",
        entry(".reg .u32 u; call («u»), f;", above=".func (.reg .f32 a) f() { ret; }\n"),
    ),
    Broken(
        "a float variable for an integer",
        "call-argument",
        entry(".param .f64 x; call f, («x»);", above=".func f(.param .s64 a) { ret; }\n"),
    ),
    Broken(
        "an array of another type",
        "call-argument",
        entry(".param .u32 x[2]; call f, («x»);", above=".func f(.param .s32 a[2]) { ret; }\n"),
    ),
    Broken(
        "an array of other elements",
        "call-argument",
        entry(".param .align 4 .u16 x[4]; call f, («x»);", above=".func f(.param .u32 a[2]) { ret; }\n"),
    ),
    Broken(
        "a longer vector for a result",
        "call-argument",
        entry(".reg .v4 .u16 v; call («v»), f;", above=".func (.reg .v2 .f32 a) f() { ret; }\n"),
    ),
    Broken(
        "a constant for a long vector",
        "call-argument",
        entry("call f, «(1)»;", above=".func f(.reg .v4 .f32 a) { ret; }\n"),
    ),
    Broken("an element of a scalar", "operand-kind", entry("ld.global.b32 %r1, «g»[0];", above=".global .b32 g;\n")),
    Broken("a sum with a float", "operand-type", entry("mov.u32 %r1, «%f1+1»;")),
    Broken("a sum with a predicate", "operand-type", entry("mov.b32 %r1, «%p1+1»;")),
    Broken("a sum with a float for an address", "operand-type", entry("cvta.global.u64 %rd1, «%f1+8»;")),
    Broken("an element of a function", "operand-kind", entry("mov.u64 %rd1, «f»[0];", above=".func f() { ret; }\n")),
    *(
        Broken(f"{index} for an index", "operand-kind", entry(f"ld.global.b32 %r1, «places[{index}]»;", above=VALUES))
        for index in ("%r1-1", "-%r1", "(%r1)", "%r1*4", "1+%r1", "1 ? %r1 : 2", "%r1+1.0", "places[1]", "[%r1]")
    ),
    Broken(
        "a function for an index",
        "operand-kind",
        entry("mov.u64 %rd1, «places[f]»;", above=f"{VALUES}.func f() {{ ret; }}\n"),
    ),
    Broken("an element in an atomic", "operand-kind", entry("atom.global.add.u32 %r1, «places[1]», 1;", above=VALUES)),
    Broken(
        "an element in a copy",
        "operand-kind",
        entry("cp.async.ca.shared.global [s], «places[1]», 4;", above=f"{VALUES}.shared .b32 s[4];\n"),
    ),
    Broken("an element in another space", "address-space", entry("ld.shared.b32 %r1, «places[1]»;", above=VALUES)),
    Broken(
        "the address of an element in another space",
        "address-space",
        entry("cvta.shared.u64 %rd1, «places[1]»;", above=VALUES),
    ),
    Broken("a sum in another space", "address-space", entry("cvta.shared.u64 %rd1, «places+4»;", above=VALUES)),
    Broken("a special register as an address", "address-space", entry("cvta.global.u64 %rd1, «%clock64+8»;")),
    Broken(
        "a component in a video instruction",
        "operand-type",
        entry(".reg .v2 .b32 v; vadd.u32.u32.u32 %r1, «v.x», %r2;"),
    ),
    Broken(
        "a component after a register that fits",
        "operand-type",
        entry(".reg .v2 .b32 %v; vadd.u32.u32.u32 %r1, %r1, %r2; vadd.u32.u32.u32 %r1, «%v.x», %r2;"),
    ),
    Broken(
        "a label of two sections",
        "redefined-label",
        entry("") + ".section .debug_str {\nL:\n}\n.section .debug_info {\n«L»:\n}\n",
    ),
    Broken("a byte of a section out of range", "section-data", entry("") + ".section .debug_info {\n«.byte» 256\n}\n"),
    Broken(
        "a number of a section that is not octal", "section-data", entry("") + ".section .debug_info {\n«.b8» 08\n}\n"
    ),
    Broken("the warp size in a section", "section-data", entry("") + ".section .debug_info {\n«.b32» WARP_SZ\n}\n"),
    Broken("an address in a word of 8 bits", "section-data", entry("") + ".section .debug_info {\nL:\n«.byte» L\n}\n"),
)
