"""What the commands do: ties instruments, models, studies and the page together."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dfslab import discover
from dfslab.beds import kernel, registry
from dfslab.instruments import access, callprofile
from dfslab.instruments import existing as looking
from dfslab.instruments import trace as tracing
from dfslab.method import RunFailed
from dfslab.models import metadata_server, step_functions
from dfslab.models.demand import calibrate
from dfslab.report import page as pages
from dfslab.report import terminal
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Point, Scenario, read
from dfslab.spec.standard import delay, rate, standard
from dfslab.studies import crossval, expectations, store
from dfslab.studies.advise import Advice, advise
from dfslab.studies.compare import Comparison, Score, compare
from dfslab.studies.sweep import sweep

Report = Callable[..., None]
VALIDATED = ("sequence", "regression", "mean")
INSTRUMENTS = ("measure", "trace")
WHOLE_FILES_FROM_BYTES = 1_000_000


@dataclass
class Done:
    """A finished run: its folder, results and what the studies say."""

    scenario: Scenario
    folder: Path
    results: list[Result]
    comparison: Comparison | None = None
    crossval: dict[str, Score] = field(default_factory=dict)
    trace: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def page(self) -> Path:
        """Where the page is."""
        return self.folder / "report.html"

    @property
    def methods(self) -> list[str]:
        """The predicting methods, in the scenario's order."""
        return [m for m in self.scenario.run.methods if m not in INSTRUMENTS]

    def document(self) -> dict[str, Any]:
        """The JSON of `run`: points, and scores of every model and baseline."""
        found: dict[str, Any] = {
            "scenario": self.scenario.name,
            "folder": str(self.folder),
            "page": str(self.page) if self.page.exists() else None,
            "notes": self.notes,
        }
        if self.comparison is None:
            found["results"] = [result.model_dump(mode="json") for result in self.results]
            return found
        rows = self.comparison.model_dump(mode="json")
        found["points"] = rows.pop("rows")
        found.update(rows)
        found["cross_validated"] = {k: s.model_dump() for k, s in self.crossval.items()}
        found["held_out_large_files"] = {k: s.model_dump() for k, s in self._large_files().items()}
        return found

    def _large_files(self) -> dict[str, Score]:
        """Scores on held-out reads and writes of at least 1 MB."""
        assert self.comparison is not None
        sizes = {result.point_id: _file_bytes(result) for result in self.results}
        rows = [
            row for row in self.comparison.rows
            if row.held_out and set(row.operations) <= {"read", "write"}
            and sizes.get(row.point_id, 0) >= WHOLE_FILES_FROM_BYTES
        ]  # fmt: skip
        return self.comparison.scores(rows)

    def tables(self) -> list[Any]:
        """What people see."""
        if self.comparison is None:
            return [terminal.result_table(self.results), *self.notes]
        tables: list[Any] = [terminal.comparison_table(self.comparison, self.methods)]
        for title, scores in (
            ("Errors on held-out configurations", self.comparison.held_out),
            ("… of these, reads and writes of 1 MB and more", self._large_files()),
            ("Errors in cross-validation over whole configurations", self.crossval),
        ):
            if scores:
                tables.append(terminal.score_table(title, scores))
        return [*tables, *self.notes]


def _file_bytes(result: Result) -> float:
    throughput = result.metrics.get("throughput_bytes_per_s")
    return throughput.value / result.value() if throughput and result.value() else 0.0


def run(scenario: Scenario, out: Path, fresh: bool, report: Report) -> Done:
    """Run every method of the scenario; nothing is created before the file system answers."""
    check(scenario)
    measured = [m for m in scenario.run.methods if m in INSTRUMENTS]
    with access.session(notify=lambda text: report(0, 1, text)) as session:
        if measured:
            session.reach(scenario.points()[0].scenario)
        run_store = store.open_run(scenario, out, fresh=fresh)
        session.trace_directory = run_store.folder / "traces"
        methods = [discover.method(name) for name in scenario.run.methods]
        results = sweep(scenario, methods, run_store, report)
    done = _weigh(scenario, run_store.folder, results, report)
    if done.comparison is not None:
        write_page(done)
    run_store.finish(done.document())
    return done


def _weigh(scenario: Scenario, folder: Path, results: list[Result], report: Report) -> Done:
    """What the studies say of a set of results."""
    done = Done(scenario, folder, results)
    done.notes = list(dict.fromkeys(note for result in results for note in result.notes))
    measured = [result for result in results if result.method == "measure"]
    if measured and done.methods:
        done.comparison = compare(results)
        models = [name for name in done.methods if name in VALIDATED]
        report(0, 1, "cross-validating")
        done.crossval = crossval.crossval(
            measured, models, scenario.judge.folds, scenario.run.seed,
            lambda part, total, text: report(part, total, text),
        )  # fmt: skip
    traces = sorted((folder / "traces").glob("*.otlp"))
    if traces:
        done.trace = tracing.profile(traces)
    return done


