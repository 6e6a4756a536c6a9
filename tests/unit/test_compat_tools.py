"""Tests of `dfslab compat` for fio, IOR and elbencho. Every option is applied or refused by name,
and a run prints its summary in the form of the tool."""

import re
import shlex

import pytest
from dfslab.cli import commands_work, compat
from dfslab.cli.exchange.tools import elbencho, fio_jobs, fio_options, ior
from dfslab.laboratory import Laboratory
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from support.command import dfslab

# Options in the help texts of IOR 3.3 (`ior -h`) and elbencho 3.0 (`elbencho --help-all`).
IOR_OPTIONS = "-a -b -c -C -d -D -e -E -f -F -g -G -h -i -j -k -K -l -m -M -N -n -o -O -Q -q -r -R \
-s -t -T -u -v -w -W -x -X -Y -z -Z --posix.odirect --dataPacketType --savePerOpDataCSV \
--stoneWallingWearOut --stoneWallingStatusFile --warningAsErrors --random-offset-seed"
ELBENCHO_OPTIONS = "-w -r -d -F -D -t -n -N -s -b -i --stat --direct --mmap --iodepth --timelimit \
--rand --randalign --randamount --backward --verify --verifydirect --hosts --hostsfile --service \
--csvfile --resfile --label --trunc --trunctosize --sync --dropcache --s3endpoints --s3key \
--gpuids --cufile --zones --rwmixpct --limitread --limitwrite --infloop --phasedelay --flock \
--nolive --lat --cpu --blockvarpct --dirsharing --start --configfile"


def scenario(tool, text):
    chosen, _ = compat.read(tool, shlex.split(text))
    check(chosen)
    return chosen


def workload(tool, text):
    found = scenario(tool, text).workload
    common = {key: value for key, value in found if key != "parameters"}
    return {**found.parameters, **common}


@pytest.mark.parametrize(
    ("options", "tool"), [(IOR_OPTIONS, ior.OPTIONS), (ELBENCHO_OPTIONS, elbencho.OPTIONS)]
)
def test_every_option_is_honoured_or_refused_by_name(options, tool):
    known = {*tool.valued, *tool.plain, *tool.refused}
    assert set(options.split()) <= known
    assert not (tool.valued | tool.plain) & set(tool.refused)


def test_no_option_of_fio_is_honoured_and_refused():
    honoured = {*fio_options.HONOURED, *fio_options.NOTHING_TO_SET}
    assert not honoured & set(fio_options.REFUSED)
    assert len(honoured | set(fio_options.REFUSED)) > 180


REFUSED = {
    "ior": {
        "-t 1m -b 1m -z": "-z",
        "-F -k -t 1m -b 4m": "-k",
        "-a MPIIO -t 1m": "must be POSIX",
        "-D 30 -t 1m -b 1g": "-D",
        "-W -R -t 1m": "-W",
        "-t 3m -b 4m": "must divide",
        "-s 4 -b 4m -t 1m": "must be 1",
        "-C -t 1m": "-F has -C",
        "-i x": "whole number",
        "-t 1x": "number of bytes",
        "-O useO_DIRECT=1": "-O",
        "-c -a POSIX": "-c",
        "--foo": "unknown",
        "word": "no option",
        "-np": "needs a value",
    },
    "elbencho": {
        "-w -t 2": "needs one directory",
        "-t 2 /tmp": "needs a phase",
        "-w --rand /tmp": "--rand",
        "-w --iodepth 16 /tmp": "must be 1",
        "-w --verify 1 /tmp": "--verify",
        "-w --hosts a,b /tmp": "--hosts",
        "-r --rwmixpct 30 /tmp": "--rwmixpct",
        "-w --csvfile x /tmp": "--csvfile",
        "-w /tmp /var": "needs one directory",
        "-w -s 0 /tmp": "from 1 on",
        "-w --wrong /tmp": "unknown",
    },
    "fio": {
        "": "needs a job",
        "--name=a --rw=trim --size=1m": "rw = 'trim'",
        "--name=a --size=1m --bs=4k-64k": "number of bytes",
        "--name=a --size=1m --bsrange=4k-64k": "bsrange",
        "--name=a --size=1m --ioengine=libaio --iodepth=32": "iodepth = 32",
        "--name=a --size=1m --ioengine=rbd": "ioengine = 'rbd'",
        "--name=a --size=1m --verify=crc32c --ramp_time=5": "verify ramp_time",
        "--name=a --size=50%": "the value itself",
        "--name=a": "size: is missing",
        "--name=a --size=1m --time_based": "needs a runtime",
        "--name=a --size=1m --name=b --size=1m": "needs stonewall",
        "--name=a --size=1m --runtime=1 --name=b --size=1m --stonewall": "the same runtime",
        "--name=a --size=1m --filename=/dev/sda": "regular file",
        "--name=a --size=1m --rat=5": "did you mean rate",
        "--name=a --size=1m --runtime=soon": "must be a time",
        "--name=a --size=1k --bs=4k": "less than bs",
        "--name=a --size=1m --direct=yes": "0 or 1",
        "--name=a --size=1m --rw=randrw --rwmixread=200": "percentage",
        "--name=a --size=1m --sync=maybe": "must be one of",
        "--name=a --size=1m --fsync=8": "each write",
    },
}
CASES = [(tool, text, named) for tool, texts in REFUSED.items() for text, named in texts.items()]


