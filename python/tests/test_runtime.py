"""Sessions: running, input checks, types, benchmark, life cycle."""

import threading

import edgecompiler
import numpy as np
import pytest

from edgecompiler import BackendError, EdgeCompilerError, FrontendError, parse_ir
from edgecompiler.ir import IRDType, IRGraph, IROperation, IRTensor
from edgecompiler.runtime import InferenceSession

TEXT = """ecir 1
graph @g(%x: f32[N,4], %b: f32[4]) -> (sum = %s, positive = %p) {
  %s = add(%x, %b) : f32[N,4]
  %p = relu(%s) : f32[N,4]
}
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "g.ecir"
    path.write_text(TEXT)
    return path


X = np.arange(8, dtype=np.float32).reshape(2, 4) - 4
B = np.array([1, 2, 3, 4], np.float32)


@pytest.mark.parametrize("options", [{}, {"threads": 2}, {"optimize": False}, {"reference": True}])
def test_run_by_name_and_by_position(model, options):
    with InferenceSession(model, **options) as session:
        by_name = session.run({"b": B, "x": X})
        by_position = session.run([X, B])
    assert list(by_name) == ["sum", "positive"]
    np.testing.assert_array_equal(by_name["sum"], X + B)
    np.testing.assert_array_equal(by_name["positive"], np.maximum(X + B, 0))
    np.testing.assert_array_equal(by_position["positive"], by_name["positive"])


def test_description(model):
    session = InferenceSession(model)
    assert [(i.name, i.dtype, i.shape) for i in session.inputs] == [
        ("x", IRDType.FLOAT32, ("N", 4)),
        ("b", IRDType.FLOAT32, (4,)),
    ]
    assert [o.name for o in session.outputs] == ["sum", "positive"]
    assert "x" in repr(session)


def test_shapes_may_change_between_runs_or_be_fixed(model):
    session = InferenceSession(model)
    for n in (1, 3, 2):
        assert session.run([np.zeros((n, 4), np.float32), B])["sum"].shape == (n, 4)
    fixed = InferenceSession(model, input_shapes={"x": [3, 4]})
    assert fixed.inputs[0].shape == (3, 4)
    with pytest.raises(EdgeCompilerError) as caught:
        fixed.run([X, B])
    assert caught.value.code == "EC7004"


@pytest.mark.parametrize(
    "feeds, code, word",
    [
        ({"x": X}, "EC7002", "b"),
        ({"x": X, "b": B, "c": B}, "EC7001", "c"),
        ({"x": X.astype(np.float64), "b": B}, "EC7003", "f64"),
        ({"x": X[:, :3].copy(), "b": B}, "EC7004", "x"),
        ({"x": X[0], "b": B}, "EC7004", "x"),
    ],
)
def test_wrong_inputs_say_what_was_expected(model, feeds, code, word):
    with pytest.raises(EdgeCompilerError) as caught:
        InferenceSession(model).run(feeds)
    assert caught.value.code == code and word in str(caught.value)


def test_too_many_arrays(model):
    with pytest.raises(ValueError, match="3 arrays for 2 inputs"):
        InferenceSession(model).run([X, B, B])


def test_numbers_and_strided_arrays_are_taken(model):
    session = InferenceSession(model)
    out = session.run([[[1, 2, 3, 4]], [0, 0, 0, 0]])
    np.testing.assert_array_equal(out["sum"], [[1, 2, 3, 4]])
    wide = np.arange(16, dtype=np.float32).reshape(2, 8)[:, ::2]
    np.testing.assert_array_equal(session.run([wide, B])["sum"], wide + B)
    np.testing.assert_array_equal(session.run([np.asfortranarray(X), B])["sum"], X + B)


def test_results_belong_to_the_caller(model):
    session = InferenceSession(model)
    first = session.run([X, B])
    kept = first["sum"].copy()
    session.run([X + 1, B])
    session.close()
    np.testing.assert_array_equal(first["sum"], kept)
    first["sum"][0, 0] = 100


def test_output_that_is_an_input_is_not_the_callers_array():
    session = InferenceSession(parse_ir("ecir 1\ngraph @g(%x: f32[2]) -> (y = %x) {\n}\n"))
    x = np.array([1, 2], np.float32)
    y = session.run([x])["y"]
    x[0] = 9
    np.testing.assert_array_equal(y, [1, 2])


def test_constant_output_cannot_be_changed_through_a_result():
    graph = IRGraph()
    graph.add_constant("c", np.array([1, 2], np.float32))
    graph.outputs = [graph.get_tensor("c")]
    session = InferenceSession(graph)
    result = session.run([])["c"]
    try:
        result[0] = 5
    except ValueError:
        pass  # read-only is fine
    np.testing.assert_array_equal(session.run([])["c"], [1, 2])


@pytest.mark.parametrize("dtype", [IRDType.INT32, IRDType.FLOAT64, IRDType.FLOAT16, IRDType.INT64, IRDType.UINT8])
def test_other_element_types(dtype):
    graph = IRGraph()
    graph.inputs = [IRTensor("x", dtype, [3]), IRTensor("y", dtype, [])]
    graph.add_op(IROperation("add", ["x", "y"], ["z"]))
    graph.outputs = [graph.get_tensor("z")]
    x, y = np.array([1, 2, 3], dtype.numpy), np.array(4, dtype.numpy)
    z = InferenceSession(graph).run([x, y])["z"]
    assert z.dtype == dtype.numpy
    np.testing.assert_array_equal(z, [5, 6, 7])


def test_benchmark(model):
    session = InferenceSession(model, input_shapes={"x": [2, 4]})
    stats = session.benchmark(iterations=20, warmup=2)
    assert stats.iterations == 20
    assert 0 <= stats.min_ms <= stats.p50_ms <= stats.p95_ms <= stats.p99_ms <= stats.max_ms
    assert stats.throughput_fps > 0
    assert session.benchmark(iterations=3, feeds=[X, B]).iterations == 3
    with pytest.raises(ValueError):
        session.benchmark(iterations=0)


def test_closed_session_says_so(model):
    with InferenceSession(model) as session:
        pass
    assert session.is_closed
    session.close()
    with pytest.raises(EdgeCompilerError) as caught:
        session.run([X, B])
    assert caught.value.code == "EC7006"


def test_unknown_target_and_missing_file(model, tmp_path):
    with pytest.raises(BackendError) as caught:
        InferenceSession(model, target="corral")
    assert caught.value.code == "EC6001" and caught.value.target == "corral" and "coral" in str(caught.value)
    with pytest.raises(FrontendError):
        InferenceSession(tmp_path / "none.onnx")


def test_threads_share_a_session(model):
    session = InferenceSession(model)
    faults = []

    def work(k: int) -> None:
        x = np.full((k + 1, 4), k, np.float32)
        for _ in range(50):
            if not np.array_equal(session.run([x, B])["sum"], x + B):
                faults.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not faults


COUNTER = """ecir 1
graph @g(%x: f32[2]) -> (y = %y) {
  %first = const f32[2] dense[1,2]
  %s = read_state(%first) {name="sum"}
  %y = add(%s, %x)
  %w = write_state(%y) {name="sum"}
}
"""


@pytest.mark.parametrize("options", [{}, {"optimize": False}, {"reference": True}])
def test_state_is_kept_until_reset(tmp_path, options):
    path = tmp_path / "counter.ecir"
    path.write_text(COUNTER)
    session = InferenceSession(path, **options)
    x = np.ones(2, np.float32)
    assert [session.run([x])["y"].tolist() for _ in range(3)] == [[2, 3], [3, 4], [4, 5]]
    session.reset()
    assert session.run([x])["y"].tolist() == [2, 3]
    session.close()
    with pytest.raises(EdgeCompilerError):
        session.reset()


def test_state_of_a_graph(tmp_path):
    session = InferenceSession(parse_ir(COUNTER))
    x = np.ones(2, np.float32)
    assert [session.run([x])["y"].tolist() for _ in range(2)] == [[2, 3], [3, 4]]


def test_the_package_has_its_runtime():
    import edgecompiler

    assert edgecompiler.runtime.InferenceSession is InferenceSession


@pytest.mark.parametrize(
    "value",
    [
        [[1.0, 2.0], [3.0]],
        np.array([object()]),
        np.array(["a", "b"]),
        np.zeros((2, 3), np.complex64),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
    ],
    ids=["ragged", "objects", "texts", "complex", "dates"],
)
def test_values_that_are_no_tensor_are_coded_errors(tmp_path, value):
    model = tmp_path / "m.ecir"
    model.write_text("ecir 1\ngraph @g(%x: f32[2,3]) -> (y = %y) {\n  %y = relu(%x)\n}\n")
    with InferenceSession(model) as session, pytest.raises(EdgeCompilerError) as caught:
        session.run({"x": value})
    assert caught.value.code in ("EC7003", "EC7004")


def test_a_view_larger_than_memory_is_a_coded_error(tmp_path):
    model = tmp_path / "m.ecir"
    model.write_text("ecir 1\ngraph @g(%x: f32[N]) -> (y = %y) {\n  %y = relu(%x)\n}\n")
    endless = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (1 << 44,), (0,))
    with InferenceSession(model) as session, pytest.raises(EdgeCompilerError) as caught:
        session.run({"x": endless})
    assert caught.value.code == "EC5001"


def test_samples_that_are_no_numbers_are_coded_errors(tmp_path):
    model = tmp_path / "m.ecir"
    model.write_text("ecir 1\ngraph @g(%x: f32[2,3]) -> (y = %y) {\n  %y = relu(%x)\n}\n")
    for sample in ([[1.0, 2.0], [3.0]], np.array([object()])):
        with pytest.raises(EdgeCompilerError) as caught:
            edgecompiler.compile(
                model, target="tflite", output=tmp_path / "m.tflite", quantize="ptq", calibration_data=[sample]
            )
        assert caught.value.code == "EC4003"
