"""Purposes of the handwritten modules, one row each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HandWritten:
    """One module of `handmade/`: its purpose, and why ptxas rejects it (None: it must assemble)."""

    name: str
    shows: str
    refused: str | None = None

    @property
    def path(self) -> str:
        """The module's path below `corpus/`."""
        return f"handmade/{self.name}.ptx"


HANDWRITTEN: tuple[HandWritten, ...] = (
    HandWritten("alias", ".alias, and a call through the alias"),
    HandWritten("bare_comments", "lines that are only //, the last without a line end"),
    HandWritten("block_comments", "block comments between all tokens, comments that contain PTX or comment markers"),
    HandWritten("branch_targets", ".branchtargets on the label's line and below it, brx.idx"),
    HandWritten("bytes_not_utf8", "a comment with bytes that are not UTF-8", "ptxas takes ASCII only, in comments too"),
    HandWritten("carries_and_multiprecision", "carry chains on registers without %"),
    HandWritten("comment_at_end", "the file ends inside a line comment"),
    HandWritten(
        "constant_expressions",
        "constant expressions with every operator, in initializers, sizes, offsets and immediates",
    ),
    HandWritten("crlf", "every line ends in CR LF"),
    HandWritten(
        "debug_sections", ".file with time and size, .loc with inlining, sections with labels, lists, negative numbers"
    ),
    HandWritten("deep_blocks", "sixty nested blocks"),
    HandWritten("dwarf_statements", "@@DWARF lines, the oldest way to carry debug sections", "removed from ptxas"),
    HandWritten("empty", "zero bytes", "no .version"),
    HandWritten("final_blanks", "blank lines, tabs and blanks after the last brace"),
    HandWritten("floats_of_every_kind", "types of narrow floats and their modifiers"),
    HandWritten("form_feeds", "form feeds between tokens"),
    HandWritten(
        "functions", "prototypes, functions with registers for parameters, structures, no lists, odd layouts of calls"
    ),
    HandWritten("guards", "guards with and without !, with blanks, tabs and line ends in them"),
    HandWritten("header_of_two_lines", "no .address_size, no final newline"),
    HandWritten("header_only", "a module with no body"),
    HandWritten("indirect_calls", ".callprototype, .calltargets, calls with and without lists"),
    HandWritten("labels", "labels of every spelling, several in a row, before a block, before the closing brace"),
    HandWritten("leading_blank_lines", "seven blank lines before .version"),
    HandWritten(
        "leniencies",
        "statements that the manual's grammar allows and ptxas rejects",
        "ptxas wants [r+-4], plain array sizes, .version's number next to it, float literals with a point",
    ),
    HandWritten("listing", "output of cuobjdump -ptx: a listing of two modules", "a listing, not a module"),
    HandWritten("lone_tabs", "tabs where others write blanks, tabs at ends of lines, lines of a lone tab"),
    HandWritten("long_header", "directives of the header on one line"),
    HandWritten("long_initializer", "an initializer on one line of half a million bytes"),
    HandWritten("long_line", "three thousand instructions on one line"),
    HandWritten("many_lines_initializer", "an initializer over many lines"),
    HandWritten("many_names", "a declaration of 1,500 registers"),
    HandWritten("many_on_a_line", "several statements, blocks, labels, functions and variables on a line"),
    HandWritten("mixed_line_ends", "LF and CR LF in one file"),
    HandWritten("new_directives", "directives of recent versions"),
    HandWritten("no_address_size", "no .address_size"),
    HandWritten("no_final_newline", "the file ends with the brace"),
    HandWritten("numbers", "every spelling of a literal"),
    HandWritten("odd_white_space", "blanks, tabs and line ends between all tokens, or no optional whitespace"),
    HandWritten(
        "old_style",
        "PTX 1.4: .tex variables, constant banks, an option of .target that is gone",
        "sm_10 and constant banks are gone since ptxas 3",
    ),
    HandWritten("one_line", "a whole module on one line"),
    HandWritten("only_comments", "no token at all", "no .version"),
    HandWritten(
        "operands", "operands of ordinary PTX: offsets, elements, vectors and their components, pairs, sinks, selectors"
    ),
    HandWritten("parameters", "pointer attributes, alignments and arrays of kernel parameters"),
    HandWritten("performance", "every performance and cluster directive, an entry without a list, one without linkage"),
    HandWritten("pragmas", ".pragma in the module, on the entry, in the body; several strings; PTX marks in a string"),
    HandWritten("registers", "registers without %, lists and ranges in one declaration, names that are opcodes"),
    HandWritten(
        "scopes",
        "nested blocks that declare the same names and labels again, empty blocks, declarations of all kinds inside",
    ),
    HandWritten("section_arithmetic", "differences of labels, sections named as values, an empty section"),
    HandWritten("shfl_without_sync", "shfl and vote as they were before .sync", "sm_50 is gone since ptxas 13.0"),
    HandWritten("stray_semicolons", "empty statements", "ptxas takes no empty statement"),
    HandWritten("strings", "strings with comment markers, backslashes, braces and guards"),
    HandWritten("tensor_memory", "tcgen05 with :: in the opcode's second part, descriptors, negated predicates"),
    HandWritten(
        "tensor_operands", "tensor addresses, nested vectors in addresses, fragments, pairs with sinks, :: in modifiers"
    ),
    HandWritten(
        "texmode_independent",
        "separate samplers, opaque variables with initializers, as parameters, three-part addresses",
    ),
    HandWritten(
        "texmode_unified", "unified texture mode, references by name and by address, pairs of a vector and a predicate"
    ),
    HandWritten(
        "two_versions", "two modules in one file, as a linker's listing has them", "a module may have one .version"
    ),
    HandWritten("unified_attribute", ".attribute with numbers, with a list, on a function"),
    HandWritten(
        "utf8_comments",
        "comments in UTF-8, also outside the basic plane",
        "ptxas 13.0 takes ASCII only, in comments too",
    ),
    HandWritten("variables", "variables of every space, linkage, shape and kind of initializer"),
)
