#!/usr/bin/env bash
# Runs every fuzzer for some seconds: the readers starting from the checked-in files, then models made from the op table. New
# inputs stay in the build folder; a crash leaves its input or its seed there and fails the run.
# usage: tests/fuzz/run.sh BUILD SECONDS [RUNS]      with RUNS: so many inputs from a fixed seed, the same in every run
set -euo pipefail
build=$(realpath "$1") seconds=$2 runs=${3:-}
limit=(-max_total_time="$seconds")
[ -z "$runs" ] || limit=(-runs="$runs" -seed=1)
seeds=$(dirname "$(realpath "$0")")/seeds
status=0
for reader in onnx tflite tensorflow torch ecir arrays images; do
  work=$build/corpus/$reader
  mkdir -p "$work"
  echo "== $reader, ${limit[*]}"
  (cd "$work" && "$build/tests/fuzz/fuzz_$reader" "${limit[@]}" -timeout=30 -rss_limit_mb=2048 \
    -max_len=65536 -print_final_stats=1 -verbosity=0 . "$seeds" 2>&1 | grep -E "^(stat::number_of_executed|stat::new_units|==|SUMMARY|artifact)|ERROR" ) \
    || status=1
  if compgen -G "$work/crash-*" "$work/oom-*" "$work/timeout-*" >/dev/null; then
    echo "inputs that failed are in $work"
    status=1
  fi
done
echo "== models from the op table"
count=(--seconds "$seconds" --count 1000000000 --seed "$(date +%s)")
[ -z "$runs" ] || count=(--count "$runs" --seed 1)
"$build/tests/fuzz/op/op_fuzzer" "${count[@]}" --jobs "$(nproc)" --quiet --report "$build/op-fuzzer.json" || status=1
exit $status
