"""A testbed of the invented ticket server. For simplicity, the server is a web server that
publishes a directory."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from dfslab.spec.model import CheckedModel
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.testbeds.base import BaseTestbed, Notify
from dfslab.testbeds.daemon import Daemon
from dfslab.testbeds.hosts.ports import LOOPBACK, can_listen


class Parameters(CheckedModel):
    """The number of instances of each role on the testbed's only machine."""

    clients: int = 1
    keepers: int = 1
    shelfs: int = 1


class Testbed(BaseTestbed):
    """A testbed of one server. Clients use the server's directory directly."""

    SYSTEM = "shelf"

    @classmethod
    def parse(cls, parameters: Mapping[str, Any]) -> Parameters:
        return Parameters(**parameters)

    @classmethod
    def prepare(cls, parameters: Parameters, notify: Notify) -> None:
        """Does nothing, because the server needs only Python."""

    @classmethod
    def port_count(cls, parameters: Parameters) -> int:
        return 1

    def start(self) -> None:
        served, (port,) = self.folder / "shelf", self.ports
        served.mkdir()
        server = Daemon(
            "keeper",
            [sys.executable, "-m", "http.server", str(port), "--bind", LOOPBACK],
            self.folder / "keeper.log",
            lambda: not can_listen(port),
            self.environment(),
            served,
            owned=not self.outlive,
        )
        self.launch(server, 0)
        server.wait_ready()
        self._change_record(uri=f"http://{LOOPBACK}:{port}")

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(directory=str(self.folder / "shelf"))
