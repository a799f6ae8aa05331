"""One corridor: every verb walks the same phases, and what they leave can be seen and stopped."""

import ctypes
import os
import struct
import subprocess
import unittest

from coral_models import chain
from harness import PROGRAM, Case

PHASES = ["import", "fold-input", "prepare", "optimise", "legalise", "quantise", "place", "emit", "self-check", "commit"]

FLOATS = """graph @g(%image: f32[1,3,8,8]) -> (scores = %y) {
  %w = const f32[4,3,3,3] splat(0.1)
  %c = conv(%image, %w) {pads=[1,1,1,1]} loc("conv" : "Conv")
  %r = relu(%c) loc("relu" : "Relu")
  %m = global_avg_pool(%r) loc("pool" : "GlobalAveragePool")
  %f = flatten(%m) loc("flat" : "Flatten")
  %v = const f32[4,10] splat(0.2)
  %s = matmul(%f, %v) loc("dense" : "MatMul")
  %y = softmax(%s) loc("scores" : "Softmax")
}
"""

class Phases(Case):
    def setUp(self):
        super().setUp()
        self.write("f.ecir", FLOATS)
        self.write("chain.ecir", chain())
        self.write_npy("x.npy", (4, 3, 8, 8), [i % 17 / 17 for i in range(4 * 3 * 8 * 8)])
        self.ptq = ["-q", "ptq", "--calibration-data", "x.npy"]
        # A model that carries its quantisation as pairs of operations.
        self.good("quantize", "f.ecir", *self.ptq, "-o", "pairs.onnx")

    def placement(self, *arguments):
        """Rows of `check` and of `compile` with the same arguments."""
        def rows(result):
            return [(row["name"], row["op"], row["source_op"], row["placement"], row["reason"]) for row in result["operations"]]

        checked = self.run_program("check", *arguments, "--json")
        compiled = self.good(*arguments, "-o", self.dir / "out", "--json")
        return rows(checked.result), rows(compiled.result["placement"])

    def test_check_judges_what_compile_writes(self):
        (self.dir / "out").mkdir()
        for arguments in (["f.ecir", "-t", "cpu"], ["f.ecir", "-t", "tflite"], ["f.ecir", "-t", "tflite", *self.ptq],
                          ["pairs.onnx", "-t", "tflite"], ["pairs.onnx", "-t", "coral"], ["chain.ecir", "-t", "coral"],
                          ["f.ecir", "-t", "coral", *self.ptq], ["f.ecir", "-t", "tflite", "-q", "dynamic"]):
            with self.subTest(arguments):
                checked, compiled = self.placement(*arguments)
                self.assertTrue(checked)
                self.assertEqual(checked, compiled)

    def test_check_sees_folded_preprocessing(self):
        """The layer that normalises pixels is part of the graph that is judged."""
        (self.dir / "out").mkdir()
        image = b"P6 8 8 255\n" + bytes(range(192))
        self.write("a.ppm", image)
        options = ["-t", "coral", "-q", "ptq", "--calibration-data", "a.ppm", "--mean", "0.5", "--std", "0.25"]
        plain, _ = self.placement("f.ecir", *options)
        checked, compiled = self.placement("f.ecir", *options, "--fold-preprocessing")
        self.assertEqual(checked, compiled)
        self.assertNotEqual(checked, plain)

    def test_a_model_that_carries_its_quantisation_is_judged_as_integers(self):
        rows = self.good("check", "pairs.onnx", "-t", "tflite", "--json").result["operations"]
        kinds = [row["op"] for row in rows]
        self.assertEqual((kinds.count("quantize"), kinds.count("dequantize")), (1, 1), kinds)

    def test_every_phase_is_dumped(self):
        self.good("f.ecir", "-t", "coral", *self.ptq, "-o", "f.tflite", "--dump-phases", "d")
        dumped = sorted(f for f in os.listdir(self.dir / "d") if f.endswith(".ecir"))
        self.assertEqual(dumped, [f"{i:02}-{phase}.ecir" for i, phase in enumerate(PHASES)])
        before, after = ((self.dir / "d" / name).read_text() for name in ("04-legalise.ecir", "05-quantise.ecir"))
        self.assertNotIn("i8[1,8,8,", before)
        self.assertIn("i8[1,8,8,", after)
        self.assertTrue(os.listdir(self.dir / "d" / "optimise"))

    def test_stops_after_each_phase(self):
        for i, phase in enumerate(PHASES):
            with self.subTest(phase):
                outcome = self.good("f.ecir", "-t", "coral", *self.ptq, "-o", "s.tflite", "--stop-after", phase, "--json")
                self.assertEqual([p["name"] for p in outcome.result["phases"]], PHASES[: i + 1])
                self.assertEqual(outcome.result["stopped_after"], phase)
                self.assertEqual("quantization" in outcome.result, i >= PHASES.index("quantise"))
                self.assertEqual((self.dir / "s.tflite").exists(), phase == "commit")

    def test_stopping_early_quantises_nothing(self):
        result = self.good("quantize", "f.ecir", *self.ptq[2:], "--stop-after", "import", "-o", "q.ecir", "--json").result
        self.assertNotIn("quantization", result)
        self.assertNotIn("i8[", (self.dir / "q.ecir").read_text(errors="replace"))

    def test_phases_have_names(self):
        for name in ("optimize", "optimise", "fold-known"):  # both spellings, and passes
            self.good("optimize", "f.ecir", "--stop-after", name)
        self.bad(2, "EC8001", "optimize", "f.ecir", "--stop-after", "optimice")

    def test_verbs_are_the_same_walk(self):
        optimised = self.good("optimize", "f.ecir", "--json").result
        self.assertEqual([p["name"] for p in optimised["phases"]], ["import", "optimise", "emit", "commit"])
        quantised = self.good("quantize", "f.ecir", *self.ptq[2:], "--json").result
        self.assertEqual([p["name"] for p in quantised["phases"]], [*PHASES[:6], "emit", "commit"])

    def test_the_model_is_opened_once(self):
        self.good("f.ecir", "-t", "tflite", "-o", "m.tflite")
        model = self.dir / "m.tflite"
        for arguments in (["m.tflite", "-t", "coral", *self.ptq, "-o", "c.tflite"], ["check", "m.tflite", "-t", "coral"],
                          ["inspect", "m.tflite"], ["run", "m.tflite"]):
            with self.subTest(arguments[0]):
                self.assertEqual(count_opens(model, [PROGRAM, *arguments], self.dir), 1)

    def test_open_sizes(self):
        """The batch is 1, other sizes are those of the arrays, and what nobody tells is asked for."""
        model = FLOATS.replace("f32[1,3,8,8]", "f32[batch,3,H,W]")
        self.write("open.ecir", model)
        quantised = self.good("open.ecir", "-t", "coral", *self.ptq, "-o", "o.tflite", "--json")
        self.assertEqual(quantised.result["inputs"][0]["source_shape"], [1, 3, 8, 8])
        self.assertIn("has the size of the calibration data", quantised.json["diagnostics"][0]["message"])
        asked = self.bad(1, "EC2003", "open.ecir", "-t", "coral", "-q", "dynamic", "-o", "p.tflite")
        for name in ("H", "W"):
            self.assertIn(f"--dim {name}=", asked.err)
        self.good("open.ecir", "-t", "coral", *self.ptq, "--dim", "H=8,W=8", "-o", "q.tflite")
        self.write("n.ecir", FLOATS.replace("f32[1,3,8,8]", "f32[N,3,8,8]"))
        for target in ("cpu", "tflite"):
            fixed = self.good("n.ecir", "-t", target, "-o", f"n.{'ecir' if target == 'cpu' else target}".replace("n.ecir", "n2.ecir"), "--json")
            self.assertEqual(fixed.result["inputs"][0]["source_shape"], [1, 3, 8, 8])
            self.assertIn("the batch 'N' is taken as 1", fixed.json["diagnostics"][0]["message"])


def count_opens(file, command, folder) -> int:
    """How often a program opens a file, as the kernel tells it."""
    libc = ctypes.CDLL(None, use_errno=True)
    kInOpen, kNonBlock = 0x20, 0o4000
    watch = libc.inotify_init1(kNonBlock)
    assert watch >= 0 and libc.inotify_add_watch(watch, os.fsencode(file), kInOpen) >= 0
    subprocess.run(command, cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    try:
        events = os.read(watch, 1 << 16)
    except BlockingIOError:
        events = b""
    os.close(watch)
    # Equal events that follow each other are reported as one; reads of other kinds are not watched.
    size = struct.calcsize("iIII")
    return len(events) // size


if __name__ == "__main__":
    unittest.main()
