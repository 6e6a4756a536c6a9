"""Shows where traced external programs spend their time in a file system, and which step to
improve.

For every traced configuration, the study reports two things:
- The total seconds of the functions that the literature names.
- A ranking of the steps (the traced calls) by saving, with intervals. The saving is the client call
  time that would be saved if the step took half the time.

For comparison, the study also names the step with the largest total self time. The method of Liu
2018 would choose this step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, JsonValue

from dfslab import discover
from dfslab.documents.measured_load import ProgramRun
from dfslab.documents.table import Table, TableCell, Value, absent, heads, words
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import Saving, SavingVerdict, TreeNode
from dfslab.instruments.tracing import call_document, callprofile
from dfslab.instruments.tracing.callprofile import MergedStep
from dfslab.result import Result
from dfslab.studies.contract import FinishedRun, Progress, Study, StudyResult
from dfslab.studies.traces import gain, parts
from dfslab.studies.traces.processors import on_one_host, processors

NAMES = ("bottlenecks",)
MOST_STEPS = 5
# Largest number of rows in the table of functions if the file system's description names no
# functions.
MOST_FUNCTIONS = 8
# A printed table of functions has at most ACROSS configurations as columns. The printed table of
# savings has at most MOST_GAINS steps for each configuration.
ACROSS, MOST_GAINS = 7, 3


class FunctionCost(BaseModel):
    """Number of calls of one function in all processes, and their total seconds."""

    name: str
    count: int
    total_s: float

    @property
    def mean_s(self) -> float | None:
        """Mean seconds of a call; None if there were no calls."""
        return self.total_s / self.count if self.count else None


class Gain(BaseModel):
    """The gain from one step or hardware part, with its 90 % interval. The gain is the fraction of
    the client call time that would be saved if the step or part took half the time. The gain of a
    step covers all calling contexts of the step. A part is a processor, disk or link."""

    name: str
    saving: float
    low: float
    high: float
    verdict: SavingVerdict


class Bottlenecks(BaseModel):
    """The bottlenecks of one traced program at one configuration.

    `took_s`: duration of the program. `calls_s`: total time of the outermost calls into the file
    system; the savings in `steps` and `parts` are fractions of `calls_s`. `by_sum`: the step with
    the largest total self time. `roots`: the call trees of the program.
    """

    point_id: str
    labels: dict[str, Value]
    took_s: float
    calls_s: float
    functions: list[FunctionCost]
    steps: list[Gain]
    parts: list[Gain]
    by_sum: str
    roots: list[TreeNode]


class Programs(StudyResult):
    """Results for every traced program: the seconds that the program's functions took, and the
    steps and hardware parts whose speed-up would save most time."""

    study = "bottlenecks"

    programs: list[Bottlenecks]

    def tables(self, run: FinishedRun) -> list[Table]:
        """Returns tables for printing. The first tables have the mean seconds of each function;
        each has at most ACROSS configurations. The last table has the steps whose speed-up would
        save most time."""
        parts = [self.programs[at : at + ACROSS] for at in range(0, len(self.programs), ACROSS)]
        return [*(_functions_table(run, some) for some in parts), self._gains(run)]

    def _gains(self, run: FinishedRun) -> Table:
        columns = heads(
            "configuration",
            "step",
            "saving",
            "interval",
            "verdict",
            "first by sum",
            left=("step", "verdict", "first by sum"),
        )
        rows = [
            (
                words("" if place else run.name(row.labels)),
                words(one.name),
                TableCell(one.saving, f"{one.saving:.1%}", low=one.low, high=one.high),
                words(f"{one.low:.1%} – {one.high:.1%}"),
                words(one.verdict),
                words("" if place else row.by_sum),
            )
            for row in self.programs
            for place, one in enumerate(row.steps[:MOST_GAINS])
        ]
        return Table("Time of the clients' calls saved if a step were twice as fast", columns, rows)

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """The JSON document of the result.

        The call trees are left out, because only the page shows them.
        """
        rows: list[JsonValue] = [
            one.model_dump(mode="json", exclude={"roots"}) for one in self.programs
        ]
        return {"bottlenecks": rows}


def _functions_table(run: FinishedRun, some: Sequence[Bottlenecks]) -> Table:
    rows: list[tuple[TableCell, ...]] = [
        (
            words(each[0].name),
            *(
                absent()
                if f.mean_s is None
                else TableCell(f.mean_s, f"{f.mean_s:.4f} ({f.count:,})")
                for f in each
            ),
        )
        for each in zip(*(row.functions for row in some), strict=True)
    ]
    rows += [
        (words("all calls of clients"), *(TableCell(r.calls_s, f"{r.calls_s:.2f}") for r in some)),
        (words("the whole program"), *(TableCell(r.took_s, f"{r.took_s:.2f}") for r in some)),
    ]
    names = [run.name(row.labels) for row in some]
    return Table("Mean seconds of a call (calls)", heads("function", *names), rows)


class BottlenecksStudy(Study[Programs]):
    """Ranks the steps of traced programs by the time that would be saved if the step took half the
    time."""

    name = "bottlenecks"
    result = Programs
    order = 70

    def run(self, run: FinishedRun, progress: Progress) -> Programs | None:
        """Returns the bottlenecks of each traced program; None if no program was traced."""
        found = bottlenecks(run.settled, run.traces)
        return Programs(programs=found) if found else None


def make(name: str) -> BottlenecksStudy:
    """Returns the study `bottlenecks`; study discovery calls this function with the study's
    name."""
    return BottlenecksStudy()


def bottlenecks(results: Sequence[Result], traces: Path) -> list[Bottlenecks]:
    """Returns the bottlenecks of each traced program, in the order of the results.

    `traces`: the folder with the call profiles of the programs.
    """
    found = []
    for result in results:
        program = result.program
        folder = _folder(result, traces)
        if program is not None and folder is not None and folder.is_dir():
            found.append(_of(result, program, folder))
    return found


def profiles(results: Sequence[Result], traces: Path) -> list[Path]:
    """The call profile files of all traced programs below the folder `traces`."""
    folders = [folder for result in results if (folder := _folder(result, traces))]
    return callprofile.expand(folder for folder in folders if folder.is_dir())


def _folder(result: Result, traces: Path) -> Path | None:
    """The folder with the call profiles of a result's program; None if the program was not
    traced."""
    named = result.program.profiles if result.program else None
    return traces / named if named else None


def _of(result: Result, program: ProgramRun, folder: Path) -> Bottlenecks:
    files = [(str(path), callprofile.read(path)) for path in callprofile.expand([folder])]
    top = callprofile.merge(files)
    saved = gain.savings(top)
    steps = _by_name(saved.steps)
    profiled = [file for _, file in files]
    one_host = on_one_host(profiled)
    ranked = parts.ranking(top, processors(profiled), one_host=one_host).parts
    system = discover.file_system(result.point.scenario.file_system.name)
    return Bottlenecks(
        point_id=result.point_id,
        labels=dict(result.labels),
        took_s=program.took_s,
        calls_s=saved.end_to_end_s,
        functions=functions(top, system.functions),
        steps=steps[:MOST_STEPS],
        parts=[
            Gain(name=row.part, saving=row.saving, low=row.low, high=row.high, verdict=row.verdict)
            for row in ranked[:MOST_STEPS]
        ],
        by_sum=_by_sum(saved.steps),
        roots=call_document.document(files, top).roots,
    )


def _with_process(path: CallPath) -> str:
    """Returns the name of a step in the form "PROCESS: STEP". The name of the process is needed
    because a call and its handler may have the same name."""
    return f"{path.within or ''}: {path.step}"


def _by_name(steps: Iterable[Saving]) -> list[Gain]:
    """Returns one gain for each step name, the largest saving first. For a step that occurs in
    several calling contexts, the savings of these contexts are added."""
    sums: dict[str, list[float]] = {}
    for step in steps:
        one = sums.setdefault(_with_process(step.step), [0.0, 0.0, 0.0])
        for place, value in enumerate((step.saving, step.low, step.high)):
            one[place] += value
    found = [
        Gain(
            name=name, saving=saving, low=low, high=min(1.0, high), verdict=gain.verdict(low, high)
        )
        for name, (saving, low, high) in sums.items()
    ]
    return sorted(found, key=lambda one: (-one.saving, -one.high, one.name))


def _by_sum(steps: Iterable[Saving]) -> str:
    """Returns the name of the step with the largest total self time; "" if there are no steps. Liu
    2018 chooses this step as the bottleneck."""
    sums: dict[str, int] = {}
    for step in steps:
        name = _with_process(step.step)
        sums[name] = sums.get(name, 0) + (step.own_ns or 0)
    return max(sums, key=lambda name: (sums[name], name), default="")


def functions(top: MergedStep, named: Mapping[str, Sequence[str]]) -> list[FunctionCost]:
    """Returns the number of calls and the total seconds of each function in the merged call tree
    `top`.

    `named` maps each function to endings of call paths. A call belongs to the function if its call
    path has one of these endings. The seconds of a function are the sum over the calls with any of
    its endings; its number of calls counts only the calls with the first ending. A call within
    another call that has the same ending is part of the outer call. If `named` is empty, the
    MOST_FUNCTIONS steps with the largest total time are returned.
    """
    if not named:
        steps = {
            path.step: [path.step] for path, node in callprofile.walk(top) if node.kind != "detail"
        }
        found = [_function(top, name, ends) for name, ends in steps.items()]
        return sorted(found, key=lambda one: -one.total_s)[:MOST_FUNCTIONS]
    return [_function(top, name, ends) for name, ends in named.items()]


def _function(top: MergedStep, name: str, ends: Sequence[str]) -> FunctionCost:
    count, total_ns = 0, 0
    for place, end in enumerate(ends):
        outermost: CallPath | None = None
        for path, node in callprofile.walk(top):
            inside = outermost is not None and path.is_below(outermost)
            if inside or not path.ends_with(end):
                continue
            outermost = path
            total_ns += node.total_ns
            count += 0 if place else node.count
    return FunctionCost(name=name, count=count, total_s=total_ns / 1e9)
