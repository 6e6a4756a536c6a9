"""A testbed of two small Python servers, which starts at once. Tests use this testbed instead of a
real file system when they start, list and take down testbeds."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dfslab.spec.model import CheckedModel
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.daemon import Daemon
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.ports import LOOPBACK, can_listen
from dfslab.testbeds.state import TestbedFolder

SERVER = """
import http.server, sys
print("listening on", sys.argv[1], flush=True)
handler = http.server.SimpleHTTPRequestHandler
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()
"""


class Parameters(CheckedModel):
    """Parameters of the tiny testbed. If `fail` is true, the start of the testbed fails. If
    `elsewhere` is not empty, it is the path of a folder outside the testbed's folder. The start
    then creates a subfolder in that folder."""

    fail: bool = False
    elsewhere: str = ""


class Testbed(BaseTestbed):
    """A testbed of two small servers. When the testbed is taken down, the second server is stopped
    first. Public methods give tests access to the testbed's resources."""

    SYSTEM = "tiny"

    @classmethod
    def parse(cls, parameters: Mapping[str, Any]) -> Parameters:
        return Parameters(**parameters)

    @classmethod
    def prepare(cls, parameters, notify):
        notify("prepared")

    @classmethod
    def port_count(cls, parameters):
        return 2

    def start(self):
        if self.parameters.elsewhere:
            self.make_folder(Path(self.parameters.elsewhere) / self.folder.name)
        for stage, port in enumerate(self.ports):
            self.launch(self.server(f"server-{stage}", port), stage)
        for daemon in self.daemons.values():
            daemon.wait_ready()
        self.record(uri=f"http://{LOOPBACK}:{self.ports[0]}")
        if self.parameters.fail:
            raise TestbedError("not_ready", "starting tiny", "has to fail here")

    @property
    def endpoint(self):
        return Endpoint(uri=f"http://{LOOPBACK}:{self.ports[0]}")

    def server(self, name: str, port: int) -> Daemon:
        """Returns the object that stands for one server of the testbed. The server is neither
        started nor recorded."""
        return Daemon(
            name,
            [sys.executable, "-c", SERVER, str(port)],
            self.folder / f"{name}.log",
            lambda: not can_listen(port),
            self.environment(),
            self.folder,
            owned=not self.outlive,
        )

    @property
    def held(self) -> TestbedFolder:
        """Returns the testbed's folder. The record in this folder lists the resources that the
        take-down has to remove."""
        return self._folder

    def record(self, **changes: Any) -> None:
        """Updates fields of the testbed's record."""
        self._change_record(**changes)

    def memory(self) -> Path:
        """Returns the testbed's in-memory folder, and creates the folder if it is missing."""
        return self._memory_folder()
