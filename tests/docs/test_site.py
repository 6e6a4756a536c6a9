"""Tests that the documentation site is complete, and that Sphinx builds it without a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from dfslab import api, discover
from dfslab.cli import root
from dfslab.cli.command_table import COMMANDS
from dfslab.documents.metrics import REGISTRY

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "docs_site.py"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Writes the sources of the documentation site to a folder: the documents, and the pages that
    are generated from the code."""
    folder = tmp_path_factory.mktemp("site") / "source"
    run("pages", folder)
    return folder


def run(step: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), step, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=step == "pages")


def page(site: Path, name: str) -> str:
    return (site / "docs" / f"{name}.md").read_text()


def test_every_command_and_option_is_in_the_reference(site):
    text = page(site, "reference/commands")
    for name, entry in COMMANDS.items():
        made = root.command(name)
        found = made.commands if entry.group else {"": made}
        for inner, one in found.items():
            heading = f"### dfslab {name} {inner}".rstrip()
            assert f"{heading}\n" in text
            own = text.partition(f"{heading}\n")[2].partition("\n### ")[0]
            for option in one.params:
                if option.param_type_name != "argument":
                    # Former names of options still work, but they are hidden: the page must not
                    # list them.
                    assert (option.opts[-1] in own) != option.hidden, heading


def test_every_scenario_key_of_every_workload_is_in_the_reference(site):
    text = page(site, "reference/scenario")
    for key in ("file_system", "repetitions", "time_limit", "hold_out", "bandwidth"):
        assert f"| `{key}` |" in text
    for name in discover.members(discover.WORKLOADS):
        own = text.partition(f"### {name}\n")[2].partition("\n### ")[0]
        for key in discover.workload(name).parameters.model_fields:
            assert f"| `{key}` |" in own, f"{name}: {key}"


def test_metrics_and_python_names_are_in_the_reference(site):
    results, names = page(site, "reference/results"), page(site, "reference/python")
    assert all(one.name in results for one in REGISTRY.values())
    assert all(f"## {name}\n" in names for name in api.__all__)


def test_every_method_and_file_system_has_a_page(site):
    models = "\n".join(path.read_text() for path in (site / "docs" / "models").glob("*.md"))
    titles = [line for line in models.splitlines() if line.startswith("# ")]
    for name, kind, _ in discover.methods():
        if "model" in kind:
            assert any(name in title for title in titles), name
    for name in discover.members(discover.FILE_SYSTEMS):
        text = page(site, f"file-systems/{name}")
        for operation in discover.file_system(name).operations:
            assert f"### {operation}\n" in text


def test_models_have_equations_and_sources(site):
    for path in (site / "docs" / "models").glob("*.md"):
        text = path.read_text()
        assert "**Source" in text, path.name
        assert "```text" in text or "X = " in text, path.name


@pytest.mark.heavy
def test_sphinx_builds_the_site_and_the_man_page(site):
    done = run("build", site)
    assert done.returncode == 0, done.stderr
    assert "dfslab replay" in (site / "_built" / "man" / "dfslab.1").read_text()
    first = (site / "_built" / "html" / "docs" / "index.html").read_text()
    assert "Ten minutes with dfslab" in first


def test_a_broken_link_fails_the_build(tmp_path):
    docs = tmp_path / "docs"
    (docs / "reference").mkdir(parents=True)
    (docs / "conf.py").write_text((ROOT / "docs" / "conf.py").read_text())
    (docs / "reference" / "commands.md").write_text("# dfslab\n")
    (docs / "index.md").write_text(
        "# x\n\n[there](nowhere.md)\n\n```{toctree}\nreference/commands\n```\n"
    )
    done = run("build", tmp_path)
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr
