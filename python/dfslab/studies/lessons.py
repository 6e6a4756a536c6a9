"""What a designed sweep teaches, as it is stored and printed; learning.py computes it."""

from __future__ import annotations

from pydantic import BaseModel

from dfslab.result import Metric
from dfslab.spec.scenario import Value
from dfslab.studies.crossval import Learnt, Validation


class Sign(BaseModel):
    """A direction that the paper found, and the slope of log rate per doubling found here."""

    claim: str
    operation: str
    slope: Metric
    expected: str
    verdict: str


class Rank(BaseModel):
    """A place that the paper gave a factor among others (Table 7), and the places found here."""

    claim: str
    regime: str
    expected: str
    place: int
    found: list[tuple[str, Metric]]
    verdict: str


class Goal(BaseModel):
    """Something that this study is to reach: what was wanted, what was seen."""

    goal: str
    wanted: str
    seen: str
    holds: bool


class Importance(BaseModel):
    """One factor: every measure with its 90 % interval; `verdict` says what the data can tell."""

    factor: str
    first_order: Metric
    total: Metric
    share: Metric
    measures: dict[str, Metric] = {}
    verdict: str = ""


class Regime(BaseModel):
    """Importance of all factors where something holds, such as cache = direct."""

    name: str
    rows: int
    importance: list[Importance]


class Proposal(BaseModel):
    """One run: what to set, its cost, and the standard deviation of log rate at the question."""

    labels: dict[str, Value]
    seconds: float
    sd_before: float
    sd_after: float


class Coefficient(BaseModel):
    """One row of the paper's Table 5; `effect` is over the factor's whole range, MB/s."""

    name: str
    value: float
    standard_error: float
    effect: float


class PaperTable(BaseModel):
    """Multiple linear regression of one operation's MB/s (Kumar 2018, Tables 5 and 6).

    `validation` is R² on a random quarter that was left out, as in the paper, replicates together.
    """

    operation: str
    rows: int
    constant: float
    coefficients: list[Coefficient]
    adjusted_r_squared: float
    validation: float
    negative_share: float


class Noise(BaseModel):
    """What repeating a run tells of it: no model can be asked to be nearer than that.

    `median_abs_error` and `p90_abs_error` are of one run as the prediction of another of the same
    configuration.
    """

    configurations: int
    median_abs_error: float
    p90_abs_error: float


class Learning(BaseModel):
    """Everything that a sweep over declared factors says."""

    runs: int
    configurations: int
    beds: int
    legal: int
    box: int
    measured_s: float
    predicted_s: float
    tables: list[PaperTable]
    signs: list[Sign]
    ranks: list[Rank]
    goals: list[Goal]
    importance: list[Importance]
    regimes: list[Regime]
    blocks: dict[str, tuple[Metric, Metric]]
    validation: Validation
    curve: list[Learnt]
    impossible: dict[str, float]
    noise: Noise | None = None
    proposals: list[Proposal]
