"""Core ML packages through the program: every verb takes them as models."""

import pathlib
import shutil
import unittest

from harness import Case

MODELS = pathlib.Path(__file__).resolve().parents[1] / "frontend" / "coreml" / "models"


def package(name):
    return str(MODELS / f"{name}.mlpackage")


class Coreml(Case):
    def test_packages_are_shown_with_their_types(self):
        shown = self.good("inspect", package("cnn_ios15"), "--json").result
        self.assertEqual(shown["inputs"], [{"name": "x", "dtype": "f32", "shape": [1, 3, 16, 16]}])
        text = self.good("inspect", package("image_classifier_ios15")).out
        self.assertIn("RGB image, 8 wide, 8 high", text)
        self.assertIn("classLabel_probs", text)

    def test_packages_run(self):
        for name in ("cnn_ios15", "recurrent_ios16", "attention_ios18", "control_ios16", "palette_ios18", "w8a8_ios17", "flexible_ios16"):
            result = self.good("run", package(name), "--json").result
            self.assertTrue(result["outputs"], name)
            self.good("bench", package(name), "--iterations", "2")

    def test_both_ways_to_run_half_precision_agree(self):
        outputs = []
        for options in ((), ("--reference",)):
            result = self.good("run", package("cnn_ios15"), "-o", "out", "--json", *options).result
            outputs.append(self.read_npy(self.dir / result["outputs"][0]["file"])[1])
        self.assertEqual(len(outputs[0]), 5)
        for a, b in zip(*outputs):
            self.assertAlmostEqual(a, b, delta=2e-3)

    def test_packages_become_tflite_files(self):
        for name in ("cnn_ios15", "int8_ios16", "int4_ios18", "sparse_palette_ios18", "attention_ios18", "recurrent_ios16", "state_ios18"):
            result = self.good(package(name), "-t", "tflite", "-o", f"{name}.tflite", "--json").result
            self.assertTrue(result, name)

    def test_integers_of_packages_stay_integers(self):
        shown = self.good(package("w8a8_ios17"), "-t", "tflite", "-o", "w8a8.tflite")
        self.assertIn("quantised by qat: 7 of 9 operations on integers", shown.out)

    def test_packages_are_judged_for_the_edge_tpu(self):
        report = self.good("check", "-t", "coral", package("image_classifier_ios15"))
        self.assertIn("CONV_2D", report.out)
        self.assertIn("Mapped to Edge TPU", report.out)

    def test_functions_are_chosen(self):
        self.good("run", package("functions_ios18"), "--signature", "triple")
        self.assertIn("'double', 'triple'", self.bad(2, "EC7001", "run", package("functions_ios18"), "--signature", "other").err)
        self.bad(2, "EC8001", "inspect", package("cnn_ios15"), "--graph-output", "x")

    def test_other_kinds_are_refused_by_name(self):
        refused = self.bad(7, "EC1005", "inspect", str(MODELS / "reject_network.mlmodel"))
        self.assertIn("'neuralNetwork'", refused.err)
        self.assertIn("mlprogram", refused.err)

    def test_incomplete_packages_are_named(self):
        shutil.copytree(package("cnn_ios15"), self.dir / "cut.mlpackage")
        (self.dir / "cut.mlpackage/Data/com.apple.CoreML/weights/weight.bin").unlink()
        self.bad(7, "EC1001", "run", "cut.mlpackage")
        (self.dir / "cut.mlpackage/Manifest.json").unlink()
        self.assertIn("without Manifest.json", self.bad(7, "EC1005", "run", "cut.mlpackage").err)


if __name__ == "__main__":
    unittest.main()
