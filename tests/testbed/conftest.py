"""Testbeds in tests have their own state folder, leave nothing on the machine, and run in pairs."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import PurePosixPath

import pytest
from dfslab.testbeds import registry
from dfslab.testbeds.holdings import holdings, settled
from xdist.scheduler import LoadScopeScheduling

# Each file system's tests have their own testbed, so any worker may run them.
BY_SYSTEM = ("test_counted", "test_dask_hosts", "test_layouts", "test_real_systems")
# Java option for daemons and clients that live for seconds: the optimising compiler would cost half
# of their processor time without a benefit.
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
# Modules that two workers (`pytest tests/testbed -n 2`) must not run at the same time: daemons
# without hosts choose ports of one address, and JuiceFS' mounts share the machine's folder for
# temporary files.
WITHOUT_HOSTS = ("test_hdfs_testbed", "test_hdfs_run", "test_hdfs_trace")


@pytest.fixture(scope="module")
def nothing_left(tmp_path_factory):
    """A state folder for a module; afterwards the machine must hold nothing more of its testbeds.

    Resources of testbeds of other workers are not compared.
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
    """Give each worker a separate folder for temporary files, so that they cannot be confused."""
    with (
        tempfile.TemporaryDirectory(prefix="testbeds-") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_java():
    """Make every JVM that tests start compile its code once, without optimisation."""
    with pytest.MonkeyPatch.context() as patch:
        options = [os.environ.get("JAVA_TOOL_OPTIONS", ""), QUICK_JAVA]
        patch.setenv("JAVA_TOOL_OPTIONS", " ".join(options).strip())
        yield


def pytest_configure():
    """Make commands that tests start interruptible, even if pytest runs in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class ByTestbed(LoadScopeScheduling):
    """An xdist scheduler that gives all tests of one testbed to one worker, in sequence."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config, log):
    """Use the scheduler by testbed, whatever distribution is requested on the command line."""
    return ByTestbed(config, log)


def group(nodeid: str) -> str:
    """The group of a test; tests of one group run in one worker at a time."""
    path, _, name = nodeid.partition("::")
    module = PurePosixPath(path).stem
    if module in WITHOUT_HOSTS:
        return "daemons without hosts"
    # The id of a test case begins with the name of its file system.
    case = name.partition("[")[2].rstrip("]").split()
    system = case[0] if case and module in BY_SYSTEM else ""
    return system if system == "juicefs" else f"{module} {system}".strip()
