#!/usr/bin/env bash
# usage: tools/dev/run_fuzz.sh FOLDER SECONDS OUTPUT TARGET...
# Runs the doctor's fuzz targets beside each other, a process each, for SECONDS of wall time: FOLDER/tests/inspect_TARGET_fuzz on FOLDER/seeds-TARGET. What is learnt stays in
# FOLDER/corpus-TARGET, logs and inputs that are findings go to OUTPUT, and a table says what was done. A finding ends its target; exits with 1 if there was one.
# FOLDER may have been carried from where it was built: the programs need glibc alone, and this script bash.
set -euo pipefail
readonly folder=$1 seconds=$2 output=$3
shift 3

run_one() {
  local target=$1
  mkdir -p "$folder/corpus-$target"
  # A file that lies is refused within 5 s and 512 MB; AddressSanitizer is allowed twice that.
  TIMEFORMAT='cpu_seconds: %U'
  time "$folder/tests/inspect_${target}_fuzz" -max_total_time="$seconds" -max_len=16384 -timeout=10 -malloc_limit_mb=512 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$output/$target-" "$folder/corpus-$target" "$folder/seeds-$target"
}

# TARGET KEY: the value of a line "KEY: VALUE" in the target's log.
said() { sed -n "s/^\(stat::\)\?$2: *//p" "$output/$1.log" | tail -n 1; }

mkdir -p "$output"
declare -A running
for target in "$@"; do
  run_one "$target" >"$output/$target.log" 2>&1 &
  running[$target]=$!
done
trap 'kill "${running[@]}" 2>/dev/null' INT TERM
failed=0
: >"$output/table.txt"
row() { printf '%-12s %12s %10s %10s %8s  %s\n' "$@" | tee -a "$output/table.txt"; }
row target executions 'CPU s' 'per s' 'peak MB' findings
for target in "$@"; do
  status=0
  wait "${running[$target]}" || status=$?
  findings=$(find "$output" -name "$target-crash-*" -o -name "$target-oom-*" -o -name "$target-timeout-*" -o -name "$target-leak-*" | wc -l)
  words=$findings
  if ((status || findings)); then
    failed=1
    words="$findings, ended with $status: see $target.log"
  fi
  row "$target" "$(said "$target" number_of_executed_units)" "$(said "$target" cpu_seconds)" "$(said "$target" average_exec_per_sec)" \
    "$(said "$target" peak_rss_mb)" "$words"
done
exit $failed
