"""mbarrier."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^mbarrier\.(init|arrive)\S* .*\| immediate-range: .* 1 to 1048575 \| $": (
        "the manual: an object counts up to 2^20 - 1 arrivals; ptxas 13.5 holds only mbarrier.init to it, and 13.0 none"
    ),
    r"^mbarrier\.arrive\S* [^|]*\{%u32_1, %u32_2\}": ("ptxas takes a vector for a count, which is one number"),
    r"^mbarrier\.arrive\S*\.multicast\S* %[usb]64_1,": (
        "ptxas takes a state for the sink if no space is named; arrivals at several objects have no state to return"
    ),
    r"^mbarrier\.t\w+_wait\S*\.phase_type::primary\S* [^,]*, 1,": (
        "ptxas takes a constant for the report that is written"
    ),
    r"^mbarrier\.t\w+_wait\S* [^,]*, %\w+, .*\| immediate-range: .* must be 0 or 1 \| $": (
        "the manual: a parity is 0 or 1; ptxas looks at it in the forms without a report only"
    ),
    r"^mbarrier\.check_layout\S* ": (
        "ptxas looks neither at the scope of check_layout, which has none, nor at the space"
    ),
}

LAXER: dict[str, str] = {}
