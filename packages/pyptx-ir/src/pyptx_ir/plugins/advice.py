"""Explanations of ptxas messages, as rows of plugins."""

from __future__ import annotations

from pyptx_ir.values import Value, value


@value
class Advice(Value):
    """A regular expression `pattern` for messages of ptxas, with their meaning and a hint.

    If several patterns match, the one with the longest match is used. The numbers of the messages (C7508 and similar)
    are not used, because one number covers several causes.
    """

    pattern: str
    meaning: str
    help: str
