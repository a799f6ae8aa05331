"""Files that once broke the program: every verb ends with a result or a coded error, soon, in little memory and without a signal.

Each file of tests/data/hostile is one case. To add one, copy it there; data that a model names lies beside it. EC_WALK=1 prints
what each run took.
"""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import unittest

from harness import PROGRAM, SLOWER, Case

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "hostile"
MODELS = sorted(p.name for p in FOLDER.iterdir() if p.suffix in {".onnx", ".tflite", ".pt", ".pt2", ".ecir"})
SECONDS = 10 * SLOWER  # of the processor: the machine may be busy
MB = 1 << 20
# AddressSanitizer's own memory hides what the program takes.
SANITIZED = "ASAN_OPTIONS" in os.environ

RANDOM = ["--calibration-data", "random"]
COMMANDS = [
    ["inspect"],
    ["check"],
    ["check", "-t", "tflite"],
    ["check", "-t", "coral"],
    ["optimize", "-o", "optimized.ecir"],
    ["compile", "-o", "compiled.ecir"],
    ["compile", "-t", "tflite", "-o", "compiled.tflite"],
    ["compile", "-t", "coral", "-q", "ptq", *RANDOM, "-o", "coral.tflite"],
    ["check", "-t", "metal"],
    ["compile", "-t", "metal", "-o", "compiled.mlpackage"],
    ["quantize", *RANDOM, "-o", "quantized.onnx"],
    ["bench", "--iterations", "1", "--warmup", "0"],
]


class Hostile(Case):
    def ends_well(self, *arguments, files):
        """`files` are what the run reads; those that it writes count as well."""
        command = [PROGRAM, *map(str, arguments)]
        process = subprocess.Popen(command, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace")
        output = process.stdout.read()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        words = f"{command}\n{output}"
        self.assertGreaterEqual(process.returncode, 0, words)  # a signal is negative
        self.assertIsNone(re.search(r"\bEC9\d\d\d\b", output), words)
        if process.returncode != 0:
            self.assertRegex(output, r"\berror EC\d{4}:", words)
        seconds = usage.ru_utime + usage.ru_stime
        self.assertLess(seconds, SECONDS, words)
        written = [self.dir / name for name in self.files()]
        bytes_ = sum(os.path.getsize(f) for f in [*files, *written])
        # Programs of packages hold integers as numbers of variable length, which become eight bytes each while they are read back.
        bytes_ += sum(os.path.getsize(f) for f in written if f.suffix == ".mlmodel")
        if not SANITIZED:
            self.assertLess(usage.ru_maxrss * 1024, 2 * bytes_ + 64 * MB, words)
        for path in written:
            path.unlink()
        for folder in self.dir.glob("*.mlpackage"):
            shutil.rmtree(folder)
        if os.environ.get("EC_WALK"):
            print(f"{arguments[1].name}: {' '.join(map(str, [arguments[0], *arguments[2:]]))}: exit {process.returncode}, "
                  f"{seconds:.2f} s, {usage.ru_maxrss / 1024:.0f} MB", flush=True)

    def each_command(self, name):
        for command in COMMANDS:
            with self.subTest(name=name, command=command):
                self.ends_well(command[0], FOLDER / name, *command[1:],
                               files=[FOLDER / name, *([FOLDER / "blob.bin"] if "share" in name else [])])

    def test_reshape_with_values_that_do_not_fit(self):
        self.ends_well("run", FOLDER / "reshape_run.onnx", "-i", f"x0={FOLDER / 'reshape_x0.npy'}",
                       "-i", f"x1={FOLDER / 'reshape_x1.npy'}", files=[FOLDER / "reshape_run.onnx"])

    def test_an_archive_that_unpacks_to_gigabytes(self):
        model = FOLDER / "transpose_negperm_static.onnx"
        for command in (["check", model, "-t", "tflite", "-q", "ptq", "--calibration-data", FOLDER / "bomb.npz"],
                        ["run", model, "-i", FOLDER / "bomb.npz"], ["evaluate", model, "--data", FOLDER / "bomb.npz"]):
            with self.subTest(command=command):
                self.ends_well(*command, files=[model, FOLDER / "bomb.npz"])


for model in MODELS:
    setattr(Hostile, "test_" + re.sub(r"\W", "_", model), lambda self, name=model: self.each_command(name))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