def reopen(folder: Path) -> Done:
    """A run folder read back. InputError when it is none."""
    if not (folder / "scenario.toml").exists():
        raise InputError("RUN", str(folder), "is no run folder: it has no scenario.toml")
    scenario = read(folder / "scenario.toml")
    results = store.load_results(folder)
    return _weigh(scenario, folder, results, lambda *_: None)


def write_page(done: Done) -> Path:
    """The page of a run."""
    study = pages.ReportInput(
        scenario=done.scenario,
        results=done.results,
        comparison=done.comparison,
        crossval=done.crossval or None,
        trace=done.trace,
        advice=advice(done),
    )
    pages.write(study, done.page)
    return done.page


def advice(done: Done) -> list[Advice]:
    """The best change for every configuration that was measured."""
    measured = [r for r in done.results if r.method == "measure" and not r.point.held_out]
    if not measured:
        raise InputError("RUN", str(done.folder), "holds no measured result to learn from")
    calibration = calibrate(measured)
    found = []
    for point in _distinct_points(done.results):
        found += advise(point, calibration, done.scenario.run.seed)[:1]
    return found


def _distinct_points(results: Sequence[Result]) -> list[Point]:
    return list({result.point_id: result.point for result in results}.values())


def predict(
    scenario: Scenario, method: str, fitted_on: Path | None, report: Report
) -> list[Result]:
    """Predictions of one method; learnt from a run folder where one is given."""
    points = check(scenario)
    model: Any = discover.method(method)
    if not hasattr(model, "fit"):
        raise InputError("--method", method, "measures; a model predicts")
    if fitted_on is not None:
        results = [r for r in reopen(fitted_on).results if r.method == "measure"]
        report(0, 1, f"learning from {len(results)} results")
        model.fit(results)
    predicted = []
    for index, point in enumerate(points):
        report(index, len(points), f"{method}: {terminal.labels_text(point.labels)}")
        predicted.append(model.run(point))
    return predicted


def fit_steps(folder: Path) -> list[step_functions.StepFunction]:
    """f1 to f7 of a run: a function of every measured step; held-out configurations unseen."""
    done = reopen(folder)
    return step_functions.fit([r for r in done.results if not r.point.held_out])


def expected(folder: Path) -> list[expectations.Verdict]:
    """What the description expected of a run before it, beside what was measured."""
    results = reopen(folder).results
    return expectations.score(expectations.expectations(_distinct_points(results)), results)


def metadata_limits(
    scenario: Scenario, bound_s: float, burst_s: float | None, fitted_on: Path | None
) -> list[tuple[Point, metadata_server.Limits]]:
    """What the metadata server can take, for every distinct deployment and file system."""
    calibration = None
    if fitted_on is not None:
        calibration = calibrate([r for r in reopen(fitted_on).results if r.method == "measure"])
    lengths = metadata_server.BURSTS_S if burst_s is None else (burst_s,)
    found: dict[str, tuple[Point, metadata_server.Limits]] = {}
    for point in check(scenario):
        answer = metadata_server.limits(point.scenario, bound_s, calibration, lengths)
        found.setdefault(json.dumps(answer.document(), sort_keys=True), (point, answer))
    return list(found.values())


def record(scenario: Scenario, output: Path, report: Report) -> dict[str, Any]:
    """Trace the first configuration into an OTLP file of its own."""
    point = check(scenario)[0]
    if output.exists():
        raise InputError("--output", str(output), "exists already; dfslab does not overwrite it")
    if not output.parent.is_dir():
        raise InputError("--output", str(output), "its directory does not exist")
    with access.session(notify=lambda text: report(0, 1, text)) as session:
        tracing.record(point, 0, session, output)
    return tracing.profile([output])


