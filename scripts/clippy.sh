#!/usr/bin/env bash
# Refuses any warning of the compiler or of clippy in our crates, their tests and their examples.
#
# What `make setup` and `make test-rust` compiled by clippy's driver is not compiled again: cargo
# repeats the warnings that it kept. LINTED is the environment that they compiled with.
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
