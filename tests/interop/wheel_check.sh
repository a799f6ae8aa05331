#!/usr/bin/env bash
# The wheel installs in seconds into an empty environment, without a compiler, and works: the module runs the bundled
# example, and the `edgecompile` command is there.
# usage: tests/interop/wheel_check.sh WHEEL WORK_DIRECTORY
set -euo pipefail
wheel=$(realpath "$1") work=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
limit=60

case $wheel in *-manylinux*) ;; *) echo "wheel_check: $wheel has no manylinux tag" >&2; exit 1 ;; esac
rm -rf "$work"
python3 -m venv "$work"
begin=$SECONDS
CC=false CXX=false "$work/bin/pip" install -q "$wheel"
seconds=$((SECONDS - begin))
[ "$seconds" -le "$limit" ] || { echo "wheel_check: installing took $seconds s, allowed are $limit s" >&2; exit 1; }

# Outside the repository: nothing of the source tree, or of the build, may be found instead of what is installed.
cd "$work"
env -u PYTHONPATH bin/python - "$root/examples/shapes" <<'EOF'
import sys

import numpy as np

import edgecompiler
from edgecompiler.runtime import InferenceSession

folder = sys.argv[1]
with InferenceSession(f"{folder}/shapes.onnx", input_shapes={"image": [1, 3, 32, 32]}) as session:
    outputs = session.run({"image": np.load(f"{folder}/samples/0_circle.npy")})
(scores,) = outputs.values()
assert int(np.argmax(scores)) == 0, scores
assert edgecompiler.__version__, "no version"
EOF
bin/edgecompile --version
bin/edgecompile inspect "$root/examples/shapes/shapes.onnx" --dim batch=1 >inspect.txt
grep -q conv inspect.txt
echo "wheel_check: $(basename "$wheel") installed in $seconds s ($(du -h "$wheel" | cut -f1))"
