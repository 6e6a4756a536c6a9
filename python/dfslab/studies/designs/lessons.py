"""Types for the results of a designed sweep's analysis, as stored and printed.

The module `learning` computes these results.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, JsonValue

from dfslab.documents.table import Column, Table, TableCell, Value, estimate, heads, words
from dfslab.result import Metric
from dfslab.studies.compare import score_table
from dfslab.studies.contract import FinishedRun, StudyResult
from dfslab.studies.crossval import LearningCurvePoint, Validation

# Largest slope that counts as no effect: log2(1.1). If the interval of a slope is within
# ±NO_EFFECT, the factor changes the rate by less than a tenth over its whole range.
NO_EFFECT = 0.1375


EQUIVALENCE = (
    "No effect: two one-sided tests at 5 % show that the factor's whole range changes the rate by "
    "less than a tenth. Inconclusive: the interval includes both no effect and a relevant one."
)


def direction(slope: Metric, doublings: float = 1.0) -> str:
    """What the 90 % interval of a slope shows: "+", "-", "no effect" or "inconclusive".

    The interval is first multiplied by `doublings`, the range of the factor in doublings. The
    result is "no effect" if the interval is within the margin NO_EFFECT on both sides of 0, even if
    it does not contain 0: these are two one-sided tests at 5 % (TOST, Schuirmann 1987). Otherwise,
    the result is "+" if the interval is above 0, "-" if it is below 0, and "inconclusive" if it
    contains 0.
    """
    assert slope.low is not None
    assert slope.high is not None
    if max(-slope.low, slope.high) * doublings < NO_EFFECT:
        return "no effect"
    return "+" if slope.low > 0 else "-" if slope.high < 0 else "inconclusive"


class Slope(BaseModel):
    """The effect of a factor on the rate of an operation. The slope is the change of log2(rate) if
    the value of the factor doubles. For a factor with named levels, it is the change if the factor
    is set to a level.

    The slope and its 90 % interval come from a log-linear regression over the operation's runs.
    `doublings`: range of the factor over these runs, in doublings; 1 for a named level.
    """

    operation: str
    factor: str
    slope: Metric
    doublings: float = 1.0

    @property
    def direction(self) -> str:
        """Returns what the interval of the slope shows about the factor's effect: "+", "-", "no
        effect" or "inconclusive"."""
        return direction(self.slope, self.doublings)


class FactorImportance(BaseModel):
    """The importance of one factor by several measures, each with a 90 % interval, and a verdict in
    words. `first_order`, `total`: variance-based indices, computed with the grey-box model.
    `share`: the first-order index divided by the sum of the first-order indices of all factors.
    `measures`: the importance from the measured data alone, by the name of the measure."""

    factor: str
    first_order: Metric
    total: Metric
    share: Metric
    measures: dict[str, Metric] = {}
    verdict: str = ""


class Regime(BaseModel):
    """The importance of all factors within a subset of the configurations, such as those with
    cache = direct."""

    name: str
    rows: int
    importance: list[FactorImportance]


class Proposal(BaseModel):
    """A run proposed as the next experiment, with its cost in seconds.

    `sd_before` and `sd_after`: standard deviation of the log rate at the configurations of
    interest, without and with the proposed run.
    """

    labels: dict[str, Value]
    seconds: float
    sd_before: float
    sd_after: float


class PaperCoefficient(BaseModel):
    """A coefficient of the regression, as a row of Kumar 2018's Table 5.

    `effect`: change in MB/s over the whole range of the factor.
    """

    name: str
    value: float
    standard_error: float
    effect: float


class PaperTable(BaseModel):
    """Multiple linear regression of one operation's throughput in MB/s (Kumar 2018, Tables 5 and
    6).

    `validation` is R² on a random held-out quarter of the rows, as in the paper. Repetitions of a
    configuration are never divided between fit and validation. `negative_share`: the fraction of
    the rows for which the regression predicts a negative throughput.
    """

    operation: str
    rows: int
    constant: float
    coefficients: list[PaperCoefficient]
    adjusted_r_squared: float
    validation: float
    negative_share: float


class Noise(BaseModel):
    """Differences between repetitions of the same configuration. These differences are a lower
    bound on the error of any model.

    `median_abs_error`, `p90_abs_error`: the error if the result of one run is used as the
    prediction of another run of the same configuration.
    """

    configurations: int
    median_abs_error: float
    p90_abs_error: float


