"""Results as rows, as a pandas table and as an Arrow table, and the predictions of a scenario."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, overload

from dfslab.documents.table import Table, Value
from dfslab.report.answers.predicted_answer import of_predictions
from dfslab.report.answers.rates import rate_table, title_of
from dfslab.result import Result

if TYPE_CHECKING:
    import pandas
    import pyarrow


class ResultRows(ABC):
    """Results that can be read as rows and as tables of other libraries."""

    @property
    @abstractmethod
    def results(self) -> Sequence[Result]:
        """The results, in the order in which the scenario lists its configurations."""

    @property
    @abstractmethod
    def answer(self) -> list[str]:
        """What the results say, in one to three sentences."""

    def __str__(self) -> str:
        return "\n".join(self.answer)

    def _repr_html_(self) -> str:
        """Returns the answer as HTML, one paragraph for each sentence, which a notebook
        displays."""
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in self.answer)

    def rows(self) -> list[dict[str, Value]]:
        """Returns one row for each result. A row has:
        - the method and the repetition
        - whether the result is complete
        - the values of the scenario keys that the run varies
        - the metrics in SI units, by keys such as `latency_s_p99.read`
        """
        return [
            {
                "method": one.method,
                "repetition": one.repetition,
                "complete": one.complete,
                **one.labels,
                **{key: metric.value for key, metric in one.metrics.items()},
            }
            for one in self.results
        ]

    def frame(self) -> pandas.DataFrame:
        """The rows as a pandas table. Needs the extra `fit`, which installs pandas."""
        import pandas

        return pandas.DataFrame(self.rows())

    def arrow(self) -> pyarrow.Table:
        """Returns the rows as an Arrow table. The table has one column for each name that occurs in
        a row. A value that a row does not have is null. Needs the extra `tables`, which installs
        pyarrow."""
        rows = self.rows()
        names = dict.fromkeys(name for row in rows for name in row)
        complete = [{name: row.get(name) for name in names} for row in rows]
        import pyarrow

        return pyarrow.Table.from_pylist(complete)


@dataclass(frozen=True, repr=False)
class PredictedScenario(ResultRows, Sequence[Result]):
    """The predictions of one method for every configuration of a scenario: a sequence of results.
    `str(predictions)` gives the highest rates and what limits them."""

    predicted: tuple[Result, ...]

    @property
    def results(self) -> Sequence[Result]:
        """One result for each configuration."""
        return self.predicted

    @property
    def answer(self) -> list[str]:
        """The highest predicted rates and what limits them, in sentences. The list is empty if the
        method is a baseline."""
        found = of_predictions(self.predicted)
        return [] if found is None else found.sentences

    def table(self) -> Table:
        """Returns one row for each configuration: rate, interval, throughput and limit."""
        return rate_table(self.predicted, title_of(self.predicted))

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | Sequence[Result]:
        return self.predicted[index]

    def __len__(self) -> int:
        return len(self.predicted)

    def __repr__(self) -> str:
        method = self.predicted[0].method if self.predicted else "none"
        return f"PredictedScenario({len(self)} configurations, method {method!r})"

    def _repr_html_(self) -> str:
        """Returns the table and the answer as HTML, which a notebook displays."""
        return self.table()._repr_html_() + super()._repr_html_()
