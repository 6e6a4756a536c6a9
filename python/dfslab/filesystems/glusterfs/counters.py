"""Reads the counters of GlusterFS' bricks from the output of `gluster volume profile VOLUME info`,
as XML or text."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from dfslab.filesystems.glusterfs import counters_text
from dfslab.filesystems.glusterfs.counters_text import TextBrick
from dfslab.spec.systems.counter_format import Counted, CounterFormat, Counters, NotUnderstood

SERVICE = "brick"
# Names of calls in which a brick waits for a lock that another client holds, not for the brick's
# disk.
LOCKS = ("LK", "INODELK", "ENTRYLK", "FINODELK", "FENTRYLK")
MOVED = {"READ": ("totalRead", "reads"), "WRITE": ("totalWrite", "writes")}


def recognise(head: bytes) -> bool:
    """Returns whether the beginning of a file is a volume profile as XML or text."""
    return b"<volProfile>" in head or counters_text.recognise(head)


def read(text: str, name: str) -> list[Counters]:
    """Returns the counters of every brick since counting started.

    The counters have the number of calls of each operation. For reads and writes, they also have
    the number of calls of each size. Raises NotUnderstood where the text is malformed.
    """
    if not text.lstrip().startswith("<"):
        bricks = counters_text.bricks(text)
        return [Counters(SERVICE, brick.name, tuple(_text_rows(brick))) for brick in bricks]
    try:
        table = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise NotUnderstood(f"is no XML: {error}") from error
    found = []
    for brick in table.iter("brick"):
        stats = brick.find("cumulativeStats")
        if stats is None:
            stats = brick.find("intervalStats")
        reported = brick.findtext("brickName", "")
        if stats is not None and reported:
            rows = tuple(row for fop in stats.iter("fop") for row in _operation(fop, stats))
            found.append(Counters(SERVICE, reported, rows))
    return found


def _operation(fop: ElementTree.Element, stats: ElementTree.Element) -> Iterator[Counted]:
    name, calls = fop.findtext("name", ""), _whole(fop, "hits")
    least, most = (_number(fop, key) for key in ("minLatency", "maxLatency"))
    # Forget, release and releasedir are notifications. A brick counts them but does not measure
    # their times.
    timed = most is not None and most > 0
    total = (_number(fop, "avgLatency") or 0) * calls
    moved, by_size = MOVED.get(name, ("", ""))
    yield Counted(
        name,
        calls,
        kind="lock" if name in LOCKS else "service",
        bytes=_whole(stats, moved) if moved else 0,
        total_ns=round(total) if timed else None,
        min_ns=round(least) if timed and least is not None else None,
        max_ns=round(most) if timed and most is not None else None,
    )
    for block in stats.iter("block") if by_size else ():
        if count := _whole(block, by_size):
            size = _whole(block, "size")
            step = f"{by_size} of {size} to {2 * size - 1} B"
            yield Counted(step, count, above=name, kind="detail")


def _text_rows(brick: TextBrick) -> Iterator[Counted]:
    """Yields the counters of a brick whose profile is text. There is one row for each operation,
    and one for each size of a read or write. The rows have the form of those that `_operation`
    yields for XML."""
    moved = {"READ": brick.read_bytes, "WRITE": brick.written_bytes}
    for fop in brick.fops:
        timed = fop.max_ns > 0
        yield Counted(
            fop.name,
            fop.calls,
            kind="lock" if fop.name in LOCKS else "service",
            bytes=moved.get(fop.name, 0),
            total_ns=round(fop.mean_ns * fop.calls) if timed else None,
            min_ns=round(fop.min_ns) if timed else None,
            max_ns=round(fop.max_ns) if timed else None,
        )
        by_size = brick.sizes[fop.name.title()] if fop.name in MOVED else {}
        for size, count in by_size.items():
            if count:
                step = f"{MOVED[fop.name][1]} of {size} to {2 * size - 1} B"
                yield Counted(step, count, above=fop.name, kind="detail")


def _number(element: ElementTree.Element, key: str) -> float | None:
    text = element.findtext(key)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    # A value that reaches this limit (1e18 ns are 32 years) is rejected as invalid.
    if not 0 <= value < 1e18:
        raise NotUnderstood(f"{key} is {text[:40]!r}, no number of nanoseconds, calls or bytes")
    return value


def _whole(element: ElementTree.Element, key: str) -> int:
    return int(_number(element, key) or 0)


FORMAT = CounterFormat("gluster volume profile VOLUME info", recognise, read)
