"""Tests which of the kernel features and permissions that testbeds need are available."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dfslab.testbeds.hosts.programs import find_program

TRIAL_LIMIT_S = 10.0


@dataclass(frozen=True)
class Feature:
    """One feature that testbeds use.

    `present`: whether it is available; `disables`: what does not work without it.
    """

    name: str
    present: bool
    disables: str


# The kernel features that are tested. Each value has a command that is run in new namespaces, and a
# text that states what is impossible without the feature.
_TRIALS = {
    "namespaces": ("true", "hosts: only testbeds of a single node can be started"),
    "veth": ("ip link add v0 type veth peer name v1", "links between hosts"),
    "bridge": ("ip link add br0 type bridge", "links between hosts"),
    "tbf": ("tc qdisc add dev lo root tbf rate 1gbit burst 256kb latency 10ms", "link rates"),
    "netem": (
        "tc qdisc add dev lo root netem delay 1ms",
        "nothing while nfqueue is there: the delay line does its work",
    ),
    "nfqueue": (
        "iptables-legacy -t mangle -A PREROUTING -i eth0 -j NFQUEUE --queue-num 7 --queue-bypass",
        "delay, jitter and loss, unless netem is there",
    ),
}


@cache
def has(name: str) -> bool:
    """Returns whether the kernel feature `name` is available to this user."""
    return next(feature.present for feature in features() if feature.name == name)


@cache
def features() -> tuple[Feature, ...]:
    """Returns every feature that testbeds use. A process tries each feature only once."""
    found = [Feature(name, _tried(trial), lack) for name, (trial, lack) in _TRIALS.items()]
    groups = Path("/sys/fs/cgroup")
    controllers = _words(groups / "cgroup.controllers")
    found += [
        Feature("fuse", os.access("/dev/fuse", os.R_OK | os.W_OK), "mounts of file systems"),
        Feature("loop", os.access("/dev/loop-control", os.R_OK | os.W_OK), "disks of hosts"),
        Feature(
            "disk limits",
            _writable(groups / "blkio/blkio.throttle.read_bps_device") or "io" in controllers,
            "disk rates",
        ),
        Feature(
            "cpu limits",
            _writable(groups / "cpu/cgroup.procs") or "cpu" in controllers,
            "fewer cores for a host than this machine has",
        ),
        Feature(
            "memory limits",
            _writable(groups / "memory/cgroup.procs") or "memory" in controllers,
            "the size of a host's page cache",
        ),
    ]
    return tuple(found)


def _tried(command: str) -> bool:
    """Returns whether a command succeeds in new namespaces. The namespaces end with the command."""
    words = ["unshare", "-n", "-m", "-u", "-i", "-p", "-f", "--mount-proc", "sh", "-c", command]
    try:
        return (
            subprocess.run(
                words, capture_output=True, timeout=TRIAL_LIMIT_S, check=False
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def _writable(path: Path) -> bool:
    return path.exists() and os.access(path, os.W_OK)


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def lacks(*names: str) -> list[str]:
    """Returns one line of text for each of the named features that is missing. A user other than
    root cannot use most features, so the line then names that user and sudo."""
    reason = "not on this machine"
    if os.geteuid() != 0:
        reason = "not available to this user; run the command again as root, for example with sudo"
    return [
        f"{f.name}: {reason}; disables {f.disables}"
        for f in features()
        if f.name in names and not f.present
    ]


def missing_programs() -> list[str]:
    """Returns the Debian packages of the programs that emulated hosts need and that are not
    installed."""
    needed = {
        "tini": "tini",
        "ip": "iproute2",
        "tc": "iproute2",
        "nsenter": "util-linux",
        "iptables-legacy": "iptables",
        "mkfs.xfs": "xfsprogs",
        "mkfs.ext4": "e2fsprogs",
        "losetup": "mount",
    }
    return sorted({package for name, package in needed.items() if find_program(name) is None})
