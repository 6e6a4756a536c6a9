#!/usr/bin/env bash
# Runs the test suite on a busy machine, to reveal tests whose outcome depends on timing.
#
# While four busy loops run, the suite without tests of testbeds and documents runs SHAKE_ROUNDS
# times (default 3), each time with its files in a different order. SHAKE_TESTS names the tests to
# run instead of all. No test is retried: one failure in any round is a failure.
set -u
cd "$(dirname "$0")/.."
PY=${PY:-.venv/bin/python}
rounds=${SHAKE_ROUNDS:-3}
case $rounds in '' | *[!0-9]* | 0) echo "SHAKE_ROUNDS = $rounds: a whole number above 0" >&2; exit 2 ;; esac

loops=()
end_loops() {
  # End the busy loops by PID, and no other process.
  for pid in "${loops[@]}"; do kill "$pid" 2>/dev/null; done
  for pid in "${loops[@]}"; do wait "$pid" 2>/dev/null; done
  loops=()
}
trap end_loops EXIT
trap 'exit 130' INT TERM HUP

for _ in 1 2 3 4; do
  sh -c 'while kill -0 "$1" 2>/dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done' sh $$ &
  loops+=($!)
done

# Prints the test files in an order that the seed $1 determines, so a failure can be reproduced.
ordered() {
  if [ -n "${SHAKE_TESTS:-}" ]; then
    # shellcheck disable=SC2086 # split on purpose: each word is a test
    printf '%s\n' $SHAKE_TESTS
  else
    find tests -name 'test_*.py' -not -path 'tests/docs/*' -not -path 'tests/testbed/*' | sort
  fi | "$PY" -c 'import random, sys
tests = sys.stdin.read().split()
random.Random(int(sys.argv[1])).shuffle(tests)
print(*tests)' "$1"
}

failed=0
for round in $(seq "$rounds"); do
  began=$SECONDS
  # shellcheck disable=SC2046 # split on purpose: each word is a test
  if "$PY" -m pytest -n 3 --dist worksteal -m "not testbed" $(ordered "$round"); then
    result=green
  else
    result=FAILED failed=$((failed + 1))
  fi
  echo "shake: round $round of $rounds, order $round: $result in $((SECONDS - began)) s"
done
echo "shake: $((rounds - failed)) of $rounds rounds green"
[ "$failed" -eq 0 ]
