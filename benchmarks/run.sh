#!/usr/bin/env bash
# Side-by-side tables against the peers. Called by `make bench`; needs the environments that tests/interop/run.sh makes.
set -euo pipefail
cd "$(dirname "$0")/.."
work=${EC_INTEROP_DIR:-build/interop}
[ -x "$work/peers/bin/python" ] || tests/interop/run.sh zoo
python="$work/peers/bin/python"
"$python" benchmarks/simplify_vs_onnxsim.py --out "$work/results" "$@"
"$python" benchmarks/inference_vs_ort.py --out "$work/results" "$@"
echo "bench: tables in $work/results"
