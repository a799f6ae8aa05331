"""compile and optimize: files written, reports, and refusals that leave nothing behind."""

import numpy as np
import pytest

import edgecompiler
from edgecompiler import BackendError, EdgeCompilerError, FrontendError, QuantizationError, parse_ir
from edgecompiler.runtime import InferenceSession

TEXT = """ecir 1
graph @g(%x: f32[2,4]) -> (y = %y) {
  %a = const f32[4] splat(1)
  %b = const f32[4] splat(2)
  %c = add(%a, %b) : f32[4]
  %dead = exp(%x) : f32[2,4]
  %y = add(%x, %c) : f32[2,4]
}
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "g.ecir"
    path.write_text(TEXT)
    return path


def test_compile_for_cpu_writes_beside_the_model(model):
    result = edgecompiler.compile(model, target="cpu")
    assert result.output_path.endswith("g_cpu.ecir") and result.backend == "cpu"
    assert result.ops_on_target == 1 and result.ops_fallback == 0
    assert result.report["operations_before"] == 3
    x = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(InferenceSession(result.output_path).run([x])["y"], x + 3)


def test_optimize_reports_without_writing(model, tmp_path):
    result = edgecompiler.optimize(model)
    assert result.output_path is None and result.report["operations_after"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["g.ecir"]


def test_optimize_writes_and_passes_can_be_left_out(model, tmp_path):
    out = tmp_path / "small.ecir"
    edgecompiler.optimize(model, out)
    assert len(edgecompiler.load(out).ops) == 1
    kept = edgecompiler.optimize(model, passes="eliminate-dead-code")
    assert kept.report["operations_after"] == 2
    with pytest.raises(EdgeCompilerError) as caught:
        edgecompiler.optimize(model, passes="eliminate-dead-cod")
    assert "eliminate-dead-code" in str(caught.value)


def test_graph_in_memory(tmp_path):
    graph = parse_ir(TEXT)
    result = edgecompiler.compile(graph, output=tmp_path / "out.ecir")
    assert len(edgecompiler.load(result.output_path).ops) == 1
    with pytest.raises(ValueError, match="output"):
        edgecompiler.compile(graph)


@pytest.mark.parametrize("target", ["metal", "nonsense"])
def test_targets_that_are_not_there(model, target, tmp_path):
    with pytest.raises(BackendError) as caught:
        edgecompiler.compile(model, target=target)
    assert caught.value.target == target and caught.value.code == "EC6001"
    assert [p.name for p in tmp_path.iterdir()] == ["g.ecir"]


NETWORK = """graph @net(%x: f32[1,4,4,3]) -> (y = %y) {
  %w = const f32[2,1,1,3] dense[1,-2,3,0.5,0.25,-1]
  %y = conv(%x, %w) {layout=nhwc, activation=relu}
}
"""


@pytest.fixture
def network(tmp_path):
    path = tmp_path / "net.ecir"
    path.write_text("ecir 1\n" + NETWORK)
    return path


def samples(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 1, 4, 4, 3)).astype(np.float32)


@pytest.mark.parametrize("data", [samples(12)[:, 0], list(samples(12)), [{"x": s} for s in samples(12)]])
def test_quantises_on_arrays(network, tmp_path, data):
    out = tmp_path / "net.tflite"
    result = edgecompiler.compile(network, "tflite", quantize="ptq", calibration_data=data, output=out)
    quantization = result.report["quantization"]
    assert quantization["integer_operations"] == 1 and quantization["float_operations"] == 0
    assert quantization["accuracy"]["outputs"][0]["sqnr_db"] > 25
    assert out.stat().st_size > 0


def test_quantisation_needs_data_that_fits(network, tmp_path):
    out = tmp_path / "net.tflite"
    with pytest.raises(QuantizationError) as caught:
        edgecompiler.compile(network, "tflite", quantize="ptq", output=out)
    assert caught.value.code == "EC4002"
    with pytest.raises(QuantizationError, match=r"expected f32\[1,4,4,3\]") as caught:
        edgecompiler.compile(network, "tflite", quantize="ptq", calibration_data=np.ones((2, 5), np.float32), output=out)
    assert caught.value.code == "EC4003"
    with pytest.raises(EdgeCompilerError):
        edgecompiler.compile(network, "tflite", quantize="nonsense", calibration_data=samples(2), output=out)
    assert not out.exists()


def test_missing_model_and_overwriting(model, tmp_path):
    with pytest.raises(FrontendError):
        edgecompiler.compile(tmp_path / "none.onnx")
    with pytest.raises(EdgeCompilerError, match="itself"):
        edgecompiler.optimize(model, model)
    assert model.read_text() == TEXT
