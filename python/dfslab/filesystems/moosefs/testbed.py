"""Starts a testbed of MooseFS: a master, chunkservers on their hosts' disks, FUSE mounts on
clients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dfslab.testbeds.capabilities import Counting
from dfslab.testbeds.hosts.host import Host
from dfslab.testbeds.mounted import CLIENT_STAGE, MountedTestbed

# Disk space that a chunkserver leaves free. MooseFS' own default is more than a small disk has.
LEAVE_SPACE = "256MiB"
# Classes of chunks with too few copies, as `mfscli -SIC` names them.
SHORT = ("missing", "endangered", "undergoal")
EXPORTS = "* / rw,alldirs,admin,maproot=0:0\n* . rw\n"
# Index of the column with a chunkserver's size in the table of mfscli.
TOTAL_SPACE = 10
EMPTY_METADATA = b"MFSM NEW"


class Testbed(MountedTestbed, Counting):
    """A running MooseFS; `with Testbed.up({...}) as testbed:` stops it at the end."""

    SYSTEM = "moosefs"
    PROGRAMS = {
        "mfsmaster": "moosefs-master",
        "mfschunkserver": "moosefs-chunkserver",
        "mfsmount": "moosefs-client",
        "mfscli": "moosefs-cli",
    }

    def start_servers(self) -> None:
        """Starts the master, then all chunkservers. Waits until the master knows every
        chunkserver.
        """
        master = self.hosts.of("master")[0]
        data = _folder(master, "master")
        (data / "metadata.mfs").write_bytes(EMPTY_METADATA)
        settings = {"EXPORTS_FILENAME": data / "exports", "TOPOLOGY_FILENAME": data / "topology"}
        (data / "exports").write_text(EXPORTS)
        (data / "topology").write_text("")
        self._launch(master, "mfsmaster", "master", data, settings, stage=0)
        servers = self.hosts.of("chunkserver")
        for number, host in enumerate(servers, 1):
            name = f"chunkserver-{number}"
            data = _folder(host, name)
            chunks = host.disk / name
            host.run("mkdir", "-p", str(chunks))
            (data / "disks").write_text(f"{chunks}\n")
            port = 9422 + 10 * (number - 1)
            self._launch(
                host,
                "mfschunkserver",
                name,
                data,
                {
                    "HDD_CONF_FILENAME": data / "disks",
                    "MASTER_HOST": master.address,
                    "BIND_HOST": host.address,
                    "CSSERV_LISTEN_PORT": port,
                    "HDD_LEAVE_SPACE_DEFAULT": LEAVE_SPACE,
                    "MASTER_RECONNECTION_DELAY": 1,
                },
                stage=1,
            )
        for daemon in self.daemons.values():
            daemon.wait_ready()
        reply = master.run("sh", "-c", "mfsmaster -v 2>&1 || true")
        self._change_record(versions={"moosefs": reply.split()[1]})

    def mount(self, host: Host, point: Path) -> None:
        """Starts a FUSE client in the foreground on `host`, which mounts MooseFS at `point`."""
        master = self.hosts.of("master")[0].address
        words = ["mfsmount", str(point), "-H", master, "-f"]
        self.run_in(host, f"mount-{host.name}", words, lambda: host.mounted(point), CLIENT_STAGE)

    def settle(self) -> None:
        """Sets the goal (number of copies) of everything below the mount."""
        goal = str(int(self.parameters["goal"]))
        self.clients[0].run("mfssetgoal", "-r", goal, str(self.mount_point))

    def chunkservers_connected(self) -> int:
        """Returns the number of chunkservers that are connected to the master and ready."""
        master = self.hosts.of("master")[0]
        reply = master.run("mfscli", "-H", master.address, "-ns", ";", "-SCS")
        rows = [line.split(";") for line in reply.splitlines() if line.startswith("chunk servers")]
        # A chunkserver whose size is 0 is not ready: after a restart, it reports its size only when
        # it has scanned its disk.
        return sum(row[TOTAL_SPACE] != "0" for row in rows)

    def lacking(self) -> str:
        """Returns a text with the number of disconnected chunkservers, and the number of chunks
        with too few copies by class (SHORT). A chunk has too few copies if it has fewer than its
        goal. Returns "" if there are no such chunkservers or chunks."""
        master = self.hosts.of("master")[0]
        reply = master.run("mfscli", "-H", master.address, "-ns", ";", "-SIC")
        rows = [line.split(";") for line in reply.splitlines() if "chunkclass" in line]
        short = {
            row[1].split()[1].rstrip(":"): int(row[2])
            for row in rows
            if row[1].split()[1].rstrip(":") in SHORT
        }
        away = len(self.hosts.of("chunkserver")) - self.chunkservers_connected()
        parts = [f"{away} chunkservers"] if away else []
        return ", ".join(parts + [f"{n} chunks {kind}" for kind, n in short.items() if n])

    def counters(self) -> dict[str, str]:
        """Returns every client's calls since its mount."""
        return {host.name: host.run("cat", f"{self.mount_point}/.stats") for host in self.clients}

    def _launch(
        self,
        host: Host,
        command: str,
        name: str,
        data: Path,
        settings: Mapping[str, str | int | Path],
        stage: int,
    ) -> None:
        common: dict[str, str | int | Path] = {
            "WORKING_USER": "root",
            "WORKING_GROUP": "root",
            "DATA_PATH": data,
            "LOCK_MEMORY": 0,
        }
        text = "".join(f"{key} = {value}\n" for key, value in {**common, **settings}.items())
        (data / f"{command}.cfg").write_text(text)
        words = [command, "-c", str(data / f"{command}.cfg"), "-f", "start"]
        self.run_in(host, name, words, self._serves(host, name), stage)

    def _serves(self, host: Host, name: str) -> Callable[[], bool]:
        if name == "master":
            return lambda: host.tries("mfscli", "-H", host.address, "-ns", ";", "-SIN")
        return lambda: self.chunkservers_connected() >= self._running("chunkserver")

    def _running(self, kind: str) -> int:
        """Returns the number of running daemons whose names begin with `kind`."""
        states = [one.state() for name, one in self.daemons.items() if name.startswith(kind)]
        return states.count("running")


def _folder(host: Host, name: str) -> Path:
    """Makes a folder for a daemon's configuration and metadata, and returns it."""
    folder = host.folder / name
    folder.mkdir()
    return folder
