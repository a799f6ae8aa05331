#!/usr/bin/env bash
# Shows the program on the bundled example: a small network that tells shapes apart.
# usage: examples/demo.sh EDGECOMPILE WORK_DIRECTORY
set -euo pipefail
program=$(realpath "$1")
example=$(dirname "$(realpath "$0")")/shapes
mkdir -p "$2"
cd "$2"
cp "$example/shapes.onnx" "$example"/samples/*.npy .
rm -rf images nhwc
cp -r "$example/images" "$example/samples/nhwc" .

show() {
  printf '\n$ edgecompile %s\n' "$*"
  "$program" "$@"
}

show inspect shapes.onnx --dim batch=1
show check shapes.onnx --dim batch=1
show optimize shapes.onnx --dim batch=1 -o shapes_optimized.onnx
for image in [0-9]_*.npy; do
  show run shapes_optimized.onnx -i image="$image"
done
show compile shapes.onnx --dim batch=1 --target cpu -o shapes.ecir
show run shapes.ecir -i image=0_circle.npy -o outputs
show bench shapes.ecir --iterations 200
show compile shapes.onnx --dim batch=1 --target coral --quantize ptq --calibration-data images -o shapes_coral.tflite
for image in nhwc/*.npy; do
  show run shapes_coral.tflite -i image="$image"
done
printf '\nclasses: circle 0, square 1, triangle 2, cross 3, ring 4, stripes 5\n'
