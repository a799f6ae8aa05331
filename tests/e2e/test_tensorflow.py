"""TensorFlow models through the program: which part of them is meant."""

import pathlib
import unittest

import onnx_builder as onnx
from harness import Case

MODELS = pathlib.Path(__file__).resolve().parents[1] / "frontend" / "tensorflow" / "models"

KERAS_MODELS = MODELS.parents[1] / "keras" / "models"


class Tensorflow(Case):
    def test_signatures_are_listed_and_chosen(self):
        model = str(MODELS / "signatures_saved")
        self.assertIn("'project', 'scale'", self.bad(7, "EC1005", "inspect", model).err)
        shown = self.good("inspect", model, "--signature", "scale")
        self.assertIn("project,scale", shown.out)
        result = self.good("run", model, "--signature", "project", "--json").result
        self.assertEqual(result["outputs"][0]["shape"], [1, 2])

    def test_parts_of_frozen_graphs(self):
        model = str(MODELS / "cnn_k3_frozen.pb")
        layers = self.good("inspect", model, "--json").result["layers"]
        stem = next(layer["name"] for layer in layers if layer["op"] == "conv")
        part = self.good("inspect", model, "--graph-output", stem, "--json").result
        self.assertLess(len(part["layers"]), len(layers))
        self.assertEqual(part["outputs"][0]["name"], stem)
        rest = self.good("inspect", model, "--graph-input", stem, "--input-shape", "2x8x8x8", "--json").result
        self.assertEqual(rest["inputs"], [{"name": stem, "dtype": "f32", "shape": [2, 8, 8, 8]}])

    def test_reports_agree_on_a_layer_that_is_not_known(self):
        model = str(KERAS_MODELS / "reject_lambda.keras")
        checked = self.run_program("check", model, "-t", "tflite", "--json").result
        refused = [op for op in checked["operations"] if op["placement"] == "unsupported"]
        self.assertEqual([(op["name"], op["source_op"]) for op in refused], [("lambda", "Lambda")])
        self.assertGreater(len(checked["operations"]), 1)
        shown = self.good("inspect", model, "--json").result
        self.assertEqual([layer["name"] for layer in shown["layers"] if layer.get("problem")], ["lambda"])
        self.assertIn("lambda", self.bad(3, "EC3001", "run", model).err)

    def test_options_that_do_not_apply_are_refused(self):
        self.bad(2, "EC8001", "inspect", str(MODELS / "cnn_k3_frozen.pb"), "--signature", "serving_default")
        self.bad(2, "EC8001", "inspect", str(MODELS / "cnn_k3_export"), "--graph-output", "x")
        self.write("m.onnx", onnx.conv_model())
        self.bad(2, "EC8001", "inspect", "m.onnx", "--signature", "serving_default")


if __name__ == "__main__":
    unittest.main()
