#!/usr/bin/env bash
# Every check of style, one after another, each whether or not another failed; exits with 1 if one did. `./dev lint`
# sets up what it needs.
# usage: tools/dev/lint.sh FOLDER, where clang-tidy's results are kept
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PATH=$PWD/.venv/bin:$PATH

failed=()
check() {
  local name=$1 start=$SECONDS
  shift
  if "$@"; then
    printf '%-14s passed %4d s\n' "$name" $((SECONDS - start))
  else
    printf '%-14s FAILED %4d s\n' "$name" $((SECONDS - start))
    failed+=("$name")
  fi
}

mapfile -t sources < <(find src include tests examples tools bench \
  -name '*.[ch]pp' -o -name '*.cuh' -o -name '*.[ch]' | sort)
mapfile -t shells < <(find . -name '*.sh' -not -path './.*/*' -not -path './build*' | sort)
mapfile -t python < <(find python tools examples tests bench -name '*.py' | sort)

check clang-format clang-format --dry-run -Werror "${sources[@]}"
check ruff ruff check -q .
check "ruff format" ruff format -q --check --diff .
check mypy mypy --no-error-summary "${python[@]}"
check shellcheck shellcheck dev .ci/run "${shells[@]}"
check hadolint hadolint docker/Dockerfile
check clang-tidy python -m tools.dev.tidy build/compile_commands.json "$1" build/lint.xml
((!${#failed[@]})) || { echo "lint: failed: ${failed[*]}" && exit 1; }
