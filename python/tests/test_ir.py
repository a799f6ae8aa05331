"""The graph classes: building, reading, printing, validating, and their agreement with the native graph."""

import numpy as np
import pytest

import edgecompiler
from edgecompiler import EdgeCompilerError, UnsupportedOpError, parse_ir, print_ir
from edgecompiler.ir import IRDType, IRGraph, IROperation, IRTensor, TensorQuantization


def small_graph() -> IRGraph:
    graph = IRGraph("small")
    graph.inputs = [IRTensor("x", IRDType.FLOAT32, ["batch", 2])]
    graph.add_constant("w", np.arange(4, dtype=np.float32).reshape(2, 1, 2))
    graph.add_op(IROperation("add", ["x", "w"], ["h"], source_names=["layer/Add"], source_type="Add"))
    graph.add_op(IROperation("relu", ["h"], ["y"]))
    graph.outputs = [graph.get_tensor("y")]
    graph.metadata["producer"] = "test"
    return graph


def test_types_are_inferred():
    graph = small_graph()
    graph.infer_types()
    assert graph.get_tensor("y").shape == [2, "batch", 2]
    assert graph.get_tensor("y").dtype is IRDType.FLOAT32
    assert graph.validate() == []


def test_print_and_parse_give_an_equal_graph():
    graph = small_graph()
    text = print_ir(graph)
    assert "@small" in text and "add(" in text
    again = parse_ir(text)
    assert print_ir(again) == text
    assert [op.op_type for op in again.ops] == ["add", "relu"]
    assert again.ops[0].source_names == ["layer/Add"]
    assert again.metadata["producer"] == "test"
    np.testing.assert_array_equal(again.get_tensor("w").data, graph.get_tensor("w").data)


def test_loaded_constants_are_read_only_views():
    again = parse_ir(print_ir(small_graph()))
    data = again.get_tensor("w").data
    assert not data.flags.writeable and data.base is not None
    with pytest.raises(ValueError):
        data[0, 0, 0] = 7


def test_changing_an_array_does_not_reach_a_built_graph():
    graph = small_graph()
    native = graph._to_native()
    graph.get_tensor("w").data[:] = 9
    assert parse_ir(native.print()).get_tensor("w").data[0, 0, 1] == 1


def test_saved_graph_loads_again(tmp_path):
    graph = small_graph()
    graph.save(tmp_path / "small.ecir")
    loaded = edgecompiler.load(tmp_path / "small.ecir")
    assert print_ir(loaded) == print_ir(parse_ir(print_ir(graph)))


def test_unknown_op_names_the_nearest():
    graph = small_graph()
    graph.add_op(IROperation("rellu", ["y"], ["z"]))
    with pytest.raises(UnsupportedOpError) as caught:
        print_ir(graph)
    assert caught.value.code == "EC3001" and caught.value.op_type == "rellu"
    assert "relu" in caught.value.hint


def test_unknown_attribute_names_the_nearest():
    graph = small_graph()
    graph.add_op(IROperation("leaky_relu", ["y"], ["z"], {"alfa": 0.5}))
    issues = graph.validate()
    assert len(issues) == 1 and "alpha" in issues[0]


def test_undefined_and_duplicate_names_are_faults():
    graph = small_graph()
    graph.add_op(IROperation("relu", ["nowhere"], ["z"]))
    assert "nowhere" in graph.validate()[0]
    graph = small_graph()
    graph.add_op(IROperation("relu", ["x"], ["y"]))
    assert "'y' is defined twice" in graph.validate()[0]


def test_operations_are_put_in_order():
    graph = small_graph()
    graph.ops.reverse()
    assert graph.validate() == []
    graph.topological_sort()
    assert [op.op_type for op in graph.ops] == ["add", "relu"]


def test_a_cycle_is_refused():
    graph = IRGraph()
    graph.inputs = [IRTensor("x", shape=[1])]
    graph.add_op(IROperation("add", ["x", "b"], ["a"]))
    graph.add_op(IROperation("relu", ["a"], ["b"]))
    with pytest.raises(ValueError, match="cycle"):
        graph.topological_sort()
    assert graph.validate()


def test_wrong_declared_shape_is_a_fault_until_inferred():
    graph = small_graph()
    graph.infer_types()
    graph.get_tensor("y").shape = [2, "batch", 5]
    assert "declared" in graph.validate()[0]
    graph.infer_types()
    assert graph.validate() == []


def test_missing_tensor_names_the_nearest():
    with pytest.raises(KeyError, match="did you mean"):
        small_graph().get_tensor("ww")


def test_quantisation_survives_the_text_form():
    graph = small_graph()
    graph.inputs[0].quantization = TensorQuantization(0.5, 3, IRDType.INT8)
    graph.get_tensor("y").quantization = TensorQuantization(0.25, -1)
    again = parse_ir(print_ir(graph))
    assert again.inputs[0].quantization.scale == 0.5 and again.inputs[0].quantization.zero_point == 3
    assert again.get_tensor("y").quantization.zero_point == -1
    assert not again.ops[0].is_quantized


def test_producer_and_consumers():
    graph = small_graph()
    assert graph.producer("y").op_type == "relu" and graph.producer("x") is None
    assert [op.op_type for op in graph.consumers("h")] == ["relu"]


def test_another_tensor_of_the_same_name_is_refused():
    graph = small_graph()
    with pytest.raises(ValueError, match="another tensor"):
        graph.outputs = [IRTensor("y")]


@pytest.mark.parametrize("dtype", [d for d in IRDType])
def test_every_element_type_goes_through_text(dtype):
    graph = IRGraph()
    storage = np.array([0, 1, 1, 0], dtype=np.uint8)
    array = storage.astype(dtype.numpy)
    graph.add_tensor(IRTensor("c", dtype, [2, 2], array.reshape(2, 2)))
    graph.outputs = [graph.get_tensor("c")]
    again = parse_ir(print_ir(graph)).get_tensor("c")
    assert again.dtype is dtype and again.data.dtype == array.dtype
    assert again.data.tobytes() == array.tobytes()


def test_dtype_names():
    assert IRDType.of("f32") is IRDType.FLOAT32
    assert IRDType.of(np.int64) is IRDType.INT64
    assert IRDType.of("bfloat16") is IRDType.BFLOAT16
    with pytest.raises(TypeError, match="no element type"):
        IRDType.of("complex64")


def test_error_carries_diagnostics():
    with pytest.raises(EdgeCompilerError) as caught:
        parse_ir("ecir 1\ngraph @g(%x: f32[1]) -> (%y) {\n}\n")
    error = caught.value
    assert error.code.startswith("EC1") and error.diagnostics
    assert error.diagnostics[0].severity == "error" and error.diagnostics[0].message
