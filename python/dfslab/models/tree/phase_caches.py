"""Computes the state of the caches from phase to phase. The results for each phase are the bytes
that the phase reads from memory, and the share of its writes that must be on disk before the phase
can end.

The key `cache` of the scenario determines the state before the first phase:
- "warm": the existing files are in memory as far as they fit.
- "cold": the caches are empty at the start of every phase, because the load generator drops them.
  All steps of a program (phases.steps_of) count as one phase.
- "direct": reads and writes do not use the caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dfslab.models.tree.dirty_pages import data_groups, dirty_pages
from dfslab.models.tree.page_cache import FileSet, PageCache, PageCacheState
from dfslab.models.tree.phases import SINGLE, PhasePart, WorkPhase, steps_of
from dfslab.spec.environment import CACHE_SHARE, PAGE_BYTES
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.vocabulary import Access, Share, Stream, Zipf
from dfslab.spec.systems.filesystem import FileSystem

# Share of a data server's memory that its page cache can use. The kernel and the server's processes
# use the remaining memory.
SERVER_CACHE_SHARE = 0.9
PREPARED = "prepared"
READING = frozenset(("read", "pread"))
# Operations that write bytes of existing files, in contrast to "write", which writes new files.
CHANGING = frozenset(("append", "pwrite", "overwrite"))


@dataclass(frozen=True)
class PhaseTimes:
    """Two functions that return times of one phase in seconds, without its pause.

    `seconds(phase)` is how long the phase takes. In this time, the share `phase.written_back` of
    its deferred writes reaches the disks. `deferred_s(phase)` is how long the disks of the busiest
    servers need for all deferred writes of the phase.
    """

    seconds: Callable[[WorkPhase], float]
    deferred_s: Callable[[WorkPhase], float]


class CacheWalk:
    """Follows the caches of one configuration through the phases of its stream."""

    def __init__(
        self,
        scenario: Scenario,
        system: FileSystem,
        stream: Stream,
        parameters: Mapping[str, float],
        phases: Sequence[WorkPhase],
    ) -> None:
        self._scenario, self._system, self._stream = scenario, system, stream
        self._copies = max(1.0, system.stored_copies(parameters))
        self._clients = scenario.workload.clients
        self._phases = phases
        self._parts = [
            part for index, one in enumerate(stream.all_phases) for part in steps_of(index, one)
        ]

    def start(self) -> PageCacheState:
        """Returns the state before the first phase, with the files that were prepared."""
        stream = self._stream
        count = stream.files_together or stream.files_per_client * self._clients
        size_bytes = count * stream.file_size.mean_bytes if stream.prepare == "written" else 0.0
        client = next(role.name for role in self._system.roles if role.kind == "client")
        groups = self._scenario.deployment.groups_of(client)
        own_bytes = CACHE_SHARE * sum(group.count * group.memory for group in groups)
        server_bytes = SERVER_CACHE_SHARE * sum(
            group.count * group.memory for group in data_groups(self._scenario, self._system)
        )
        state = PageCacheState(
            (),
            PageCache(own_bytes),
            PageCache(server_bytes / self._copies),
            dirty_pages(self._scenario, self._system),
        )
        return state.written(FileSet(PREPARED, size_bytes)) if size_bytes else state

    def phases(self, times: PhaseTimes) -> list[WorkPhase]:
        """Returns the phases with the values that depend on the caches: the attribute
        `written_back`, and the symbols `cold` and `kept`. Both symbols are shares of the bytes
        read: `cold` is read from disk by servers, and `kept` is in the client's memory."""
        if self._scenario.workload.cache == "direct":
            return [replace(one, written_back=1.0) for one in self._phases]
        return [phase for phase, _ in self.states(times)]

    def states(self, times: PhaseTimes) -> Iterator[tuple[WorkPhase, PageCacheState]]:
        """Yields each phase, changed as in `phases`, with the state of the caches after it."""
        state = self.start()
        begun: int | None = None
        for number, (phase, part) in enumerate(zip(self._phases, self._parts, strict=True)):
            if self._scenario.workload.cache == "cold" and part.index != begun:
                state = state.emptied()
            begun = part.index
            symbols, state = self._moved(phase, part, state, number)
            found = replace(phase, symbols=symbols)
            if self.throttles:
                found, state = self._written_back(found, state, times)
            yield found, state

    @cached_property
    def throttles(self) -> bool:
        """Whether all phases together write more than the limit of the servers' dirty pages. Always
        false with the cache state "direct".

        If the value is false, no writer ever waits for disks, so the times of phases are not
        needed.
        """
        if self._scenario.workload.cache == "direct":
            return False
        written = sum(self._written_bytes(one) for one in self._phases)
        return written > self.start().dirty.limit_bytes

    def _operations(self, phase: WorkPhase) -> float:
        """Returns the number of operations of all clients in a phase."""
        total = sum(one.part.operations_per_client for one in self._parts)
        return phase.weight * total * self._clients

    def _written_bytes(self, phase: WorkPhase) -> float:
        """Returns the bytes that the servers store for a phase: the bytes that clients write, times
        the number of copies. A byte that is written twice counts once."""
        written = self._operations(phase) * phase.written_bytes
        if self._stream.moves_parts:
            files = self._stream.files_together or self._stream.files_per_client * self._clients
            written = min(written, files * self._stream.file_size.mean_bytes)
        return written * self._copies

    def _written_back(
        self, phase: WorkPhase, state: PageCacheState, times: PhaseTimes
    ) -> tuple[WorkPhase, PageCacheState]:
        """Returns (phase, state of the caches after the phase).

        The returned phase has the attribute `written_back`: the share of its deferred writes for
        which it must wait. A phase without deferred writes is returned unchanged.
        """
        disk_s = times.deferred_s(phase)
        rate = self._disk_rate()
        dirty = state.dirty.drained(phase.pause_s, rate)
        if not disk_s:
            return phase, replace(state, dirty=dirty.drained(times.seconds(phase), rate))
        written = self._written_bytes(phase)
        found = replace(phase, written_back=dirty.waited_share(written))
        after = dirty.after(written, times.seconds(found), written / disk_s)
        return found, replace(state, dirty=after)

    def _disk_rate(self) -> float:
        """Returns the bytes per second that all data servers together write to their disks."""
        groups = data_groups(self._scenario, self._system)
        return sum(one.count * one.disk.count * one.disk.write_rate for one in groups)

    def _moved(
        self, phase: WorkPhase, part: PhasePart, state: PageCacheState, number: int
    ) -> tuple[dict[str, dict[str, float]], PageCacheState]:
        """Returns the symbols of the phase's operations, and the state of the caches after the
        phase. The phase's reads are computed before its writes, because reads use the files that
        exist when the phase begins."""
        symbols = {name: dict(own) for name, own in phase.symbols.items()}
        total = self._operations(phase)
        shares: dict[str, Share] = {one.operation: one for one in part.part.mix}
        writes_new = "write" in phase.mix
        for name, share in phase.mix.items():
            if name not in READING or not state.files:
                continue
            read_bytes = total * share * self._moved_bytes(phase, part, shares[name])
            if read_bytes <= 0:
                continue
            newest = self._choice(part, shares[name]) == "newest"
            own, state = self._read(part, shares[name], state, read_bytes, newest and writes_new)
            for key, value in own.items():
                symbols[name][key] = (
                    min(value, symbols[name].get(key, 1.0)) if key == "kept" else value
                )
        for name, share in phase.mix.items():
            size_bytes = total * share * self._stream.file_size.mean_bytes
            if name == "delete":
                state = state.deleted(size_bytes)
            elif name == "write" and size_bytes:
                state = state.written(FileSet(f"phase {number}", size_bytes))
            elif name in CHANGING and state.files:
                state = self._changed(state, total * phase.written_bytes)
        return symbols, state

    def _moved_bytes(self, phase: WorkPhase, part: PhasePart, share: Share) -> float:
        """Returns the mean bytes that one read of a phase moves."""
        own = phase.symbols.get(share.operation, {}).get("file_size")
        if own is not None:
            return own
        if share.operation in SINGLE:
            return float(self._stream.transfer_size_bytes)
        most = self._access(part, share).transfers_per_operation
        whole = self._stream.file_size.mean_bytes
        return min(whole, most * float(self._stream.transfer_size_bytes)) if most else whole

    @staticmethod
    def _access(part: PhasePart, share: Share) -> Access:
        return share.access or part.part.access

    @staticmethod
    def _choice(part: PhasePart, share: Share) -> str:
        choice = share.file_choice or part.part.file_choice
        return "zipf" if isinstance(choice, Zipf) else choice

    def _read(
        self,
        part: PhasePart,
        share: Share,
        state: PageCacheState,
        read_bytes: float,
        just_written: bool,
    ) -> tuple[dict[str, float], PageCacheState]:
        """Returns the symbols `cold` and `kept` for one kind of reads, and the state of the caches
        after the reads.

        Both symbols are shares of the bytes read: `cold` is read from disk by servers, and `kept`
        is in the client's memory. No symbols are returned if the phase itself has just written the
        file (`just_written`).
        """
        if just_written:
            # The phase itself has just written the newest file, so this read does not depend on
            # earlier phases.
            return {}, state
        sets = state.files[-1:] if self._choice(part, share) == "newest" else state.files
        at_random = self._choice(part, share) in ("uniform", "zipf")
        at_random |= share.operation in SINGLE and self._access(part, share).order == "random"
        found: dict[str, float] = {}
        caches = []
        for cache in (state.client, state.server):
            if at_random:
                hit_bytes, cache = cache.read_at_random(sets, read_bytes)
            else:
                hit_bytes, cache = cache.read_passes(sets, read_bytes)
            caches.append(cache)
            found["cold" if len(caches) == 2 else "kept"] = _share(hit_bytes / read_bytes)
        found["cold"] = _share(1.0 - found["cold"])
        if not self._keeps(part):
            found["kept"] = 0.0
        return found, replace(state, client=caches[0], server=caches[1])

    def _keeps(self, part: PhasePart) -> bool:
        """Returns whether a client finds pages in its cache that it has read or written before.

        The client finds no such pages in two cases:
        - Transfers are smaller than a page, so they leave no valid page.
        - Several clients use the same files, so the pages are on other nodes or invalid.
        """
        shared = "shared" in (self._stream.files, *(one.part.files for one in self._parts))
        return not shared and self._stream.transfer_size_bytes >= PAGE_BYTES

    def _changed(self, state: PageCacheState, written_bytes: float) -> PageCacheState:
        """Returns the state after `written_bytes` bytes of the newest set of files were written."""
        newest = state.files[-1]
        held_bytes = min(newest.size_bytes, state.server.bytes_of(newest.name) + written_bytes)
        return replace(
            state,
            client=state.client.used(newest.name, held_bytes),
            server=state.server.used(newest.name, held_bytes),
        )


def _share(value: float) -> float:
    """Returns a share limited to [0, 1] and rounded to 12 digits. Rounding makes shares of 0 and 1
    exact in spite of numerical errors."""
    return min(1.0, max(0.0, round(value, 12)))
