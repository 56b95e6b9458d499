"""The notebook of pictures runs, and each picture is well-formed and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import nbformat
import pytest
from nbclient import NotebookClient

if TYPE_CHECKING:
    from nbformat import NotebookNode

pytestmark = [pytest.mark.ptxas, pytest.mark.no_cover]

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "pictures.ipynb"
# For each cell with a picture, by its first words: texts of the picture.
PICTURES = {
    "reversed_blocks": ("PTX for sm_90a", "SASS", "bar.sync 0;", "line[tid] = value"),
    "reversed_blocks.resources()": ("registers", "shared memory, bytes"),
    "x = np.arange": ("no findings", "warp executes (name: label or line)"),
    "ptx.mma.fragment": ("m16n8k16 a .bf16: 16 x 16, 4 registers per lane", "T31.r3"),
    "SharedTile": ("bf16 128 (MN) x 64 (K), swizzle 128B", "banks 28-31"),
    "bank_conflicts": ("16 wavefronts, of which bank conflicts cause 12",),
    "Tile": ("2 M K", "128 x 64"),
    "ptx.tmem": ("CTA 1, D[64:128, 128:256]: lanes 64-127, columns 0-127",),
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[NotebookNode]:
    """Return the cells of code after the execution of the notebook."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = str(tmp_path_factory.mktemp("notebook"))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def picture_of(cell: NotebookNode) -> ET.Element:
    (output,) = cell.outputs
    return ET.fromstring(output.data["text/html"])  # noqa: S314 - our own text


def test_the_committed_notebook_has_no_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert [cell.outputs for cell in notebook.cells if cell.cell_type == "code" and cell.outputs] == []


@pytest.mark.long
def test_each_cell_shows_its_picture(cells: list[NotebookNode]) -> None:
    shown = [cell for cell in cells if cell.outputs]
    assert len(shown) == len(PICTURES)
    for cell, (start, texts) in zip(shown, PICTURES.items(), strict=True):
        assert cell.source.startswith(start)
        found = "\n".join(picture_of(cell).itertext())
        for text in texts:
            assert text in found, start


def test_pictures_have_no_scripts(cells: list[NotebookNode]) -> None:
    for root in (picture_of(cell) for cell in cells if cell.outputs):
        for each in root.iter():
            assert each.tag.rpartition("}")[2] not in {"script", "foreignObject", "iframe", "object", "image", "a"}
            assert not [name for name in each.attrib if name.lower().startswith("on") or "href" in name]
