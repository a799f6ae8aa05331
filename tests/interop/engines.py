"""The programs under comparison behind one call: run(model path, feeds) -> outputs in order.

Heavy imports stay inside the functions, so that a worker loads only the engine it runs.
"""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np


class Refused(Exception):
    """The engine said no in words: code (may be empty) and reason."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def one_line(text: str, limit: int = 300) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def refusal(error: Exception) -> Refused:
    """The first diagnostic of one of our errors, without the file name."""
    first = next((d for d in getattr(error, "diagnostics", ()) if d.severity == "error"), None)
    if first is None:
        return Refused("", one_line(f"{type(error).__name__}: {error}"))
    where = f"{first.op_type}: " if first.op_type else ""
    return Refused(first.code, one_line(where + first.message))


def run_edgecompiler(path: pathlib.Path, data_sets: list[dict[str, Any]]) -> list[list[Any]]:
    from edgecompiler.errors import EdgeCompilerError
    from edgecompiler.runtime import InferenceSession

    try:
        with InferenceSession(str(path)) as session:
            return [list(session.run(feeds).values()) for feeds in data_sets]
    except EdgeCompilerError as error:
        raise refusal(error) from None


def ort_session(path: pathlib.Path, threads: int = 0, as_it_stands: bool = False):
    """A silent session of ONNX Runtime on the CPU; as it stands: without optimisation of the graph."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    if as_it_stands:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run_onnxruntime(path: pathlib.Path, data_sets: list[dict[str, Any]]) -> list[list[Any]]:
    import onnxruntime as ort

    ort.set_default_logger_severity(4)
    try:
        session = ort_session(path, threads=1)
        wanted = {value.name for value in session.get_inputs()}
        results = []
        for feeds in data_sets:
            values = {name: _to_ort_value(value) for name, value in feeds.items() if name in wanted}
            if any(value is None for value in values.values()):
                results.append(session.run(None, {n: v for n, v in feeds.items() if n in wanted}))
            else:
                outputs = session.run_with_ort_values(None, values)
                results.append([_from_ort_value(value) for value in outputs])
        return results
    except Exception as error:  # ORT has no common base class for its errors
        raise Refused(type(error).__name__, one_line(error)) from None


_SUB_BYTE = ("int4", "uint4", "int2", "uint2", "float4_e2m1fn")


def _to_ort_value(value: Any):
    import onnxruntime as ort
    from onnx import helper

    if not isinstance(value, np.ndarray) or value.dtype.kind in "OSU":
        return None
    if value.dtype.kind != "V" and value.dtype.name in np.sctypeDict:
        return ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(value).reshape(value.shape))
    if value.dtype.name in _SUB_BYTE:
        raise Refused("Binding", "ORT's Python binding passes no types smaller than a byte")
    element = helper.np_dtype_to_tensor_dtype(value.dtype)
    raw = np.ascontiguousarray(value).view(np.uint16 if value.dtype.itemsize == 2 else np.uint8).reshape(value.shape)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, element)


def _from_ort_value(value) -> Any:
    import ml_dtypes

    raw = value.numpy() if value.is_tensor() else value.to_list() if hasattr(value, "to_list") else None
    small = {
        "tensor(bfloat16)": ml_dtypes.bfloat16,
        "tensor(float8e4m3fn)": ml_dtypes.float8_e4m3fn,
        "tensor(float8e4m3fnuz)": ml_dtypes.float8_e4m3fnuz,
        "tensor(float8e5m2)": ml_dtypes.float8_e5m2,
        "tensor(float8e5m2fnuz)": ml_dtypes.float8_e5m2fnuz,
    }.get(value.data_type())
    if small is not None and raw.dtype.kind in "ui":
        raw = raw.view(small)
    return raw


ENGINES = {"edgecompiler": run_edgecompiler, "onnxruntime": run_onnxruntime}
