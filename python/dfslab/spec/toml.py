"""The types of parsed TOML: a value, and a table of values by key."""

from __future__ import annotations

from datetime import date, datetime, time

TomlValue = (
    str | int | float | bool | datetime | date | time | list["TomlValue"] | dict[str, "TomlValue"]
)
TomlTable = dict[str, TomlValue]
