"""Reads trace files of any kind into one profile: files of spans, profiles of traced JVMs, and
counters of servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.imports import contract
from dfslab.instruments import trace as tracing
from dfslab.instruments.tracing import callprofile, counter_profiles
from dfslab.instruments.tracing.reading import Reading
from dfslab.spec.input_error import InputError
from dfslab.studies import merged_profile

# Importers of recordings that `dfslab replay` reads and that have no spans.
REPLAYED = frozenset(("blkparse", "dxt"))


def profile(
    files: Sequence[Path], reading: Reading | None = None, scheduler: str = ""
) -> TraceProfile:
    """Returns the merged profile of OTLP files, or of files that traced JVMs wrote.

    If a `scheduler` is given, the workers of its Dask cluster read the files. Raises InputError if
    a file does not exist or cannot be read.
    """
    reading = reading or Reading()
    found = existing(files)
    if reading.format or not of_jvms(found):
        if scheduler:
            return tracing.spread(found, scheduler, reading)
        try:
            return tracing.profile(found, reading)
        except InputError as error:
            raise (_for_replay(found, reading) or error) from None
    reading.refuse_for_sums()
    read = _spread(found, scheduler) if scheduler else read_profiles(found)
    return merged_profile.of_programs(read, found)


def _for_replay(files: Sequence[Path], reading: Reading) -> InputError | None:
    """Returns the error that a file is a recording without spans, which `dfslab replay` reads; None
    if no file is one. DXT and blkparse record such files."""
    for path in files if not reading.format else ():
        forms = REPLAYED.intersection(contract.recognised(path)) if path.is_file() else ()
        if forms:
            allowed = f"is a recording of {min(forms)}, which `dfslab replay {path}` reads"
            return InputError("trace", str(path), allowed)
    return None


def read_profiles(files: Sequence[Path]) -> list[tuple[str, callprofile.File]]:
    """Reads the profiles of traced JVMs. Returns pairs of a file name and the profile.

    Files with server counters are converted to profiles.
    """
    found = []
    for path in files:
        whole = callprofile.is_profile(path)
        found += [(str(path), callprofile.read(path))] if whole else counter_profiles.read(path)
    return found


def _spread(files: Sequence[Path], scheduler: str) -> list[tuple[str, callprofile.File]]:
    """Lets the workers of a Dask cluster read profiles. Returns pairs of a file name and the
    profile, sorted by file name. `scheduler`: the address of the cluster's scheduler. Raises
    InputError if a worker could not read a file."""
    # Importing Dask takes half a second, so it is imported only if it is used.
    from dfslab.fleet import each_host

    found = []
    for answer in each_host.each(scheduler, [(_read_at_node, str(path)) for path in sorted(files)]):
        if isinstance(answer, str):
            raise InputError("trace", None, answer)
        found += answer
    return found


def _read_at_node(path: str) -> list[tuple[str, callprofile.File]] | str:
    """Returns the profiles in a file. A worker of the Dask cluster calls this function.

    An error is returned as its message, because exceptions of dfslab cannot be pickled.
    """
    try:
        return read_profiles([Path(path)])
    except (InputError, OSError) as error:
        return str(error)


def of_jvms(files: Sequence[Path]) -> bool:
    """Returns whether the files contain sums of calls instead of single calls (spans). The files of
    traced JVMs and of server counters contain sums.

    Raises InputError if only some of the files contain sums.
    """
    profiles = [
        path for path in files if callprofile.is_profile(path) or counter_profiles.recognise(path)
    ]
    if profiles and len(profiles) < len(files):
        other = next(path for path in files if path not in profiles)
        allowed = "has spans, and the other files profiles: report each kind by a separate command"
        raise InputError("trace", str(other), allowed)
    return bool(profiles)


_NO_PROFILE = (
    f"is a folder without call profiles (*{callprofile.SUFFIX}); give other traces as files"
)


def existing(files: Sequence[Path]) -> list[Path]:
    """Returns the paths of the files to read. A folder in `files` is replaced by the profiles in
    it. Raises InputError if a file does not exist or if a folder has no profiles."""
    found = callprofile.expand(files)
    if not found:
        raise InputError("trace", str(files[0]), _NO_PROFILE)
    for path in found:
        if not path.is_file():
            raise InputError("trace", str(path), "no such file")
    return found
