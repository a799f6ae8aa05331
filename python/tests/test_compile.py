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


@pytest.mark.parametrize("target", ["aipu", "nonsense"])
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


def test_samples_of_every_form(network, tmp_path):
    rows = samples(12)

    def compiled(data):
        out = tmp_path / "net.tflite"
        result = edgecompiler.compile(network, "tflite", quantize="ptq", calibration_data=data, output=out)
        return str(result.report["quantization"]["accuracy"])

    def generator():
        yield from rows

    forms = [rows[:, 0], list(rows), generator(), {"x": rows[:, 0]}, [(row,) for row in rows], iter([{"x": r} for r in rows])]
    assert len({compiled(form) for form in forms}) == 1
    with pytest.raises(ValueError, match="no samples"):
        compiled(iter([]))
    with pytest.raises(QuantizationError, match="sample_00000001") as caught:
        compiled([rows[0], rows[1][:, :2]])
    assert caught.value.code == "EC4003"


TWO_INPUTS = """graph @two(%a: f32[1,4], %b: f32[1,4]) -> (y = %y) {
  %y = add(%a, %b)
}
"""


def test_samples_for_several_inputs(tmp_path):
    path = tmp_path / "two.ecir"
    path.write_text("ecir 1\n" + TWO_INPUTS)
    rows = np.random.default_rng(1).normal(size=(12, 1, 4)).astype(np.float32)
    for data in ({"a": rows[:, 0], "b": rows[:, 0]}, [(r, r) for r in rows], ({"b": r, "a": r} for r in rows)):
        out = tmp_path / "two.tflite"
        report = edgecompiler.compile(path, "tflite", quantize="ptq", calibration_data=data, output=out).report
        assert report["quantization"]["calibration_samples"] == 11
    with pytest.raises(QuantizationError, match="'b'"):
        edgecompiler.compile(path, "tflite", quantize="ptq", calibration_data={"a": rows[:, 0]}, output=tmp_path / "no.tflite")
    assert not (tmp_path / "no.tflite").exists()


def test_statistics_folding_and_threads(network, tmp_path):
    first, second = tmp_path / "first.tflite", tmp_path / "second.tflite"
    statistics = tmp_path / "s.json"
    edgecompiler.compile(network, "tflite", quantize="ptq", calibration_data=samples(12)[:, 0], output=first,
                         save_statistics=statistics, threads=2)
    edgecompiler.compile(network, "tflite", quantize="ptq", statistics=statistics, output=second)
    assert first.read_bytes() == second.read_bytes()
    folded = edgecompiler.compile(network, "tflite", fold_preprocessing=True, mean=127.5, std=127.5, output=first)
    assert folded.report["inputs"][0]["dtype"] == "u8"


def test_coral_options_and_models_together(network, tmp_path):
    other = tmp_path / "other.ecir"
    other.write_text(network.read_text())
    results = edgecompiler.compile([network, other], "coral", quantize="ptq", calibration_data=samples(12)[:, 0], output=tmp_path,
                                   edgetpu_runtime=13, edgetpu_rules="published", strict=True)
    assert [r.ops_fallback for r in results] == [0, 0]
    assert sorted(p.name for p in tmp_path.glob("*.tflite")) == ["net_coral.tflite", "other_coral.tflite"]
    with pytest.raises(EdgeCompilerError, match="one model at a time"):
        edgecompiler.compile([network, other], "tflite")
    with pytest.raises(EdgeCompilerError):
        edgecompiler.compile(network, "coral", quantize="ptq", calibration_data=samples(12)[:, 0], edgetpu_rules="none")


SCORES = """graph @scores(%x: f32[1,3,4,4]) -> (y = %y) {
  %axes = const i64[2] dense[2,3]
  %y = reduce_mean(%x, %axes) {keep_dims=false}
}
"""


def test_evaluate(tmp_path):
    graph = parse_ir("ecir 1\n" + SCORES)
    rows = np.zeros((6, 3, 4, 4), np.float32)
    for i in range(6):
        rows[i, i % 3] = 1
    report = edgecompiler.evaluate(graph, rows, labels=[0, 1, 2, 0, 1, 1], confusion=True)
    assert report["samples"] == 6 and report["model"]["top1"] == pytest.approx(5 / 6)
    assert {"label": "1", "predicted": "2", "count": 1} in report["model"]["confusion"]
    out = tmp_path / "scores.tflite"
    edgecompiler.compile(graph, "tflite", quantize="ptq", calibration_data=rows, output=out)
    report = edgecompiler.evaluate(out, rows, reference=graph, threads=2, num_samples=3)
    assert report["samples"] == 3 and report["outputs"][0]["top1_agreement"] == 1.0
    with pytest.raises(EdgeCompilerError, match="nothing to compare"):
        edgecompiler.evaluate(graph, rows)
    labels = [0, 1, 2, 0, 1, 1]
    for pairs in (
        zip(rows, labels),
        ((row[None], np.int32(label)) for row, label in zip(rows, labels)),
        [(rows[:4], np.array(labels[:4])), (rows[4:], np.array(labels[4:], np.uint8))],
    ):
        report = edgecompiler.evaluate(graph, pairs)
        assert report["samples"] == 6 and report["model"]["top1"] == pytest.approx(5 / 6)
    with pytest.raises(QuantizationError, match="labels are integers"):
        edgecompiler.evaluate(graph, [(rows[0], 0.5)])
    with pytest.raises(QuantizationError, match="label 7 of sample 1 has no score"):
        edgecompiler.evaluate(graph, [(rows[0], 0), (rows[1], 7)])
    with pytest.raises(QuantizationError, match="3 labels for 6 samples"):
        edgecompiler.evaluate(graph, rows, labels=[0, 1, 2])
