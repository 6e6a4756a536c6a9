# Every target sets up what it needs first, so each works on a fresh machine.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PY := .venv/bin/python
export DFSLAB_CACHE ?= $(CURDIR)/.cache
# What the set-up compiles to bytecode, processes may use and renew.
unexport PYTHONDONTWRITEBYTECODE
# As maturin says it, so that nobody else's build makes another one of the same crate.
export PYO3_BUILD_EXTENSION_MODULE := 1
# Maven runs for seconds: the optimising compiler would cost more than it saves.
export MAVEN_OPTS ?= -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
# Clippy's driver compiles our crates, so that linting is part of the one compilation. Warnings are shown
# there and refused by `make check`. Without clippy the compiler itself is used.
LINTED := $(if $(shell command -v clippy-driver),env RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=)
AGENT := $(shell find agent -name '*.java' -o -name pom.xml 2>/dev/null)
RUST := $(shell find core -name '*.rs' -o -name Cargo.toml 2>/dev/null) Cargo.toml Cargo.lock
PYTHON := $(shell find python tests verification -name '*.py' 2>/dev/null)
# The demo needs a part of the tests' environment: its own, smaller one, unless all of it is there.
ENVIRONMENT := $(if $(filter demo,$(MAKECMDGOALS)),$(if $(wildcard .venv/.packages),.venv/.packages,.venv/.packages-demo),.venv/.packages)
STAGE := bash scripts/stage.sh
SOURCES := python tests benches docs scenarios scripts verification conftest.py

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | sort | expand -t 14

setup: .venv/.packages .venv/.system .venv/.agent .venv/.jars .venv/.core .venv/.bytecode ## all that tests need: Debian packages, .venv, compiled core, tracing agent, jars

.venv/.compiler: scripts/system.sh
	bash scripts/system.sh demo
	@mkdir -p .venv && touch $@

.venv/.system: scripts/system.sh | .venv/.packages
	$(STAGE) "set-up: Debian packages" bash scripts/system.sh all
	@touch $@

.venv/.packages: requirements.lock scripts/environment.sh | .venv/.compiler
	$(STAGE) "set-up: Python environment" bash scripts/environment.sh requirements.lock
	@touch $@

.venv/.packages-demo: requirements-demo.lock scripts/environment.sh | .venv/.compiler
	bash scripts/environment.sh requirements-demo.lock
	@touch $@

# One Cargo profile for tests, linters and the demo, so that each dependency is compiled once.
.venv/.core: $(ENVIRONMENT) $(RUST) pyproject.toml
	$(STAGE) "core: compile" env VIRTUAL_ENV=$(CURDIR)/.venv $(LINTED) .venv/bin/maturin develop --quiet --profile ci --locked
	@rm -f .venv/.core-release
	@touch $@

# Whatever is timed against another program is compiled as its wheel would be.
.venv/.core-release: $(ENVIRONMENT) $(RUST) pyproject.toml
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --locked
	@touch .venv/.core $@

timed: .venv/.core-release setup ## set-up with the core as its wheel has it, for whatever is timed

.venv/.bytecode: .venv/.core $(PYTHON)
	$(PY) -m compileall -q python
	@touch $@

# Neither needs the compiled core, so both are made while it is compiled.
.venv/.agent: .venv/.system $(AGENT)
	$(STAGE) "set-up: tracing agent" env PYTHONPATH=python $(PY) -m dfslab.testbeds.java_agent
	@touch $@

