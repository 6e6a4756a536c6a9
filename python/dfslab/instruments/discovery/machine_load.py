"""Measures how busy this machine is with other work while its hardware is probed."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from dfslab.instruments.measuring.disturbance import MachineWatch

PRESSURE = Path("/proc/pressure")
LOAD = Path("/proc/loadavg")
# Largest share of waiting or stolen time from which a slowdown 1 / (1 - share) is computed. This
# limit replaces larger shares, so that the slowdown stays finite.
MOST_SHARE = 0.99
_SOME = re.compile(r"^some avg10=(\d+(?:\.\d+)?)", re.MULTILINE)


@dataclass(frozen=True)
class MachineLoad:
    """How busy a machine was with other work. Values that the kernel does not report are 0.

    - `load_per_core`: the load average of one minute, divided by the number of processors.
    - `disk_share`, `processor_share`: share of the last ten seconds in which at least one task
      waited for a disk or for a processor. Both shares are from the pressure stall information of
      Linux.
    - `stolen_share`: share of the processors' time that other virtual machines used during the
      probes.
    """

    load_per_core: float = 0.0
    disk_share: float = 0.0
    processor_share: float = 0.0
    stolen_share: float = 0.0

    @property
    def disk_slowdown(self) -> float:
        """How many times as slow as an idle disk the probed disk may have been, at least 1."""
        return max(1.0, self.load_per_core, _slowdown(self.disk_share))

    @property
    def processor_slowdown(self) -> float:
        """How many times as slow as an idle processor the processor may have been, at least 1."""
        shares = _slowdown(self.processor_share), _slowdown(self.stolen_share)
        return max(1.0, self.load_per_core, *shares)

    def words(self) -> str:
        """Returns the load in words, with every value of at least 0.005; "" if all values are
        smaller."""
        parts = {
            "load average {:.1f} for each processor": self.load_per_core,
            "tasks waited for a disk {:.0%} of the time": self.disk_share,
            "tasks waited for a processor {:.0%} of the time": self.processor_share,
            "other virtual machines took {:.0%} of the processors": self.stolen_share,
        }
        found = [text.format(value) for text, value in parts.items() if value >= 0.005]
        return ", ".join(found).replace("%", " %")


class BusyWatch:
    """Observes the load of this machine from its construction until `load` is called. Construct it
    before the probes, because the pressure that the probes cause must not count as other work."""

    def __init__(self) -> None:
        self._before, self._watch = machine_load(), MachineWatch()
        self._began = self._watch.moment()

    def load(self) -> MachineLoad:
        """Returns the load. `stolen_share` is measured from the construction of this object until
        now, which includes the probes. All other values were read at the construction, before the
        probes."""
        stolen = self._watch.since(self._began).stolen_share
        return replace(self._before, stolen_share=stolen or 0.0)


def machine_load(pressure: Path = PRESSURE, load: Path = LOAD) -> MachineLoad:
    """Returns the present load of this machine. Tests can replace the files."""
    return MachineLoad(
        load_per_core=_load_average(load) / (os.cpu_count() or 1),
        disk_share=_waiting(pressure / "io"),
        processor_share=_waiting(pressure / "cpu"),
    )


def _slowdown(share: float) -> float:
    """Returns the factor 1 / (1 - share) by which work is slower if other work uses `share` of a
    resource."""
    return 1.0 / (1.0 - min(MOST_SHARE, share))


def _waiting(file: Path) -> float:
    found = _SOME.search(_text(file))
    return float(found[1]) / 100 if found else 0.0


def _load_average(file: Path) -> float:
    words = _text(file).split()
    try:
        return float(words[0])
    except (IndexError, ValueError):
        return 0.0


def _text(file: Path) -> str:
    """Returns the content of a file of the kernel; "" if the kernel has no such file."""
    try:
        return file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
