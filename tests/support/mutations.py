"""Random changes of bytes, for fuzzing readers. The same seed always gives the same change."""

from __future__ import annotations

import random

# Extreme numbers, sizes and texts, which readers must accept or refuse cleanly.
HOSTILE = (
    b"-1",
    b"0",
    b"1e400",
    b"nan",
    b"99999999999999999999999999",
    b"\x00",
    b"\xff\xfe",
    b'"',
    b"{",
    b"[" * 50,
    b"}",
    b"\n",
    b"\r\n",
    b"\xe2\x80\xae",
    b"%s%n",
    b"../..",
    b"",
    b"null",
    b"true",
)


def mutated(given: bytes, seed: int) -> bytes:
    """Returns `given` with one to eight random changes: bytes flipped, removed, repeated, moved or
    replaced by extreme values."""
    draws = random.Random(seed)
    data = bytearray(given)
    for _ in range(draws.randint(1, 8)):
        place = draws.randrange(len(data) + 1)
        end = min(len(data), place + draws.randint(1, 40))
        kind = draws.randrange(6)
        if kind == 0 and place < len(data):
            data[place] ^= 1 << draws.randrange(8)
        elif kind == 1:
            del data[place:end]
        elif kind == 2:
            data[place:place] = data[place:end] * draws.randint(1, 20)
        elif kind == 3:
            other = draws.randrange(len(data) + 1)
            data[other:other] = data[place:end]
        elif kind == 4:
            data[place:end] = draws.choice(HOSTILE)
        else:
            _replace_number(data, draws)
    return bytes(data)


def _replace_number(data: bytearray, draws: random.Random) -> None:
    digits = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if digits:
        place = draws.choice(digits)
        data[place : place + 1] = draws.choice(HOSTILE)
