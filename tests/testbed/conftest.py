"""Testbeds of tests have their own state folder, leave nothing on the machine, and run in pairs."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import PurePosixPath

import pytest
from dfslab.testbeds import registry
from dfslab.testbeds.holdings import holdings, settled
from xdist.scheduler import LoadScopeScheduling

# Each system's tests have a testbed to themselves, so either worker may run them.
BY_SYSTEM = ("test_counted", "test_dask_hosts", "test_layouts", "test_real_systems")
# Daemons and clients of Java live for seconds here: the optimising compiler costs them half of
# their processor time and pays back nothing.
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
# Two workers (`pytest tests/testbed -n 2`) never meet here: daemons without hosts choose ports of
# one address, and JuiceFS' mounts meet in the machine's folder for temporary files.
WITHOUT_HOSTS = ("test_hdfs_testbed", "test_hdfs_run", "test_hdfs_trace")


@pytest.fixture(scope="module")
def nothing_left(tmp_path_factory):
    """All that testbeds of the module's state folder can hold, listed before and after its tests.

    What is another worker's is not listed.
    """
    if os.geteuid():
        pytest.skip("hosts need root")
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DFSLAB_STATE", str(folder))
        before = holdings()
        yield folder
        assert registry.take_down("--all") == [], "a test left a testbed"
        assert settled(before) == []


@pytest.fixture(scope="session", autouse=True)
def own_temporary_files():
    """Each worker's commands leave temporary files apart, so that none is taken for another's."""
    with (
        tempfile.TemporaryDirectory(prefix="testbeds-") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_java():
    """Every JVM that tests start compiles its code once, quickly."""
    with pytest.MonkeyPatch.context() as patch:
        options = [os.environ.get("JAVA_TOOL_OPTIONS", ""), QUICK_JAVA]
        patch.setenv("JAVA_TOOL_OPTIONS", " ".join(options).strip())
        yield


def pytest_configure():
    """Commands that tests start can be interrupted, also where pytest runs in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class ByTestbed(LoadScopeScheduling):
    """One worker runs the tests of a module, or of one of its systems, one after the other."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config, log):
    """Whatever way of dealing tests out is asked for, those of one testbed stay together."""
    return ByTestbed(config, log)


def group(nodeid: str) -> str:
    """What the tests of one worker at a time have in common."""
    path, _, name = nodeid.partition("::")
    module = PurePosixPath(path).stem
    if module in WITHOUT_HOSTS:
        return "daemons without hosts"
    # The identifier of a case begins with its system's name.
    case = name.partition("[")[2].rstrip("]").split()
    system = case[0] if case and module in BY_SYSTEM else ""
    return system if system == "juicefs" else f"{module} {system}".strip()
