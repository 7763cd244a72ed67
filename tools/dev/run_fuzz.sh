#!/usr/bin/env bash
# usage: tools/dev/run_fuzz.sh FOLDER SECONDS OUTPUT TARGET...
# Runs fuzz targets, FOLDER/tests/TARGET_fuzz on FOLDER/seeds-TARGET, as many beside each other as there are cores, each
# until it has used SECONDS of processor time. What is learnt stays in FOLDER/corpus-TARGET, logs and inputs that are
# findings go to OUTPUT, and a table says what was done. A finding ends its target; exits with 1 if there was one.
# FOLDER may have been carried from where it was built: the programs need glibc alone, and this script bash.
set -euo pipefail
readonly folder=$1 seconds=$2 output=$3
shift 3

# PID: the processor time of its own code in hundredths of a second, as Linux counts for programs everywhere; fails once
# it has ended.
ticks() {
  local stat
  read -r stat 2>/dev/null <"/proc/$1/stat" || return
  # The name, which may hold anything, ends with the last parenthesis; the state follows, and user time is the twelfth.
  read -ra stat <<<"${stat##*) }"
  [[ ${stat[0]} != Z ]] && echo "${stat[11]}"
}

run_one() {
  local target=$1 program used=0 now
  mkdir -p "$folder/corpus-$target"
  # A file that lies is refused within 5 s and 512 MB; AddressSanitizer is allowed twice that.
  "$folder/tests/${target}_fuzz" -max_len=16384 -timeout=10 -malloc_limit_mb=512 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$output/$target-" "$folder/corpus-$target" "$folder/seeds-$target" &
  program=$!
  trap 'kill "$program" 2>/dev/null' TERM
  # libFuzzer knows wall time alone, of which a busy machine may give it little. At this signal it ends, with its
  # figures.
  while now=$(ticks "$program"); do
    used=$now
    if ((used >= seconds * 100)); then kill -USR1 "$program" 2>/dev/null || true; fi
    sleep 0.5
  done
  printf 'cpu_seconds: %d.%02d\n' $((used / 100)) $((used % 100))
  wait "$program"
}

# TARGET KEY: the value of a line "KEY: VALUE" in the target's log.
said() { sed -n "s/^\(stat::\)\?$2: *//p" "$output/$1.log" | tail -n 1; }

mkdir -p "$output"
declare -A running
trap 'kill "${running[@]}" 2>/dev/null; exit 143' INT TERM
cores=$(nproc)
for target in "$@"; do
  while (($(jobs -rp | wc -l) >= cores)); do sleep 0.5; done
  run_one "$target" >"$output/$target.log" 2>&1 &
  running[$target]=$!
done
failed=0
: >"$output/table.txt"
row() { printf '%-12s %12s %10s %10s %8s  %s\n' "$@" | tee -a "$output/table.txt"; }
row target executions 'CPU s' 'per s' 'peak MB' findings
for target in "$@"; do
  status=0
  wait "${running[$target]}" || status=$?
  findings=$(find "$output" -name "$target-crash-*" -o -name "$target-oom-*" \
    -o -name "$target-timeout-*" -o -name "$target-leak-*" | wc -l)
  words=$findings
  if ((status || findings)); then
    failed=1
    words="$findings, ended with $status: see $target.log"
  fi
  row "$target" "$(said "$target" number_of_executed_units)" "$(said "$target" cpu_seconds)" \
    "$(said "$target" average_exec_per_sec)" "$(said "$target" peak_rss_mb)" "$words"
done
exit $failed
