"""Number of wavefronts of a shared memory access. CUDA programming guide: "Shared Memory" of compute capability 5.x.

Shared memory has 32 banks; consecutive 32-bit words are in consecutive banks. In one wavefront, each bank delivers one
word, to any number of lanes. An access of 4 bytes or less serves all 32 lanes at once, of 8 bytes the lanes of each
half-warp, of 16 bytes the lanes of each quarter-warp.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from pyptx_ir.banks.dimensions import BANKS, WORD
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.drawing import Drawing

_LANES: Final = 32
_SIZES: Final = (1, 2, 4, 8, 16)  # bytes that a lane may access in one instruction, up to `.v4.b32`


@value
class BankConflicts(Value):
    """A warp's access of `bytes` bytes per lane; `addresses` are bytes of shared memory, None for an inactive lane.

    `groups` are the ranges of lanes that are served together, without groups of inactive lanes, and `ways` the number
    of wavefronts of each: the maximum number of words in one bank that its lanes access.
    """

    addresses: tuple[int | None, ...]
    bytes: int
    groups: tuple[range, ...]
    ways: tuple[int, ...]

    @property
    def wavefronts(self) -> int:
        """Number of wavefronts of the whole access."""
        return sum(self.ways)

    @property
    def extra(self) -> int:
        """Number of wavefronts that bank conflicts add."""
        return self.wavefronts - len(self.groups)

    def words(self, lane: int) -> range:
        """Return the numbers of the 32-bit words that a lane accesses; none for an inactive lane."""
        address = self.addresses[lane]
        return range(0) if address is None else range(address // WORD, -(-(address + self.bytes) // WORD))

    def __str__(self) -> str:
        """Return `32 wavefronts, of which bank conflicts cause 31 (4 bytes per lane, up to 32-way)`."""
        noun = "wavefront" if self.wavefronts == 1 else "wavefronts"
        most = f", up to {max(self.ways)}-way" if self.extra else ""
        return (
            f"{self.wavefronts} {noun}, of which bank conflicts cause {self.extra} ({self.bytes} bytes per lane{most})"
        )

    def to_svg(self) -> Drawing:
        """Return a drawing: the accessed words by bank, the lanes that access each, and the words per bank."""
        from pyptx_ir.banks.svg import draw_svg

        return draw_svg(self)

    def _repr_html_(self) -> str:
        """Return the drawing of `to_svg` for notebooks."""
        from pyptx_ir.drawing import notebook

        return notebook(self.to_svg())


def bank_conflicts(addresses: Sequence[int | None], bytes: int = WORD) -> BankConflicts:  # noqa: A002 - as in CUDA
    """Return the bank conflicts of lanes that access `bytes` bytes each at byte addresses of shared memory.

    Lane i accesses `addresses[i]`; None, like a missing address, is an inactive lane. Raise ValueError for more than 32
    addresses, for a size other than 1, 2, 4, 8 or 16 bytes, and for an address that is not a multiple of the size.
    """
    if bytes not in _SIZES:
        raise ValueError(f"bytes must be one of {', '.join(map(str, _SIZES))}, got {bytes!r}")
    if len(addresses) > _LANES:
        raise ValueError(f"a warp has {_LANES} lanes, got {len(addresses)} addresses")
    for lane, address in enumerate(addresses):
        if address is not None and (address < 0 or address % bytes):
            raise ValueError(f"lane {lane}: address {address} is not a multiple of {bytes}")
    lanes = (*addresses, *(None for _ in range(_LANES - len(addresses))))
    size = min(_LANES, _LANES * WORD // bytes)
    served = [range(first, first + size) for first in range(0, _LANES, size)]
    groups = tuple(group for group in served if any(lanes[lane] is not None for lane in group))
    whole = BankConflicts(lanes, bytes, groups, ())
    return BankConflicts(lanes, bytes, groups, tuple(_ways(whole, group) for group in groups))


def _ways(access: BankConflicts, group: range) -> int:
    """Return the largest number of different words in one bank that a group of lanes accesses."""
    words = {word for lane in group for word in access.words(lane)}
    return max(Counter(word % BANKS for word in words).values())