.venv/.jars: scripts/jars.py $(wildcard python/dfslab/filesystems/*/pom.xml) | .venv/.agent
	$(STAGE) "set-up: jars" env PYTHONPATH=python $(PY) scripts/jars.py
	@touch $@

demo: $(ENVIRONMENT) .venv/.core .venv/.bytecode ## the quickstart scenario: measured, traced, computed, simulated, compared
	.venv/bin/dfslab run scenarios/quickstart.toml

test: setup ## everything, real file systems included; TESTBEDS=no leaves those out
	@failed=0; \
	bash scripts/lanes.sh $(if $(filter no,$(TESTBEDS)),,test-testbeds) -- test-rust test-python || failed=1; \
	$(if $(filter no,$(TESTBEDS)),:,$(MAKE) test-quiet) || failed=1; \
	exit $$failed

test-rust: setup ## the tests of the compiled core
	$(STAGE) "tests: Rust" env DFSLAB_HADOOP_JARS=$$($(PY) -m dfslab.filesystems.hdfs.java) \
		$(LINTED) cargo test --workspace --profile ci --locked --quiet

test-python: setup ## the tests of the package, documents included
	$(STAGE) "tests: Python" $(PY) -m pytest -n 3 --dist worksteal -m "not testbed"

test-testbeds: setup ## real file systems, two testbeds at a time (root)
	$(STAGE) "tests: testbeds" $(PY) -m pytest -n 2 -m "testbed and not quiet" tests/testbed

test-quiet: setup ## tests that judge measured speeds, one after the other, when no other test runs (root)
	$(STAGE) "tests: quiet" $(PY) -m pytest -m quiet tests/testbed

shake: setup ## the tests of Python, testbeds and documents apart, three times on a busy machine (SHAKE_ROUNDS, SHAKE_TESTS)
	bash scripts/shake.sh

check: .venv/.packages .venv/.core ## formatters, linters, types, tidy
	$(STAGE) "check: format" cargo fmt --all --check
	$(STAGE) "check: format" .venv/bin/ruff format --check $(SOURCES)
	$(STAGE) "check: lint" .venv/bin/ruff check $(SOURCES)
	$(STAGE) "check: types" $(PY) scripts/any_share.py
	$(STAGE) "check: clippy" env LINTED="$(LINTED)" bash scripts/clippy.sh

format: setup ## rewrite sources in the house format
	cargo fmt --all
	.venv/bin/ruff format $(SOURCES)
	.venv/bin/ruff check --fix --quiet $(SOURCES)

# Seconds for which `make verify` fuzzes each reader of bytes.
FUZZ_SECONDS ?= 600

sanitize: setup ## the tests of the crates with unsafe code under AddressSanitizer
	$(STAGE) "tests: AddressSanitizer" bash scripts/sanitize.sh

verify: sanitize ## every recording against its bar, constants varied, every case of every grid, AddressSanitizer; fuzzing for FUZZ_SECONDS a reader; renews verification/figures.*, variations.json (2 h)
	$(PY) -m verification.run
	DFSLAB_FUZZ_SECONDS=$(FUZZ_SECONDS) $(PY) -m pytest -q -n 2 tests/oracle/test_fuzz_time.py

# Seed, number of points and minutes of `make blind`; a campaign that was interrupted continues.
SEED ?= 1
POINTS ?= 240
MINUTES ?= 60

blind: setup ## points drawn by SEED: rates predicted and frozen, then measured on testbeds for MINUTES (POINTS; root)
	$(PY) -m verification.blind --seed $(SEED) --points $(POINTS) --minutes $(MINUTES)

testbeds: setup ## every real file system here in turn: started, checked, loaded, taken down (root)
	$(PY) benches/testbeds.py

bench-description: timed ## uncalibrated descriptions compared with a real HDFS, each error under its bar (Java)
	$(PY) benches/description.py

bench-layouts: timed ## uncalibrated predictions compared with runs of every layout of every real file system (root)
	$(PY) benches/layouts.py

bench: timed ## our speed compared with real peers; the last line is one JSON object
	$(PY) benches/run.py

bench-start: setup ## processor time of starting, as ratios to python itself; the last line is one JSON object
	$(PY) benches/start.py

bench-page: timed ## sizes and first paint of pages, answers of what-if sliders, in a real browser, with their limits
	$(PY) benches/page.py

bench-load: timed ## the load generator compared with raw calls in C and fio
	$(PY) benches/load.py

bench-sampled: timed ## what checking a sample of the content costs, in pairs of runs (4 min)
	$(PY) benches/sampled.py

bench-stall: timed ## how far response times of a stalling target are from the truth
	$(PY) benches/stall.py
	cargo run --release --locked --quiet -p dfslab-load --example stall

bench-hadoop: timed ## our figures compared with those of TestDFSIO and NNThroughputBenchmark, same client
	$(PY) benches/hadoop_agreement.py

docs: setup ## the documentation site and the man page, in target/site/_built; warnings are errors, no network
	$(PY) scripts/docs_site.py pages target/site
	$(PY) scripts/docs_site.py build target/site

.venv/wheel: .venv/.packages scripts/requirements-package.txt
	.venv/bin/uv venv --quiet --clear $@
	.venv/bin/uv pip install --quiet --python $@/bin/python -r scripts/requirements-package.txt
	@touch $@

package: setup .venv/wheel ## wheel (manylinux2014) and source distribution in dist/, with scenarios and the tracing agent
	PYTHONPATH=python $(PY) scripts/package.py dist

notebooks: setup ## the notebooks of docs/notebooks, executed, with their outputs
	$(PY) scripts/notebooks.py

release: package ## dry run of a release: the wheel tried in an empty environment, bill of materials, licences
	$(PY) scripts/release_check.py "$$(ls -t dist/*.whl | head -1)" --report dist

.venv/peers: .venv/.packages benches/requirements-net.txt
	.venv/bin/uv venv --quiet --clear $@
	.venv/bin/uv pip install --quiet --python $@/bin/python -r benches/requirements-net.txt
	@touch $@

bench-net: timed .venv/peers ## the net engine compared with a hand-written simulator and three others
	$(PY) benches/net.py

bench-pvfs: timed ## Figures 10 to 15 of the PVFS paper, every packet, as a page
	$(PY) benches/pvfs_figures.py

bench-agent: timed ## what tracing every call costs, compared with the OpenTelemetry agent
	$(PY) benches/agent.py

bench-interventions: timed ## parts of a real HDFS slowed in turn: is each named, is its saving seen? (root)
	$(PY) benches/interventions.py

bench-smallfiles: timed ## why small files are slow on a default HDFS, and what the cure gains
	$(PY) benches/smallfiles.py

bench-liu: timed ## the tables of Liu 2018 on a real HDFS: request frequency and file size
	.venv/bin/dfslab run scenarios/liu-request-frequency.toml
	.venv/bin/dfslab run scenarios/liu-file-size.toml

.venv/spark: .venv/.packages scenarios/programs/requirements-spark.txt
	.venv/bin/uv venv --quiet --clear $@
	.venv/bin/uv pip install --quiet --python $@/bin/python -r scenarios/programs/requirements-spark.txt
	@touch $@

spark: setup .venv/spark ## Spark, for scenarios/liu-spark.toml and liu-wordcount.toml

bench-spark: spark ## the Spark jobs of Liu 2018 on a real HDFS, traced
	.venv/bin/dfslab run scenarios/liu-spark.toml

bench-trace: timed ## reading and compressing a trace of 1 GB, compared with DuckDB and plain Python
	$(PY) benches/trace.py

LOCK := .venv/bin/uv pip compile --quiet pyproject.toml --generate-hashes --no-header --no-annotate
lock: .venv/.packages ## renew the lock files from pyproject.toml and Cargo.toml
	$(LOCK) --extra dev --upgrade -o requirements.lock
	$(LOCK) --extra demo -c requirements.lock -o requirements-demo.lock
	cargo update

.PHONY: help setup timed package release notebooks docs demo test test-rust test-python test-testbeds test-quiet sanitize verify blind shake check format testbeds bench-description bench-layouts bench bench-start bench-page bench-load bench-stall bench-sampled bench-hadoop bench-agent bench-interventions bench-smallfiles bench-liu spark bench-spark bench-trace bench-net bench-pvfs lock
