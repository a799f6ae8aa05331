"""The ONNX backend tests on disk: which there are, what they feed and what they expect.

Each test is a folder with model.onnx and test_data_set_N/{input,output}_M.pb; a light model is one file with
its output beside it and takes inputs of ones, as the onnx test runner does. This module only reads: node_data.py
brings the files, node_tests.py runs them.
"""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

CATEGORIES = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")

# Values that are not tensors travel as these kinds of messages in the .pb files.
_PROTO_BY_KIND = {
    "tensor_type": onnx.TensorProto,
    "sparse_tensor_type": onnx.SparseTensorProto,
    "sequence_type": onnx.SequenceProto,
    "optional_type": onnx.OptionalProto,
    "map_type": onnx.MapProto,
}


@dataclasses.dataclass(frozen=True)
class NodeTest:
    category: str
    name: str
    folder: pathlib.Path

    @property
    def key(self) -> str:
        return f"{self.category}/{self.name}"

    @property
    def is_light(self) -> bool:
        return self.folder.suffix == ".onnx"

    @property
    def model_path(self) -> pathlib.Path:
        return self.folder if self.is_light else self.folder / "model.onnx"


def list_tests(root: pathlib.Path, categories: tuple[str, ...] = CATEGORIES) -> list[NodeTest]:
    tests = []
    for category in categories:
        folder = root / category
        if not folder.is_dir():
            continue
        for child in sorted(folder.iterdir()):
            if (child / "model.onnx").is_file():
                tests.append(NodeTest(category, child.name, child))
        if category == "light":
            for child in sorted(folder.glob("*.onnx")):
                tests.append(NodeTest(category, child.stem, child))
    return tests


def _element_kind(value_type: onnx.TypeProto) -> str:
    return value_type.WhichOneof("value") or "tensor_type"


def _has_string(value_type: onnx.TypeProto) -> bool:
    kind = _element_kind(value_type)
    if kind in ("tensor_type", "sparse_tensor_type"):
        return getattr(value_type, kind).elem_type == onnx.TensorProto.STRING
    if kind in ("sequence_type", "optional_type"):
        return _has_string(getattr(value_type, kind).elem_type)
    return False


def io_class(model: onnx.ModelProto) -> str:
    """'tensor', 'string' or 'non_tensor': what crosses the session's border in this model."""
    values = list(model.graph.input) + list(model.graph.output)
    if any(_element_kind(v.type) != "tensor_type" for v in values):
        return "non_tensor"
    if any(_has_string(v.type) for v in values):
        return "string"
    return "tensor"


def _read_value(path: pathlib.Path, value_type: onnx.TypeProto) -> Any:
    kind = _element_kind(value_type)
    proto = _PROTO_BY_KIND[kind]()
    proto.ParseFromString(path.read_bytes())
    if kind == "tensor_type":
        return numpy_helper.to_array(proto)
    if kind == "sequence_type":
        return numpy_helper.to_list(proto)
    if kind == "optional_type":
        return numpy_helper.to_optional(proto)
    raise ValueError(f"values of kind {kind} are not read by this harness")


