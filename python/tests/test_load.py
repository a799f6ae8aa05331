"""Loading model files, and what happens to those that cannot be loaded."""

import pytest

import edgecompiler
from edgecompiler import EdgeCompilerError, FrontendError

TEXT = "ecir 1\ngraph @g(%x: f32[N,4]) -> (y = %y) {\n  %y = exp(%x) : f32[N,4]\n}\n"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "g.ecir"
    path.write_text(TEXT)
    return path


def test_open_dimensions_stay_or_are_fixed(model):
    assert edgecompiler.load(model).get_tensor("y").shape == ["N", 4]
    assert edgecompiler.load(model, dims={"N": 3}).get_tensor("y").shape == [3, 4]
    assert edgecompiler.load(model, input_shapes={"x": [5, 4]}).get_tensor("y").shape == [5, 4]
    assert edgecompiler.load(model, input_shapes={0: [5, 4]}).get_tensor("y").shape == [5, 4]


def test_shape_that_does_not_fit_is_refused(model):
    with pytest.raises(EdgeCompilerError) as caught:
        edgecompiler.load(model, input_shapes={"x": [5, 3]})
    assert caught.value.code == "EC2004"


def test_missing_file(tmp_path):
    with pytest.raises(FrontendError) as caught:
        edgecompiler.load(tmp_path / "nothing.onnx")
    assert caught.value.code.startswith("EC1") and caught.value.model_path.endswith("nothing.onnx")


@pytest.mark.parametrize("content", [b"", b"this is no model", b"\x00" * 64])
def test_wrong_content(tmp_path, content):
    path = tmp_path / "wrong.onnx"
    path.write_bytes(content)
    with pytest.raises(FrontendError) as caught:
        edgecompiler.load(path)
    assert caught.value.diagnostics[0].file.endswith("wrong.onnx")


def test_directory_is_no_model(tmp_path):
    with pytest.raises(FrontendError):
        edgecompiler.load(tmp_path)


def test_save_refuses_unknown_extension_and_missing_folder(model, tmp_path):
    graph = edgecompiler.load(model)
    with pytest.raises(EdgeCompilerError):
        graph.save(tmp_path / "g.unknown")
    with pytest.raises(EdgeCompilerError):
        graph.save(tmp_path / "no" / "folder" / "g.ecir")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["g.ecir"]
