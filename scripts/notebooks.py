"""Executes the notebooks of the documentation and keeps their outputs in them.

    python scripts/notebooks.py [NAME …]    # all, or those of docs/notebooks/NAME.ipynb

Every notebook runs in an empty temporary folder that is laid out like the repository, so its
relative paths are valid and its measurements do not touch the checkout. Needs the extra
`notebooks`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "docs" / "notebooks"
# Time limit in seconds for a cell. A cell that runs longer counts as hanging and is stopped.
LIMIT_S = 300
# The beginning of a warning that a library prints if ipywidgets is not installed. The warning is
# switched off, because it contains a path of the machine.
NO_WIDGETS = "IProgress not found"


def executed(path: Path) -> nbformat.NotebookNode:
    """Returns a notebook with the outputs of a fresh execution. Raises CellExecutionError of
    nbclient if a cell fails.
    """
    found = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="dfslab-notebook-") as name:
        folder = Path(name) / "docs" / "notebooks"
        folder.mkdir(parents=True)
        (Path(name) / "scenarios").symlink_to(ROOT / "scenarios")
        environment = {
            **os.environ,
            "IPYTHONDIR": str(Path(name) / "ipython"),
            "PYTHONWARNINGS": f"ignore:{NO_WIDGETS}",
        }
        # The Jupyter kernel is reached by Unix sockets in a private folder, because other users of
        # the machine could connect to TCP sockets.
        ipc = Config({"KernelManager": {"transport": "ipc", "ip": str(Path(name) / "kernel")}})
        place = {"metadata": {"path": str(folder)}}
        client = NotebookClient(found, timeout=LIMIT_S, resources=place, config=ipc)
        client.execute(env=environment)
    return found


def record(path: Path) -> None:
    """Executes a notebook and replaces the notebook's file by the executed notebook: with its
    outputs, but without the times of execution."""
    found = executed(path)
    for cell in found.cells:
        cell.metadata.pop("execution", None)
    found.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(found, path)


def main() -> None:
    """Records the notebooks that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="default: all")
    options = parser.parse_args()
    every = sorted(NOTEBOOKS.glob("*.ipynb"))
    for path in every:
        if not options.names or path.stem in options.names:
            record(path)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
