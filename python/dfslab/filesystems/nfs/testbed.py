"""Starts a testbed of NFS: the Ganesha server exports one host's disk; clients use NFSv3 without a
mount.
"""

from __future__ import annotations

from pathlib import Path

from dfslab.spec.deployment import Deployment
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.testbeds.hosted import HostedTestbed
from dfslab.testbeds.hosts.host import Host

EXPORT = "/export"
# The server's configuration. The configuration turns off the lock and quota services, because no
# workload uses them. A restarted server needs no grace period, because no client holds locks to
# reclaim.
CONFIGURATION = """\
NFS_CORE_PARAM {{
    Protocols = 3; mount_path_pseudo = true;
    Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false;
}}
NFSv4 {{ Graceless = true; RecoveryRoot = "{recovery}"; }}
EXPORT {{
    Export_Id = 1; Path = "{directory}"; Pseudo = "{export}";
    Protocols = 3; Transports = TCP; SecType = sys;
    Access_Type = RW; Squash = No_Root_Squash;
    FSAL {{ Name = VFS; }}
}}
"""


class Testbed(HostedTestbed):
    """A running NFS server; `with Testbed.up({...}) as testbed:` stops it at the end."""

    SYSTEM = "nfs"
    PROGRAMS = {
        "ganesha.nfsd": "nfs-ganesha nfs-ganesha-vfs",
        "rpcbind": "rpcbind",
        "rpcinfo": "rpcbind",
        "nfs-ls": "libnfs-utils",
    }
    NOT_SET = frozenset({"request_size", "server_write_through"})

    @classmethod
    def check(cls, parameters: dict[str, LevelValue], deployment: Deployment) -> None:
        """Checks that the deployment has exactly one server and that the description of NFS permits
        these parameters. Raises InputError otherwise."""
        servers = deployment.instances("server")
        if servers != 1:
            raise InputError("deployment.node", servers, "must be 1 instance of server")
        super().check(parameters, deployment)

    def start(self) -> None:
        """Starts the port mapper, then the server. Waits until every client host can list the
        export.
        """
        host = self.server
        # The port mapper needs /run/rpcbind, in which it keeps its state across a restart.
        host.run("mkdir", "-p", "/run/rpcbind", str(self.directory))
        words = ["rpcbind", "-f", "-w"]
        mapper = self.run_in(host, "rpcbind", words, lambda: host.tries("rpcinfo", "-p"), 0)
        mapper.wait_ready()
        self.run_in(host, "ganesha", self._ganesha(host.folder), self._answers, 1).wait_ready()
        version = host.run("ganesha.nfsd", "-v").split("=")[-1].strip().removeprefix("V")
        self._change_record(uri=self.url, versions={"nfs-ganesha": version})

    @property
    def server(self) -> Host:
        """Returns the host of the server."""
        return self.hosts.of("server")[0]

    @property
    def directory(self) -> Path:
        """Returns the exported directory, as a path on the server."""
        return self.server.disk / EXPORT.strip("/")

    @property
    def url(self) -> str:
        """Returns the URL of the export for clients."""
        return f"nfs://{self.server.address}{EXPORT}"

    @property
    def endpoint(self) -> Endpoint:
        """Returns the address of the server and its export, as clients use them."""
        return Endpoint(server=self.server.address, export=EXPORT)

    def _ganesha(self, folder: Path) -> list[str]:
        """Writes the server's configuration file to `folder` and returns the server's command
        line.
        """
        recovery, path = folder / "recovery", folder / "ganesha.conf"
        recovery.mkdir()
        path.write_text(
            CONFIGURATION.format(recovery=recovery, directory=self.directory, export=EXPORT)
        )
        return [
            "ganesha.nfsd",
            "-F",
            "-f",
            str(path),
            "-L",
            "STDOUT",
            "-p",
            str(folder / "ganesha.pid"),
        ]

    def _answers(self) -> bool:
        """Returns whether all clients can list the export. A server may listen before it exports
        the folder."""
        listing = ("nfs-ls", f"{self.url}?version=3")
        return all(host.tries(*listing, limit_s=5.0) for host in self.clients)
