"""Tests that the Python package contains the scenarios that come with dfslab and the jar of the
tracing agent, and that dfslab finds them in the package."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from dfslab.spec.files import ready
from dfslab.spec.scenario import read
from dfslab.testbeds import java_agent

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def packaging():
    spec = importlib.util.spec_from_file_location("package", ROOT / "scripts" / "package.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def staged(packaging, tmp_path, monkeypatch):
    """Provides the sources of a package. A file of a few bytes takes the place of the agent's
    jar."""
    jar = tmp_path / "jar"
    jar.write_bytes(b"jar")
    monkeypatch.setattr(packaging, "agent_jar", lambda notify: jar)
    packaging.stage(tmp_path / "staged")
    return tmp_path / "staged"


def test_a_package_holds_every_scenario_and_its_data(staged):
    found = staged / "python" / "dfslab" / "scenarios"
    kept = {path.name for path in found.glob("*.toml")}
    assert {f"{name}.toml" for name in ready.files()} <= kept
    assert (found / "data" / "hdfs-trace").is_dir()
    assert read(found / "quickstart.toml").name == "quickstart"


def test_a_package_is_built_from_tracked_files_only(staged, packaging):
    assert (staged / "Cargo.lock").is_file()
    assert (staged / "core" / "py" / "Cargo.toml").is_file()
    assert not list(staged.rglob("*.so"))
    tracked = {path for path in packaging.tracked("python")}
    kept = {path.relative_to(staged) for path in (staged / "python").rglob("*.py")}
    scenarios = {path for path in kept if "scenarios" in path.parts}
    assert kept - scenarios <= tracked


def test_scenarios_of_an_installed_package_are_found_by_name(staged, monkeypatch, tmp_path):
    monkeypatch.setattr(ready, "FOLDERS", (staged / "python" / "dfslab" / "scenarios",))
    monkeypatch.chdir(tmp_path)
    assert ready.scenario_file(Path("quickstart")).is_relative_to(staged)


def test_the_agent_of_an_installed_package_is_taken(staged, monkeypatch, tmp_path):
    """An installed package contains the agent's jar and none of its sources, so the jar is used and
    nothing is built."""
    own = staged / "python" / "dfslab" / "testbeds" / "java_agent.py"
    monkeypatch.setattr(java_agent, "__file__", str(own))
    monkeypatch.setattr(java_agent, "SOURCES", tmp_path / "none")
    assert java_agent.agent_jar().read_bytes() == b"jar"


def test_without_jar_and_sources_the_reason_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(java_agent, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.setattr(java_agent, "SOURCES", tmp_path / "none")
    with pytest.raises(java_agent.TestbedError, match="no sources"):
        java_agent.agent_jar()


@pytest.mark.parametrize("script", ["package.py", "release_check.py", "docs_site.py"])
def test_scripts_explain_themselves(script):
    command = [sys.executable, str(ROOT / "scripts" / script), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "usage:" in done.stdout
