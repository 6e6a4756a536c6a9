"""Recorded outputs of real systems and a recorded run, kept in tests/recorded."""

from __future__ import annotations

from pathlib import Path

RECORDED = Path(__file__).parents[1] / "recorded"
# What servers counted themselves, by file system.
COUNTERS = {
    "glusterfs": RECORDED / "glusterfs-profile.xml",
    "cephfs": RECORDED / "ceph-osd.0-perf.json",
    "moosefs": RECORDED / "moosefs.stats",
}