@pytest.mark.parametrize(("tool", "text", "named"), CASES)
def test_what_is_not_honoured_is_named_in_one_line(tool, text, named):
    with pytest.raises(InputError, match=re.escape(named)) as raised:
        compat.read(tool, shlex.split(text))
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-np 4 -F -t 2m -b 8m -s 2 -C -e", ("ior_easy", "16777216 B", 1, True)),
        ("-np 4 -F -t 2m -b 8m -C -Q 2", ("ior_easy", "8388608 B", 2, False)),
        ("-N 4 -F -t 2m -b 8m", ("ior_easy", "8388608 B", 0, False)),
    ],
)
def test_ior_with_a_file_for_each_task(text, expected):
    found = workload("ior", text)
    keys = ("name", "file_size", "neighbour", "force")
    assert tuple(found[key] for key in keys) == expected
    assert found["clients"] == found["processes"] == 4


def test_ior_with_a_shared_file():
    hard = workload("ior", "-np 2 -t 47008 -b 47008 -s 100")
    assert (hard["name"], hard["order"], hard["file_size"]) == (
        "ior_hard",
        "interleaved",
        "9401600 B",
    )
    assert workload("ior", "-np 2 -t 1m -b 8m")["order"] == "segmented"
    assert workload("ior", "-t1m -b1m -Y --posix.odirect")["fsync"] == "write"
    assert workload("ior", "-t1m -b1m -Y --posix.odirect")["cache"] == "direct"
    chosen = scenario("ior", "-wr -i3 -T 2 -o /tmp/x/file")
    assert (chosen.run.repetitions, chosen.run.time_limit) == (3, 120)
    assert chosen.file_system.access.directory == "/tmp/x"


def test_elbencho_options_become_the_workload():
    found = workload("elbencho", "-w -r --stat -F -t 3 -n 2 -N 50 -s 64k -b 16k --direct /tmp")
    assert found["tests"] == ["create", "read", "stat", "delete"]
    assert (found["files_per_client"], found["clients"], found["cache"]) == (100, 3, "direct")
    assert (found["file_size"], found["transfer_size"]) == ("65536 B", "16384 B")
    assert workload("elbencho", "--write --threads=2 --size=1m /tmp")["clients"] == 2


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("--rw=randread", "once", True),
        ("--rw=randread --norandommap", "once", False),
        ("--rw=randrw --rwmixread=70", "read_share", 0.7),
        ("--rw=rw --rwmixwrite=70", "read_share", 0.3),
        ("--bs=64k", "transfer_size", "65536 B"),
        ("--bs=4096", "transfer_size", "4096 B"),
        ("--blocksize=8k --loops=2", "operations_per_client", 256),
        ("--io_size=64k", "operations_per_client", 16),
        ("--direct=1 --rw=read", "cache", "direct"),
        ("--rw=read", "cache", "cold"),
        ("--rw=read --invalidate=0", "cache", "warm"),
        ("--rw=write", "cache", "warm"),
        ("--fsync=1 --rw=write", "fsync", "write"),
        ("--sync=dsync --rw=write", "sync_io", "data"),
        ("--ioengine=mmap", "mmap", True),
        ("--numjobs=3 --thread", "processes", 0),
        ("--numjobs=3", "processes", 3),
        ("--thinktime=1ms", "think_time", 0.001),
        ("--rate_iops=100 --numjobs=2", "rate", 200.0),
        ("--time_based --runtime=1m", "operations_per_client", 1_000_000_000),
    ],
)
def test_fio_options_become_the_workload(text, key, value):
    assert workload("fio", f"--name=one --size=1m {text}")[key] == value


JOBS = """
; from a tracker
[global]
directory={directory}
size=256k
bs=16k
group_reporting

[first]
rw=randread
numjobs=2
[second]
stonewall
rw=randrw
rwmixread=75
invalidate=0
"""


def test_a_job_file_runs_its_jobs_one_after_the_other(tmp_path):
    (tmp_path / "data").mkdir()
    file = tmp_path / "two.fio"
    file.write_text(JOBS.format(directory=tmp_path / "data"))
    chosen, say = compat.read("fio", [str(file)])
    results = commands_work.measure(Laboratory(), chosen)
    counts = [
        {name: (one.count, one.bytes) for name, one in result.load.operations.items()}
        for result in results
    ]
    assert counts[0] == {"pread": (32, 512 << 10)}
    assert sum(count for count, _ in counts[1].values()) == 16
    assert set(counts[1]) == {"pread", "pwrite"}
    said = say(results)
    assert re.search(r"first: \(jobs=2\)\n  read: IOPS=\d+, BW=[\d.]+MiB/s .*\nsecond:", said)
    assert not list((tmp_path / "data").iterdir())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("size=1m\n[a]\n", "line 1"),
        ("[a]\ninclude other.fio\n", "line 2"),
        ("[a]\nsize=1m\nfoo=1\n", "[a] foo"),
        ("[a]\nsize=${SIZE}\n", "the value itself"),
        ("[global]\nsize=1m\n", "needs a job"),
    ],
)
def test_errors_of_a_job_file_name_the_place(tmp_path, text, named):
    file = tmp_path / "one.fio"
    file.write_text(text)
    with pytest.raises(InputError, match=re.escape(named)):
        fio_jobs.requested([str(file)])


def test_ior_and_elbencho_run_and_print_their_summaries(tmp_path):
    done = dfslab(
        "compat", "ior", "-np", "2", "-F", "-t", "64k", "-b", "256k", "-o", tmp_path / "f"
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^Max Write: [\d.]+ MiB/sec \([\d.]+ MB/sec\)\nMax Read:  ", done.stdout)
    done = dfslab("compat", "elbencho", "-w", "-r", "--stat", "-N", 5, "-s", "4k", tmp_path)
    assert done.returncode == 0, done.stderr
    words = [line.split()[0] for line in done.stdout.splitlines()]
    assert words == ["OPERATION", "WRITE", "Throughput", "READ", "Throughput", "STAT"]
    assert not list(tmp_path.iterdir())
    assert dfslab("compat", "ior", "-z").returncode == 2
