#!/usr/bin/env bash
# Fails on any warning of the compiler or of clippy in our crates, their tests and their examples.
#
# Crates that `make setup` and `make test-rust` have compiled by clippy's driver are not compiled
# again: cargo repeats the warnings that it has cached. LINTED is the environment of that compilation.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ -z ${LINTED:-} ]]; then
    echo "check: clippy is not installed: rustup component add clippy" >&2
    exit 1
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
$LINTED cargo build --workspace --all-targets --profile ci --locked --message-format short 2>&1 | tee "$said" >&2
if grep -qE '(^|: )warning(:|\[)' "$said"; then
    echo "check: clippy warns, see above" >&2
    exit 1
fi
