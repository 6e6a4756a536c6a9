"""Runs a program that decodes a binary Darshan log with Darshan's Python package.

The program runs as a separate process, because Darshan's library ends its process when a log is
damaged.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

# The decoding of a log is aborted after this number of seconds. Decoding a log of 100 MB takes some
# 10 s.
DECODE_LIMIT_S = 300.0
# A message of Darshan's library about a part of the log that it cannot read. Darshan's Python
# package then returns the other parts as if they were the whole log.
ERROR = re.compile(r"^Error: (.+?)\.?$", re.M)


def output(decoder: str, path: Path) -> str:
    """Returns the text that the module `decoder` prints about a log.

    Raises ValueError if Darshan's library cannot read a part of the log, and ModuleNotFoundError if
    Darshan's package is not installed.
    """
    if find_spec("darshan") is None:
        raise ModuleNotFoundError("No module named 'darshan'", name="darshan")
    command = [sys.executable, "-P", "-W", "ignore", "-m", decoder, str(path.absolute())]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=DECODE_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"was not decoded within {DECODE_LIMIT_S:g} s") from error
    stated = ERROR.findall(ended.stderr)
    if ended.returncode or stated:
        last = " ".join(ended.stderr.split("\n")[-2:]).strip()
        reason = stated[-1] if stated else last
        shown = f" ({reason})" if reason else ""
        advice = "copy it again, or record again: a program that is killed writes no whole log"
        raise ValueError(f"is damaged, or no complete Darshan log{shown}; {advice}")
    return ended.stdout
