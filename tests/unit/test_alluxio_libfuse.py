"""Tests that a testbed of Alluxio refuses versions of libfuse in which calls block each other."""

from __future__ import annotations

import pytest
from dfslab.filesystems.alluxio import testbed
from dfslab.testbeds.errors import TestbedError


def test_a_version_with_the_deadlock_is_refused(monkeypatch):
    monkeypatch.setattr(testbed, "libfuse_version", lambda: (3, 10, 3))
    with pytest.raises(TestbedError, match=r"version 3\.10\.3; install libfuse3-3 3\.13"):
        testbed.check_libfuse()


@pytest.mark.parametrize("version", [(3, 13, 0), (3, 14, 0), (4,)])
def test_later_versions_are_accepted(monkeypatch, version):
    monkeypatch.setattr(testbed, "libfuse_version", lambda: version)
    testbed.check_libfuse()


def test_a_missing_library_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(testbed, "LIBFUSE", "libfuse-absent.so.0")
    with pytest.raises(TestbedError, match=r"not found; install libfuse3-3 \(Debian\)"):
        testbed.check_libfuse()
