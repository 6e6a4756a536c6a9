"""Builds the documentation site and the man page.

    python scripts/docs_site.py pages FOLDER    # stages documents, and writes pages from the code
    python scripts/docs_site.py build FOLDER    # runs Sphinx over a staged folder (extra `docs`)

`make docs` does both. Warnings are errors, and nothing is fetched from a network.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The documents of the site and the files to which they link. The staged folder has the same layout
# as the repository, so that links stay valid.
STAGED = (
    *("*.md", "*.cff", "LICENSE", "Containerfile", "docs", "agent/README.md", "scenarios"),
    *("verification/*.md", "verification/*.toml"),
)
NOTEBOOKS = ROOT / "docs" / "notebooks"
# Time limit in seconds for Sphinx. A run that takes longer counts as hanging and is stopped.
LIMIT_S = 600
BUILDERS = ("html", "man")


def stage(folder: Path) -> None:
    """Copies the documents into a folder, and adds the pages that are generated from the code."""
    from site_build import notebooks, reference, systems

    shutil.rmtree(folder, ignore_errors=True)
    for pattern in STAGED:
        for source in sorted(ROOT.glob(pattern)):
            target = folder / source.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
    for path in (folder / "docs").rglob("*.md"):
        path.write_text(notebooks.linked(path.read_text()))
    made = {
        "reference/commands": reference.commands(),
        "reference/scenario": reference.scenario_keys(),
        "reference/results": reference.results(),
        "reference/python": reference.python_names(),
        **{f"file-systems/{name}": text for name, text in systems.pages().items()},
        **{f"notebooks/{name}": text for name, text in notebooks.pages(NOTEBOOKS).items()},
    }
    for name, text in made.items():
        path = folder / "docs" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def build(folder: Path) -> list[Path]:
    """Runs Sphinx over a staged folder. Returns two paths: the first page of the site, and the man
    page.
    """
    for builder in BUILDERS:
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder]
        command += ["-c", str(folder / "docs"), str(folder), str(folder / "_built" / builder)]
        subprocess.run(command, check=True, timeout=LIMIT_S)
    built = folder / "_built"
    return [built / "html" / "docs" / "index.html", built / "man" / "dfslab.1"]


def main() -> None:
    """Stages or builds the site in the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("pages", "build"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.step == "pages":
        stage(options.folder)
        return
    for path in build(options.folder):
        print(path)


if __name__ == "__main__":
    main()
