"""What dfslab uses of Arrow: tables from rows, and their schemas."""

from collections.abc import Iterable, Mapping, Sequence

class DataType:
    """The type of a column."""

class Schema:
    """Names and types of columns."""

    def empty_table(self) -> Table: ...

class Table:
    """Columns of equal length."""

    @classmethod
    def from_pylist(
        cls, mapping: Sequence[Mapping[str, object]], schema: Schema | None = None
    ) -> Table: ...

class Buffer:
    """Bytes in Arrow's memory."""

    def to_pybytes(self) -> bytes: ...

class NativeFile:
    """A file of Arrow's."""

class BufferOutputStream(NativeFile):
    """A file in memory."""

    def getvalue(self) -> Buffer: ...

def concat_tables(tables: Sequence[Table]) -> Table: ...
def schema(fields: Iterable[tuple[str, DataType]]) -> Schema: ...
def string() -> DataType: ...
def int32() -> DataType: ...
def int64() -> DataType: ...
def float64() -> DataType: ...
def bool_() -> DataType: ...
def decimal128(precision: int, scale: int = 0) -> DataType: ...
