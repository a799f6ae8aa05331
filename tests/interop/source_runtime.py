#!/usr/bin/env python3
"""What the runtime of a model's own format computes: run by comparisons whose own environment does not have it.

usage: source_runtime.py MODEL RESULT.npz [SEED]

.onnx: ONNX Runtime; .tflite: LiteRT with the kernels that users get; .h5, .keras, SavedModel folders: Keras, TensorFlow.
The inputs are random (a photograph where a .tflite file takes one) and stand in RESULT.npz as in0, in1, ..., what comes out as out0,
out1, ...; in0_scale, out0_scale: scale and zero point of integers that stand for real numbers.
"""

from __future__ import annotations

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "0")

import numpy as np

SCALES: dict[str, list[float]] = {}


def run_onnx(path: pathlib.Path, seed: int):
    import model_set
    from engines import ort_session

    model = model_set.from_file(path.stem, path, below=20)
    feeds = model.feeds(seed)
    # An index that is out of range would be refused; floats do not have that.
    return list(feeds.values()), ort_session(path, threads=1).run(None, feeds)


def scale_of(detail) -> list[float]:
    """Scale and zero point of an integer that stands for a real number."""
    scale, zero = detail["quantization"]
    return [scale, zero] if scale and detail["dtype"] != np.float32 else []


def run_tflite(path: pathlib.Path, seed: int):
    import litert
    from tflite_check import as_input, image_files, random_input, takes_images

    interpreter = litert.open_model(path, reference=False)
    details, rng = interpreter.get_input_details(), np.random.default_rng(seed)
    pictures = image_files(0) if takes_images(details) else []
    # Detectors and classifiers answer noise with the first rounding that falls.
    inputs = [as_input(pictures[0], details[0])] if pictures else [random_input(d, d["shape"], rng) for d in details]
    outputs = litert.run_in_order(interpreter, inputs)
    SCALES.update({f"in{i}_scale": scale_of(d) for i, d in enumerate(details)})
    SCALES.update({f"out{i}_scale": scale_of(d) for i, d in enumerate(interpreter.get_output_details())})
    return inputs, outputs


def random_like(shape, dtype: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, [1 if s is None else int(s) for s in shape]).astype(dtype)


def run_keras(path: pathlib.Path, seed: int):
    import keras

    model = keras.models.load_model(path, compile=False)
    inputs = [random_like(x.shape, str(x.dtype), seed + i) for i, x in enumerate(model.inputs)]
    outputs = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    return inputs, [np.asarray(y) for y in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]


def run_saved_model(path: pathlib.Path, seed: int):
    import tensorflow as tf

    try:
        return run_signature(tf, path, seed)
    except AttributeError:  # of optimisers that were saved with the network and that this release does not know
        return run_graph(tf.compat.v1, path, seed)


def run_graph(v1, path: pathlib.Path, seed: int):
    with v1.Session(graph=v1.Graph()) as session:
        signature = v1.saved_model.loader.load(session, ["serve"], str(path)).signature_def["serving_default"]
        feeds, inputs = {}, []
        for i, (_, info) in enumerate(sorted(signature.inputs.items())):
            shape = [d.size if d.size > 0 else 1 for d in info.tensor_shape.dim]
            inputs.append(random_like(shape, v1.as_dtype(info.dtype).name, seed + i))
            feeds[info.name] = inputs[-1]
        return inputs, session.run([signature.outputs[name].name for name in sorted(signature.outputs)], feeds)


def run_signature(tf, path: pathlib.Path, seed: int):
    function = tf.saved_model.load(str(path)).signatures["serving_default"]
    _, specs = function.structured_input_signature
    feeds = {name: random_like(s.shape, s.dtype.name, seed + i) for i, (name, s) in enumerate(sorted(specs.items()))}
    outputs = function(**{name: tf.constant(value) for name, value in feeds.items()})
    return list(feeds.values()), [outputs[name].numpy() for name in sorted(outputs)]


def main() -> int:
    model, result = pathlib.Path(sys.argv[1]), sys.argv[2]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    runs = {".onnx": run_onnx, ".tflite": run_tflite, ".h5": run_keras, ".keras": run_keras, "": run_saved_model}
    inputs, outputs = runs[model.suffix](model, seed)
    np.savez(result, **{f"in{i}": x for i, x in enumerate(inputs)}, **{f"out{i}": x for i, x in enumerate(outputs)},
             **{name: np.array(scale) for name, scale in SCALES.items() if scale})
    return 0


if __name__ == "__main__":
    sys.exit(main())
