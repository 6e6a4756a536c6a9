"""The command line of dfslab: it parses arguments, calls the laboratory and prints results."""

from __future__ import annotations

import _thread
import atexit
import gc
import os
import signal
import sys
import threading

# Number of new objects after which Python searches for cyclic garbage. A command creates many
# objects that stay until its end. With Python's default of 700, searching them takes a sixth of the
# start time.
OBJECTS_BETWEEN_SEARCHES = 50_000
# Libraries that report each of their objects as leaked if it was not collected before the exit.
COUNTING_OBJECTS = frozenset({"duckdb"})
# The commands that run clients on a file system. Each command is given by its first words.
LOADING = (
    ("run",),
    ("measure",),
    ("replay",),
    ("expect",),
    ("tune",),
    ("sweep",),
    ("search",),
    ("visibility",),
    ("compat",),
    ("calibrate",),
    ("check",),
    ("trace", "record"),
)
# Paths of standard input. A command that reads standard input must stay in the foreground process
# group of its terminal, so it does not run in a child process.
STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0")

# The environment variable with which a shell asks for completions of a command line.
COMPLETING = "_DFSLAB_COMPLETE"


def main() -> None:
    """Entry point of the command `dfslab`.

    A command that may wait for a file system runs in a child process. If the file system does not
    answer, the kernel does not let a waiting process end. Then only the child hangs, and the parent
    can end. No child process is used if another program calls `main`.
    """
    caller = sys._getframe(1)  # noqa: SLF001 - a program that calls `main` must not be forked
    is_program = caller.f_globals.get("__name__") == "__main__"
    if is_program and loads(sys.argv[1:]):
        from dfslab.cli.live import attended

        attended.run(in_this_process)
    in_this_process()


def loads(words: list[str]) -> bool:
    """Returns whether a command line runs clients on a file system, which may not answer. Returns
    False if the command reads standard input."""
    if any(word in STANDARD_INPUT for word in words):
        return False
    if words[:1] == ["advise"]:
        return any(word.split("=")[0] == "--verify" for word in words)
    return any(tuple(words[: len(command)]) == command for command in LOADING)


def in_this_process() -> None:
    """Runs the command line in this process. Ctrl-C prints one line, even while the commands are
    being imported.

    SIGTERM (end of a batch job) and SIGHUP (lost terminal) act as Ctrl-C, unless they are ignored.
    """
    from dfslab.cli.live.stop_signals import StopRequests

    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES)
    atexit.register(_skip_last_search)
    sys.unraisablehook = deliver_interrupt_again
    try:
        requests = StopRequests()
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, requests.handle)
        if not _at_once(sys.argv[1:]):
            from dfslab.cli.root import main as commands

            commands()
    except BrokenPipeError:
        # The program that reads the output has closed the pipe. The output is redirected to
        # nothing, because Python would otherwise fail when it writes the rest of the output at
        # exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print("dfslab: interrupted", file=sys.stderr)
        sys.exit(130)


def _skip_last_search() -> None:
    """Skips the search for cyclic garbage that Python makes when it exits. The search would take a
    sixth of the processor time of a short command. The search is not skipped if a library is loaded
    that reports uncollected objects as leaked."""
    if COUNTING_OBJECTS.isdisjoint(sys.modules):
        gc.freeze()


def deliver_interrupt_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Handles an exception that Python cannot raise. Such an exception occurs in a destructor, or
    in Python code called by a C or Rust library that ignores its errors.

    The exception is printed, as Python does by default. An interrupt is not printed: since the user
    pressed Ctrl-C and the command must end, the interrupt is delivered a second time.
    """
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    # The interrupt has to be raised again after this function returns, because an exception that
    # this function raises is ignored, too.
    ended = threading.Event()

    def deliver() -> None:
        ended.wait()
        _thread.interrupt_main()

    threading.Thread(target=deliver, daemon=True).start()
    ended.set()


def _at_once(words: list[str]) -> bool:
    """Answers requests such as `--help` without importing the command-line parser. Returns whether
    the request was answered.

    Importing the parser takes longer than the answer. A shell that completes a command line calls
    `dfslab` without words and with the variable COMPLETING; only the parser can answer it.
    """
    if COMPLETING in os.environ:
        return False
    if words in ([], ["--help"], ["-h"]):
        from dfslab.cli.command_table import overview

        print(overview())
        if not words:
            sys.exit(2)
    elif words == ["--version"]:
        from dfslab.cli.live.version import text

        print(text())
    elif words[:1] == ["list"] and {*words[1:]} <= {"--json", "--wide"}:
        from dfslab.cli.listing import show
        from dfslab.discover import DiscoveryError

        try:
            show("--json" in words, "--wide" in words)
        except DiscoveryError as error:
            print(f"dfslab: {error}", file=sys.stderr)
            sys.exit(2)
    else:
        return False
    return True
