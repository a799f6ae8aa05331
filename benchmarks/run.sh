#!/usr/bin/env bash
# Side-by-side tables against the peers, into benchmarks/results. Called by `make bench`.
#   benchmarks/run.sh [--only GLOB]...        EC_INTEROP_DIR: where the environments are (default build/interop)
set -euo pipefail
cd "$(dirname "$0")/.."
work=${EC_INTEROP_DIR:-build/interop}
tests/interop/run.sh setup
python="$work/peers/bin/python"
# The program and the module as the tree has them, the module for the peers' Python.
mkdir -p build/bench
cmake -S . -B build/bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DEC_TESTS=OFF -DEC_PYTHON=ON \
  -DPython_EXECUTABLE="$(realpath -s "$python")" > build/bench/configure.log 2>&1 || { cat build/bench/configure.log; exit 1; }
cmake --build build/bench --target edgecompile ec_python_native
export EC_BIN=$PWD/build/bench/bin/edgecompile PYTHONPATH=$PWD/build/bench/python
"$python" benchmarks/simplify_vs_onnxsim.py --out benchmarks/results "$@"
"$python" benchmarks/inference_vs_ort.py --out benchmarks/results "$@"
# onnx2tf brings TensorFlow: an environment of its own.
stamp=$(sha256sum < benchmarks/requirements-onnx2tf.txt)
if [ "$(cat "$work/onnx2tf/.stamp" 2>/dev/null)" != "$stamp" ]; then
  rm -rf "$work/onnx2tf"
  python3 -m venv "$work/onnx2tf"
  "$work/onnx2tf/bin/pip" install -q "$(grep '^tensorflow-cpu==' benchmarks/requirements-onnx2tf.txt)"
  "$work/onnx2tf/bin/pip" install -q --no-deps -r benchmarks/requirements-onnx2tf.txt
  echo "$stamp" > "$work/onnx2tf/.stamp"
fi
"$python" benchmarks/convert_vs_onnx2tf.py --onnx2tf "$work/onnx2tf/bin/onnx2tf" --out benchmarks/results "$@"
# ai-edge-quantizer needs packages of its own; TensorFlow is there with onnx2tf.
if [ ! -x "$work/ptq/bin/python" ]; then
  python3 -m venv "$work/ptq"
  "$work/ptq/bin/pip" install -q ai-edge-quantizer==0.10.0
fi
"$python" benchmarks/quantize_vs_peers.py --ptq-python "$work/ptq/bin/python" --tf-python "$work/onnx2tf/bin/python" \
  --out benchmarks/results
echo "bench: tables in benchmarks/results"
