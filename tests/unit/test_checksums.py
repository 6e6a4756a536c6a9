"""Tests that jars from Maven are installed only if the jars have the checksums in dfslab's
sources."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from dfslab.filesystems.alluxio import testbed as alluxio
from dfslab.filesystems.hdfs import java as hdfs
from dfslab.spec.files import checksums
from dfslab.testbeds import cache, java_agent
from dfslab.testbeds.errors import TestbedError


def line(content: bytes, name: str) -> str:
    return f"{hashlib.sha256(content).hexdigest()}  {name}\n"


@pytest.fixture
def jars(tmp_path) -> Path:
    """Provides a folder with two jars, next to the list `jars.sha256` of their checksums."""
    folder = tmp_path / "jars"
    folder.mkdir()
    (folder / "a.jar").write_bytes(b"a")
    (folder / "b.jar").write_bytes(b"b")
    (tmp_path / "jars.sha256").write_text(line(b"a", "a.jar") + line(b"b", "b.jar"))
    return folder


def test_jars_with_the_listed_checksums_are_accepted(jars):
    heard: list[str] = []
    cache.check_jars("thing", jars, jars.with_suffix(".sha256"), heard.append)
    assert heard == []


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("b.jar", b"other", "b.jar has the SHA-256 checksum"),
        ("b.jar", None, "b.jar is missing"),
        ("c.jar", b"c", "c.jar has no expected checksum"),
    ],
)
def test_other_jars_are_refused_in_one_line(jars, name, content, reason):
    (jars / name).unlink(missing_ok=True)
    if content is not None:
        (jars / name).write_bytes(content)
    with pytest.raises(TestbedError) as refused:
        cache.check_jars("thing", jars, jars.with_suffix(".sha256"), lambda text: None)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_version_without_a_list_is_reported(jars):
    heard: list[str] = []
    cache.check_jars("thing-2", jars, jars.with_name("thing-2.sha256"), heard.append)
    assert heard == ["thing-2: there is no list of checksums, so the jars are not checked"]


def test_the_agent_is_not_built_of_changed_jars(jars):
    listed = jars.with_suffix(".sha256")
    (jars / "a.jar").unlink()
    java_agent.check_used_jars(jars, listed)
    (jars / "b.jar").write_bytes(b"other")
    with pytest.raises(TestbedError, match="no agent was built"):
        java_agent.check_used_jars(jars, listed)


@pytest.mark.parametrize(
    ("listed", "jar"),
    [
        (hdfs.POM.with_name(f"hadoop-{hdfs.VERSION}.sha256"), f"hadoop-common-{hdfs.VERSION}.jar"),
        (
            alluxio.POM.with_name(f"alluxio-{alluxio.VERSION}.sha256"),
            f"alluxio-integration-fuse-{alluxio.VERSION}.jar",
        ),
        (java_agent.CHECKSUMS, "net/bytebuddy/byte-buddy/1.17.8/byte-buddy-1.17.8.jar"),
    ],
)
def test_the_versions_that_are_set_up_have_a_list(listed, jar):
    expected = checksums.read(listed)
    assert jar in expected
    assert all(len(checksum) == 64 for checksum in expected.values())
