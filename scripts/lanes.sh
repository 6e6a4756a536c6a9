#!/usr/bin/env bash
# Runs two groups of Makefile targets concurrently: lanes.sh BACKGROUND... -- FOREGROUND...
#
# The output of the foreground group appears at once. The output of the background group appears
# when both groups have ended. Tests of real file systems mostly wait, so other tests can use the
# processors meanwhile.
set -u
cd "$(dirname "$0")/.."
behind=()
while [[ $# -gt 0 && $1 != -- ]]; do behind+=("$1"); shift; done
shift
pid=''
end_lane() {
    # Interrupt the process group of the background targets, which this script started.
    if [[ -n $pid ]]; then kill -INT -- "-$pid" 2>/dev/null; wait "$pid" 2>/dev/null; fi
    rm -f "$said"
}
said=$(mktemp)
trap end_lane EXIT
trap 'exit 130' INT TERM HUP
if [[ ${#behind[@]} -gt 0 ]]; then
    # Monitor mode starts the background targets in a separate process group that can be interrupted.
    set -m
    make "${behind[@]}" >"$said" 2>&1 &
    pid=$!
    set +m
fi
failed=0
for target in "$@"; do make "$target" || failed=1; done
if [[ -n $pid ]]; then
    wait "$pid" || failed=1
    pid=''
    cat "$said"
fi
exit "$failed"
