"""Files that once broke the program: every verb ends with a result or a coded error, soon and without a signal.

Each file of tests/data/hostile is one case. To add one, copy it there; data that a model names lies beside it.
"""

import pathlib
import re
import time
import unittest

from harness import SLOWER, Case

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "hostile"
MODELS = sorted(p.name for p in FOLDER.iterdir() if p.suffix in {".onnx", ".tflite", ".pt", ".pt2", ".ecir"})
SECONDS = 10 * SLOWER

RANDOM = ["--calibration-data", "random"]
COMMANDS = [
    ["inspect"],
    ["check"],
    ["check", "-t", "tflite"],
    ["check", "-t", "coral"],
    ["optimize", "-o", "optimized.ecir"],
    ["compile", "-o", "compiled.out"],
    ["compile", "-t", "tflite", "-o", "compiled.tflite"],
    ["compile", "-t", "coral", "-q", "ptq", *RANDOM, "-o", "coral.tflite"],
    ["quantize", *RANDOM, "-o", "quantized.onnx"],
    ["bench", "--iterations", "1", "--warmup", "0"],
]


class Hostile(Case):
    def ends_well(self, *arguments):
        start = time.monotonic()
        outcome = self.run_program(*arguments)
        seconds = time.monotonic() - start
        words = f"{arguments}\n{outcome.err}{outcome.out}"
        self.assertGreaterEqual(outcome.code, 0, words)  # a signal is negative
        self.assertIsNone(re.search(r"\bEC9\d\d\d\b", outcome.err), words)
        if outcome.code != 0:
            self.assertRegex(outcome.err, r"\berror EC\d{4}:", words)
        self.assertLess(seconds, SECONDS, words)
        return outcome

    def each_command(self, name):
        for command in COMMANDS:
            with self.subTest(name=name, command=command):
                self.ends_well(command[0], FOLDER / name, *command[1:])

    def test_reshape_with_values_that_do_not_fit(self):
        self.ends_well("run", FOLDER / "reshape_run.onnx", "-i", f"x0={FOLDER / 'reshape_x0.npy'}",
                       "-i", f"x1={FOLDER / 'reshape_x1.npy'}")


for model in MODELS:
    setattr(Hostile, "test_" + re.sub(r"\W", "_", model), lambda self, name=model: self.each_command(name))


if __name__ == "__main__":
    unittest.main()
