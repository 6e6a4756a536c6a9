"""Reads the time stamps in lines of strace, as printed with the options `-ttt` and `-tt`. For any
other form of stamp, an error names the form.

`-tt` prints the time of day, so a trace may cross midnight. A stamp that is earlier than the latest
stamp so far belongs to the next day. The exception is a stamp that is earlier by less than
REORDERED_S. Such a stamp belongs to the same day, because the lines of several threads may be out
of order.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

PROCESS = r"(?:\[pid\s+(\d+)\]\s+|(\d+)\s+)?"
# With strace's option -r in addition, the time since the previous line follows the stamp in
# parentheses.
RELATIVE_BESIDES = r"(?:\(\+\s*[\d.]+\)\s+)?"
UNIX = re.compile(rf"^{PROCESS}(\d+\.\d+)\s+{RELATIVE_BESIDES}(.*)$")
DAYTIME = re.compile(rf"^{PROCESS}(\d\d):(\d\d):(\d\d)\.(\d+)\s+{RELATIVE_BESIDES}(.*)$")
# The rejected forms of time stamps, each with the reason. The reason shows the user how to record
# the trace again, so it differs between the forms.
REFUSED = (
    (
        re.compile(rf"^{PROCESS}\d\d:\d\d:\d\d\s"),
        "has a stamp of whole seconds (strace -t), too coarse for calls: use strace -ttt",
    ),
    (
        re.compile(rf"^{PROCESS}\d{{9,10}}\s+\w+\("),
        "has a stamp of whole seconds (precision:s), too coarse for calls: use strace -ttt",
    ),
    (
        re.compile(r"^(?:\[pid\s+\d+\]|\d+)?(?:\s{4,}\d+\.\d+|\s*0\.0+)\s+[a-z_<]"),
        "has a relative stamp (strace -r), whose origin is another line: use strace -ttt",
    ),
    (
        re.compile(r"^\s*(?:% time\s+seconds|\d+\.\d+\s+\d+\.\d+\s+\d+\s+\d+)"),
        "is of a summary (strace -c), which has no single calls: use strace -f -T -ttt -y",
    ),
)
# A line of strace that has no time stamp.
UNSTAMPED = re.compile(rf"^{PROCESS}[a-z_]\w*\(.*(?:\)\s+=\s|<unfinished)")
CALLED = re.compile(r"[a-z_]\w*\(|<\.\.\. \w+ resumed>")
CALLED_ANYWHERE = re.compile(r"\s[a-z_]\w*\(.*(=|<unfinished)")
DAY_S = 86400
REORDERED_S = 60
# The lines of one process ascend in time. If the clock is set during the recording, times may go
# back by less than this number of seconds.
CLOCK_STEP_S = 1.0
# A message of strace itself, which has no stamp.
MESSAGE = re.compile(r"^strace: Process \d+ (?:attached|detached)$")


@dataclass(frozen=True)
class StampedLine:
    """A line of strace without its time stamp. `process`: the process number; 0 if strace printed
    none. `time_s`: seconds since 1970 (`-ttt`), or since the midnight before the first line
    (`-tt`).
    """

    process: int
    time_s: float
    text: str


def is_unstamped(head: bytes) -> bool:
    """Returns whether the first line of a file is of strace without time stamps."""
    return UNSTAMPED.match(head.decode(errors="surrogateescape").partition("\n")[0]) is not None


class Stamps:
    """Separates the time stamps from the lines of one file. The lines must be passed in the order
    of the file, because the day of a stamp depends on earlier stamps."""

    def __init__(self) -> None:
        self._latest_s: float | None = None
        # For each process: the time and the number of its latest line.
        self._of_process: dict[int, tuple[float, int]] = {}

    def split(self, line: str, number: int) -> StampedLine | None:
        """Splits a line into its process number, its time and the remainder. Returns None for an
        empty line and for a message of strace itself. Raises ValueError if the line has no readable
        time stamp, or if the stamp is earlier than that of the previous line of the same process.
        `number` is the number of the line in the error.
        """
        if not line.strip() or MESSAGE.match(line):
            return None
        found = self._split(line, number)
        latest_s, latest = self._of_process.get(found.process, (found.time_s, number))
        if found.time_s < latest_s - CLOCK_STEP_S:
            raise ValueError(
                f"line {number}: its time is {latest_s - found.time_s:.6g} s before that of line "
                f"{latest} of the same process: several recordings in one file cannot be "
                "separated; give one of them, or record with strace -f -o FILE"
            )
        self._of_process[found.process] = found.time_s, number
        return found

    def _split(self, line: str, number: int) -> StampedLine:
        for form, reason in REFUSED:
            if form.match(line):
                raise ValueError(f"line {number}: {line[:60]!r} {reason}")
        if found := UNIX.match(line.lstrip()):
            process = int(found[1] or found[2] or 0)
            return StampedLine(process, float(found[3]), found[4])
        if found := DAYTIME.match(line.lstrip()):
            hours, minutes, seconds = (int(found[at]) for at in (3, 4, 5))
            # strace prints a leap second as second 60.
            if hours < 24 and minutes < 60 and seconds <= 60:
                time_s = hours * 3600 + minutes * 60 + float(f"{seconds}.{found[6]}")
                process = int(found[1] or found[2] or 0)
                return StampedLine(process, self._of_day(time_s), found[7])
        raise ValueError(f"line {number}: {line[:60]!r} has no time: use strace -ttt")

    def _of_day(self, time_s: float) -> float:
        """Converts `time_s`, a time of day in seconds, to the seconds since the midnight before the
        first line of the file."""
        if self._latest_s is None:
            self._latest_s = time_s
        days = max(0, math.ceil((self._latest_s - REORDERED_S - time_s) / DAY_S))
        self._latest_s = max(self._latest_s, time_s + days * DAY_S)
        return time_s + days * DAY_S


def is_daytime(head: bytes) -> bool:
    """Returns whether the first line of a file begins with a time of day and a system call."""
    line = head.decode(errors="surrogateescape").lstrip().partition("\n")[0]
    found = DAYTIME.match(line)
    return found is not None and CALLED.match(found[7]) is not None


def is_refused(head: bytes) -> str:
    """Returns the reason why the first line of strace's output is rejected (see REFUSED); "" if the
    line is accepted."""
    line = head.decode(errors="surrogateescape").partition("\n")[0]
    called = CALLED_ANYWHERE.search(line) or line.lstrip().startswith("% time")
    return next((reason for form, reason in REFUSED if called and form.match(line)), "")
