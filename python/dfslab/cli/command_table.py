"""The table of commands, with the module and the one-line help of each.

`dfslab --help` prints the table. The module of a command is imported when the command is called.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandEntry:
    """An entry in the table of commands.

    `module`: the module of `dfslab.cli` whose Typer application `app` contains the command.
    `group`: if true, the whole application is one command, and the functions in it are its
    subcommands. If false, the command is one function of the application.
    """

    name: str
    help: str
    module: str = "commands"
    group: bool = False


PURPOSES: dict[str, tuple[CommandEntry, ...]] = {
    "Answers": (
        CommandEntry(
            "expect",
            "Is this the speed I should expect, and what is in the way? Measures and predicts.",
            "decide.expect_commands",
        ),
        CommandEntry(
            "advise",
            "What limits, what to change, what that gains, how sure we are.",
            "decide.advice_commands",
        ),
        CommandEntry(
            "whatif",
            'What changes would gain, such as "servers +1", and how sure that is.',
            "decide.advice_commands",
        ),
        CommandEntry(
            "plan",
            "The cheapest deployments that reach targets, with intervals, checked by simulation.",
            "decide.plan_command",
        ),
        CommandEntry(
            "compare",
            "Measured against predicted, with errors, for a finished run; or two runs.",
            "decide.compare_command",
        ),
        CommandEntry(
            "tune",
            "The best settings in a few real runs, each predicted before it is made.",
            "decide.tune_command",
        ),
    ),
    "Experiments": (
        CommandEntry("run", "Every method the scenario names, compared, one HTML page."),
        CommandEntry(
            "measure",
            "Measure a directory or every configuration of a scenario; no models.",
            "quick.measuring",
        ),
        CommandEntry(
            "replay",
            "Repeat an application's recorded file calls in a directory, and compare their times.",
            "quick.replaying",
        ),
        CommandEntry(
            "predict",
            "Predict every configuration by one method, without measuring anything.",
            "quick.predict",
        ),
        CommandEntry(
            "design",
            "What a scenario's design would run, in which order, and what that costs; "
            "runs nothing.",
        ),
        CommandEntry(
            "learn", "Coefficients, importance, validation and the next runs, from existing runs."
        ),
        CommandEntry(
            "search",
            "The highest rate of an open workload that meets a latency objective, and the knee.",
        ),
        CommandEntry(
            "visibility",
            "When one client's changes are visible to another, and the stale answers until then.",
        ),
        CommandEntry(
            "compat",
            "Run what another benchmark's arguments ask for, and print its own kind of summary.",
        ),
    ),
    "Look at results and descriptions": (
        CommandEntry("show", "Show what is described.", "show", True),
        CommandEntry(
            "list",
            "File systems, workloads, methods, studies, sections, exporters, importers, "
            "result readers, net formats, rules, scenarios.",
        ),
        CommandEntry("report", "Write the page of a run again (HTML)."),
        CommandEntry(
            "fit", "The time of every measured step as a function, and what was expected."
        ),
        CommandEntry(
            "check",
            "Judge figures by rules: what cannot be right, why, and what would settle it.",
            "exchange.checking",
        ),
        CommandEntry(
            "serve",
            "Runs in a browser: list, live view, comparison, what-if sliders, token games.",
            "live.serving",
        ),
        CommandEntry("trace", "Record, import and report traces.", "traces.trace_commands", True),
        CommandEntry("net", "Petri nets in files: JSON, PNML, .cpn.", "net_commands", True),
    ),
    "Set up": (
        CommandEntry(
            "init",
            "Write the scenario of an existing place, for predict, whatif, advise, measure "
            "and run.",
            "decide.expect_commands",
        ),
        CommandEntry(
            "doctor",
            "What works here, what is missing, how quiet the machine is, "
            "and what killed runs left.",
            "quick.doctor",
        ),
        CommandEntry("testbed", "Real file systems on this machine.", "testbed_commands", True),
        CommandEntry(
            "calibrate",
            "Memory, processor, disk and network, measured, as a profile with intervals.",
        ),
    ),
    "Exchange": (
        CommandEntry(
            "import",
            "Take in the results of another tool (fio, IOR, mdtest, IO500, …) as a run.",
            "exchange.importing",
        ),
        CommandEntry(
            "export",
            "A run's results in another program's form: CSV, Parquet, fio, Prometheus, …",
            "exchange.exporting",
        ),
        CommandEntry(
            "merge",
            "One report from the files that a load's agents left on their nodes (state "
            "folder, parts).",
        ),
    ),
}
# The example in the help of each command. The keys are the names of commands, or of a command and
# its subcommand.
EXAMPLES = {
    "expect": "dfslab expect /mnt/data --server-disk 'nvme 3 GB/s' --server-link 25Gbit",
    "init": "dfslab init /mnt/data -o mine.toml",
    "run": "dfslab run quickstart",
    "design": "dfslab design learn-hdfs.toml --budget 20min",
    "measure": "dfslab measure /mnt/data --bs 4k,1m --rw randread,randwrite --clients 1,8",
    "replay": "dfslab replay app.strace /mnt/data",
    "search": 'dfslab search open.toml --objective "response_s_p99 <= 20 ms"',
    "visibility": "dfslab visibility quickstart --trials 20",
    "compat": "dfslab compat mdtest -n 100 -d /tmp/mdtest",
    "merge": "dfslab merge load-0.json load-1.json",
    "whatif": 'dfslab whatif glusterfs "servers +1" "client link 10 Gbit/s"',
    "plan": 'dfslab plan "write >= 2 GB/s, p99 create <= 20 ms" --file-system glusterfs',
    "check": "dfslab check fio.json --on scenario.toml",
    "predict": "dfslab predict hdfs --set workload.clients=4",
    "calibrate": "dfslab calibrate --directory /mnt/data -o machine.toml",
    "learn": "dfslab learn learn-hdfs.toml runs/learn-hdfs/latest --page learnt.html",
    "compare": 'dfslab compare runs/mine/before runs/mine/after --fail-if "p99 > +5 %"',
    "advise": "dfslab advise glusterfs --goal write_throughput",
    "tune": "dfslab tune glusterfs --runs 3",
    "fit": "dfslab fit runs/quickstart/latest",
    "report": "dfslab report runs/quickstart/latest -o page.html",
    "serve": "dfslab serve --runs runs --no-browser",
    "import": "dfslab import fio.json",
    "export": "dfslab export runs/quickstart/latest --as csv -o results.csv",
    "list": "dfslab list",
    "show": "dfslab show filesystem hdfs --as mermaid",
    "show filesystem": "dfslab show filesystem hdfs --as mermaid",
    "show mount": "dfslab show mount /mnt/data",
    "show scenario": "dfslab show scenario quickstart",
    "trace": "dfslab trace report jaeger.json",
    "trace record": "dfslab trace record quickstart -o trace.otlp",
    "trace import": "dfslab trace import jaeger.json -o traces",
    "trace query": 'dfslab trace query traces "select name, count(*) from spans group by 1"',
    "trace receive": "dfslab trace receive --into traces",
    "trace top": "dfslab trace top traces",
    "trace report": "dfslab trace report jaeger.json --page trace.html",
    "testbed": "dfslab testbed up hdfs --servers 3",
    "testbed up": "dfslab testbed up hdfs --servers 3",
    "testbed check": "dfslab testbed check",
    "testbed down": "dfslab testbed down hdfs",
    "testbed status": "dfslab testbed status",
    "doctor": "dfslab doctor",
    "net": "dfslab net check queue.pnml",
    "net show": "dfslab net show queue.pnml",
    "net check": "dfslab net check queue.pnml",
    "net run": "dfslab net run queue.pnml",
    "net states": "dfslab net states queue.pnml --as svg",
    "net play": "dfslab net play queue.pnml",
}
# Commands that were renamed, or merged into another command. A key is a former name, which still
# works in this release. The value has the words that replace the former name.
FORMER: dict[str, tuple[str, ...]] = {
    "bed": ("testbed",),
    "next": ("learn", "--next"),
    "sweep": ("measure", "--all-instruments"),
}
COMMANDS = {entry.name: entry for entries in PURPOSES.values() for entry in entries}
USAGE = "Usage: dfslab [OPTIONS] COMMAND [ARGS]..."
ABOUT = "A performance laboratory for distributed file systems."
OPTIONS = (
    ("--version", "Show the version, with the commit in a source tree."),
    ("-h, --help", "Show this message; `dfslab COMMAND -h` shows a command's, with an example."),
    ("--install-completion", "Complete commands and options in this shell from now on."),
)
WIDTH, INDENT = 80, 2


def overview() -> str:
    """Returns the output of `dfslab --help`. Its width is fixed, so it is the same in all
    terminals."""
    shown = [USAGE, "", ABOUT, "", "Options:", *_rows(OPTIONS)]
    for purpose, entries in PURPOSES.items():
        shown += ["", f"{purpose}:", *_rows(tuple((one.name, one.help) for one in entries))]
    return "\n".join(shown)


def _rows(rows: tuple[tuple[str, str], ...]) -> list[str]:
    """Returns the lines of a two-column list. `rows`: pairs of a name (first column) and its text
    (second column), which is wrapped between words."""
    column = INDENT + max(12, *(len(name) + 2 for name, _ in rows))
    found = []
    for name, text in rows:
        line = f"{'':{INDENT}}{name}".ljust(column)
        for word in text.split():
            if len(line) + len(word) + (len(line) > column) > WIDTH:
                found.append(line)
                line = " " * column
            line += word if len(line) == column else f" {word}"
        found.append(line)
    return found
