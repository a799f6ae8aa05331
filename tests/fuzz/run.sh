#!/usr/bin/env bash
# Runs every fuzzer for some seconds: the readers starting from the checked-in files, then models made from the op table. New
# inputs stay in the build folder; a crash leaves its input or its seed there and fails the run.
# usage: tests/fuzz/run.sh BUILD SECONDS [RUNS]      with RUNS: so many inputs from a fixed seed, the same in every run
#   READERS="onnx lists" runs these alone, without the op table
set -euo pipefail
here=$(dirname "$(realpath "$0")")
build=$(realpath "$1") seconds=$2 runs=${3:-}
limit=(-max_total_time="$seconds")
[ -z "$runs" ] || limit=(-runs="$runs" -seed=1)
status=0

# Longer inputs find nothing that shorter ones do not, and take longer.
declare -A length=([onnx]=4096 [tflite]=8192 [tensorflow]=16384 [keras]=32768 [coreml]=16384 [torch]=16384 [export]=40960 [ecir]=4096 [arrays]=4096
  [images]=2048 [samples]=4096 [lists]=2048 [statistics]=32768 [config]=2048)
# Files of other tests that are seeds, too.
more_seeds() {
  case $1 in
    onnx) find "$here/../frontend/onnx/models" "$here/../data/hostile" -name '*.onnx' -size -9 ;;
    tflite) find "$here/../data/hostile" -name '*.tflite' ;;
    coreml) find "$here/../frontend/coreml" -name 'model.mlmodel' -size -33 ;;
    keras) find "$here/../frontend/keras" -name '*.h5' -size -65 -o -name '*.keras' -size -65 ;;
    torch) find "$here/../frontend/torch/models" "$here/../data/hostile" -name '*.pt' -size -33 ;;
    export) find "$here/../frontend/torch/models" -name '*.pt2' -size -81 ;;
  esac
}

for reader in ${READERS:-onnx tflite tensorflow keras coreml torch export ecir arrays images samples lists statistics config}; do
  work=$build/corpus/$reader
  mkdir -p "$work"
  more_seeds "$reader" | sort | paste -sd, >"$build/corpus/$reader.seeds"
  extra=()
  [ ! -s "$build/corpus/$reader.seeds" ] || extra+=(-seed_inputs=@"$build/corpus/$reader.seeds")
  [ ! -f "$here/dictionaries/$reader.dict" ] || extra+=(-dict="$here/dictionaries/$reader.dict")
  folders=(.)
  [ ! -d "$here/seeds/$reader" ] || folders+=("$here/seeds/$reader")
  echo "== $reader, ${limit[*]}"
  (cd "$work" && "$build/tests/fuzz/fuzz_$reader" "${limit[@]}" -timeout=10 -rss_limit_mb=2048 -max_len="${length[$reader]}" \
    -print_final_stats=1 "${extra[@]}" "${folders[@]}" 2>&1 | tee "../$reader.log" \
    | grep -E "^(stat::number_of_executed|stat::new_units|==|SUMMARY|artifact)|ERROR|DONE" ) \
    || status=1
  if compgen -G "$work/crash-*" "$work/oom-*" "$work/timeout-*" >/dev/null; then
    echo "inputs that failed are in $work"
    status=1
  fi
done
[ -z "${READERS:-}" ] || exit $status
echo "== models from the op table"
count=(--seconds "$seconds" --count 1000000000 --seed "$(date +%s)")
[ -z "$runs" ] || count=(--count "$runs" --seed 1)
"$build/tests/fuzz/op/op_fuzzer" "${count[@]}" --jobs "$(nproc)" --quiet --report "$build/op-fuzzer.json" || status=1
exit $status
