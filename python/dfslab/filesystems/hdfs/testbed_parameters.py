"""Checks the parameters of an HDFS testbed and derives Hadoop's properties from them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AliasChoices, BeforeValidator, Field, field_validator, model_validator

from dfslab.filesystems.hdfs.daemon_location import NAMENODE_PORTS, DaemonLocation, stored
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.model import CheckedModel, build
from dfslab.spec.units import Bytes, parse
from dfslab.testbeds.hosts.ports import LOOPBACK
from dfslab.testbeds.settings import Setting

MIB = 2**20


def _either(name: str, described: str) -> AliasChoices:
    """Lets a field accept two names of a parameter: `name`, the name in this class, and
    `described`, the name in dfslab's description of HDFS."""
    return AliasChoices(described, name)


def _seconds(value: Any) -> Any:
    """Returns a time in seconds, from text with a unit or from a number of seconds."""
    return parse(value, "s") if isinstance(value, str) else value


DelayInSeconds = Annotated[float, BeforeValidator(_seconds)]


class TestbedParameters(CheckedModel):
    """Parameters of an HDFS testbed. Quantities are in SI units, or text with a unit.

    `clients` and `namenodes` are accepted only because a deployment declares them. A testbed starts
    no client and always one NameNode.

    If `trace` is on, every daemon and every client started by `java_command` writes a profile. The
    profile is written to `trace_directory` every `trace_interval_s` seconds. If `trace_directory`
    is "", the profiles are in the testbed's own folder, which is removed with the testbed.

    The call paths in profiles name a process by its role, such as "datanode". If `trace_processes`
    is on, the call paths name a process by its full name, such as "datanode-2". Senders and
    receivers of the same role can then be distinguished, but the profiles of many DataNodes have
    more paths.
    """

    datanodes: int = Field(3, ge=1, le=32)
    namenodes: int = Field(1, ge=1, le=1)
    clients: int = Field(1, ge=0)
    replication: int = Field(2, ge=1)
    block_size_bytes: Bytes = Field(
        128 * MIB, validation_alias=_either("block_size_bytes", "block_size")
    )
    packet_size_bytes: Bytes = Field(
        65536, validation_alias=_either("packet_size_bytes", "packet_size")
    )
    handler_count: int = Field(10, ge=1)
    call_queue: int = Field(100, ge=1)
    fair_lock: bool = True
    prefetch_blocks: int = Field(10, ge=1)
    close_committed_allowed: int = Field(1, ge=0)
    complete_retry_delay_s: DelayInSeconds = Field(
        0.4, ge=0, validation_alias=_either("complete_retry_delay_s", "complete_retry_delay")
    )
    # Whether a client makes the DataNodes write each block to disk when the block is complete. Only
    # clients use this value; it is not part of the daemons' configuration.
    block_sync: bool = True
    # Number of blocks that a client reads concurrently. Only 1 is allowed, because the load
    # generator, like the Java client, reads one block after the other.
    read_streams: int = Field(1, ge=1, le=1)
    heap_bytes: Bytes = 256 * MIB
    version: str = "3.4.3"
    data_directory: str = ""
    trace: bool = False
    trace_directory: str = ""
    trace_processes: bool = False
    trace_interval_s: float = Field(10.0, gt=0)
    properties: dict[str, str] = {}

    @field_validator("version")
    @classmethod
    def _version(cls, value: str) -> str:
        if not re.fullmatch(r"\d+\.\d+\.\d+", value):
            raise ValueError('must be a release like "3.4.3"')
        return value

    @field_validator("data_directory", "trace_directory")
    @classmethod
    def _directory(cls, value: str) -> str:
        if value and not (Path(value).is_dir() and os.access(value, os.W_OK | os.X_OK)):
            raise ValueError("must be an existing, writable directory")
        return value

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.replication > self.datanodes:
            allowed = f"must be at most the {self.datanodes} datanodes"
            raise InputError("testbed.replication", self.replication, allowed)
        if self.block_size_bytes % 512 or not self.block_size_bytes:
            allowed = "must be a multiple of the 512-byte checksum chunk"
            raise InputError("testbed.block_size_bytes", int(self.block_size_bytes), allowed)
        if self.heap_bytes < 64 * MIB:
            raise InputError("testbed.heap_bytes", int(self.heap_bytes), "must be at least 64 MiB")
        anywhere = DaemonLocation("namenode", None, LOOPBACK, NAMENODE_PORTS)
        decided = decided_properties(self, Path(), anywhere)
        for key in self.properties:
            if key in decided or re.fullmatch(r"dfs\.datanode\..*(address|data\.dir)", key):
                raise InputError(
                    f"testbed.{key}", self.properties[key], "is decided by the testbed"
                )
        return self

    @model_validator(mode="before")
    @classmethod
    def _described_switches(cls, table: Any) -> Any:
        """Converts the two switches from the numbers 0 and 1, which dfslab's description of HDFS
        uses, to false and true."""
        if not isinstance(table, Mapping):
            return table
        given = {key: table[key] for key in ("fair_lock", "block_sync") if key in table}
        return {**table, **{key: bool(one) for key, one in given.items() if one in (0, 1)}}


