"""PyTorch files through the program: read, run, or refused with what to do."""

import pathlib
import shutil
import unittest

from harness import Case

MODELS = pathlib.Path(__file__).resolve().parents[1] / "frontend" / "torch" / "models"


class Torch(Case):
    def copy(self, name: str) -> str:
        shutil.copy(MODELS / name, self.dir / name)
        return name

    def test_inspect_takes_shapes_from_the_trace(self):
        result = self.good("inspect", self.copy("visionops_traced.pt"), "--json").result
        self.assertEqual(result["format"], "torchscript")
        self.assertEqual(result["inputs"], [{"name": "x", "dtype": "f32", "shape": [1, 8, 6, 6]}])
        self.assertIn("up", [layer["name"] for layer in result["layers"]])

    def test_shapes_are_asked_for_and_taken(self):
        name = self.copy("convnet_scripted.pt")
        text = self.bad(1, "EC2003", "run", name).err
        self.assertIn("'x' (4 dimensions, 3 channels)", text)
        self.assertIn("--input-shape x:1x3x224x224", text)
        shown = self.good("inspect", name, "--json")
        self.assertEqual(shown.result["inputs"][0]["shape"], ["x_dim0", 3, "x_dim2", "x_dim3"])
        self.assertEqual([d["code"] for d in shown.json["diagnostics"]], ["EC2003"])
        result = self.good("inspect", name, "--json", "--input-shape", "2x3x16x16").result
        self.assertEqual(result["outputs"][0]["shape"], [2, 5])

    def test_run(self):
        name = self.copy("convnet_scripted.pt")
        result = self.good("run", name, "--input-shape", "1x3x16x16", "-o", "out", "--json").result
        self.assertEqual(result["outputs"][0]["shape"], [1, 5])

    def test_weights_alone_are_refused_with_three_lines(self):
        text = self.bad(7, "EC1005", "inspect", self.copy("reject_state_dict.pth")).err
        for line in ["model = MyModel()", 'load_state_dict(torch.load("reject_state_dict.pth"))', "torch.jit.trace("]:
            self.assertIn(line, text)

    def test_loop_on_values_names_the_line(self):
        name = self.copy("loop_scripted.pt")
        text = self.bad(3, "EC3005", "run", name, "--input-shape", "3x4").err
        self.assertIn("aten::", self.good("inspect", name).out)
        for part in ["data_loop.py line 11", "torch.jit.trace", "torch.export"]:
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
