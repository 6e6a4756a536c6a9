"""Inspects this machine: which parts of dfslab work, what is missing, how to install it, and how
busy the machine is."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dfslab.documents.table import Table, heads, words
from dfslab.extras import EXTRAS, absent
from dfslab.testbeds.hosts import kernel

# Largest proportion of the cores that other programs may use. Above this proportion, measurements
# are reported as disturbed. The value is a choice: below this proportion, one client still finds a
# free core on machines with two or more cores.
QUIET_SHARE = 0.25
# What each optional extra of the package provides.
PURPOSES = {
    "formulas": "formulas and UML diagrams",
    "fit": "calibration, petri, regression",
    "learn": "learning from designed sweeps",
    "page": "page of a run",
    "serve": "web application",
    "tables": "Parquet and SQL on traces",
    "fleet": "clients on many nodes",
    "darshan": "replay of Darshan logs",
}
JAVA = "apt-get install openjdk-17-jre-headless"
FUSE = Path("/dev/fuse")
# Major and minor number of the device /dev/fuse (Linux, Documentation/admin-guide/devices.txt).
FUSE_NUMBER = os.makedev(10, 229)
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


@dataclass(frozen=True)
class InspectedMachine:
    """The state of a machine.

    - `has_java`, `has_fuse`: whether the program java and the device /dev/fuse exist
    - `load`: mean number of running processes over the last minute
    - `governor`: frequency governor of the processor; "" if unknown
    - `lacking`: for each optional extra that is incomplete, the first of its libraries that is not
      installed
    - `packages`: the missing Debian packages of the programs that emulated hosts need
    - `has_namespaces`: false if root may not make namespaces, in which emulated hosts run;
      containers often forbid it. True if this was not tried.
    """

    is_root: bool
    has_java: bool
    has_fuse: bool
    cores: int
    load: float
    governor: str
    lacking: Mapping[str, str]
    packages: Sequence[str] = ()
    has_namespaces: bool = True


@dataclass(frozen=True)
class InspectedPart:
    """A line of the report: its subject, the state of the subject in words, and the remedy ("" if
    nothing has to be done)."""

    about: str
    state: str
    remedy: str = ""


def inspect() -> InspectedMachine:
    """Inspects this machine without changing anything. Whether namespaces can be made is tried only
    if no package is missing, and only for root, because other users cannot start emulated hosts."""
    is_root = os.geteuid() == 0
    packages = kernel.missing_programs()
    missing = {extra: names[0] for extra in EXTRAS if (names := absent(extra))}
    return InspectedMachine(
        is_root=is_root,
        has_java=shutil.which("java") is not None,
        has_fuse=_is_fuse(FUSE),
        cores=len(os.sched_getaffinity(0)),
        load=os.getloadavg()[0],
        governor=GOVERNOR.read_text().strip() if GOVERNOR.exists() else "",
        lacking=missing,
        packages=packages,
        has_namespaces=not is_root or bool(packages) or kernel.has("namespaces"),
    )


def _is_fuse(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == FUSE_NUMBER


def findings(machine: InspectedMachine) -> list[InspectedPart]:
    """Returns the lines of the report, one for each part of dfslab: whether the part works on the
    machine."""
    found = [
        InspectedPart("measure a directory", "ok"),
        InspectedPart("read traces", "ok"),
        InspectedPart("predict by sequence", "ok"),
    ]
    for extra, purpose in PURPOSES.items():
        absent = machine.lacking.get(extra)
        state = f"{absent} is missing" if absent else "ok"
        remedy = f"pip install 'dfslab[{extra}]'" if absent else ""
        found.append(InspectedPart(purpose, state, remedy))
    found.append(_clusters(machine))
    found.append(
        InspectedPart("HDFS, Alluxio, JVM traces", "ok")
        if machine.has_java
        else InspectedPart("HDFS, Alluxio, JVM traces", "java is missing", JAVA)
    )
    found.append(
        InspectedPart("mounts of testbeds (FUSE)", "ok")
        if machine.has_fuse
        else InspectedPart("mounts of testbeds (FUSE)", "/dev/fuse is missing", "modprobe fuse")
    )
    return [*found, *_quietness(machine)]


def _clusters(machine: InspectedMachine) -> InspectedPart:
    about = "emulated clusters"
    if machine.packages:
        install = f"apt-get install {' '.join(machine.packages)}"
        return InspectedPart(about, "programs are missing", install)
    if not machine.is_root:
        return InspectedPart(about, "need root", "sudo dfslab testbed up NAME")
    if not machine.has_namespaces:
        return InspectedPart(about, "namespaces are forbidden", "run a container with --privileged")
    return InspectedPart(about, "ok")


def _quietness(machine: InspectedMachine) -> list[InspectedPart]:
    cores = "1 core" if machine.cores == 1 else f"{machine.cores} cores"
    shown = f"load {machine.load:.1f} on {cores}"
    found = (
        InspectedPart("this machine", f"{shown}: quiet")
        if machine.load <= QUIET_SHARE * machine.cores
        else InspectedPart("this machine", f"{shown}: busy", "wait, or raise run.repetitions")
    )
    if machine.governor in ("powersave", "ondemand", "conservative"):
        changed = "cpupower frequency-set -g performance"
        slow = InspectedPart("processor frequency", f"varies ({machine.governor})", changed)
        return [found, slow]
    return [found]


def table(found: list[InspectedPart]) -> Table:
    """Returns the lines of the report as a table."""
    columns = heads("for", "here", "what to do", left=("here", "what to do"))
    rows = [(words(one.about), words(one.state), words(one.remedy)) for one in found]
    return Table("What works here", columns, rows)
