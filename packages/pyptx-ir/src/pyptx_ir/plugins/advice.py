"""What the words of ptxas mean for a kernel."""

from __future__ import annotations

from pyptx_ir.values import Value, value


@value
class Advice(Value):
    """A remark of ptxas that the regular expression `pattern` is found in, what it means, and what to do about it.

    Of several patterns that are found, the one counts that matches most of the remark. The numbers of remarks (C7508
    and its kin) are not used, because one number covers several causes.
    """

    pattern: str
    meaning: str
    hint: str
