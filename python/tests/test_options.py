"""Keywords come from the one table of options: signatures, names, types, values."""

import inspect
import pathlib

import numpy as np
import pytest

import edgecompiler
from edgecompiler import EdgeCompilerError, _native, parse_ir

TEXT = """ecir 1
graph @g(%x: f32[N,4]) -> (y = %y) {
  %a = const f32[4] splat(1)
  %y = add(%x, %a)
}
"""
JOBS = ["compile", "check", "optimize", "quantize", "evaluate", "inspect"]


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "g.ecir"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("job", JOBS)
def test_signature_has_every_option(job):
    function = getattr(edgecompiler, job)
    parameters = inspect.signature(function).parameters
    table = [row for row in _native.option_table() if job in row["verbs"]]
    assert len(table) >= 3
    for row in table:
        assert row["name"] in parameters and row["help"]
        assert not row["alias"] or row["alias"] in parameters
        assert row["help"] in function.__doc__
    assert not any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def test_stubs_have_every_option():
    stubs = (pathlib.Path(edgecompiler.__file__).parent / "_jobs.pyi").read_text()
    for row in _native.option_table():
        if set(row["verbs"]) & set(JOBS):
            assert f" {row['name']}: " in stubs, row["name"]


def test_names_of_the_contract():
    parameters = inspect.signature(edgecompiler.compile).parameters
    assert list(parameters)[:2] == ["model", "target"]
    assert {"quantize", "calibration_data", "num_calibration_samples", "output", "input_shapes", "dims", "input_values"} <= set(parameters)


def test_unknown_keyword_is_a_type_error_with_the_nearest(model):
    with pytest.raises(TypeError, match=r"compile\(\).*'quantise'.*'quantize'"):
        edgecompiler.compile(model, quantise="ptq")
    with pytest.raises(TypeError, match="it belongs to: bench"):
        edgecompiler.inspect(model, iterations=3)


@pytest.mark.parametrize(
    "options",
    [{"threads": -1}, {"threads": "many"}, {"threads": 1.5}, {"threads": [1, 2]}, {"weights": "per-layer"}, {"max_drop": 2},
     {"mean": "x"}, {"mean": [object()]}, {"std": 0}, {"dims": {"N": "three"}}, {"dims": 3}, {"input_shapes": {"x": "axb"}},
     {"strict": "perhaps"}, {"calibration_samples": 0}, {"threads": 1 << 80}],
)  # fmt: skip
def test_values_that_do_not_fit(model, options, tmp_path):
    with pytest.raises(EdgeCompilerError) as caught:
        edgecompiler.compile(model, output=tmp_path / "out.ecir", **options)
    assert caught.value.code == "EC8001" and caught.value.hint
    assert not (tmp_path / "out.ecir").exists()


def test_two_names_of_one_option(model):
    with pytest.raises(EdgeCompilerError, match="same option"):
        edgecompiler.compile(model, calibration_samples=3, num_calibration_samples=4)


def test_values_of_every_form(model, tmp_path):
    def shape(**options):
        return edgecompiler.inspect(model, **options)["inputs"][0]["shape"]

    assert shape(dims={"N": np.int64(3)}) == shape(dim="N=3") == [3, 4]
    assert shape(input_shapes={"x": np.array([5, 4])}) == shape(input_shape="x:5x4") == shape(input_shapes=(5, 4)) == [5, 4]
    assert shape(input_shapes={0: [6, 4]}) == [6, 4]
    report = edgecompiler.optimize(model, passes="none", disable_pass=["fuse-activations"], dims={"N": 2}).report
    assert report["operations_after"] == 1


def test_models_from_memory(model, tmp_path):
    content = model.read_bytes()
    for form in (content, bytearray(content), memoryview(content), memoryview(b"xxx" + content)[3:], parse_ir(TEXT)):
        assert edgecompiler.inspect(form)["operations"] == 1
        assert edgecompiler.check(form, "cpu", dims={"N": 2})["unsupported"] == 0
    assert len(edgecompiler.load(content).ops) == 1
    result = edgecompiler.compile(content, dims={"N": 2}, output=tmp_path / "out.ecir")
    assert pathlib.Path(result.output_path).exists()
    with pytest.raises(ValueError, match="output"):
        edgecompiler.compile(content)
    x = np.ones((2, 4), np.float32)
    session = edgecompiler.runtime.InferenceSession(content, dims={"N": 2})
    np.testing.assert_array_equal(session.run([x])["y"], x + 1)
    with pytest.raises(EdgeCompilerError):
        edgecompiler.inspect(b"this is no model")


def test_report_file(model, tmp_path):
    edgecompiler.check(model, dims={"N": 2}, report={"json": tmp_path / "r.json"})
    assert '"unsupported"' in (tmp_path / "r.json").read_text()


def test_lists():
    targets = {target["name"]: target for target in edgecompiler.targets()}
    assert targets["cpu"]["available"] and not targets["aipu"]["available"]
    assert "segments" in [option["name"] for option in targets["coral"]["options"]]
    assert "fold-constants" in [p["name"] for p in edgecompiler.passes()["passes"]]
    assert edgecompiler.explain("EC3001")["title"]
    assert len(edgecompiler.explain()) > 20
    with pytest.raises(EdgeCompilerError):
        edgecompiler.explain("EC9999")


def test_quantize(tmp_path):
    path = tmp_path / "net.ecir"
    path.write_text(
        "ecir 1\ngraph @net(%x: f32[1,4,4,3]) -> (y = %y) {\n  %w = const f32[2,1,1,3] dense[1,-2,3,0.5,0.25,-1]\n"
        "  %y = conv(%x, %w) {layout=nhwc, activation=relu}\n}\n"
    )
    rows = np.random.default_rng(0).normal(size=(12, 4, 4, 3)).astype(np.float32)
    result = edgecompiler.quantize(path, tmp_path / "q.ecir", calibration_data=rows)
    assert result.report["quantization"]["integer_operations"] >= 1
    assert edgecompiler.load(result.output_path).ops