def _light_data(test: NodeTest, model: onnx.ModelProto) -> tuple[dict[str, Any], list[Any]]:
    """The onnx runner feeds light models a ramp from 0 to 1 and keeps only the expected output on disk."""
    initialised = {t.name for t in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name not in initialised:
            shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
            size = int(np.prod(shape))
            feeds[value.name] = (np.arange(size).reshape(shape) / size).astype(np.float32)
    output = test.folder.with_name(f"{test.name}_output_0.pb")
    return feeds, [_read_value(output, model.graph.output[0].type)]


def read_data_sets(test: NodeTest, model: onnx.ModelProto) -> list[tuple[dict[str, Any], list[Any]]]:
    """One (inputs by name, expected outputs in order) pair per test_data_set folder."""
    if test.is_light:
        return [_light_data(test, model)]
    initialised = {t.name for t in model.graph.initializer}
    fed = [v for v in model.graph.input if v.name not in initialised] or list(model.graph.input)
    sets = []
    for folder in sorted(test.folder.glob("test_data_set_*")):
        # Old models list initialisers among the inputs; the files then hold the fed ones in order.
        count = len(list(folder.glob("input_*.pb")))
        inputs = fed if count <= len(fed) else list(model.graph.input)
        feeds = {}
        for i in range(count):
            path = folder / f"input_{i}.pb"
            if path.stat().st_size == 0 and _element_kind(inputs[i].type) == "tensor_type":
                raise ValueError(f"{path.name} is empty")
            feeds[inputs[i].name] = _read_value(path, inputs[i].type)
        expected = []
        for i, value in enumerate(model.graph.output):
            path = folder / f"output_{i}.pb"
            if path.exists():
                expected.append(_read_value(path, value.type))
        sets.append((feeds, expected))
    return sets


def _walk_nodes(nodes):
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _walk_nodes(attribute.g.node)
            for graph in attribute.graphs:
                yield from _walk_nodes(graph.node)


def ops_of(model: onnx.ModelProto) -> list[tuple[str, str]]:
    """(domain, op type) of every node, subgraphs and model-local functions included."""
    local = {(f.domain, f.name) for f in model.functions}
    found = []
    for node in _walk_nodes(model.graph.node):
        if (node.domain, node.op_type) not in local:
            found.append((node.domain or "ai.onnx", node.op_type))
    for function in model.functions:
        for node in _walk_nodes(function.node):
            if (node.domain, node.op_type) not in local:
                found.append((node.domain or "ai.onnx", node.op_type))
    return found


def subject_op(test: NodeTest, model: onnx.ModelProto) -> str:
    """The op a test is about: its only node, else the op its function body was expanded from, else the last node."""
    nodes = model.graph.node
    if len(nodes) == 1:
        return nodes[0].op_type
    if "_expanded" in test.name:
        return _op_by_test_name(test.name)
    return nodes[-1].op_type if nodes else "(none)"


# Ops whose tests do not carry the op's name.
_TEST_STEMS = {"SoftmaxCrossEntropyLoss": "sce", "NegativeLogLikelihoodLoss": "nllloss"}


def _op_by_test_name(name: str) -> str:
    """Expanded tests are named test_<op>_…_expanded: take the longest op name that the name starts with."""
    stem = name.split("_expanded")[0].removeprefix("test_").replace("_", "").lower()
    best = ""
    for schema in onnx.defs.get_all_schemas():
        op = schema.name
        if stem.startswith(_TEST_STEMS.get(op, op.lower())) and len(op) > len(best):
            best = op
    return best or "(expanded)"


def compare(actual: Any, expected: Any, rtol: float, atol: float) -> str | None:
    """None if equal within tolerance, else a short statement of the difference."""
    if isinstance(expected, (list, tuple)):
        if not isinstance(actual, (list, tuple)) or len(actual) != len(expected):
            return "sequence length differs"
        for a, e in zip(actual, expected):
            difference = compare(a, e, rtol, atol)
            if difference:
                return difference
        return None
    if expected is None or actual is None:
        return None if actual is expected else "presence differs"
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        return f"shape {list(actual.shape)} instead of {list(expected.shape)}"
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype} instead of {expected.dtype}"
    return _compare_values(actual, expected, rtol, atol)


def _compare_values(actual: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> str | None:
    if expected.dtype.kind in "biuSUO":
        wrong = int(np.sum(actual != expected))
        return f"{wrong} of {expected.size} values differ" if wrong else None
    if expected.dtype.name == "bfloat16":
        rtol = max(rtol, 2**-6)  # two units in the last place, as the onnx test runner allows
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, e = actual.astype(wide), expected.astype(wide)
    close = np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return None
    with np.errstate(invalid="ignore"):
        error = np.nanmax(np.abs(np.where(close, 0, a - e)))
    return f"{int(np.sum(~close))} of {expected.size} values differ, by up to {error:.3g}"
