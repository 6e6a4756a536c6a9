#!/usr/bin/env bash
# Makes .venv contain exactly the packages that a lock file lists, compiled to bytecode. The script
# may be run several times.
set -euo pipefail
cd "$(dirname "$0")/.."
lock=${1:?a lock file}

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "setup: please install Python 3.11 or newer" >&2
    exit 1
fi
[[ -x .venv/bin/python ]] || python3 -m venv .venv
version=$(sed -n 's/^uv==\([0-9.]*\).*/\1/p' "$lock")
# If .venv has another version of uv, the locked version is installed. The lines on uv in the lock
# file are its version and, on continued lines (backslash), the hashes of its files.
if ! .venv/bin/uv --version 2>/dev/null | grep -qF " $version"; then
    hashed=$(mktemp)
    trap 'rm -f "$hashed"' EXIT
    sed -n '/^uv==/,/[^\\]$/p' "$lock" >"$hashed"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
        -r "$hashed"
fi
# The bytecode is compiled now. If writing bytecode is switched off later, every command would
# otherwise compile all modules that it imports.
.venv/bin/uv pip sync --quiet --compile-bytecode --python .venv/bin/python --require-hashes "$lock"
