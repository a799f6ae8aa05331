"""The quantisers that quantize_vs_peers.py compares with, one job per process: python peer_quantisers.py JOB

JOB is JSON: tool, method, model, output, and samples (an array file, one picture per row, channels last unless
`channels_first` says that they are as the model takes them). What it took,
without imports, is the last line printed. Runs in the environment of the tool, which has NumPy and little else.
"""

from __future__ import annotations

import json
import pathlib
import sys
import time

import numpy as np


def samples_of(job: dict):
    for x in np.load(job["samples"], mmap_mode="r"):
        yield np.array(x[None])


def quantise_ort(job: dict) -> None:
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
    import onnx

    name = onnx.load(job["model"]).graph.input[0].name

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.all = np.load(job["samples"], mmap_mode="r")
            self.set_range(0, len(self.all))

        def __len__(self):
            return len(self.all)

        def set_range(self, start_index, end_index):
            self.samples = ({name: self.prepared(x)} for x in self.all[start_index:end_index])

        def prepared(self, x):
            return np.array(x[None]) if job.get("channels_first") else np.array(x[None].transpose(0, 3, 1, 2))

        def get_next(self):
            return next(self.samples, None)

    # Histograms are made of a few samples at a time: the activations of all of them would fill the memory.
    extra = {"CalibStridedMinMax": job["stride"]} if job.get("stride") and job["method"] != "MinMax" else {}
    quantize_static(job["model"], job["output"], Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
                    calibrate_method=getattr(CalibrationMethod, job["method"]), extra_options=extra)


def ai_edge_modules():
    """ai-edge-quantizer is called litert-quantizer from 0.8 on."""
    try:
        from litert_quantizer import quantizer, recipe
    except ImportError:
        from ai_edge_quantizer import quantizer, recipe
    return quantizer, recipe


def ai_edge_calibration(worker, data: dict):
    """As it stands; where its delegate keeps tensors for itself (the results of a split), without the delegate."""
    try:
        return worker.calibrate(data)
    except ValueError:
        from litert_quantizer.utils import tfl_interpreter_utils as utils

        make = utils.create_tfl_interpreter
        utils.create_tfl_interpreter = lambda *args, **options: make(*args, **(options | {"use_xnnpack": False}))
        return worker.calibrate(data)


def quantise_ai_edge(job: dict) -> None:
    quantizer, recipe = ai_edge_modules()

    dynamic = job["method"] == "dynamic"
    worker = quantizer.Quantizer(job["model"], recipe.dynamic_wi8_afp32() if dynamic else recipe.static_wi8_ai8())
    if dynamic:
        worker.quantize().export_model(job["output"], overwrite=True)
        return
    from ai_edge_litert.interpreter import Interpreter

    signature, tensors = next(iter(Interpreter(job["model"]).get_signature_list().items()))
    data = {signature: [{tensors["inputs"][0]: x} for x in samples_of(job)]}
    worker.quantize(ai_edge_calibration(worker, data)).export_model(job["output"], overwrite=True)


def tensorflow_converter(model: str):
    """Of a Keras model, or of an ONNX file as a SavedModel."""
    import tempfile

    import tensorflow as tf

    if not model.endswith(".onnx"):
        return tf.lite.TFLiteConverter.from_keras_model(tf.keras.models.load_model(model, compile=False))
    from onnx_as_tensorflow import function_of

    module, folder = tf.Module(), tempfile.mkdtemp()
    module.network = function_of(model)
    tf.saved_model.save(module, folder, signatures={"serving_default": module.network})
    return tf.lite.TFLiteConverter.from_saved_model(folder)


def quantise_tensorflow(job: dict) -> None:
    import tensorflow as tf

    converter = tensorflow_converter(job["model"])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if job["method"] == "int8 where it can":
        converter.representative_dataset = lambda: ([x] for x in samples_of(job))
    if job["method"] == "int8":
        converter.representative_dataset = lambda: ([x] for x in samples_of(job))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    if job["method"] == "float16":
        converter.target_spec.supported_types = [tf.float16]
    pathlib.Path(job["output"]).write_bytes(converter.convert())


QUANTISERS = {"ort": quantise_ort, "ai_edge": quantise_ai_edge, "tensorflow": quantise_tensorflow}


def warm_up(tool: str) -> None:
    """Imports are no work of the quantiser."""
    if tool == "ort":
        import onnxruntime.quantization  # noqa: F401
    if tool == "ai_edge":
        ai_edge_modules()
    if tool == "tensorflow":
        import tensorflow  # noqa: F401


def main(text: str) -> int:
    job = json.loads(text)
    warm_up(job["tool"])
    start, before = time.perf_counter(), time.process_time()
    QUANTISERS[job["tool"]](job)
    seconds, busy = time.perf_counter() - start, time.process_time() - before
    print(json.dumps({"seconds": seconds, "cpu_seconds": busy}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
