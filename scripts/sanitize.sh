#!/usr/bin/env bash
# Runs the Rust tests of the crates with unsafe code under AddressSanitizer: sanitize.sh CRATE...
# Without arguments, all crates of the list below.
#
# The runtime library of AddressSanitizer is part of the stable toolchain, but the compiler's option
# is unstable. RUSTC_BOOTSTRAP permits it. The option is given with --target, so that it does not
# reach build scripts and procedural macros. `few_nets` lowers the number of random nets. Profile
# `ci` has debug assertions and checks overflows.
#
# The script first shows that AddressSanitizer reports a planted fault.
set -euo pipefail
cd "$(dirname "$0")/.."

# core/py is missing: its tests are those of Python, whose interpreter has no AddressSanitizer.
CRATES=(dfslab-link dfslab-net dfslab-load)

# Tests that cannot run under AddressSanitizer, by the end of their names, with the reason.
LEFT_OUT=(
    # The Java virtual machine handles SIGSEGV itself and accesses memory that is not mapped.
    hadoop::
)

[[ $# -gt 0 ]] && CRATES=("$@")
target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address --cfg few_nets" CARGO_TARGET_DIR=target/sanitize
# Leaks are reported. `abort_on_error` is off, so that a fault ends the test with exit code 1.
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:abort_on_error=0"

# A program that reads freed memory must end with a report, or the sanitizer is not active.
mkdir -p "$CARGO_TARGET_DIR"
cat >"$CARGO_TARGET_DIR/planted.rs" <<'PROGRAM'
fn main() {
    let freed = vec![1_u8; 100];
    let first = freed.as_ptr();
    drop(freed);
    std::process::exit(i32::from(unsafe { *std::hint::black_box(first) } == 255));
}
PROGRAM
rustc $RUSTFLAGS --target "$target" -o "$CARGO_TARGET_DIR/planted" "$CARGO_TARGET_DIR/planted.rs"
report=$("$CARGO_TARGET_DIR/planted" 2>&1 || true)
if [[ $report != *"heap-use-after-free"* ]]; then
    echo "sanitize: AddressSanitizer did not report a planted use after free" >&2
    exit 1
fi

skipped=()
for name in "${LEFT_OUT[@]}"; do
    skipped+=(--skip "$name")
done
for crate in "${CRATES[@]}"; do
    nice cargo test --jobs 1 --locked --profile ci --target "$target" --package "$crate" \
        --lib --tests -- --test-threads 2 "${skipped[@]}"
done
