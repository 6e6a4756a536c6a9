#!/usr/bin/env bash
# Runs a command as a named stage: its time goes to the file DFSLAB_STAGES, where one is named.
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
