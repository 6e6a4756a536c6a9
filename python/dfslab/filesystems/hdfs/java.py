"""Locates the jars and the configuration files of Hadoop's own client for the load generator.

With a testbed, the configuration files are those of the testbed. Without a testbed, they are those
in the folder HADOOP_CONF_DIR; there are none if this environment variable is not set.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from dfslab.notify import Notify, silent
from dfslab.spec.systems.endpoint import JavaConfiguration
from dfslab.testbeds.cache import maven_jars

POM = Path(__file__).with_name("pom.xml")
VERSION = "3.4.3"
# Folder with a log4j.properties that takes precedence over others, to keep Hadoop's log out of the
# terminal.
QUIET = Path(__file__).with_name("client")
FILES = ("core-site.xml", "hdfs-site.xml")


class Client(NamedTuple):
    """Hadoop's client: its class path, and its configuration files."""

    class_path: str
    configuration: list[str]


def client(testbed: JavaConfiguration | None = None, notify: Notify = silent) -> Client:
    """Returns Hadoop's client for a testbed, or for an existing cluster if `testbed` is None.
    Missing jars are downloaded, which is reported to `notify`. Raises TestbedError when the
    download fails."""
    version = testbed.version if testbed is not None else VERSION
    jars = maven_jars(f"hadoop-{version}", POM, {"hadoop.version": version}, notify)
    folder = testbed.folder if testbed is not None else os.environ.get("HADOOP_CONF_DIR", "")
    found = [Path(folder).absolute() / name for name in FILES] if folder else []
    return Client(f"{QUIET}:{jars}/*", [str(path) for path in found if path.is_file()])


if __name__ == "__main__":
    print(client().class_path.rpartition(":")[2].removesuffix("/*"))
