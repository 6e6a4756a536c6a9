"""Runs the command `dfslab` within the test's process. The exit code and the outputs are those that
a separate process would give."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from dfslab.cli import in_this_process

# The installed command, for tests of the process itself: signals, start-up, a terminal, a separate
# environment.
DFSLAB = Path(sys.executable).with_name("dfslab")
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def dfslab(
    *words: object,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    input: str = "",
    text: bool = True,
) -> subprocess.CompletedProcess[Any]:
    """Runs `dfslab WORDS` to its end without starting a process, and returns its exit code and
    outputs.

    `env` is added to the environment, and `input` is the standard input. Output of child processes
    is captured as well.
    """
    arguments = ["dfslab", *map(str, words)]
    with ExitStack() as files:
        given, out, err = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(input.encode())
        given.seek(0)
        with pytest.MonkeyPatch.context() as patch, _signals_kept(), ExitStack() as streams:
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            if cwd is not None:
                patch.chdir(cwd)
            patch.setattr(sys, "argv", arguments)
            for number, file in enumerate((given, out, err)):
                streams.enter_context(_redirected(number, file))
            code = _exit_code()
        said = [_content(file, text) for file in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *said)


def _exit_code() -> int:
    """Runs the command and returns the exit code that a separate process would have. An error is
    printed."""
    try:
        in_this_process()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Lets the command set signal handlers, and restores the earlier handlers at the end of the
    `with` block."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _redirected(number: int, file: IO[bytes]) -> Iterator[None]:
    """Redirects the standard stream `number` (0, 1 or 2) to or from a file within the `with` block.
    Child processes and native code use the file, too."""
    name = ("stdin", "stdout", "stderr")[number]
    before, kept = getattr(sys, name), os.dup(number)
    os.dup2(file.fileno(), number)
    stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
    setattr(sys, name, stream)
    try:
        yield
    finally:
        stream.close()
        setattr(sys, name, before)
        os.dup2(kept, number)
        os.close(kept)


def _content(file: IO[bytes], text: bool) -> Any:
    file.seek(0)
    return file.read().decode() if text else file.read()
