"""Tests of `dfslab compat` and of the export of results. The command accepts the arguments of other
benchmarking tools. Results are written in the formats of other programs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import duckdb
import pytest
from dfslab.cli import commands_work, compat
from dfslab.documents.measured_load import PlaceReport
from dfslab.exports.formats import csv as csv_rows
from dfslab.exports.formats import fio, parquet, prometheus
from dfslab.exports.metric_rows import rows
from dfslab.laboratory import Laboratory
from dfslab.spec.check import check
from dfslab.spec.files.outputs import Output
from dfslab.spec.input_error import InputError
from dfslab.spec.streams.stream import stream_spec
from dfslab.studies.runs import store
from support import command
from support.command import dfslab
from support.measuring import measure_once
from support.synthetic import scenario

MIXTURE = """<?xml version="1.0" encoding="UTF-8"?>
<configuration>
  <property><name>basic.files.per.thread</name><value>2</value><description/></property>
  <property><name>read.files.per.thread</name><value>4</value></property>
  <property><name>write.files.per.thread</name><value>1</value></property>
  <property><name>block.size.bytes</name><value>134217728</value></property>
  <property><name>file.length.bytes</name><value>131072</value></property>
  <property><name>buffer.size.bytes</name><value>65536</value></property>
  <property><name>read.type</name><value>CACHE_PROMOTE</value></property>
  <property><name>write.type</name><value>ASYNC_THROUGH</value></property>
</configuration>
"""


def test_dfs_perf_properties_become_the_workload(tmp_path):
    file = tmp_path / "Mixture.xml"
    file.write_text(MIXTURE)
    found = compat.dfs_perf(
        [
            "Mixture",
            str(file),
            "read.files.per.thread=8",
            "DFS_PERF_THREADS_NUM=3",
            "DFS_PERF_PROCESSES_NUM=2",
            f"DFS_PERF_WORKSPACE={tmp_path}",
        ]
    )
    spec = stream_spec(found)
    assert [(part.operation, part.weight) for part in spec.mix] == [("read", 8.0), ("write", 1.0)]
    assert (spec.clients, spec.operations_per_client, spec.files_per_client) == (6, 9, 2)
    assert (spec.file_size.fixed, spec.transfer_size_bytes) == (131072, 65536)
    assert found.workload.processes == 2
    assert found.file_system.access.directory == str(tmp_path)
    timed = compat.dfs_perf(["Massive", "time.seconds=5", "shuffle.mode=true"])
    assert timed.run.time_limit == 5.0
    hdfs = compat.dfs_perf(
        ["SimpleWrite", "DFS_PERF_DFS_ADRESS=hdfs://master:9000", "block.size.bytes=1048576"]
    )
    assert hdfs.file_system.name == "hdfs"
    assert hdfs.file_system.access.uri == "hdfs://master:9000"
    assert hdfs.file_system.parameters == {"block_size": "1048576 B"}
    assert hdfs.title == ""


def test_options_of_the_file_system_reach_it_or_are_reported(tmp_path):
    file = tmp_path / "Mixture.xml"
    file.write_text(MIXTURE)
    words = ["Mixture", str(file), "clients.per.thread=1"]
    types = "read.type = CACHE_PROMOTE, write.type = ASYNC_THROUGH"
    left_out = "left out, as {} has no such setting: {}"
    elsewhere = compat.dfs_perf([*words, "DFS_PERF_DFS_ADRESS=hdfs://master:9000"])
    assert elsewhere.title == left_out.format("hdfs", types)
    here = compat.dfs_perf([*words, f"DFS_PERF_WORKSPACE={tmp_path}"])
    assert here.title == left_out.format("local", f"block.size.bytes = 134217728, {types}")
    address = "DFS_PERF_DFS_ADRESS=alluxio://master:19998"
    alluxio = compat.dfs_perf([*words, address, "DFS_PERF_WORKSPACE=/tmp/dfs-perf"])
    check(alluxio)
    assert (alluxio.file_system.name, alluxio.title) == ("hadoop", "")
    assert alluxio.file_system.access.uri == "alluxio://master:19998"
    assert alluxio.file_system.access.directory == "/tmp/dfs-perf"
    assert alluxio.file_system.access.properties == {
        "alluxio.user.block.size.bytes.default": "134217728",
        "alluxio.user.file.readtype.default": "CACHE_PROMOTE",
        "alluxio.user.file.writetype.default": "ASYNC_THROUGH",
    }


METADATA = """<?xml version="1.0" encoding="UTF-8"?>
<configuration>
  <property><name>clients.per.thread</name><value>20</value></property>
  <property><name>op.second.per.thread</name><value>1</value></property>
