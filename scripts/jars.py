"""Downloads the jars of Hadoop and Alluxio before tests need them, so that no test has to wait for
the download."""

from __future__ import annotations

from dfslab.filesystems.alluxio.testbed import jars
from dfslab.filesystems.hdfs.java import client

if __name__ == "__main__":
    client(notify=print)
    jars(print)