def parse_parameters(values: Mapping[str, Setting]) -> dict[str, Setting]:
    """Parses parameters from a command line. A key with a dot is a Hadoop property.

    Raises InputError for an unknown key or a wrong value.
    """
    stated = {key: value for key, value in values.items() if "." not in key}
    properties = {key: str(value) for key, value in values.items() if "." in key}
    if properties:
        given = stated.get("properties", {})
        stated["properties"] = {**(given if isinstance(given, dict) else {}), **properties}
    checked(stated)
    return stated


def checked(given: Mapping[str, Setting]) -> TestbedParameters:
    """Returns the parameters `given`, checked and converted. Raises InputError for the first wrong
    parameter."""
    known = set(TestbedParameters.model_fields) | {
        "block_size",
        "packet_size",
        "complete_retry_delay",
    }
    for key, value in given.items():
        if key not in known:
            raise InputError(
                f"testbed.{key}", value, unknown(key, sorted(TestbedParameters.model_fields))
            )
    return build(TestbedParameters, dict(given), "testbed")


def decided_properties(
    parameters: TestbedParameters, folder: Path, namenode: DaemonLocation
) -> dict[str, str]:
    """Returns Hadoop's properties that follow from the testbed's parameters. These properties are
    the same for every daemon.
    """
    block_size_bytes = int(parameters.block_size_bytes)
    return {
        "fs.defaultFS": f"hdfs://{namenode.at('rpc')}",
        "hadoop.tmp.dir": str(folder / "tmp"),
        "dfs.namenode.name.dir": stored(namenode, folder.absolute()).as_uri(),
        "dfs.namenode.http-address": namenode.at("http"),
        # The addresses of the DataNodes have no names in DNS, so the NameNode must not look the
        # names up.
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.fs-limits.min-block-size": "16",
        # No extension of safe mode is needed, because all blocks of a new testbed are known.
        "dfs.namenode.safemode.extension": "0",
        "dfs.replication": str(parameters.replication),
        "dfs.blocksize": str(block_size_bytes),
        "dfs.client-write-packet-size": str(int(parameters.packet_size_bytes)),
        "dfs.namenode.handler.count": str(parameters.handler_count),
        "ipc.server.handler.queue.size": str(parameters.call_queue),
        "dfs.namenode.fslock.fair": str(parameters.fair_lock).lower(),
        "dfs.client.read.prefetch.size": str(parameters.prefetch_blocks * block_size_bytes),
        # Largest number of unreported blocks of a file with which the file can be closed. A block
        # is unreported until a DataNode has reported it. If more blocks are unreported, the client
        # waits for its back-off time and then retries the close.
        "dfs.namenode.file.close.num-committed-allowed": str(parameters.close_committed_allowed),
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": str(
            round(parameters.complete_retry_delay_s * 1000)
        ),
    }
