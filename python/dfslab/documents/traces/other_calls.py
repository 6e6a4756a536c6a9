"""Separates the system calls of an application that do not act on files, such as mmap and futex,
from its I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dfslab.documents.table import percent_text
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import Entry, TraceProfile
from dfslab.spec import units

# Names of system calls that manage memory, threads, signals, time, identities and the start of a
# program, or that wait for other calls. Calls on sockets are not in this list, because clients in
# user space do their I/O by sockets.
OTHER_CALLS = re.compile(
    r"mmap2?|munmap|mremap|mprotect|pkey_\w+|madvise|mincore|m(un)?lock(all|2)?|brk|membarrier"
    r"|futex\w*|rseq|clone3?|v?fork|execve(at)?|exit(_group)?|wait(4|id|pid)|\w*set_robust_list"
    r"|set_t(id_address|hread_area)|arch_prctl|prctl|personality|cap[gs]et|umask|uname|sysinfo"
    r"|(rt_)?sig\w+|t?g?kill|pause|alarm|[gs]etitimer|timer_\w+|(clock_)?nanosleep|clock_\w+"
    r"|time|times|gettimeofday|sched_\w+|getcpu|getrandom|[gs]etr(limit|usage)|prlimit64"
    r"|[gs]et(e|res|fs)?[ug]id|[gs]etgroups|[gs]et(p|s)id|getpgrp|[gs]etpgid|getp?pid|gettid"
    r"|[gs]etpriority|restart_syscall|p?select6?|p?poll|epoll_\w+|eventfd2?|pipe2?"
)
# Names of system calls that almost every program makes. A profile without any of these names is not
# a profile of system calls: a call named "select" in it may be a query of a database.
USUAL_CALLS = frozenset(("open", "openat", "close", "read", "write", "fstat", "pread64", "lseek"))
# Largest number of calls that a sentence names.
MOST_NAMED = 3


@dataclass(frozen=True)
class OtherCalls:
    """The calls of a profile that do not act on files, the longest first. There is at least one
    such call."""

    entries: tuple[Entry, ...]

    @property
    def share(self) -> float:
        """The self time of these calls as a fraction of the self time of all calls."""
        return sum(one.share for one in self.entries)

    def sentence(self) -> str:
        """Returns a sentence with the number, the self time and the names of these calls."""
        number = sum(one.count for one in self.entries)
        calls = f"{number:,} call{'s' if number != 1 else ''}"
        self_time = units.text(sum(one.self_ns for one in self.entries) / 1e9, "s", 3)
        named = [f"{one.name} {percent_text(one.share)}" for one in self.entries[:MOST_NAMED]]
        more = len(self.entries) - len(named)
        are = "are" if number != 1 else "is"
        others = f" and {more} more" if more else ""
        return (
            f"Left out: {calls} that {are} not on files ({', '.join(named)}{others}), with a self "
            f"time of {self_time}, {percent_text(self.share)} of all."
        )


def of_files(profile: TraceProfile) -> tuple[TraceProfile, OtherCalls | None]:
    """Returns (profile, others). The rankings and savings of the returned profile lack the system
    calls that do not act on files; `others` has these calls. Sums, shares and call trees still
    include all calls.

    If the profile has no such calls, or if all its timed calls are such calls, the profile is
    returned unchanged with None.
    """
    if not _is_of_system_calls(profile):
        return profile, None
    others = [one for one in profile.ranking if _is_other(one.path)]
    kept = [one for one in profile.ranking if not _is_other(one.path)]
    if not others or not any(one.self_ns for one in kept):
        return profile, None
    savings = profile.savings
    if savings is not None:
        steps = [one for one in savings.steps if not _is_other(one.step)]
        savings = savings.model_copy(update={"steps": steps})
    left = profile.model_copy(update={"ranking": kept, "savings": savings})
    return left, OtherCalls(tuple(sorted(others, key=lambda one: -one.self_ns)))


def _is_of_system_calls(profile: TraceProfile) -> bool:
    """Returns whether the calls of a profile are system calls. System calls have no callers in a
    profile."""
    has_callers = any(one.path.parent is not None for one in profile.ranking)
    return not has_callers and any(one.path.step in USUAL_CALLS for one in profile.ranking)


def _is_other(path: CallPath) -> bool:
    """Returns whether a system call does not act on files."""
    return OTHER_CALLS.fullmatch(path.step) is not None
