"""Hadoop's own client for the load generator: its jars and its configuration.

With a testbed the testbed's configuration is used, else the files in HADOOP_CONF_DIR, if it is set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dfslab.testbeds.cache import maven_jars

POM = Path(__file__).with_name("pom.xml")
VERSION = "3.4.3"
# This log4j.properties takes precedence over others, to keep Hadoop's log out of the terminal.
QUIET = Path(__file__).with_name("client")
FILES = ("core-site.xml", "hdfs-site.xml")


def client(access: Mapping[str, Any]) -> dict[str, Any]:
    """The target's class path and configuration files. BedError when jars are not available."""
    version = access.get("version") or VERSION
    jars = maven_jars(f"hadoop-{version}", POM, {"hadoop.version": version}, lambda text: None)
    folder = access.get("configuration") or os.environ.get("HADOOP_CONF_DIR", "")
    found = [Path(folder).absolute() / name for name in FILES] if folder else []
    return {
        "class_path": f"{QUIET}:{jars}/*",
        "configuration": [str(path) for path in found if path.is_file()],
    }


if __name__ == "__main__":
    print(client({})["class_path"].rpartition(":")[2].removesuffix("/*"))