def record_command(
    name: str, values: dict[str, str], command: Sequence[str], folder: Path,
    notify: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    """Run a client command against a bed whose daemons, and the command's JVMs, are traced."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("--output", str(folder), "must be a new or an empty folder")
    if not folder.parent.is_dir():
        raise InputError("--output", str(folder), "its directory does not exist")
    module = _bed_module(name, "--on")
    if not hasattr(module.Bed, "client_environment"):
        raise InputError("--on", name, "its processes cannot be traced; hdfs can")
    told = module.parse_parameters(values)
    folder.mkdir(exist_ok=True)
    traced = {**told, "trace": True, "trace_directory": str(folder)}
    with module.Bed.up(traced, notify=notify) as bed:
        try:
            # Standard output is for the profile.
            done = subprocess.run(command, env=bed.client_environment(), stdout=sys.stderr)
        except OSError as error:
            raise InputError("COMMAND", command[0], str(error.strerror)) from error
    if done.returncode:
        raise RunFailed(f"{shlex.join(command)} ended with {done.returncode}; traced in {folder}")
    return profile([folder])


def profile(files: Sequence[Path]) -> dict[str, Any]:
    """One profile of OTLP files, or of the profiles that traced JVMs wrote."""
    found = _existing(files)
    return (callprofile if _of_jvms(found) else tracing).profile(found)


def folded(files: Sequence[Path]) -> str:
    """The same as folded stacks."""
    found = _existing(files)
    return (callprofile if _of_jvms(found) else tracing).folded(found)


def import_traces(files: Sequence[Path], output: Path) -> dict[str, Any]:
    """The profile of OTLP files, kept as JSON."""
    found = profile(files)
    store.write_atomically(output, json.dumps(found))
    return found


def _of_jvms(files: Sequence[Path]) -> bool:
    """Whether the files are profiles of traced JVMs. InputError when only some are."""
    profiles = [path for path in files if callprofile.is_profile(path)]
    if profiles and len(profiles) < len(files):
        other = next(path for path in files if path not in profiles)
        raise InputError("trace", str(other), "spans and profiles are reported apart")
    return bool(profiles)


def _existing(files: Sequence[Path]) -> list[Path]:
    found = callprofile.expand(files)
    if not found:
        raise InputError("trace", str(files[0]), f"holds no *{callprofile.SUFFIX}")
    for path in found:
        if not path.is_file():
            raise InputError("trace", str(path), "no such file")
    return found


def _bed_module(name: str, key: str) -> Any:
    """The module that has the bed of a file system. InputError when it has none."""
    system = discover.file_system(name)
    if not system.has_bed:
        with_beds = [n for n in discover.members("filesystems", folders=True)
                     if discover.file_system(n).has_bed]  # fmt: skip
        raise InputError(key, name, f"has none; there are beds for {', '.join(with_beds)}")
    return discover.load(system.folder / "bed.py")


def bed_up(
    name: str, values: dict[str, Any], asked: Mapping[str, Any], notify: Callable[[str], None]
) -> dict[str, Any]:
    """Start a bed that outlives this process, on hosts with the hardware that is asked for."""
    module = _bed_module(name, "bed")
    system = discover.file_system(name)
    if hasattr(module, "parse_parameters"):
        values = module.parse_parameters(values)
    deployment = None
    if any(asked.values()):
        deployment = standard(
            system, asked["servers"], asked["clients"] or 1,
            rate("--link", asked["link"]), delay("--delay", asked["delay"]),
            rate("--disk", asked["disk"]),
        )  # fmt: skip
        counts = {f"{role.name}s": deployment.instances(role.name) for role in system.roles}
        values = {**counts, **values}
    bed = module.Bed.up(values, notify=notify, outlive=True, deployment=deployment)
    return {
        "name": bed.name, "uri": bed.uri, "folder": str(bed.folder), "start_s": bed.start_s,
        "hardware_check_s": bed.hardware_check_s,
        "hardware": [{**asdict(check), "holds": check.holds} for check in bed.hardware],
        "hosts": [] if bed.cluster is None else [
            {"name": host.name, "address": host.address, "pid": host.init.pid,
             "roles": dict(host.roles)} for host in bed.cluster.hosts],
    }  # fmt: skip


def existing(place: str, web_address: str) -> dict[str, Any]:
    """What an existing mount or server says of itself."""
    return looking.existing(place, web_address)


def bed_check() -> list[dict[str, Any]]:
    """Every feature of this machine that beds use."""
    return [asdict(feature) for feature in kernel.features()]


def bed_down(name: str) -> list[str]:
    """Take down one bed, all of them (--all), or those that nobody needs (--stale)."""
    known = [bed["name"] for bed in bed_status("")]
    if name not in (registry.ALL, registry.STALE) and name not in known:
        allowed = f"no such bed; there are: {', '.join(known) or 'none'}"
        raise InputError("bed", name, allowed)
    return registry.take_down(name)


def stale_beds() -> list[str]:
    """Those that only need taking down, with why."""
    return [f"{bed['name']}: {bed['why']}" for bed in bed_status("") if bed["state"] == "stale"]


def bed_status(name: str) -> list[dict[str, Any]]:
    """The beds of this machine."""
    beds = registry.list_beds()
    return [bed for bed in beds if not name or bed["name"] == name]
