#!/usr/bin/env bash
# Runs a command as a named stage: stage.sh NAME COMMAND... If DFSLAB_STAGES names a file, the
# seconds, exit code and name of the stage are appended to it.
set -uo pipefail
name=$1
shift
began=$SECONDS
"$@"
code=$?
if [[ -n ${DFSLAB_STAGES:-} ]]; then
    printf '%s\t%s\t%s\n' "$((SECONDS - began))" "$code" "$name" >>"$DFSLAB_STAGES"
fi
exit "$code"
