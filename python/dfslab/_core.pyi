"""The types of the compiled core.

Documents cross its border as JSON strings, operations and spans as tables.
"""

from collections.abc import Callable, Sequence
from typing import final

from typing_extensions import CapsuleType

# This alias is needed because a class below has a column named `bytes`.
TraceId = bytes

class InputError(Exception): ...
class RunError(Exception): ...

class Table:
    """An immutable table. Each column is an attribute.

    A column of integers is a view of the table's memory, in which a null is 0. Other columns are
    lists, in which a null is None. Libraries that know the Arrow PyCapsule interface (pyarrow,
    DuckDB, pandas) take the whole table without copying it.
    """

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_array__(
        self, requested_schema: CapsuleType | None = None
    ) -> tuple[CapsuleType, CapsuleType]: ...
    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType: ...

@final
class OperationTable(Table):
    """Operations of a stream.

    `number`: position of the operation within its client; `owner`: client that owns the file.
    """

    client: memoryview[int]
    number: memoryview[int]
    operation: list[str]
    file: memoryview[int]
    size_bytes: memoryview[int]
    transfer_size_bytes: memoryview[int]
    offset_bytes: memoryview[int]
    owner: memoryview[int]
    phase: memoryview[int]

@final
class SpanTable(Table):
    """Spans of a workload run or of traces. Times are Unix times; `parent_id` is null for a root.

    `trace_id` has 16 bytes. It is null for a workload run, in which `thread` is the number of the
    client. `service` and `host` are null if the trace does not contain them.
    """

    trace_id: list[TraceId | None]
    span_id: memoryview[int]
    parent_id: memoryview[int]
    name: list[str]
    start_unix_ns: memoryview[int]
    end_unix_ns: memoryview[int]
    service: list[str | None]
    host: list[str | None]
    thread: memoryview[int]
    bytes: memoryview[int]
    error: list[bool]
    wait: list[bool]

    def __init__(
        self,
        name: Sequence[str],
        start_unix_ns: Sequence[int],
        end_unix_ns: Sequence[int],
        span_id: Sequence[int],
        parent_id: Sequence[int],
        thread: Sequence[int],
        bytes: Sequence[int],
    ) -> None:
        """Makes a table from the spans of a workload run.

        Raises ValueError if the columns differ in length.
        """

    def write(self, rows: Sequence[int], path: str) -> None:
        """Writes the spans of the given rows to an OTLP file (protobuf), atomically.

        Raises InputError and RunError as `trace_write` does, and IndexError for a row that does not
        exist.
        """

def capabilities(target: str) -> str: ...
def stream_bytes(spec: str, client: int) -> bytes: ...
def stream_operations(spec: str, client: int, limit: int | None = None) -> OperationTable: ...
def prepared_bytes(spec: str) -> int: ...
def run_load(
    plan: str,
    progress: Callable[[float, str], object] | None = None,
    barrier: Callable[[], float] | None = None,
    watch: Callable[[int, int, int, int, list[tuple[int, int]]], object] | None = None,
) -> tuple[str, SpanTable, bytes]: ...
def merge_reports(reports: list[str]) -> str: ...
def trace_write(spans: SpanTable, service: str, path: str, format: str) -> None: ...
def trace_profile(paths: list[str], options_json: str) -> str: ...
def trace_report(merged_json: str) -> str: ...
def trace_part(paths: list[str], options_json: str) -> list[int] | bytes: ...
def trace_sharing(parts: list[bytes]) -> list[list[int]]: ...
def merge_trace_shards(parts: list[bytes], options_json: str) -> str: ...
def trace_folded(paths: list[str], options_json: str = "{}") -> str: ...
def trace_otlp(paths: list[str], spans_max: int, options_json: str) -> tuple[str, int]: ...
def trace_spans(paths: list[str], spans_max: int, options_json: str) -> tuple[SpanTable, int]: ...
def trace_pprof(paths: list[str], options_json: str = "{}") -> bytes: ...

class TraceStream:
    def __init__(self) -> None: ...
    def push(self, name: str, message: bytes) -> None: ...
    def waiting(self) -> int: ...
    def snapshot(self, options_json: str) -> str: ...
    def finish(self, options_json: str) -> str: ...

def net_check(net_json: str) -> str: ...
def net_run(net_json: str, options_json: str = "{}") -> str: ...
def delay_line(lines: str, ready: Callable[[], object]) -> str: ...
def net_state_space(net_json: str, markings_max: int = 100_000) -> str: ...

class NetGame:
    def __init__(self, net_json: str, seed: int = 0) -> None: ...
    def state(self) -> str: ...
    def fire(self, choice: int) -> None: ...
