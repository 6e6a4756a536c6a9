"""Makes control characters and direction marks in foreign text visible, so that the text cannot
control the terminal."""

from __future__ import annotations

import re

# The characters that are replaced: control characters except newline and tab; the Arabic letter
# mark; direction marks; separators of lines and paragraphs; embeddings, overrides and isolates
# (Unicode's bidirectional algorithm, UAX 9); unpaired surrogates.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
# First character of Unicode's block of symbols that picture the first 32 control characters.
_PICTURES = 0x2400
_DELETE = 0x7F


def printable(text: str) -> str:
    """Returns the text with each harmful character replaced by a visible one. Newlines and tabs are
    kept."""
    return _HARMFUL.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\N{SYMBOL FOR DELETE}" if code == _DELETE else "\N{REPLACEMENT CHARACTER}"
