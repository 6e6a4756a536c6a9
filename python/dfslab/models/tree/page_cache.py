"""The state of page caches between the phases of a workload: which files are in memory, and how
much written data is not on disk yet.

Pages are replaced in the order of their last use (LRU). This agrees with a measurement on Linux
6.18, in which a file was read from front to back several times (docs/decisions/028). If the file
exceeded the memory limit of its control group, every pass read from disk. Otherwise only the first
pass did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

# Number of passes over a set of files that are computed one by one. All later passes have the
# result of the last computed pass.
FOLLOWED_PASSES = 3


@dataclass(frozen=True)
class FileSet:
    """The files that one phase has written, or the files that exist before the first phase.

    `size_bytes` is the total size of these files, over all clients.
    """

    name: str
    size_bytes: float


@dataclass(frozen=True)
class PageCache:
    """The content of the page caches of all nodes of one role together.

    `resident` maps the name of each set of files to the bytes of this set in memory. The least
    recently used set is first.
    """

    capacity_bytes: float
    resident: tuple[tuple[str, float], ...] = ()

    def bytes_of(self, name: str) -> float:
        """Returns the bytes of a set of files that are in memory."""
        return dict(self.resident).get(name, 0.0)

    def without(self, name: str) -> PageCache:
        """Returns the cache after the files of a set were deleted."""
        return replace(self, resident=tuple(one for one in self.resident if one[0] != name))

    def used(self, name: str, size_bytes: float) -> PageCache:
        """Returns the cache after a use of `size_bytes` of a set. These bytes are then the most
        recently used pages of the cache. If memory is short, the least recently used pages of other
        sets are evicted."""
        left_bytes = self.capacity_bytes
        found = []
        for key, held_bytes in ((name, size_bytes), *reversed(self.without(name).resident)):
            kept_bytes = min(held_bytes, left_bytes)
            left_bytes -= kept_bytes
            if kept_bytes > 0:
                found.append((key, kept_bytes))
        return replace(self, resident=tuple(reversed(found)))

    def read_in_order(self, files: FileSet, read_bytes: float) -> tuple[float, PageCache]:
        """Reads the first `read_bytes` of a set from front to back. Returns the bytes found in
        memory, and the cache afterwards.

        - If only a part of the set is read, the set's bytes in memory are assumed to be spread
          evenly over the set.
        - If the whole set is read and the missing bytes fit into memory (_room_bytes), all bytes in
          memory are found.
        - If the whole set is read and the missing bytes do not fit, no byte is found. Reading the
          missing beginning evicts the pages of the end before these pages are read.
        """
        held_bytes = self.bytes_of(files.name)
        whole = read_bytes >= files.size_bytes
        if not whole:
            share = held_bytes / files.size_bytes if files.size_bytes else 0.0
            hit_bytes = share * read_bytes
            total_bytes = held_bytes + read_bytes - hit_bytes
            return hit_bytes, self.used(files.name, total_bytes)
        fits = files.size_bytes - held_bytes <= self._room_bytes(files.name)
        return (held_bytes if fits else 0.0), self.used(files.name, files.size_bytes)

    def _room_bytes(self, name: str) -> float:
        """Returns the bytes of memory that the set `name` can use without evicting newer sets.
        These bytes are the free memory, and the memory of all sets that were last used before the
        set `name`."""
        names = [key for key, _ in self.resident]
        older = self.resident[: names.index(name)] if name in names else self.resident
        held_bytes = sum(size_bytes for _, size_bytes in self.resident)
        return self.capacity_bytes - held_bytes + sum(size_bytes for _, size_bytes in older)

    def read_at_random(self, sets: Sequence[FileSet], read_bytes: float) -> tuple[float, PageCache]:
        """Reads `read_bytes` at random places, which are uniformly distributed over all `sets`.
        Returns the bytes found in memory, and the cache afterwards.

        The probability of a miss is the share of the files that is not in memory. Each miss adds
        data to the memory. The share of files that is not in memory therefore decays exponentially
        with the bytes read, until the memory is full.
        """
        whole_bytes = sum(one.size_bytes for one in sets)
        held_bytes = min(whole_bytes, sum(self.bytes_of(one.name) for one in sets))
        most_bytes = min(whole_bytes, self.capacity_bytes)
        absent_bytes = whole_bytes - held_bytes
        missed_bytes = absent_bytes * -math.expm1(-read_bytes / whole_bytes)
        room_bytes = most_bytes - held_bytes
        if missed_bytes > room_bytes:
            spent_bytes = whole_bytes * math.log(absent_bytes / (whole_bytes - most_bytes))
            steady = 1.0 - most_bytes / whole_bytes
            missed_bytes = room_bytes + steady * (read_bytes - spent_bytes)
        now_bytes = min(most_bytes, held_bytes + missed_bytes)
        cache = self
        for one in sets:
            cache = cache.used(one.name, now_bytes * one.size_bytes / whole_bytes)
        return read_bytes - missed_bytes, cache

    def read_passes(self, sets: Sequence[FileSet], read_bytes: float) -> tuple[float, PageCache]:
        """Reads `read_bytes` of the sets one after the other, and begins again at the first set
        after the last set. Returns the bytes found in memory, and the cache afterwards."""
        whole_bytes = sum(one.size_bytes for one in sets)
        cache, hit_bytes, left_bytes = self, 0.0, read_bytes
        for number in range(FOLLOWED_PASSES):
            before_bytes, begun_bytes = hit_bytes, left_bytes
            for one in sets:
                part_bytes = min(left_bytes, one.size_bytes)
                if part_bytes > 0:
                    found_bytes, cache = cache.read_in_order(one, part_bytes)
                    hit_bytes += found_bytes
                    left_bytes -= part_bytes
            if left_bytes <= 0:
                return hit_bytes, cache
            if number == FOLLOWED_PASSES - 1:
                share = (hit_bytes - before_bytes) / (begun_bytes - left_bytes)
                return hit_bytes + share * left_bytes, cache
        raise AssertionError(f"{whole_bytes} bytes were read {FOLLOWED_PASSES} times")


@dataclass(frozen=True)
class DirtyPages:
    """The written data in the memory of the servers that is not on their disks yet.

    The disks write this data back while clients go on writing. At `limit_bytes`, writers are
    throttled to the rate of the disks (vm.dirty_ratio of Linux). When clients write nothing, the
    disks go on until only `background_bytes` of dirty data remain (vm.dirty_background_ratio).
    These bytes are written back `expire_s` seconds after the last write
    (vm.dirty_expire_centisecs). `age_s` is the time in seconds since the last write.
    """

    background_bytes: float
    limit_bytes: float
    expire_s: float
    dirty_bytes: float = 0.0
    age_s: float = 0.0

    def waited_share(self, written_bytes: float) -> float:
        """Returns the share of a phase's `written_bytes` that disks must write before the writers
        are done. The remaining dirty pages then stay within `limit_bytes`."""
        over_bytes = written_bytes + self.dirty_bytes - self.limit_bytes
        return min(1.0, max(0.0, over_bytes / written_bytes))

    def after(self, written_bytes: float, seconds: float, disk_rate: float) -> DirtyPages:
        """Returns the state after a phase of `seconds` seconds with `written_bytes` of deferred
        writes. The disks write `disk_rate` bytes per second."""
        left_bytes = self.dirty_bytes + written_bytes - seconds * disk_rate
        dirty_bytes = min(self.limit_bytes, max(0.0, left_bytes))
        return replace(self, dirty_bytes=dirty_bytes, age_s=0.0)

    def drained(self, seconds: float, disk_rate: float) -> DirtyPages:
        """Returns the state after `seconds` seconds without writes, in which the disks can write
        `disk_rate` bytes per second."""
        above_bytes = max(0.0, self.dirty_bytes - self.background_bytes)
        written_bytes = min(above_bytes, disk_rate * seconds)
        until_s = max(self.expire_s - self.age_s, written_bytes / disk_rate)
        expired_bytes = disk_rate * max(0.0, seconds - until_s)
        left_bytes = max(0.0, self.dirty_bytes - written_bytes - expired_bytes)
        return replace(self, dirty_bytes=left_bytes, age_s=self.age_s + seconds)


@dataclass(frozen=True)
class PageCacheState:
    """The caches of a deployment at a barrier between two phases, or at the start of the run.

    `files` are the files that exist, the oldest first. `client` has the pages in the memory of the
    clients' nodes, and `server` the pages in the memory of the data servers' nodes. `dirty` has the
    written pages of the servers that are not on disk.
    """

    files: tuple[FileSet, ...]
    client: PageCache
    server: PageCache
    dirty: DirtyPages

    def emptied(self) -> PageCacheState:
        """Returns the state after all data was written to disk and the caches were dropped."""
        return replace(
            self,
            client=replace(self.client, resident=()),
            server=replace(self.server, resident=()),
            dirty=replace(self.dirty, dirty_bytes=0.0),
        )

    def written(self, files: FileSet) -> PageCacheState:
        """Returns the state after a set of new files was written through both caches."""
        return replace(
            self,
            files=(*self.files, files),
            client=self.client.used(files.name, files.size_bytes),
            server=self.server.used(files.name, files.size_bytes),
        )

    def deleted(self, size_bytes: float) -> PageCacheState:
        """Returns the state after the oldest files were deleted, `size_bytes` in all."""
        state, left_bytes = self, size_bytes
        for one in self.files:
            if left_bytes <= 0:
                break
            part_bytes = min(left_bytes, one.size_bytes)
            left_bytes -= part_bytes
            rest = FileSet(one.name, one.size_bytes - part_bytes)
            state = state._reduced(rest)
        return state

    def _reduced(self, files: FileSet) -> PageCacheState:
        """Returns the state in which a set has become smaller; a set without bytes is removed."""
        sets = tuple(files if one.name == files.name else one for one in self.files)
        caches = []
        for cache in (self.client, self.server):
            held = tuple(
                (k, min(b, files.size_bytes) if k == files.name else b) for k, b in cache.resident
            )
            caches.append(replace(cache, resident=tuple(one for one in held if one[1] > 0)))
        sets = tuple(one for one in sets if one.size_bytes > 0)
        return replace(self, files=sets, client=caches[0], server=caches[1])
