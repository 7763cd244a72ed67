#!/usr/bin/env bash
# What action.yml runs; its inputs are environment variables. Inputs are words, never code: nothing here is expanded
# twice.
set -euo pipefail

die() {
  echo "::error title=flashfit doctor::$*"
  exit 3
}

# A list of words, separated by blanks or newlines, in the array `words`.
words_of() {
  words=()
  local line part
  while IFS= read -r line || [[ $line ]]; do
    read -ra part <<<"$line"
    words+=("${part[@]}")
  done <<<"$1"
}

[[ ${TARGETS:-} ]] || die "targets: empty; accepted: files, separated by blanks or newlines"
[[ ${UNKNOWN:-fail} == fail || $UNKNOWN == pass ]] || die "unknown: $UNKNOWN; accepted: fail, pass"

if [[ ${COMMAND:-} ]]; then
  flashfit=$COMMAND
elif [[ ${WHEEL:-} ]]; then
  [[ -f $WHEEL ]] || die "wheel: $WHEEL is not there; accepted: a file"
  folder=${RUNNER_TEMP:-$(mktemp -d)}/flashfit-doctor
  python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --no-deps --no-index "$WHEEL" || die "wheel: $WHEEL does not install"
  flashfit=$folder/bin/flashfit
else
  die "wheel: empty, and command too; accepted: one of them"
fi

words_of "$TARGETS"
arguments=("${words[@]}")
if [[ ${POLICY:-} ]]; then arguments+=(--policy "$POLICY"); fi
words_of "${OPTIONS:-}"
arguments+=("${words[@]}")

status=0
"$flashfit" doctor "${arguments[@]}" --format github || status=$?
if [[ ${GITHUB_OUTPUT:-} ]]; then echo "status=$status" >>"$GITHUB_OUTPUT"; fi
if ((status == 2)) && [[ ${UNKNOWN:-fail} == pass ]]; then exit 0; fi
exit "$status"
