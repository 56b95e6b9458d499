"""Each rule of the simulator and each code of `pyptx check` has a page: faulty example, its output, fixed example."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tools.rule_pages import CODES as CODES_BY_FAMILY
from tools.rule_pages import PAGES, checked_module, diagnostics, findings, module, output, pages, site
from tools.rule_pages import RULES as RULES_BY_FAMILY

from pyptx_ir.explanations import CHECK, text_of
from pyptx_ir.isa.modules.codes import CODES
from pyptx_sim.extension import extensions, rules

KNOWN = pages()
RULES = [name for name, page in KNOWN.items() if page.row.tool != CHECK]
CHECKS = [name for name, page in KNOWN.items() if page.row.tool == CHECK]
# Operations that were never awaited are still outstanding at tcgen05.dealloc.
ALSO = {f"unfinished-tcgen05{which}": {"tmem-use-after-free"} for which in ("", "-st", "-ld")}


def test_every_rule_and_every_code_has_its_page_and_no_file_is_left_over() -> None:
    ours = {rule.name for name in ("sim", "hopper", "blackwell") for rule in extensions()[name].rules}
    assert set(RULES) == ours
    assert [code.name for code in CODES] == CHECKS
    assert sorted(" ".join((*RULES_BY_FAMILY.values(), *CODES_BY_FAMILY.values())).split()) == sorted(KNOWN)
    folders = {page.row.page.parent for page in KNOWN.values() if page.row.page is not None}
    assert sorted(file.stem for folder in folders for file in folder.iterdir()) == sorted(KNOWN)


@pytest.mark.hopper
@pytest.mark.blackwell
@pytest.mark.parametrize("rule", RULES)
def test_the_example_of_a_rule_has_its_finding_and_no_other(rule: str) -> None:
    page = KNOWN[rule]
    (marked,) = [i for i, line in enumerate(module(page.example).splitlines(), 1) if "// !" in line]
    found = findings(rule, page.example)
    assert {finding.rule for finding in found} == {rule, *ALSO.get(rule, ())}, [str(finding) for finding in found]
    found = tuple(finding for finding in found if finding.rule == rule)
    assert marked in {line for finding in found for line in (finding.line, finding.other_line)}
    assert {finding.severity for finding in found} == {rules()[rule].severity}
    assert page.output == output(page)


@pytest.mark.hopper
@pytest.mark.blackwell
@pytest.mark.parametrize("rule", RULES)
def test_the_fixed_example_of_a_rule_has_no_finding(rule: str) -> None:
    assert [str(finding) for finding in findings(rule, KNOWN[rule].fixed)] == []


@pytest.mark.parametrize("code", CHECKS)
def test_the_example_of_a_code_has_that_code_alone_and_the_fixed_one_none(code: str) -> None:
    page = KNOWN[code]
    found = diagnostics(page.example)
    assert {(one.code, one.severity) for one in found} == {(code, page.row.severity)}, checked_module(page.example)
    assert page.output == output(page)
    assert not diagnostics(page.fixed), checked_module(page.fixed)


@pytest.mark.hopper
@pytest.mark.blackwell
@pytest.mark.parametrize("name", KNOWN)
def test_a_finding_has_the_shape_of_messages(name: str) -> None:
    """Findings have a headline of at most 100 characters, labeled lines, CTA coordinates, and help as an imperative."""
    page = KNOWN[name]
    headline, *lines = page.output.splitlines()
    assert headline.isascii()
    assert "block slot" not in page.output
    if page.row.tool == CHECK:
        return
    assert len(headline) <= 100, headline
    assert headline.startswith(f"{page.row.severity}[{name}]: ")
    for before, line in pairwise(lines):
        if line.startswith("    at "):
            assert before.startswith("  "), line
            assert not before.startswith("   "), line
    help = [line for line in lines if line.startswith("  help: ")]
    assert help, page.output
    assert all(line.removeprefix("  help: ")[:1].islower() and not line.endswith(".") for line in help)


@pytest.mark.hopper
@pytest.mark.blackwell
def test_the_site_has_the_texts_of_the_packages() -> None:
    """The rule pages are up to date; `python -m tools.rule_pages` writes the pages again."""
    assert {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")} == site(KNOWN)


def test_an_explanation_is_the_headline_the_page_without_links_and_the_help() -> None:
    text = text_of(KNOWN["shared-race"].row)
    assert text.startswith("error[shared-race]: data race between warps on shared memory (simulator)\n\n")
    assert KNOWN["shared-race"].output in text
    assert "](" not in text
    assert text.endswith("\nhelp: put bar.sync (__syncthreads) between the two accesses\n")
