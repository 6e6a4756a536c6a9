"""Tables for the terminal: what a run says, in one screen."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from dfslab.documents import metrics as metric
from dfslab.spec import units

if TYPE_CHECKING:
    # What is only named here; whoever has one has loaded it.
    from dfslab.result import Metric, Result
    from dfslab.studies.advice import Advice
    from dfslab.studies.bottlenecks import Bottlenecks
    from dfslab.studies.compare import Comparison, Row, Score
    from dfslab.studies.design import Plan

WIDE = 180
# Configurations beside each other, and steps of each, in the tables of traced programs.
ACROSS, MOST_GAINS = 7, 3


def labels_text(labels: dict[str, Any]) -> str:
    """The varied keys of a configuration, short."""
    return " ".join(
        str(value) if isinstance(value, str) else f"{key.rsplit('.', 1)[-1]}={value}"
        for key, value in labels.items()
    )


def comparison_table(comparison: Comparison, methods: Sequence[str]) -> Table:
    """Measured and predicted rates with 90 % intervals; signed errors; held-out points marked."""
    table = Table(
        title="Operations per second, measured and predicted (90 % interval, error)",
        caption="* held out: never fitted on",
    )
    table.add_column("configuration")
    for name in ("measured", *methods):
        table.add_column(name, justify="right")
    for row in comparison.rows:
        mark = " *" if row.held_out else ""
        cells = [_measured(row), *(_predicted(row, method) for method in methods)]
        table.add_row(labels_text(row.labels) + mark, *cells)
    return table


def _measured(row: Row) -> str:
    return _number(row.measured.value) if row.measured else "-"


def _predicted(row: Row, method: str) -> str:
    metric = row.predictions.get(method)
    if metric is None:
        return "-"
    error = row.errors.get(method)
    shown = "" if error is None else f"\n{error:+.0%}"
    return f"{interval(metric)}{shown}"


def interval(metric: Metric | None) -> str:
    """value (low to high); a dash where a method says nothing."""
    if metric is None:
        return "-"
    if metric.low is None or metric.high is None:
        return _number(metric.value)
    return f"{_number(metric.value)} ({_number(metric.low)}–{_number(metric.high)})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def score_table(title: str, scores: dict[str, Score]) -> Table:
    """Errors of every method."""
    table = Table(title=title)
    for name in (
        "method",
        "points",
        "median |error|",
        "90 % |error|",
        "signed median",
        "90 % coverage",
    ):
        table.add_column(name, justify="left" if name == "method" else "right")
    for method, score in scores.items():
        table.add_row(
            method,
            str(score.n),
            f"{score.median_abs_error:.1%}",
            f"{score.p90_abs_error:.1%}",
            f"{score.median_signed_error:+.1%}",
            f"{score.coverage_90:.0%}",
        )
    return table


def result_table(results: Iterable[Result]) -> Table:
    """One row a result: rate, throughput, latency, what binds."""
    table = Table(title="Predictions and measurements")
    for name in ("method", "configuration", "per second", "throughput", "mean latency", "limit"):
        table.add_column(name)
    for result in results:
        throughput = result.metrics.get("throughput_bytes_per_s")
        table.add_row(
            result.method,
            labels_text(dict(result.labels)) + ("" if result.complete else " (incomplete)"),
            interval(result.metrics.get("rate_per_s")),
            units.text(throughput.value, "B/s") if throughput else "-",
            ", ".join(_mean_latencies(result)),
            result.binding,
        )
    return table


def _mean_latencies(result: Result) -> list[str]:
    """Of each operation, named where there are several; where it was due at a time, since then."""
    names = metric.operations_with(result.metrics, metric.LATENCY)
    found = []
    for name in names:
        shown = units.text(result.value(metric.key(metric.LATENCY, metric.MEAN, name)), "s")
        if since_due := result.metrics.get(metric.key(metric.RESPONSE, metric.MEAN, name)):
            shown += f" ({units.text(since_due.value, 's')} since due)"
        found.append(f"{name} {shown}" if len(names) > 1 else shown)
    return found


def plain_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first column is words."""
    table = Table(title=title)
    for place, name in enumerate(head):
        table.add_column(name, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    return table


def bottleneck_tables(rows: Sequence[Bottlenecks]) -> list[Table]:
    """Of traced programs: mean seconds of functions, then what would gain most."""
    tables = []
    for start in range(0, len(rows), ACROSS):
        some = rows[start : start + ACROSS]
        drawn = Table(title="Mean seconds of a call (calls)")
        drawn.add_column("function")
        for row in some:
            drawn.add_column(labels_text(row.labels), justify="right")
        for each in zip(*(row.functions for row in some), strict=True):
            cells = ["-" if f.mean_s is None else f"{f.mean_s:.4f} ({f.count:,})" for f in each]
            drawn.add_row(each[0].name, *cells)
        drawn.add_row("all calls of clients", *(f"{row.calls_s:.2f}" for row in some))
        drawn.add_row("the whole program", *(f"{row.took_s:.2f}" for row in some))
        tables.append(drawn)
    gains = Table(title="Time of the clients' calls saved if a step were twice as fast")
    for name in ("configuration", "step", "saving", "interval", "verdict", "first by sum"):
        gains.add_column(name, justify="right" if name in ("saving", "interval") else "left")
    for row in rows:
        for place, one in enumerate(row.steps[:MOST_GAINS]):
            gains.add_row(
                "" if place else labels_text(row.labels),
                one.name,
                f"{one.saving:.1%}",
                f"{one.low:.1%} – {one.high:.1%}",
                one.verdict,
                "" if place else row.by_sum,
            )
    return [*tables, gains]


def search_tables(found: dict[str, Any]) -> list[Any]:
    """The throughput-latency curve, and what it says."""
    table = Table(title=f"Rates offered, {found['objective']} (90 % interval)")
    for name in ("offered", "done", "mean response", "objective's", "verdict", "runs"):
        table.add_column(name, justify="left" if name == "verdict" else "right")
    for row in found["curve"]:
        shown = [
            units.text(row[key], "s", 3)
            for key in ("value_s", "value_s_low", "value_s_high")
            if row[key] is not None
        ]
        value = f"{shown[0]} ({'–'.join(shown[1:])})" if len(shown) > 1 else shown[0]
        verdict = "fails: cannot keep up" if row["saturated"] else row["verdict"]
        table.add_row(
            f"{row['offered_per_s']:.4g}/s",
            f"{row['rate_per_s']:.4g}/s",
            units.text(row["response_s_mean"], "s", 3),
            value,
            verdict,
            str(row["runs"]),
        )
    meets, fails, knee = found["meets_per_s"], found["fails_per_s"], found["knee"]
    lines = [
        f"keeps to it: {meets:.4g} a second" if meets else "no rate that was tried keeps to it",
        f"does not any more: {fails:.4g} a second" if fails else "no rate that was tried breaks it",
    ]
    if knee:
        lines.append(
            f"knee (rate over response time is largest): {knee['rate_per_s']:.4g} "
            f"({knee['low']:.4g} to {knee['high']:.4g}) a second"
        )
    return [table, *lines]


def visibility_table(rows: Sequence[dict[str, Any]]) -> Table:
    """From acknowledged at one client to seen by another."""
    caption = "stale looks: begun after the acknowledgement, and still the old state"
    table = Table(title="From acknowledged at one client to visible at another", caption=caption)
    for name in (
        "change",
        "median (90 % interval)",
        "90 %",
        "longest",
        "stale looks",
        "in trials",
        "torn",
        "never",
    ):
        table.add_column(name, justify="left" if name == "change" else "right")
    for row in rows:
        shown = ["-"] * 3
        if "visible_s_p50" in row:
            keys = ("p50_low", "p50_high", "p50", "p90", "max")
            low, high, *times = (units.text(row[f"visible_s_{key}"], "s", 3) for key in keys)
            shown = [f"{times[0]} ({low}–{high})", *times[1:]]
        counts = f"{row['stale_trials']} of {row['trials']}"
        table.add_row(
            row["change"],
            *shown,
            str(row["stale_looks"]),
            counts,
            str(row["torn_looks"]),
            str(row["unseen"]),
        )
    return table


def advice_table(advice: Sequence[Advice]) -> Table:
    """What to change, and what that would gain."""
    table = Table(title="What limits, what to change, what it would gain (90 % interval)")
    for name in ("configuration", "limit", "change", "gain"):
        table.add_column(name)
    for one in advice:
        gain = f"x {one.gain:.2f} ({one.low:.2f}–{one.high:.2f})"
        table.add_row(labels_text(dict(one.labels)), one.limit, one.change, gain)
    return table


def console(json_wanted: bool) -> Console:
    """Where people's output goes: to stderr when stdout carries JSON."""
    stream = sys.stderr if json_wanted else sys.stdout
    # A pipe has no width of its own; tables are then as wide as they need.
    return Console(stderr=json_wanted, highlight=False, width=None if stream.isatty() else WIDE)


def checks_table(checks: Sequence[dict[str, Any]]) -> Table:
    """A bed's hardware: declared beside measured."""
    table = Table(title="Hardware, declared and measured")
    for name in ("host", "quantity"):
        table.add_column(name)
    for name in ("declared", "measured", "difference"):
        table.add_column(name, justify="right")
    for check in checks:
        unit = "s" if check["quantity"] == "round trip" else "B/s"
        declared, measured = check["declared"], check["measured"]
        shown = [
            units.text(value, unit) if value is not None else "-" for value in (declared, measured)
        ]
        error = f"{measured / declared - 1:+.1%}" if declared else "-"
        table.add_row(check["host"], check["quantity"], *shown, error)
    return table


def features_table(features: Sequence[dict[str, Any]]) -> Table:
    """What this machine can do for beds."""
    table = Table(title="Features that beds use")
    for name in ("feature", "here", "without it"):
        table.add_column(name)
    for feature in features:
        lack = "" if feature["present"] else f"disables {feature['disables']}"
        table.add_row(feature["name"], "yes" if feature["present"] else "no", lack)
    return table


def plan_document(plan: Plan) -> dict[str, Any]:
    """A design as plain data: the legal set, the runs by bed, the bill in seconds."""
    from dfslab.studies.design import labels

    bill = plan.bill
    return {
        "kind": plan.scenario.design.kind,
        "legal": plan.legal.size,
        "box": plan.legal.box,
        "factors": [factor.name for factor in plan.legal.factors],
        "beds": [[labels(plan.legal, row) for row in bed] for bed in plan.beds],
        "bill": {
            "beds": bill.beds,
            "runs": bill.runs,
            "bed_s": float(bill.bed_s),
            "run_s": float(bill.run_s),
            "longest_run_s": float(bill.longest_run_s),
            "total_s": float(bill.total_s),
        },
    }


def plan_tables(document: dict[str, Any]) -> list[Any]:
    """The same for people: how much is legal, what the beds are, what it all costs."""
    table = Table(
        title=f"{document['kind']} design over {len(document['factors'])} factors",
        caption="what all runs of a bed have in common",
    )
    for name in ("bed", "runs", "deployment and layout"):
        table.add_column(name)
    for number, rows in enumerate(document["beds"], 1):
        same = {k: v for k, v in rows[0].items() if all(row[k] == v for row in rows)}
        shown = ", ".join(f"{key} {value}" for key, value in same.items())
        table.add_row(str(number), str(len(rows)), shown)
    bill = document["bill"]
    return [
        table,
        f"{document['legal']:,} of {document['box']:,} combinations are legal",
        f"{bill['runs']} runs on {bill['beds']} beds: about {bill['total_s'] / 60:.0f} min, of "
        f"which {bill['bed_s'] / 60:.0f} min start beds; the longest run takes about "
        f"{bill['longest_run_s']:.0f} s",
    ]


def learning_tables(learning: Any) -> list[Any]:
    """What a designed sweep teaches, in short: validation, importance, signs, the next runs."""
    tables: list[Any] = [
        score_table(f"Errors on what was left out: {what}", scores)
        for what, scores in learning.validation.scores.items()
    ]
    ranked = Table(title="Importance over the legal set (grey-box model, log rate)")
    for name in ("factor", "first order", "total", "verdict"):
        ranked.add_column(name)
    for one in sorted(learning.importance, key=lambda one: -one.total.value):
        ranked.add_row(one.factor, _bounds(one.first_order), _bounds(one.total), one.verdict)
    signs = Table(title="The paper's directions (slope of log2 rate)")
    for name in ("claim", "operation", "slope", "verdict"):
        signs.add_column(name)
    for sign in learning.signs:
        signs.add_row(sign.claim, sign.operation, _bounds(sign.slope), sign.verdict)
    return [*tables, ranked, signs, proposals_table(learning.proposals)]


def _bounds(metric: Metric) -> str:
    return f"{metric.value:.2f} ({metric.low:.2f} to {metric.high:.2f})"


def proposals_table(proposals: Sequence[Any]) -> Table:
    """The next experiments: what to set, what it costs, what it gains."""
    table = Table(title="The next runs, by what they tell for each hour")
    for name in ("run", "seconds", "sd of log rate before", "after"):
        table.add_column(name)
    for one in proposals:
        shown = ", ".join(f"{key} {value}" for key, value in one.labels.items())
        table.add_row(shown, f"{one.seconds:.0f}", f"{one.sd_before:.3f}", f"{one.sd_after:.3f}")
    return table
