"""What dfslab uses of Arrow's Parquet files."""

from pathlib import Path

from pyarrow import NativeFile, Table

def write_table(table: Table, where: Path | NativeFile) -> None: ...
