"""An SSH server on the loopback address, and a scenario whose clients run on a cluster of workers
on this server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncssh
import psutil

MARK = "DFSLAB_TEST_SSH_HOST"
USER = "tester"
BLOCK_BYTES = 1 << 16
SCENARIO = """
schema = 1
name = "over-ssh"
file_system.name = "local"
workload = {{ name = "mixture", clients = 2, file_size = "4 KiB", operations_per_client = 5 }}

[[deployment.node]]
roles = {{ client = 1, storage = 1 }}

[run]
methods = ["measure"]
repetitions = 1
fleet = "ssh"

[run.cluster]
hosts = ["127.0.0.1", "127.0.0.1", "127.0.0.1"]
scheduler_options = {{ host = "127.0.0.1" }}
worker_options = {{ host = "127.0.0.1", nthreads = 1 }}

[run.cluster.connect_options]
port = {port}
username = "{username}"
client_keys = {client_keys}
known_hosts = "{known_hosts}"
"""


class SshHost:
    """An SSH server on the loopback address that runs requested commands as sshd does.

    Each command runs in a shell in a new session (setsid) and receives the signals that its client
    sends. When the connection is closed, the command's standard input ends, but the command
    continues. If `deaf` is true, the server ignores the client's signals, as OpenSSH before 7.9
    does.
    """

    def __init__(self, folder: Path):
        self.folder, self.commands, self.port = folder, [], 0
        self.deaf = False
        self.client_key, self.other_key = folder / "client", folder / "other"
        for path in (self.client_key, self.other_key):
            key = asyncssh.generate_private_key("ssh-ed25519")
            key.write_private_key(path)
            key.write_public_key(path.with_suffix(".pub"))
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> SshHost:
        self._thread.start()
        self._server = self._done(self._listen())
        self.port = self._server.get_port()
        public = self._host_key.export_public_key().decode()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {public}")
        return self

    def __exit__(self, *_: object) -> None:
        for process, _line in self._processes():
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                process.kill()
        self._done(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _done(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(300)

    async def _listen(self) -> Any:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[self._host_key],
            encoding=None,
            authorized_client_keys=str(self.client_key.with_suffix(".pub")),
            process_factory=self._serve,
        )

    async def _shut(self) -> None:
        self._server.close()
        await self._server.wait_closed()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)

    async def _serve(self, channel: Any) -> None:
        self.commands.append(channel.command)
        child = await asyncio.create_subprocess_shell(
            channel.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, MARK: str(self.folder)},
            start_new_session=True,
        )
        obeying = asyncio.create_task(self._obey(channel, child))
        lost = asyncio.create_task(self._close_input(channel, child))
        await asyncio.gather(
            self._pass_on(child.stdout, channel.stdout), self._pass_on(child.stderr, channel.stderr)
        )
        status = await child.wait()
        obeying.cancel()
        lost.cancel()
        with suppress(OSError):
            channel.exit(status) if status >= 0 else channel.exit_with_signal("KILL")

    @staticmethod
    async def _pass_on(source: asyncio.StreamReader, target: Any) -> None:
        while block := await source.read(BLOCK_BYTES):
            with suppress(OSError):
                target.write(block)

    async def _close_input(self, channel: Any, child: asyncio.subprocess.Process) -> None:
        """Ends a command's standard input when the connection is lost, as sshd does."""
        await channel.wait_closed()
        child.stdin.close()

    async def _obey(self, channel: Any, child: asyncio.subprocess.Process) -> None:
        """Sends the client's signals to the whole process group of a command, as sshd does."""
        with suppress(asyncssh.Error, OSError):
            while True:
                try:
                    if not await channel.stdin.read(BLOCK_BYTES):
                        return
                except asyncssh.SignalReceived as reported:
                    with suppress(ProcessLookupError):
                        self.deaf or os.killpg(child.pid, getattr(signal, f"SIG{reported.signal}"))

    def cluster(self, nodes: int = 2, key: Path | None = None) -> dict[str, Any]:
        """Returns the keys with which a scenario declares a cluster on this host. The cluster has
        one scheduler and `nodes` workers. `key` is the path of the private key with which dfslab
        logs in."""
        return {
            "hosts": ["127.0.0.1"] * (1 + nodes),
            "connect_options": self.options(key),
            "scheduler_options": {"host": "127.0.0.1"},
            "worker_options": {"host": "127.0.0.1"},
        }

    def options(self, key: Path | None = None) -> dict[str, Any]:
        return {
            "port": self.port,
            "username": USER,
            "client_keys": [str(key or self.client_key)],
            "known_hosts": str(self.folder / "known_hosts"),
        }

    def scenario(self, key: Path | None = None) -> Path:
        """Writes a scenario file that uses a cluster on this host, and returns the file's path."""
        path = self.folder / "over-ssh.toml"
        path.write_text(SCENARIO.format(**self.options(key)))
        return path

    def requested(self, word: str) -> bool:
        """Returns whether any command that a client requested contains this word."""
        return any(word in command for command in self.commands)

    def alive(self) -> list[str]:
        """Returns one line of text for each live process that any command has started."""
        return [line for _, line in self._processes()]

    def _processes(self) -> list[tuple[psutil.Process, str]]:
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
                if process.environ().get(MARK) == str(self.folder):
                    found.append((process, " ".join(process.cmdline())))
        return found

    def left(self) -> list[Path]:
        """Returns the files that workers have left in their folders for temporary files and
        state."""
        return [
            path
            for path in self.folder.rglob("*")
            if path.name.startswith(("worker-", "clients-", "dfslab-"))
        ]
