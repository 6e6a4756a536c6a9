#!/usr/bin/env bash
# Runs a command as a named stage. Where DFSLAB_STAGES names a file, a line is added to it: the seconds
# that the stage took, its exit code, its name and the second at which it ended.
set -uo pipefail
name=$1
shift
began=$SECONDS
"$@"
code=$?
if [[ -n ${DFSLAB_STAGES:-} ]]; then
    printf '%s\t%s\t%s\t%s\n' "$((SECONDS - began))" "$code" "$name" "$EPOCHSECONDS" >>"$DFSLAB_STAGES"
fi
exit "$code"
