"""Tests that typical mistakes of new users end with exit code 2 and a one-line error message that
says what to do."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from support.command import dfslab

GOOD = """schema = 1
name = "good"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "sequential_read"
file_size = "64 KiB"
operations_per_client = 2
[run]
methods = ["measure"]
repetitions = 1
"""
HDFS = GOOD.replace('"local"', '"hdfs"\naccess = { uri = "hdfs://127.0.0.1:1" }').replace(
    "storage = 1", "namenode = 1, datanode = 1"
)
# The keys are names of scenario files. Each value is the text of the file. Each text has one
# mistake, except the text of the file "good".
FILES = {
    "good": GOOD,
    "empty": "",
    "text": "hello world\n",
    "runn": GOOD.replace("[run]", "[runn]"),
    "twice": GOOD + "repetitions = 2\n",
    "nounit": GOOD.replace('"64 KiB"', '"64"'),
    "time": GOOD.replace('"64 KiB"', '"64 s"'),
    "negative": GOOD.replace("repetitions = 1", "repetitions = -1"),
    "fraction": GOOD.replace("repetitions = 1", "repetitions = 1.5"),
    "words": GOOD.replace("repetitions = 1", 'repetitions = "three"'),
    "nolist": GOOD.replace('["measure"]', '"measure"'),
    "key": GOOD.replace("file_size", "filesize"),
    "number": GOOD.replace('"sequential_read"', "5"),
    "wokload": GOOD.replace("[workload]", "[wokload]"),
    "nosystem": GOOD.replace('name = "local"', ""),
    "bare": GOOD.replace('"64 KiB"', "64 KiB"),
    "noname": GOOD.replace('name = "sequential_read"', ""),
    "single": GOOD.replace("[[deployment.node]]", "[deployment.node]"),
    "replicated": HDFS,
    "nodir": GOOD.replace('"local"', '"local"\naccess = { directory = "/nope" }'),
    "blank": GOOD.replace('"good"', '"a b"'),
    "schema": GOOD.replace("schema = 1", "schema = 2"),
    "roles": GOOD.replace("{ client = 1, storage = 1 }", '["client"]'),
    "unquoted": GOOD.replace('"local"', "local"),
    "boolean": GOOD.replace("repetitions = 1", "timed = 3"),
    "other": GOOD.replace('"good"', '"other"').replace("64 KiB", "32 KiB"),
}
# The keys are the words of a command. Each value lists the words that the error line of this
# command must contain.
MISTAKES = {
    "predict glusterfs --within 5s": ["--within", "5s", "goes with --metadata-server"],
    "predict glusterfs --burst 5s": ["--burst", "5s", "goes with --metadata-server"],
    "benchmark": ["No such command", "dfslab --help"],
    "mesure good.toml": ["Did you mean", "measure"],
    "trace reprot x": ["Did you mean", "report"],
    "run good.toml --verbose": ["No such option", "dfslab run --help"],
    "run good.toml --jsn": ["--json"],
    "run good.toml --out": ["requires an argument"],
    "run": ["Missing argument", "dfslab run --help"],
    "run folder": ["is a folder", "dfslab measure folder"],
    "predict folder": ["is a folder", "dfslab measure folder"],
    "run kept": ["is a run folder", "kept/scenario.toml"],
    "run nothing.toml": ["nothing.toml", "no such file"],
    "run quickstrat": ["did you mean quickstart"],
    "run empty.toml": ["is empty"],
    "run binary.toml": ["is no UTF-8 text"],
    "run text.toml": ["is not TOML", "line 1"],
    "run runn.toml": ["did you mean run?"],
    "run twice.toml": ["given twice", "line"],
    "run nounit.toml": ["needs a unit", "64 MiB"],
    "run time.toml": ["is a time; needs a size"],
    "run negative.toml": ["run.repetitions = -1", "must be at least 1"],
    "run fraction.toml": ["must be a whole number"],
    "run words.toml": ["'three'", "must be a whole number"],
    "run nolist.toml": ["run.methods", "must be a list"],
    "run key.toml": ["did you mean file_size"],
    "run number.toml": ["workload.name = 5", "text in quotes"],
    "run noname.toml": ["workload.name", "is required", "`dfslab list`"],
    "run nosystem.toml": ["file_system.name", "is required", "`dfslab list`"],
    "run wokload.toml": ["wokload", "did you mean workload?"],
    "run bare.toml": ["line 10", 'quantities need quotes: file_size = "64 KiB"'],
    "measure folder --time 5 min": ["a value and its unit are one word, such as 5min"],
    "replay folder good.toml": ["the trace comes first", "`dfslab replay good.toml folder`"],
    "expct": ["Did you mean 'expect', 'export'?"],
    "run single.toml": ["[[deployment.node]]"],
    "run replicated.toml": ["replication", "1 datanodes", "default"],
    "run nodir.toml": ["/nope", "existing directory"],
    "run blank.toml": ["'a b'", "must match"],
    "run schema.toml": ["schema = 2", "must be 1"],
    "run roles.toml": ["roles", "must be a table"],
    "run unquoted.toml": ["line 7", "quotes"],
    "run boolean.toml": ["run.timed", "true or false"],
    "run good.toml --set run.repetitions": ["KEY=VALUE"],
    "run good.toml --set run.repetitions=0": ["must be at least 1"],
    "run good.toml --set run.repetition=2": ["did you mean repetitions"],
    "run good.toml --set workload.cleints=2": ["did you mean clients"],
    "run good.toml --set workload.file_size=64X": ["64 MiB"],
    "run good.toml --set run.seed=x": ["must be a whole number"],
    "run good.toml --budget 20": ["needs a unit"],
    "run good.toml --from nowhere": ["no such file"],
    "run good.toml --out /proc/x": ["no folder can be made there"],
    "measure nothing": ["no such file"],
    "measure no/where": ["no such directory, and no such scenario file"],
    "run pvfs --set 'run.methods=[\"measure\"]'": ["pvfs is measured where it is mounted"],
    "measure good.toml --bs 4k": ["--set workload.transfer_size"],
    "measure folder --rw rndread": ["did you mean randread"],
    "measure folder --cold --direct": ["--direct: excludes --cold"],
    "measure folder --numjobs 4": ["--numjobs: here it is --clients"],
    "measure folder --iodepth 4": ["--iodepth: a client makes one transfer at a time"],
    "export kept --format csv": ["--format: here it is --as"],
    "predict good.toml --method regression": ["--from RUN"],
    "predict good.toml --method mean": ["--from RUN"],
    "predict good.toml --method petrii": ["did you mean petri"],
    "predict good.toml --metadata-server": ["no metadata server"],
    "compare folder": ["no run folder", "dfslab run"],
    "compare nowhere": ["no such folder", "dfslab run"],
    "compare good.toml": ["is a file", "dfslab run"],
    "report folder --as pdf": ["must be one of", "csv"],
    "export folder": ["is no run folder", "dfslab run"],
    "export kept --as pdf": ["must be one of", "csv", "dfslab report"],
    "export kept --as csv --json": ["--json", "needs --output FILE"],
    "learn good.toml nowhere --next": ["no such file"],
    "learn good.toml table.csv --next": ["`dfslab export RUN --as runs` writes"],
    "learn good.toml table.csv --next --page x.html": ["--page", "leave out --next"],
    "learn good.toml table.csv --about clients": ["--about", "needs KEY=VALUE"],
    "measure folder --all-instruments": ["--all-instruments", "is for a scenario"],
    "predict good.toml --clients 4": ["--clients", "goes with a CSV table"],
    "predict hdfs --metadata-server --servers many": ["--servers", "whole number"],
    "learn good.toml table.csv": ["[[design.factor]]"],
    "design good.toml": ["[[design.factor]]"],
    "import text.toml": ["no result of a known tool"],
    "import nowhere.json": ["nowhere.json", "no such file"],
    "trace report nowhere": ["no such file"],
    "trace report .": ["is a folder without call profiles"],
    "trace report empty.toml": ["empty"],
    "trace report text.toml": ["neither OTLP"],
    "show filesystem hdsf": ["did you mean hdfs"],
    "show mount nowhere": ["existing directory"],
    "testbed down nothing": ["no such testbed"],
    "net check text.toml": ["must end in"],
    "compat bonnie": ["dfs-perf"],
    "calibrate --directory nowhere": ["is no directory"],
    "doctor --cleen": ["--clean"],
    "serve --runs nowhere": ["is no folder", "dfslab run"],
    "serve --runs good.toml": ["is no folder", "dfslab run"],
    "serve --port 99999": ["--port", "at most 65535"],
    "serve --port web": ["--port", "whole number"],
    "serve --host 999.0.0.1 --port 0": ["is no address", "127.0.0.1"],
    "serve --no-browsr": ["--no-browser"],
    "serve good.toml": ["unexpected extra argument", "dfslab serve --help"],
    "tune nowhere": ["no directory", "no running testbed"],
    "tune good.toml --runs 0": ["--runs", "at least 1"],
    "tune good.toml --time 5": ["--time", "needs a unit"],
    "tune good.toml --time 5MB": ["is a size; needs a time"],
    "tune good.toml --may replication": ["must be one of copies, sync"],
    "tune good.toml -o good.toml": ["exists already"],
    "tune good.toml -o nowhere/x.toml": ["directory does not exist"],
    "tune good.toml --records folder": ["must be a file"],
    "tune folder": ["--yes", "writes files there"],
    "tune kept": ["is a run folder", "kept/scenario.toml"],
    "advise nowhere": ["no such file", "dfslab list"],
    "advise folder": ["no run folder", "dfslab run"],
    "advise good.toml --goal read_thruput": ["must be one of", "read_throughput"],
    "advise good.toml --within=-5": ["--within", "at least 0"],
    "advise good.toml --prices nowhere.toml": ["--prices", "no such file"],
    "advise good.toml --prices good.toml": ["unknown; allowed: currency, server"],
    "advise good.toml --verify two": ["--verify", "whole number"],
    "advise good.toml --pairs 2": ["goes with --verify N"],
    "advise good.toml --yes": ["goes with --verify N"],
    "advise good.toml --verify 1 --time 5": ["--time", "needs a unit"],
    "advise good.toml --verify 1 --pairs 0": ["must be 2 or more"],
    "advise good.toml --verify 1 --records folder": ["must be a file"],
    "advise replicated.toml --verify 1": ["replication", "1 datanodes"],
    "run good.toml --against nowhere.toml": ["no such file"],
    "run good.toml --against folder": ["is a folder", "dfslab measure folder"],
    "run good.toml --against kept": ["is a run folder", "kept/scenario.toml"],
    "run good.toml --against empty.toml": ["is empty"],
    "run good.toml --against quickstrat": ["did you mean quickstart"],
    "run good.toml --against other.toml": ["run.repetitions = 1", "2 or more"],
    "run good.toml --against other.toml --from kept": ["--from", "excludes --against"],
    "run good.toml --scheduler nowhere": ["--scheduler", "tcp://10.0.0.1:8786"],
    "import fio.json --on nowhere.toml": ["no such file"],
    "import fio.json --on hdsf": ["did you mean hdfs"],
    "import fio.json --on kept": ["is a run folder", "kept/scenario.toml"],
    "import fio.json --on folder": ["is a folder"],
    "import fio.json --on empty.toml": ["is empty"],
    "import fio.json --on good.toml": ["no finished measurement"],
    "import fio.json --format foi": ["unknown; allowed", "fio_json"],
    'plan "write >= 2"': ["needs a unit"],
    "plan fast": ["needs", "write >= 2 GB/s"],
    'whatif good.toml "server lnk 10 Gbit/s"': ["names nothing that can change"],
    'whatif good.toml "servers plenty"': ["needs a value such as 8"],
    "replay text.toml folder": ["is in no known form", "strace"],
    "expect folder --server-disk 100": ["hdd, ssd, nvme"],
    "expect folder --server-link fast": ["= 'fast'", "1 Gbit/s"],
    "expect folder --server-link 10": ["= '10'", "needs a unit", "1 Gbit/s"],
    "expect folder --latency 5": ["--latency", "needs a unit", "0.5 ms"],
    "expect folder --servers 0": ["--servers", "at least 1"],
    "expect folder --time 3s": ["must be at least 10 s", "16 s if files are on a disk"],
    "expect http://x": ["PLACE", "must begin with hdfs"],
    "expect nowhere": ["is no directory", "hdfs://HOST:PORT/"],
    "expect hdfs": ["is no directory", "dfslab predict hdfs"],
    "init s3://": ["needs a bucket", "s3://BUCKET"],
    "init folder -o folder": ["--output", "is a folder"],
    "measure s3://bucket/x": ["is an address", "dfslab init s3://bucket/x"],
    "measure hdfs://host:8020/x --bs 4k": ["is an address", "dfslab init hdfs://host:8020/x"],
    "measure server:/export": ["export of a server", "mount it"],
    "measure folder --bs 4x": ["--bs", "64 MiB"],
    "measure folder --bs 4kb": ["--bs", "ambiguous", "4k (4 KiB) or 4 kB"],
    "measure folder --size 2mb": ["--size", "ambiguous", "2m (2 MiB) or 2 MB"],
    "measure folder --bs 0": ["--bs", "needs a unit"],
    "measure folder --bs 4k,,8k": ["--bs", "empty value", "4k,1m"],
    "measure folder --bs '4k 8k'": ["--bs", "is not a quantity"],
    "measure folder --size 3k --bs 4k": ["--size", "at least one block of 4 KiB"],
    "measure folder --size 100000T": ["--size", "free", "may be used"],
    "measure folder --clients 0": ["--clients", "1,8"],
    "measure folder --clients 1-8": ["--clients", "1,8"],
    "measure folder --time 10": ["--time", "needs a unit", "30 s"],
    "measure folder --time 0s": ["--time", "more than nothing"],
    "measure folder --repetitions 0": ["--repetitions", "at least 1"],
    "measure folder --rw read write": ["unexpected extra argument", "dfslab measure --help"],
    "measure nowhere --bs 4k": ["no such directory or scenario file"],
    "measure /dev/null": ["is a device"],
    "run https://example.org/x.toml": ["is an address", "download the file"],
    "run folder/quickstart": ["no such file", "did you mean the ready scenario quickstart"],
    "run quickstart.toml": ["no such file", "did you mean the ready scenario quickstart"],
    "run glusterfs.toml": ["no such file", "did you mean the ready scenario glusterfs"],
    "tune glusterfs.toml": ["no such file", "did you mean the ready scenario glusterfs"],
    "predict my-own.toml": ["no such file"],
    "run Quickstart": ["did you mean quickstart?"],
    "run good.toml --budget 5min": ["--budget", "[[design.factor]]"],
    "run good.toml --set clients=2": ["did you mean workload.clients?"],
    "compare table.csv table.csv": ["is a file", "`dfslab import table.csv`"],
    "trace import table.csv": ["--output: is missing", "--into FOLDER"],
    "run good.toml --set =3": ["--set", "KEY=VALUE"],
    "run good.toml --set workload.file_size=": ["workload.file_size", "64 MiB"],
    "predict HDFS": ["did you mean hdfs?"],
    "predict good.toml hdfs": ["unexpected extra argument", "dfslab predict --help"],
    "whatif hdfs": ["Missing argument", "dfslab whatif --help"],
    "whatif hdfs servers +1": ["share one pair of quotes", '"servers x2"'],
    "whatif hdfs 'add a server'": ["names nothing that can change", '"servers +1"'],
    "whatif hdfs 'servers -10'": ["gives", "whole number", "now"],
    "whatif hdfs 'copies 9'": ["replication", "datanodes deployed"],
    "whatif hdfs 'link 10'": ["needs a unit", "1 Gbit/s", "now"],
    "whatif hdfs 'client link 10 GB'": ["is a size", "1 Gbit/s"],
    "plan 'write >= 2 GB/s' --file-system hfds": ["did you mean hdfs?"],
    "plan 'wirte >= 2 GB/s'": ["wirte is unknown", "write"],
    "plan 'write >= 2 TB'": ["is a size", "1 Gbit/s"],
    "plan '10 M files'": ["50 M files of 1 MiB"],
    "plan 'latency <= 5 ms'": ["latency is unknown", "p99 create <= 20 ms"],
    "fit table.csv": ["is a file", "runs/NAME/latest", "--clients 4,64"],
    "fit good.toml": ["is a file", "runs/NAME/latest"],
    "check good.toml": ["this is a scenario", "dfslab check RUN"],
    "check folder": ["is no run folder", "dfslab run"],
    "export kept --as csv -o nowhere/x.csv": ["--output", "directory does not exist"],
    "trace record good.toml": ["--output", "dfslab trace record --help"],
    "trace query trace.json": ["SQL", "dfslab trace query --help"],
    "show diagram hdfs": ["No such command", "filesystem, mount, scenario"],
    "show scenario nope": ["no ready scenario", "dfslab list"],
    "help": ["No such command", "dfslab --help"],
    "version": ["No such command", "dfslab --version"],
    "merge good.toml": ["is no report of an agent", "state folder"],
    "net check bad.cpn": ["bad.cpn", "is no XML"],
    "compat fio": ["a job file, or --name=NAME"],
    "compat ior -a HDF5 -o x": ["must be POSIX"],
    "compat mdtest": ["needs -n or -I"],
    "replay good.toml nowhere": ["DIRECTORY", "existing directory"],
    "measure folder --time 5000d": ["--time", "must be at most 31,557,600 s"],
    "measure folder --repetitions 9999": ["--repetitions", "at most 1000"],
    "measure folder --set workload.data_per_client=16": ["needs a unit", '"16 MiB"'],
    "run good.toml --set workload.file_size=16": ["needs a unit", '"16 MiB"'],
    "run good.toml --set workload.file_size=1PB": ["needs 909 TiB", "free"],
    "run good.toml --set run.time_limit=0s": ["must be more than 0"],
    "run good.toml --from table.csv": ["the column repetition is missing", "--as runs"],
    "run good.toml --from empty.toml": ["the file is empty", "--as runs"],
    "compat mdtest -n many": ["mdtest.-n", "must be a whole number"],
    "net check empty.cpn": ["FILE", "is empty"],
    "import folder": ["FILE", "is a folder, not a file"],
    "check nowhere": ["FILE", "no such file"],
    "replay folder folder": ["needs the file that holds the trace"],
    "replay nowhere folder": ["FILE", "no such file"],
    "whatif hdfs 'faster disks'": ['did you mean "disk x2"?', "dfslab whatif --help"],
    "whatif hdfs 'disk x0'": ["legal in no configuration", "more than 0"],
    "predict glusterfs --set deployment.node.server.count=5": ["copies = 1 or 5, or 4 or 6 bricks"],
    "plan 'write >= 2 GB/s' --file-system nfs --copies 3": ["--copies", "must be 1"],
    "plan 'write <= 2 GB/s'": ["TARGET"],
    "plan 'p99 create >= 20 ms'": ["TARGET"],
    "plan 'write >= 2 GB/s' --uncertain disk": ["--uncertain"],
    "plan 'write >= 2 GB/s' --uncertain disc=2": ["--uncertain", "disk"],
    "trace report random.bin": ["neither OTLP"],
    "trace report good.toml --page folder": ["--page", "is a folder"],
    "trace receive --into good.toml": ["--into", "must be a new or an empty folder"],
    "trace top nowhere": ["no such folder"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Creates a folder with the files that contain mistakes."""
    for name, text in FILES.items():
        (tmp_path / f"{name}.toml").write_text(text)
    (tmp_path / "binary.toml").write_bytes(bytes(range(128, 256)))
    (tmp_path / "bad.cpn").write_text("<workspaceElements>")
    (tmp_path / "empty.cpn").write_text("")
    (tmp_path / "random.bin").write_bytes(bytes(range(200, 0, -1)) * 4)
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    (tmp_path / "fio.json").write_text('{"fio version": "fio-3.33", "jobs": []}')
    (tmp_path / "folder").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "scenario.toml").write_text(GOOD)
    return tmp_path


def test_there_are_more_than_a_hundred_of_them():
    assert len(MISTAKES) >= 220
    for options in (
        "serve --",
        "tune ",
        "advise ",
        "run good.toml --against",
        "import fio.json --on",
    ):
        assert sum(words.startswith(options) for words in MISTAKES) >= 5, options


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_is_one_line_with_what_to_do(words, place):
    before = sorted(os.listdir(place))
    state = {"DFSLAB_STATE": str(place / "state"), "COLUMNS": "80"}
    answer = dfslab(*shlex.split(words), cwd=place, env=state)
    assert answer.returncode == 2, answer.stderr + answer.stdout
    (line,) = answer.stderr.strip().splitlines()
    for expected in MISTAKES[words]:
        assert expected in line, line
    assert sorted(set(os.listdir(place)) - {"state"}) == before
