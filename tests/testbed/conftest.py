"""Settings of tests on real testbeds. Each test module has a separate state folder and must remove
everything that it creates on the machine. Two modules may therefore run at the same time."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pytest
from dfslab.testbeds import registry
from dfslab.testbeds.holdings import holdings, settled
from xdist.scheduler import LoadScopeScheduling

# Test modules that start a separate testbed for each file system. Workers of pytest-xdist may
# therefore test different file systems of one module at the same time.
BY_SYSTEM = ("test_counted", "test_dask_hosts", "test_layouts", "test_real_systems")
# A Java option that switches off the optimising compiler. Daemons and clients that run for a few
# seconds would spend half of their processor time on it without a benefit.
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
# Modules whose daemons run outside of hosts (network namespaces). The daemons of all these modules
# choose ports of the same address. Two pytest workers (`pytest tests/testbed -n 2`) must therefore
# not run these modules at the same time.
WITHOUT_HOSTS = ("test_hdfs_testbed", "test_hdfs_run", "test_hdfs_trace")
# The images of the testbeds' disks are stored in MEMORY if at least LEAST_FREE_BYTES of it are
# free. Other programs may use the machine's disk at the same time, which then does not deliver the
# declared rates.
MEMORY, LEAST_FREE_BYTES = Path("/dev/shm"), 8 << 30


@contextmanager
def state_folder() -> Iterator[Path]:
    """Provides a new folder, in memory if enough of it is free, and removes it afterwards."""
    is_large = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= LEAST_FREE_BYTES
    where = MEMORY if is_large else None
    with tempfile.TemporaryDirectory(prefix="testbed-states-", dir=where) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def nothing_left():
    """Provides a state folder for a module. Afterwards, the fixture asserts that the module's
    testbeds have left nothing on the machine.

    Resources that belong to testbeds of other workers are ignored.
    """
    if os.geteuid():
        pytest.skip("hosts need root")
    with state_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DFSLAB_STATE", str(folder))
        before = holdings()
        yield folder
        assert registry.take_down("--all") == [], "a test left a testbed"
        assert settled(before) == []


@pytest.fixture(scope="session", autouse=True)
def own_temporary_files():
    """Gives each pytest-xdist worker a separate folder for temporary files, so that no test finds
    files of another worker."""
    with (
        tempfile.TemporaryDirectory(prefix="testbeds-") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_java():
    """Makes every JVM that tests start compile its code with the fast compiler only, which saves
    processor time."""
    with pytest.MonkeyPatch.context() as patch:
        options = [os.environ.get("JAVA_TOOL_OPTIONS", ""), QUICK_JAVA]
        patch.setenv("JAVA_TOOL_OPTIONS", " ".join(options).strip())
        yield


def pytest_configure():
    """Ensures that the commands of tests react to Ctrl-C. A shell that starts pytest in the
    background lets it ignore SIGINT, and the commands would inherit this."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class ByTestbed(LoadScopeScheduling):
    """A scheduler of pytest-xdist that gives all tests of one testbed to one worker, which runs
    them in sequence."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config, log):
    """Makes pytest-xdist use the scheduler `ByTestbed`, whatever distribution the command line
    requests."""
    return ByTestbed(config, log)


def group(nodeid: str) -> str:
    """Returns the name of the group of a test. Tests of one group run in one worker, one after the
    other.

    In modules of BY_SYSTEM, the tests of one file system are a group. In other modules, all tests
    are a group. All modules in WITHOUT_HOSTS together are one group. The tests of JuiceFS in all
    modules of BY_SYSTEM are also one group, because JuiceFS mounts share the machine's folder for
    temporary files.
    """
    path, _, name = nodeid.partition("::")
    module = PurePosixPath(path).stem
    if module in WITHOUT_HOSTS:
        return "daemons without hosts"
    # The id of a parametrised test begins with the name of its file system.
    case = name.partition("[")[2].rstrip("]").split()
    system = case[0] if case and module in BY_SYSTEM else ""
    return system if system == "juicefs" else f"{module} {system}".strip()
