"""Tests of the target that reaches file systems through Hadoop's client library. In these tests the
file system is the local one."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from dfslab import discover
from dfslab.filesystems.hadoop import facts
from dfslab.filesystems.hdfs import java
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.endpoint import Endpoint
from support.command import dfslab
from support.measuring import measure_once

needs_java = pytest.mark.skipif(
    not (shutil.which("java") and shutil.which("mvn")), reason="needs java and mvn"
)
MIX = ["write", "read", "stat", "rename", "list", "delete"]


def scenario(uri: str, workload: dict | None = None, **access) -> Scenario:
    return build(
        Scenario,
        {
            "name": "hadoop",
            "deployment": {"node": [{"name": "one", "roles": {"client": 1, "store": 1}}]},
            "file_system": {"name": "hadoop", "access": {"uri": uri, **access}},
            "workload": workload
            or {
                "name": "pattern",
                "clients": 2,
                "operations_per_client": 30,
                "files_per_client": 6,
                "mix": [{"operation": one} for one in MIX],
                "file_size": "20 kB",
                "file_choice": "uniform",
            },
            "run": {"methods": ["measure"], "repetitions": 1, "verify": "after"},
        },
    )


@pytest.mark.heavy
@needs_java
@pytest.mark.parametrize("shared_client", [False, True])
def test_a_scenario_does_everything_on_files_and_leaves_nothing(tmp_path, shared_client):
    (point,) = check(scenario(f"file://{tmp_path}", shared_client=shared_client))
    result = measure_once(point)
    assert result.complete
    done = result.load.operations
    assert set(done) == set(MIX)
    assert sum(one.count for one in done.values()) == 60
    assert result.load.verified_bytes > 0
    assert list(tmp_path.iterdir()) == []


@needs_java
def test_it_works_below_the_directory_of_its_address(tmp_path):
    (tmp_path / "in here").mkdir()
    (point,) = check(scenario(f"file://{tmp_path}/", directory="/in here"))
    assert measure_once(point).complete
    assert list((tmp_path / "in here").iterdir()) == []
    (point,) = check(scenario(f"file://{tmp_path}", directory="missing"))
    with pytest.raises(InputError, match=f"{tmp_path}/missing.*existing directory"):
        measure_once(point)


@needs_java
@pytest.mark.parametrize(
    ("uri", "access", "reported"),
    [
        (
            "foo://there/",
            {},
            'No FileSystem for scheme "foo"; name the client\'s jars in '
            "file_system.access.class_path",
        ),
        ("s3a://bucket/prefix", {}, "S3AFileSystem not found; name the client's jars in "),
        ("file:///tmp", {"class_path": ["/no/such/*"]}, 'class_path: "/no/such/*" No such file'),
        # Hadoop's client gets the scenario's property: it reports that it does not find the class
        # in the property.
        ("file:///tmp", {"properties": {"fs.file.impl": "no.Such"}}, "no.Such not found"),
    ],
)
def test_what_hadoop_has_no_classes_for_is_one_line(uri, access, reported):
    (point,) = check(scenario(uri, **access))
    with pytest.raises(InputError) as raised:
        measure_once(point)
    assert reported in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("uri", ["/tmp", "file:/tmp", "tmp", "1://x", "s3a://bucket?x=1"])
def test_an_address_without_a_scheme_is_refused_before_any_request(uri):
    with pytest.raises(InputError, match="access.uri.*needs SCHEME://HOST") as raised:
        check(scenario(uri))
    assert "\n" not in str(raised.value)


def test_an_address_is_needed_and_other_systems_take_no_class_path():
    with pytest.raises(InputError, match="hadoop needs"):
        check(scenario(""))
    table = scenario("file:///tmp").model_dump(mode="json")
    table["file_system"] = {"name": "hdfs", "access": {"uri": "hdfs://h", "class_path": ["/x"]}}
    table["deployment"] = {"node": [{"roles": {"client": 1, "namenode": 1, "datanode": 3}}]}
    with pytest.raises(InputError, match=r"access\.class_path = .*hdfs is reached by"):
        check(build(Scenario, table))


@pytest.mark.parametrize(
    ("uri", "who"),
    [
        ("hdfs://name:8020/x", ("name", 8020)),
        ("alluxio://[::1]:19998/", ("::1", 19998)),
        ("hdfs://nameservice/", None),
        ("s3a://bucket/prefix", None),
        ("file:///tmp", None),
        ("alluxio://a:1,b:2/", None),
        ("abfs://box@account.net/", None),
    ],
)
def test_who_has_to_answer_is_known_where_a_port_is_named(uri, who):
    assert facts.address(uri) == who


@pytest.mark.parametrize(
    ("uri", "directory", "opened", "root"),
    [
        ("s3a://b", "", "s3a://b/", "/"),
        ("file:///", "/a/", "file:///", "/a"),
        ("hdfs://n:1/a/", "b", "hdfs://n:1/", "/a/b"),
        ("file:///a b#c", "", "file:///", "/a b#c"),
    ],
)
def test_the_client_is_opened_at_the_store_and_works_at_the_path(
    monkeypatch, uri, directory, opened, root
):
    monkeypatch.setattr(java, "client", lambda: java.Client("/h/*", []))
    endpoint = Endpoint(uri=uri, directory=directory, class_path=("/x/*", "/y.jar"))
    reported = discover.file_system("hadoop").target(endpoint, {})
    assert (reported.uri, reported.root) == (opened, root)
    assert reported.class_path == f"{java.QUIET}:/x/*:/y.jar:/h/*"
    monkeypatch.setenv("HADOOP_CLASSPATH", "/z/*:")
    other = facts.target(replace(endpoint, class_path=()), {})
    assert other.class_path == f"{java.QUIET}:/z/*:/h/*"


@needs_java
def test_the_command_refuses_in_one_line(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(scenario("foo://there").toml())
    done = dfslab("measure", path, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "class_path" in done.stderr
