#!/usr/bin/env bash
# The Python environment in .venv: exactly what a lock file lists, as bytecode. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
lock=${1:?a lock file}

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "setup: please install Python 3.11 or newer" >&2
    exit 1
fi
[[ -x .venv/bin/python ]] || python3 -m venv .venv
version=$(sed -n 's/^uv==\([0-9.]*\).*/\1/p' "$lock")
# The lock's lines on uv: its version, and the hashes of its files behind backslashes.
if ! .venv/bin/uv --version 2>/dev/null | grep -qF " $version"; then
    hashed=$(mktemp)
    trap 'rm -f "$hashed"' EXIT
    sed -n '/^uv==/,/[^\\]$/p' "$lock" >"$hashed"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
        -r "$hashed"
fi
# Without bytecode every command compiles what it imports, where writing bytecode is switched off.
.venv/bin/uv pip sync --quiet --compile-bytecode --python .venv/bin/python --require-hashes "$lock"
