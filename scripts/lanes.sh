#!/usr/bin/env bash
# Runs targets of the Makefile in two lanes at once: lanes.sh BEHIND... -- FRONT...
#
# The front lane prints as it goes. What the lane behind it prints follows when both have ended.
# Real file systems wait more than they compute, so the other tests use the processors meanwhile.
set -u
cd "$(dirname "$0")/.."
behind=()
while [[ $# -gt 0 && $1 != -- ]]; do behind+=("$1"); shift; done
shift
pid=''
end_lane() {
    # The whole process group of the lane behind, which this script started.
    if [[ -n $pid ]]; then kill -INT -- "-$pid" 2>/dev/null; wait "$pid" 2>/dev/null; fi
    rm -f "$said"
}
said=$(mktemp)
trap end_lane EXIT
trap 'exit 130' INT TERM HUP
if [[ ${#behind[@]} -gt 0 ]]; then
    # Monitor mode gives the lane a process group of its own, and lets its commands be interrupted.
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
