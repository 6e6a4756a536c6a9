"""Compares the model of page caches, which counts bytes, with two slow but simple simulations. The
first simulation is an LRU list of single pages. In the second simulation, writers and disks advance
in small steps of time."""

from __future__ import annotations

import random
from collections import OrderedDict

import pytest
from dfslab.models.tree.page_cache import DirtyPages, FileSet, PageCache, PageCacheState


class PagesInOrder:
    """An LRU list of single pages. Each page is a pair (name of a set of files, number of the
    page)."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.pages = capacity, OrderedDict()

    def use(self, page):
        """Makes a page the most recently used page. Returns whether the page was in memory."""
        hit = page in self.pages
        self.pages.pop(page, None)
        self.pages[page] = None
        if len(self.pages) > self.capacity:
            self.pages.popitem(last=False)
        return hit

    def scan(self, name, count):
        """Reads the first `count` pages of the set `name` in order. Returns how many of them were
        in memory."""
        return sum(self.use((name, number)) for number in range(count))


@pytest.mark.parametrize("seed", range(60))
def test_scans_hit_what_an_lru_list_of_pages_hits(seed):
    rng = random.Random(seed)
    capacity = rng.randint(1, 120)
    sizes = {name: rng.randint(1, 80) for name in "abcd"}
    twin, cache = PagesInOrder(capacity), PageCache(capacity)
    for _ in range(12):
        name = rng.choice("abcd")
        expected = twin.scan(name, sizes[name])
        hits, cache = cache.read_passes([FileSet(name, sizes[name])], sizes[name])
        assert hits == pytest.approx(expected), f"seed {seed}"


@pytest.mark.parametrize("seed", range(10))
def test_passes_over_several_sets_hit_what_an_lru_list_hits(seed):
    rng = random.Random(seed)
    capacity, passes = rng.randint(1, 150), rng.randint(1, 7)
    sizes = {name: rng.randint(1, 60) for name in "abc"}
    twin = PagesInOrder(capacity)
    expected = sum(twin.scan(name, size) for _ in range(passes) for name, size in sizes.items())
    sets = [FileSet(name, size) for name, size in sizes.items()]
    hits, _ = PageCache(capacity).read_passes(sets, passes * sum(sizes.values()))
    assert hits == pytest.approx(expected)


@pytest.mark.parametrize("capacity", [300, 1000, 2000, 5000])
@pytest.mark.parametrize("reads", [500, 2000, 8000])
def test_random_reads_hit_as_often_as_in_an_lru_list(capacity, reads):
    rng = random.Random(7)
    twin, files = PagesInOrder(capacity), 2000
    expected = sum(twin.use(("a", rng.randrange(files))) for _ in range(reads))
    hits, _ = PageCache(capacity).read_at_random([FileSet("a", files)], reads)
    assert hits / reads == pytest.approx(expected / reads, abs=0.03)


def test_deleted_files_leave_the_memory():
    state = PageCacheState((), PageCache(100), PageCache(100), DirtyPages(10, 20, 30))
    state = state.written(FileSet("a", 30)).written(FileSet("b", 40)).deleted(50)
    assert state.files == (FileSet("b", 20),)
    assert state.server.resident == (("b", 20),)


def stepped(dirty: DirtyPages, written: float, disk_rate: float, free_s: float, step_s=0.002):
    """Returns the seconds that writers need for `written` bytes, simulated in steps of `step_s`.

    Without a limit of dirty pages, the writers would need `free_s`. When the dirty pages reach
    their limit, the writers are slowed down to `disk_rate`, the rate of the disks.
    """
    rate, left, held, time_s = written / free_s, written, dirty.dirty_bytes, 0.0
    while left > 0:
        held -= min(held, disk_rate * step_s)
        moved = min(left, rate * step_s, max(0.0, dirty.limit_bytes - held))
        left, held, time_s = left - moved, held + moved, time_s + step_s
    return time_s


@pytest.mark.parametrize("written", [10.0, 40.0, 80.0, 200.0])
@pytest.mark.parametrize("rate", [2.0, 5.0, 9.0])
@pytest.mark.parametrize("before", [0.0, 8.0, 20.0])
def test_writers_wait_as_long_as_in_steps_of_time(written, rate, before):
    dirty, free_s = DirtyPages(15.0, 30.0, 30.0, before), written / 10.0
    seconds = max(free_s, dirty.waited_share(written) * written / rate)
    assert seconds == pytest.approx(stepped(dirty, written, rate, free_s), rel=0.03)


def test_dirty_pages_are_written_while_clients_compute():
    dirty = DirtyPages(15.0, 30.0, 30.0, 28.0)
    # The disk writes 1 byte per second. The disk first writes the dirty bytes above the threshold,
    # and then the dirty bytes that have expired.
    assert dirty.drained(10.0, 1.0).dirty_bytes == pytest.approx(18.0)
    assert dirty.drained(25.0, 1.0).dirty_bytes == pytest.approx(15.0)
    assert dirty.drained(40.0, 1.0).dirty_bytes == pytest.approx(5.0)
    in_parts = dirty.drained(25.0, 1.0).drained(15.0, 1.0)
    assert in_parts.dirty_bytes == pytest.approx(5.0)
