"""Downloads the programs that testbeds need, once for all testbeds. Jars are stored in one folder
for each Maven pom and version.

The folders are in the folder that DFSLAB_CACHE names, else in $XDG_CACHE_HOME/dfslab, else in
~/.cache/dfslab.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from dfslab.notify import Notify, progress_line
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.files import checksums
from dfslab.spec.files.homes import home, locked
from dfslab.testbeds.daemon import run_to_end
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.programs import find_program

DOWNLOAD_LIMIT_S = 1200.0
# What a user can do after a download that failed or was interrupted.
CONTINUES = "nothing was installed; the same command continues with the jars that are missing"


def cache_folder() -> Path:
    """Returns the folder of all downloads."""
    return home("DFSLAB_CACHE", "XDG_CACHE_HOME", ".cache")


def program(command: str, package: str) -> str:
    """Returns the path of the executable `command`.

    Raises TestbedError if the executable is missing. The error names the Debian `package` to
    install.
    """
    found = find_program(command)
    if found is None:
        raise TestbedError(
            "missing_program", f"looking for {command}", f"not found; install {package} (Debian)"
        )
    return found


def maven_jars(name: str, pom: Path, properties: Mapping[str, str], notify: Notify) -> Path:
    """Returns the folder with the jars of all dependencies of a pom. The jars are downloaded if
    they are missing.

    The folder's name depends on `properties` (for example versions) and on the pom's text, so a
    change of either gives another folder. The folder appears complete or not at all, even if
    several processes download at the same time.

    The jars must have the checksums in the file `NAME.sha256` next to the pom. If there is no such
    file, `notify` is called with a warning. Raises TestbedError if a jar differs.
    """
    telling = "".join(f"{key}={value}\n" for key, value in sorted(properties.items()))
    digest = hashlib.sha256(pom.read_bytes() + telling.encode()).hexdigest()[:12]
    folder = cache_folder() / "jars" / f"{name}-{digest}"
    if folder.is_dir():
        return folder
    maven = program("mvn", "maven")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.with_name(folder.name + ".lock")):
            if not folder.is_dir():
                notify(f"downloading {name} from Maven (only this once)")
                _download(maven, name, pom, properties, folder, notify)
    except OSError as error:
        raise TestbedError("download", f"downloading {name}", str(error)) from error
    return folder


def check_jars(name: str, folder: Path, listed: Path, notify: Notify) -> None:
    """Compares downloaded jars with the list of their checksums.

    Calls `notify` if there is no list. Raises TestbedError, which names the first jar that differs
    from the list, is missing, or is not listed.
    """
    if not listed.is_file():
        notify(f"{name}: there is no list of checksums, so the jars are not checked")
        return
    wrong = checksums.difference_of_all(folder, checksums.read(listed))
    if wrong:
        advice = f"nothing was installed; remove {cache_folder() / 'm2'} and download again"
        raise TestbedError("download", f"checking the jars of {name}", f"{wrong}; {advice}")


def _download(
    maven: str,
    name: str,
    pom: Path,
    properties: Mapping[str, str],
    folder: Path,
    notify: Notify,
    clock: Clock = REAL,
) -> None:
    """Downloads jars to a temporary folder next to `folder`, then renames the temporary folder to
    `folder`.

    A download that was interrupted is repeated from the start.
    """
    partial = folder.with_name(folder.name + ".partial")
    log_path = folder.with_name(folder.name + ".log")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    # Maven writes into the folder of the pom, so use a copy of the pom in the partial folder.
    shutil.copy(pom, partial / "pom.xml")
    command = [
        maven,
        "-B",
        "-q",
        "-f",
        str(partial / "pom.xml"),
        f"-Dmaven.repo.local={cache_folder() / 'm2'}",
        *(f"-D{key}={value}" for key, value in sorted(properties.items())),
        "dependency:copy-dependencies",
        f"-DoutputDirectory={partial / 'jars'}",
    ]
    log_path.write_bytes(b"")
    listed = pom.with_name(f"{name}.sha256")
    action = f"downloading {name}"
    download = Download(name, listed, cache_folder() / "m2", clock.monotonic_s)
    try:
        with progress_line(download.progress):
            run_to_end(action, command, log_path, os.environ, partial, DOWNLOAD_LIMIT_S)
        if not any((partial / "jars").glob("*.jar")):
            raise TestbedError("download", action, f"Maven copied no jar; see {log_path}")
        check_jars(name, partial / "jars", listed, notify)
        (partial / "jars").rename(folder)
    except TestbedError as error:
        if error.kind == "download":
            raise
        context = f"{error.context}; {CONTINUES}"
        raise TestbedError("download", action, context, error.log_lines) from error
    except KeyboardInterrupt:
        notify(f"{action} was interrupted: {CONTINUES}")
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


class Download:
    """A download that is in progress. `listed`: the file with the checksums of all jars; it need
    not exist. `repository`: the folder into which Maven downloads. `clock_s`: returns the present
    time in seconds."""

    def __init__(
        self, name: str, listed: Path, repository: Path, clock_s: Callable[[], float]
    ) -> None:
        self._name, self._repository, self._clock_s = name, repository, clock_s
        self._wanted = set(checksums.read(listed)) if listed.is_file() else set[str]()
        self._begun_s = clock_s()
        self._before = len(self._sizes())

    def progress(self) -> str:
        """Returns one line with the number and the size of the downloaded jars, and the time left.
        The time left is estimated from the mean time of a jar so far."""
        sizes = self._sizes()
        line = f"downloading {self._name}: {len(sizes)}"
        line += f" of {len(self._wanted)} jars" if self._wanted else " jars"
        line += f", {sum(sizes.values()) / 1e6:.0f} MB"
        new, missing = len(sizes) - self._before, len(self._wanted) - len(sizes)
        if new <= 0 or missing < 0:
            return line
        left_s = (self._clock_s() - self._begun_s) / new * missing
        return f"{line}, about {math.ceil(left_s)} s left"

    def _sizes(self) -> dict[str, int]:
        """Returns the size in bytes of each downloaded jar by its name. Only listed jars count, if
        there is a list. Maven gives a jar its name when it is complete."""
        found: dict[str, int] = {}
        for path in self._repository.rglob("*.jar"):
            # Maven may rename or remove a file while the folder is read.
            with suppress(FileNotFoundError):
                if not self._wanted or path.name in self._wanted:
                    found[path.name] = path.stat().st_size
        return found
