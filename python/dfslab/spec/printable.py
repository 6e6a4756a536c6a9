"""Text of others, made harmless: control characters and marks of direction become visible."""

from __future__ import annotations

import re

# Controls but newline and tab; Arabic letter mark; marks of direction; separators of lines and
# paragraphs; embeddings, overrides and isolates (Unicode's bidirectional algorithm, UAX 9); halves
# of surrogate pairs.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
# The block of pictures of the first 32 control characters.
_PICTURES = 0x2400
_DELETE = 0x7F


def printable(text: str) -> str:
    """The text with harmful characters replaced, each by one; newlines and tabs stay."""
    return _HARMFUL.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\N{SYMBOL FOR DELETE}" if code == _DELETE else "\N{REPLACEMENT CHARACTER}"
