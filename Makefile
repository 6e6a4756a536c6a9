# Every target sets up what it needs first, so each works on a fresh machine.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PY := .venv/bin/python
STAMP := .venv/.ready
export DFSLAB_CACHE ?= $(CURDIR)/.cache
AGENT := $(shell find agent -name '*.java' -o -name pom.xml 2>/dev/null)
RUST := $(shell find core -name '*.rs' -o -name Cargo.toml 2>/dev/null) Cargo.toml Cargo.lock

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | sort | expand -t 14

setup: $(STAMP) ## system packages, Python environment, compiled core: a ready .venv

.venv/.packages: requirements.lock scripts/setup.sh
	bash scripts/setup.sh
	@touch $@

$(STAMP): .venv/.packages $(RUST) $(AGENT) pyproject.toml
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --locked
	$(PY) -m dfslab.beds.agent
	@touch $@

demo: setup ## the quickstart scenario: measured, traced, computed, simulated, learnt, compared
	.venv/bin/dfslab run scenarios/quickstart.toml

test: setup ## everything, real file systems included
	DFSLAB_HADOOP_JARS=$$($(PY) -m dfslab.filesystems.hdfs.java) cargo test --workspace --locked --quiet
	$(PY) -m pytest -n 2 --dist loadfile -m "not bed" --ignore tests/docs
	$(PY) -m pytest tests/bed -m bed -n 2
	$(PY) -m pytest tests/docs

check: setup ## formatters, linters, types, tidy
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	.venv/bin/ruff format --check python tests benches docs scenarios
	.venv/bin/ruff check python tests benches docs scenarios
	.venv/bin/mypy
	$(PY) -m pytest tests/contract/test_tidy.py tests/contract/test_imports.py

format: setup ## rewrite sources in the house format
	cargo fmt --all
	.venv/bin/ruff format python tests benches docs scenarios
	.venv/bin/ruff check --fix --quiet python tests benches docs scenarios

beds: setup ## every real file system here in turn: started, checked, loaded, taken down (root)
	$(PY) benches/beds.py

bench-description: setup ## uncalibrated descriptions beside a real HDFS, each error under its bar (Java)
	$(PY) benches/description.py

bench-layouts: setup ## uncalibrated predictions beside runs of every layout of every real file system (root)
	$(PY) benches/layouts.py

bench: setup ## our speed beside real peers; the last line is one JSON object
	$(PY) benches/run.py

bench-load: setup ## the load generator beside raw calls in C and fio
	$(PY) benches/load.py

bench-hadoop: setup ## our figures beside those of TestDFSIO and NNThroughputBenchmark, same client
	$(PY) benches/hadoop_agreement.py

.venv/peers: .venv/.packages benches/requirements-net.txt
	.venv/bin/uv venv --quiet --clear $@
	.venv/bin/uv pip install --quiet --python $@/bin/python -r benches/requirements-net.txt
	@touch $@

bench-net: setup .venv/peers ## the net engine beside a hand-written simulator and three others
	$(PY) benches/net.py

bench-pvfs: setup ## Figures 10 to 15 of the PVFS paper, every packet, as a page
	$(PY) benches/pvfs_figures.py

bench-agent: setup ## what tracing every call costs, beside the OpenTelemetry agent
	$(PY) benches/agent.py

bench-interventions: setup ## parts of a real HDFS slowed in turn: is each named, is its saving seen? (root)
	$(PY) benches/interventions.py

bench-smallfiles: setup ## why small files are slow on a default HDFS, and what the cure gains
	$(PY) benches/smallfiles.py

bench-liu: setup ## the tables of Liu 2018 on a real HDFS: request frequency and file size
	.venv/bin/dfslab run scenarios/liu-request-frequency.toml
	.venv/bin/dfslab run scenarios/liu-file-size.toml

.venv/spark: .venv/.packages scenarios/programs/requirements-spark.txt
	.venv/bin/uv venv --quiet --clear $@
	.venv/bin/uv pip install --quiet --python $@/bin/python -r scenarios/programs/requirements-spark.txt
	@touch $@

spark: setup .venv/spark ## Spark, for scenarios/liu-spark.toml and liu-wordcount.toml

bench-spark: spark ## the Spark jobs of Liu 2018 on a real HDFS, traced
	.venv/bin/dfslab run scenarios/liu-spark.toml

bench-trace: setup ## reading and compressing a trace of 1 GB, beside DuckDB and plain Python
	$(PY) benches/trace.py

lock: ## renew the lock files from pyproject.toml and Cargo.toml
	.venv/bin/uv pip compile --quiet pyproject.toml --extra dev --extra beds --generate-hashes --no-header -o requirements.lock
	cargo update

.PHONY: help setup demo test check format beds bench-description bench-layouts bench bench-load bench-hadoop bench-agent bench-interventions bench-smallfiles bench-liu spark bench-spark bench-trace bench-net bench-pvfs lock