</configuration>
"""
ENVIRONMENT = """#!/usr/bin/env bash
if [ -z "$JAVA_HOME" ]; then
  export JAVA_HOME=/usr/lib/jvm/java-7-oracle
fi
#the DFS Master address
export DFS_PERF_DFS_ADRESS="file://{folder}"
export DFS_PERF_OUT_DIR="$DFS_PERF_HOME/result"
#the threads num
DFS_PERF_THREADS_NUM=3  # of each of $DFS_PERF_HOME's processes
DFS_PERF_STATUS_DEBUG="false"
export DFS_PERF_JAVA_OPTS+="
  -Dpasalab.dfs.perf.threads.num=$DFS_PERF_THREADS_NUM
"
"""


def test_dfs_perfs_own_files_are_read_as_they_are(tmp_path):
    """`dfslab compat` accepts DFS-Perf's own configuration files without any change.

    DFS-Perf's test case "Metadata" becomes a scenario with a time limit and with one client for
    each thread.
    """
    (tmp_path / "Metadata.xml").write_text(METADATA)
    (tmp_path / "dfs-perf-env.sh").write_text(ENVIRONMENT.format(folder=tmp_path))
    words = ["Metadata", *(str(tmp_path / name) for name in ("Metadata.xml", "dfs-perf-env.sh"))]
    found, say = compat.read("dfs-perf", words)
    assert (found.run.time_limit, found.workload.clients) == (1.0, 3)
    assert found.file_system.access.directory == str(tmp_path)
    assert found.title == "each thread works with one client, not clients.per.thread = 20 in turn"
    (result,) = commands_work.measure(Laboratory(), found)
    assert result.load.window_s >= 0.7
    heading, reported, rate = say([result]).splitlines()
    assert heading == "Metadata: 3 threads, SUCCESS"
    assert reported == found.title
    # DFS-Perf counts a loop as five operations, because it counts the removal of a directory with
    # its file as one operation.
    loops_per_s = result.load.operations["mkdir"].count / result.load.window_s
    assert rate.startswith("Metadata Throughput(ops/s): ")
    assert float(rate.split()[-1]) == pytest.approx(5 * loops_per_s, rel=0.05)


@pytest.mark.parametrize(
    "value",
    [
        '"$HOME/work"',
        "`pwd`",
        '"/tmp/a',
        "/tmp/it's",
        "/tmp/a b",
        "/tmp/a; export DFS_PERF_WORKSPACE",
    ],
)
def test_a_variable_that_a_shell_would_make_is_refused(value, tmp_path):
    file = tmp_path / "dfs-perf-env.sh.template"
    file.write_text(f"export DFS_PERF_WORKSPACE={value}\n")
    with pytest.raises(InputError, match=r"DFS_PERF_WORKSPACE.* must be the value itself"):
        compat.dfs_perf(["Metadata", str(file)])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-n", "7", "-u", "-L", "-F", "-P", "-N", "1", "-np", "3"], ("mdtest_easy", 3, 7, "0 B")),
        (
            ["-np", "2", "-n", "5", "-t", "-w", "3901", "-e", "3901", "-P", "-N", "1", "-F"],
            ("mdtest_hard", 2, 5, "3901 B"),
        ),
        (["-I", "10", "-z", "2", "-b", "3"], ("mdtest_tree", 1, 130, "0 B")),
        # All tasks of mdtest share one directory unless an option gives each task a separate
        # directory.
        (["-np", "4", "-n", "9", "-F"], ("mdtest_hard", 4, 9, "0 B")),
        # mdtest also creates directories unless an option requests files only.
        (["-n", "9"], ("mdtest_tree", 1, 9, "0 B")),
        (["-a", "posix", "-v", "-v", "-V", "1", "-n", "9"], ("mdtest_tree", 1, 9, "0 B")),
    ],
)
def test_mdtest_options_become_the_workload(words, expected):
    found = compat.mdtest(words).workload
    reported = found.parameters
    assert (found.name, found.clients, reported["items"], reported["file_size"]) == expected


def test_mdtest_reads_unless_its_phases_leave_that_out():
    for words, read in (([], True), (["-C", "-T", "-E", "-r"], True), (["-C", "-T", "-r"], False)):
        spec = stream_spec(compat.mdtest(["-n", "3", "-F", *words]))
        names = [one.name for one in spec.phases]
        assert names == ["create", "stat", *["read"] * read, "remove"]


@pytest.mark.parametrize(
    ("flags", "lines"),
    [
        (["-T"], ["File stat"]),
        (["-C", "-r"], ["File creation", "File removal"]),
        (["-C", "-T", "-E", "-r"], ["File creation", "File stat", "File read", "File removal"]),
    ],
)
def test_mdtest_prints_the_phases_that_are_named(tmp_path, flags, lines):
    words = ["mdtest", "-n", "5", "-F", "-u", "-d", str(tmp_path), *flags]
    answer = command.dfslab("compat", *words)
    assert answer.returncode == 0, answer.stderr
    rows = [line for line in answer.stdout.splitlines() if line.startswith("   File")]
    assert [row[3:24].strip() for row in rows] == lines
    assert ("not named" in answer.stdout) == (len(lines) < 4)


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["dfs-perf", "Sort"], "dfs-perf = 'Sort'"),
        (["dfs-perf", "SimpleRead", "files.per.treads=3"], "files.per.treads"),
        (["dfs-perf", "SimpleRead", "files.per.thread=many"], "files.per.thread = 'many'"),
        (["dfs-perf", "SimpleRead", "iterations=3"], "iterations"),
        (["dfs-perf", "Metadata", "clients.per.thread=0"], "clients.per.thread = '0': must be"),
        (["dfs-perf", "Metadata", "op.second.per.thread=soon"], "op.second.per.thread = 'soon'"),
        (["dfs-perf", "Metadata", "time.seconds=5"], "time.seconds"),
        (["dfs-perf", "Metadata", "clients.per.thread=few"], "clients.per.thread = 'few'"),
        (["dfs-perf", "SimpleWrite", "block.size.bytes=big"], "block.size.bytes = 'big'"),
        (["dfs-perf", "SimpleRead", "missing.xml"], "neither PROPERTY=VALUE nor a file"),
        (["dfs-perf", "SimpleRead", "DFS_PERF_THREADS_NUM=0"], "DFS_PERF_THREADS_NUM = '0'"),
        (["dfs-perf", "SimpleRead", "DFS_PERF_DFS_ADRESS=ceph://x"], "hdfs://host:port"),
        (["mdtest", "-n", "10", "-Q"], "unrecognized arguments: -Q"),
        (["mdtest", "-n", "ten"], "-n"),
        (["mdtest", "-n", "9", "-a", "S3"], "mdtest.-a = 'S3': must be POSIX"),
        (["mdtest"], "needs -n or -I"),
        (
            ["mdtest", "-n", "9", "-x", "f", "-W", "5", "-Y"],
            "mdtest = '-x -W -Y': is not honoured: -x: phases end after",
        ),
        (["mdtest", "-n", "9", "-R12345"], "mdtest = '-R': is not honoured"),
        (["mdtest", "-n", "9", "-G=-1", "--dataPacketType=timestamp"], "-G --dataPacketType"),
        (["mdtest", "-n", "9", "-F", "-X", "-E"], "contents are not compared"),
        (["mdtest", "-a", "HDFS", "--hdfs.user=root", "-n", "9"], "--hdfs.user: only a mounted"),
        (["mdtest", "-n", "9", "-F", "-d", "a@b"], "must be one directory"),
        (["mdtest", "-n", "9", "-z", "1", "-L"], "not its leaves"),
        (["mdtest", "-n", "3", "-z", "1", "-N", "1"], "only with -F and without -z"),
        (["mdtest", "-n", "3", "-w", "5", "-e", "6"], "the same as -w"),
        (["bonnie"], "must be one of dfs-perf, iozone, mdtest"),
    ],
)
def test_what_is_not_known_is_refused_in_one_line(words, reported):
    with pytest.raises(InputError) as raised:
        compat.read(words[0], words[1:])
    assert reported in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_command_refuses_with_exit_code_2():
    done = dfslab("compat", "mdtest", "-n", "10", "-Q")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dfslab: mdtest: unrecognized arguments: -Q\n"


def test_dfs_perf_runs_and_prints_its_totals(tmp_path):
    done = dfslab(
        "compat",
        "dfs-perf",
        "SimpleWrite",
        "files.per.thread=3",
        "file.length.bytes=65536",
        "buffer.size.bytes=65536",
        f"DFS_PERF_WORKSPACE={tmp_path}",
        "DFS_PERF_THREADS_NUM=2",
        "write.type=THROUGH",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(
        "SimpleWrite: 2 threads, SUCCESS\n"
        "left out, as local has no such setting: write.type = THROUGH\n"
    )
    assert float(re.search(r"Write Throughput\(MB/s\): ([\d.]+)", done.stdout)[1]) > 0
    assert list(tmp_path.iterdir()) == []


def test_massive_is_over_when_its_time_is(tmp_path):
    words = ["time.seconds=0.5", "file.length.bytes=4096", f"DFS_PERF_WORKSPACE={tmp_path}"]
    chosen, summary = compat.read("dfs-perf", ["Massive", *words])
    (result,) = commands_work.measure(Laboratory(), chosen)
    assert result.load.window_s >= 0.4
    assert not result.complete
    assert "run.time_limit ended the workload run" in result.notes
    assert summary([result]).startswith("Massive: 1 threads, SUCCESS\n")
    places = [PlaceReport(name="process 1", clients_from=0, clients_to=1, lost="SIGKILL")]
    broken = result.model_copy(update={"load": result.load.model_copy(update={"places": places})})
    assert summary([broken]).startswith("Massive: 1 threads, PARTLY DONE\n")


@pytest.fixture(scope="module")
def finished(kept_run):
    """Returns the measurements of the recorded run: eight configurations with two repetitions
    each."""
    return [one for one in store.results_of(kept_run) if one.method == "measure"]


def test_csv_and_parquet_hold_every_metric(kept_run, tmp_path):
    results = store.results_of(kept_run)
    assert {one.method for one in results} == {"measure", "trace", "sequence", "regression", "mean"}
    reported = list(csv.DictReader(io.StringIO(csv_rows.write(results).decode())))
    assert len(reported) == sum(len(result.metrics) for result in results)
    for row, plain in zip(reported, rows(results), strict=True):
        assert float(row["value"]) == plain.value
        assert json.loads(row["labels"]) == json.loads(plain.labels)
    file = tmp_path / "results.parquet"
    file.write_bytes(parquet.write(results))
    query = "select count(*), count(distinct point_id), max(repetition) from read_parquet(?)"
    with duckdb.connect() as database:
        assert database.execute(query, [str(file)]).fetchone() == (len(reported), 8, 1)


def test_prometheus_histograms_add_up(finished):
    text = prometheus.write(finished).decode()
    sample = re.compile(r'^[a-z_0-9]+\{([a-z_0-9]+="(\\.|[^"\\])*",?)+\} [-+0-9.einfNa]+$')
    for line in text.splitlines():
        assert line.startswith("# ") or sample.match(line), line
    for result in finished:
        for operation, buckets in result.load.histograms.items():
            mine = [
                line
                for line in text.splitlines()
                if f'point="{result.point_id}"' in line
                and f'operation="{operation}"' in line
                and f'repetition="{result.repetition}"' in line
                and "_bucket" in line
            ]
            counts = [int(line.rpartition(" ")[2]) for line in mine]
            assert counts == sorted(counts)
            assert counts[-1] == sum(count for _, count in buckets)
            assert 'le="+Inf"' in mine[-1]


def test_fio_json_says_the_same(finished):
    document = json.loads(fio.write(finished))
    assert len(document["jobs"]) == len(finished)
    for job, result in zip(document["jobs"], finished, strict=True):
        (name,) = result.load.operations
        observed = result.load.operations[name]
        assert job[name]["total_ios"] == observed.count == job[name]["clat_ns"]["N"]
        assert job[name]["io_bytes"] == observed.bytes
        mean_s = result.value(f"latency_s_mean.{name}")
        assert job[name]["clat_ns"]["mean"] * 1e-9 == pytest.approx(mean_s, rel=0.008)
        for key, percent in (("p50", "50.000000"), ("p99", "99.000000")):
            exported_s = job[name]["clat_ns"]["percentile"][percent] * 1e-9
            assert exported_s == pytest.approx(result.value(f"latency_s_{key}.{name}"), rel=0.01)
        assert job[name]["iops"] == pytest.approx(result.value())
        assert job["trim"]["total_ios"] == 0


def test_fio_json_counts_every_way_to_read_and_to_write():
    mix = [{"operation": one} for one in ("pread", "pwrite", "read", "overwrite", "stat")]
    changes = {
        "workload.name": "pattern",
        "workload.operations_per_client": 60,
        "workload.mix": mix,
        "run.methods": ["measure"],
    }
    (point,) = check(scenario(hold_out=()).with_values(changes))
    result = measure_once(point)
    (job,) = json.loads(fio.write([result]))["jobs"]
    observed = result.load.operations
    for direction, names in (("read", ("read", "pread")), ("write", ("overwrite", "pwrite"))):
        reported = job[direction]
        assert reported["total_ios"] == sum(observed[name].count for name in names)
        assert reported["io_bytes"] == sum(observed[name].bytes for name in names)
        mean_s = (
            sum(result.value(f"latency_s_mean.{name}") * observed[name].count for name in names)
            / reported["total_ios"]
        )
        assert reported["clat_ns"]["mean"] * 1e-9 == pytest.approx(mean_s, rel=0.008)
        assert reported["clat_ns"]["N"] == reported["total_ios"]


def test_times_since_operations_were_due_leave_too():
    """Response times are exported in addition to latencies. A response time counts from the
    scheduled start of an operation, and a latency counts from the actual start.

    An open workload with too high a rate falls behind its schedule. Only response times show this
    delay.
    """
    changes = {
        "workload.arrival": "even",
        "workload.rate": "400 /s",
        "workload.clients": 1,
        "workload.operations_per_client": 60,
        "workload.name": "sequential_write",
        "run.methods": ["measure"],
        "run.layer": [{"kind": "throttle", "rate": "100 /s"}],
    }
    (point,) = check(scenario(sizes=["64 KiB"], clients=(1,), hold_out=()).with_values(changes))
    result = measure_once(point)
    due = result.load.response_histograms["write"]
    assert sum(count for _, count in due) == 60
    text = prometheus.write([result]).decode()
    for kind in ("latency", "response"):
        (count,) = re.findall(rf"^dfslab_{kind}_seconds_count{{.*}} (\d+)$", text, re.MULTILINE)
        (total,) = re.findall(rf"^dfslab_{kind}_seconds_sum{{.*}} (\S+)$", text, re.MULTILINE)
        mean_s = result.value(f"{kind}_s_mean.write")
        assert (int(count), float(total)) == (60, pytest.approx(60 * mean_s))
    (job,) = json.loads(fio.write([result]))["jobs"]
    for key, kind in (("clat_ns", "latency"), ("lat_ns", "response")):
        mean_s = result.value(f"{kind}_s_mean.write")
        assert job["write"][key]["mean"] * 1e-9 == pytest.approx(mean_s, rel=0.008)
    assert job["write"]["lat_ns"]["mean"] > 2 * job["write"]["clat_ns"]["mean"]


@pytest.mark.heavy
def test_a_form_goes_to_a_new_file_only(recorded_run, tmp_path):
    target = tmp_path / "new.parquet"
    commands_work.export(recorded_run, "parquet", Output("--output", target))
    assert target.read_bytes()[:4] == b"PAR1"
    with pytest.raises(InputError, match="exists already"):
        commands_work.export(recorded_run, "parquet", Output("--output", target))
    with pytest.raises(InputError, match="must be one of csv, fio, parquet, .*tables"):
        commands_work.export(recorded_run, "xml", Output("--output", Path("-")))
    with pytest.raises(InputError, match="is no run folder"):
        commands_work.export(tmp_path, "csv", Output("--output", Path("-")))
    assert dfslab("export", recorded_run, "--as", "csv").stdout.startswith("method,")
    page = tmp_path / "page.html"
    assert f"page: {page}" in dfslab("report", recorded_run, "-o", page).stdout
    assert page.read_text().startswith("<!doctype html>")
    refused = dfslab("report", recorded_run, "-o", page)
    assert (refused.returncode, "exists already" in refused.stderr) == (2, True)


def test_mdtest_runs_and_prints_its_summary(tmp_path):
    """The printed summary has the form of mdtest's summary and contains one rate for each phase.
    The rate is computed over the time of this phase only."""
    chosen, summary = compat.read(
        "mdtest", ["-np", "2", "-n", "30", "-F", "-u", "-i", "2", "-d", str(tmp_path)]
    )
    results = commands_work.measure(Laboratory(), chosen)
    lines = summary(results).splitlines()
    assert lines[0] == "SUMMARY rate (in ops/sec): (of 2 iterations)"
    assert [line[3:24].strip() for line in lines[3:]] == [
        "File creation",
        "File stat",
        "File read",
        "File removal",
    ]
    for line in lines[3:]:
        most, least, mean, deviation = map(float, line[24:].split())
        assert most >= mean >= least > 0
        assert mean == pytest.approx((most + least) / 2, abs=0.002)
        assert deviation == pytest.approx((most - least) / 2, abs=0.002)
    assert list(tmp_path.iterdir()) == []