class Learning(StudyResult):
    """All results of the analysis of a sweep over declared factors.

    `first_order_sum`: sum of the first-order indices of the independent blocks of factors, at most
    1 apart from estimation errors. `importance_refused`: why the importance of factors is withheld;
    "" if it is not withheld. `legal`: number of legal configurations. `box`: number of
    configurations of the full factorial design. `measured_s`, `predicted_s`: seconds that the
    measurements took, and the seconds predicted for them. `impossible`: for each method, the
    fraction of physically impossible predictions.
    """

    study = "learning"

    runs: int
    configurations: int
    testbeds: int
    legal: int
    box: int
    measured_s: float
    predicted_s: float
    regressions: list[PaperTable]
    slopes: list[Slope]
    importance: list[FactorImportance]
    regimes: list[Regime]
    blocks: dict[str, tuple[Metric, Metric]]
    first_order_sum: Metric | None = None
    importance_refused: str = ""
    validation: Validation
    curve: list[LearningCurvePoint]
    impossible: dict[str, float]
    noise: Noise | None = None
    proposals: list[Proposal]

    def tables(self, run: FinishedRun) -> list[Table]:
        """Returns tables of the errors of models, of the importance of factors, of the slopes, and
        of the proposed next runs."""
        return [
            *(
                score_table(f"Errors on what was left out: {what}", scores)
                for what, scores in self.validation.scores.items()
            ),
            self._ranked(),
            self._slopes(),
            proposals_table(self.proposals),
        ]

    def _ranked(self) -> Table:
        columns = heads("factor", "first order", "total", "verdict", left=["verdict"])
        rows = [
            (words(one.factor), _bounds(one.first_order), _bounds(one.total), words(one.verdict))
            for one in sorted(self.importance, key=lambda one: -one.total.value)
        ]
        title = "Importance over the legal set (grey-box model, log rate)"
        return Table(title, columns, rows, notes=self.importance_notes())

    def importance_notes(self) -> list[str]:
        """The sum of the first-order indices and the share that remains for interactions, or why
        importance is withheld."""
        if self.importance_refused:
            return [f"No importance: {self.importance_refused}."]
        total = self.first_order_sum
        if total is None:
            return []
        return [
            f"First-order indices of independent factors and blocks sum to {total.value:.2f} "
            f"({total.low:.2f} to {total.high:.2f}); interactions between them decide the rest, "
            f"{max(0.0, 1 - total.value):.2f}.",
            *(
                f"The legal set ties {name} to each other, so the first order of each holds "
                f"effects of the others; together they have first order {first.value:.2f} and "
                f"total {whole.value:.2f}."
                for name, (first, whole) in self.blocks.items()
                if ", " in name
            ),
        ]

    def _slopes(self) -> Table:
        columns = heads("operation", "factor", "slope", "shows", left=["factor", "shows"])
        rows = [
            (words(one.operation), words(one.factor), _bounds(one.slope), words(one.direction))
            for one in self.slopes
        ]
        title = "Slope of log2 rate for a doubling of each factor"
        return Table(title, columns, rows, notes=[self.counted_directions(), EQUIVALENCE])

    def counted_directions(self) -> str:
        """One sentence with the number of slopes in each direction."""
        shown = [one.direction for one in self.slopes]
        counts = [f"{shown.count(name)} {name}" for name in ("+", "-", "no effect", "inconclusive")]
        return f"{len(shown)} slopes: {', '.join(counts)}."

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Returns the result as a JSON document, without the rows of the validation."""
        return {"learning": self.model_dump(mode="json", exclude={"validation": {"rows"}})}


def _bounds(metric: Metric) -> TableCell:
    return estimate(metric.value, metric.low, metric.high, ".2f")


def proposals_table(proposals: Sequence[Proposal]) -> Table:
    """Returns a table of the proposed runs. Each row has the values to set, the cost in seconds,
    and the standard deviation of the log rate before and after the run."""
    columns = [
        *heads("run"),
        Column("seconds", unit="s"),
        *(Column(title) for title in ("sd of log rate before", "after")),
    ]
    rows = [
        (
            words(", ".join(f"{key} {value}" for key, value in one.labels.items())),
            TableCell(one.seconds, f"{one.seconds:.0f}"),
            TableCell(one.sd_before, f"{one.sd_before:.3f}"),
            TableCell(one.sd_after, f"{one.sd_after:.3f}"),
        )
        for one in proposals
    ]
    return Table("The next runs, by the uncertainty that each hour removes", columns, rows)
