"""Reports are dicts with the keys that edgecompiler.reports tells."""

import json
import typing

import edgecompiler
import pytest
from edgecompiler import reports

MODEL = b"ecir 1\ngraph @m(%x: f32[n,2]) -> (y = %1) {\n  %1 = relu(%x) : f32[n,2]\n}\n"


def keys(kind: type) -> set[str]:
    return set(typing.get_type_hints(kind))


def required(kind: type) -> set[str]:
    return set(kind.__required_keys__)


def test_check_of_one_target_and_of_all():
    one = edgecompiler.check(MODEL, "tflite")
    assert type(one) is dict and one["target"] == "tflite" and one["runs"] is True
    every = edgecompiler.check(MODEL)
    assert [entry["target"] for entry in every["targets"]] == [t["name"] for t in edgecompiler.targets() if t["available"]]
    assert one in every["targets"]
    for entry in every["targets"]:
        assert required(reports.PlacementReport) <= set(entry) <= keys(reports.PlacementReport)


def test_a_target_that_refuses_is_an_entry():
    first = edgecompiler.check(MODEL, quantize="dynamic")["targets"][0]
    assert not first["runs"] and first["refused"]["code"].startswith("EC")
    with pytest.raises(edgecompiler.EdgeCompilerError):
        edgecompiler.check(b"no model")


def test_compile_report_is_what_json_holds(tmp_path):
    file = tmp_path / "report.json"
    result = edgecompiler.compile(MODEL, "tflite", output=tmp_path / "m.tflite", report={"json": file})
    assert json.loads(file.read_text()) == result.report
    assert required(reports.CompileReport) <= set(result.report) <= keys(reports.CompileReport)
    assert result.report["artifacts"][0]["bytes"] == (tmp_path / "m.tflite").stat().st_size
    assert edgecompiler.optimize(MODEL).report["output"] is None


def test_inspect_and_texts_that_are_no_utf8(tmp_path):
    summary = edgecompiler.inspect(MODEL)
    assert summary["inputs"][0]["shape"] == ["n", 2] and summary["layers"][0]["macs"] in (0, None)
    assert required(reports.ModelSummary) <= set(summary)
