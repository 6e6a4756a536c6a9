"""Reads tables of hardware from CSV files. Each row is one system; the field of an unknown value is
empty.
"""

from __future__ import annotations

from dfslab.models.scaling import csv_rows
from dfslab.models.scaling.csv_rows import CsvRow
from dfslab.models.scaling.io_hardware import MEDIA, IoHardware
from dfslab.models.scaling.training import TrainingLoad, TrainingSystem

SYSTEM, CLIENTS, PROCESSES = "system", "clients", "processes"
FILE_SYSTEM, MEDIUM = "file_system", "medium"
SAMPLE, ACCELERATOR, UTILISATION = "sample_bytes", "accelerator_bytes_per_s", "utilisation"


def is_of_systems(text: str) -> bool:
    """Returns whether the first line of a table has a column for the name of a system."""
    return SYSTEM in csv_rows.columns_of(text)


def is_of_training(text: str) -> bool:
    """Returns whether the first line of a table has a column for the rate of an accelerator."""
    return ACCELERATOR in csv_rows.columns_of(text)


def systems(text: str, file: str) -> list[tuple[str, IoHardware]]:
    """Returns the name and the hardware of each row. The columns are system, file_system, clients,
    processes and, if known, link_bytes_per_s, servers, devices, medium and metadata_servers. Raises
    InputError if a column is missing or a value is wrong."""
    columns = (SYSTEM, FILE_SYSTEM, CLIENTS, PROCESSES)
    return [
        (
            row.text(SYSTEM),
            IoHardware(
                row.text(FILE_SYSTEM).lower(),
                row.whole(CLIENTS),
                row.whole(PROCESSES),
                row.known("link_bytes_per_s"),
                row.known_whole("servers"),
                row.known_whole("devices"),
                _medium(row),
                row.known_whole("metadata_servers"),
            ),
        )
        for row in csv_rows.rows(text, file, columns)
    ]


def trainings(text: str, file: str) -> list[tuple[str, TrainingSystem, TrainingLoad]]:
    """Returns the name, the hardware and the load of each row. The columns are system, clients,
    sample_bytes, accelerator_bytes_per_s, utilisation and, if known, client_bytes_per_s,
    client_cores, servers, server_bytes_per_s, drives and drive_bytes_per_s. Raises InputError if a
    column is missing or a value is wrong."""
    columns = (SYSTEM, CLIENTS, SAMPLE, ACCELERATOR, UTILISATION)
    found = []
    for row in csv_rows.rows(text, file, columns):
        utilisation = row.positive(UTILISATION)
        if utilisation > 1:
            raise row.wrong(UTILISATION, "a share of the time, at most 1")
        system = TrainingSystem(
            row.whole(CLIENTS),
            row.known("client_bytes_per_s"),
            row.known("client_cores"),
            row.known_whole("servers"),
            row.known("server_bytes_per_s"),
            row.known_whole("drives"),
            row.known("drive_bytes_per_s"),
        )
        load = TrainingLoad(row.positive(SAMPLE), row.positive(ACCELERATOR), utilisation)
        found.append((row.text(SYSTEM), system, load))
    return found


def _medium(row: CsvRow) -> str | None:
    medium = row.text(MEDIUM).lower()
    if medium and medium not in MEDIA:
        raise row.wrong(MEDIUM, f"one of {', '.join(MEDIA)}")
    return medium or None
