"""What is written: whole or not at all."""

import os
import resource
import signal
import subprocess
import time
import unittest

import onnx_builder as onnx
from harness import PROGRAM, SLOWER, Case


def limit_file_size(size):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


class OutputFiles(Case):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", onnx.conv_model())

    def test_file_size_limit_leaves_nothing(self):
        before = self.files()
        for arguments in [("optimize", "m.onnx", "-o", "o.ecir"), ("m.onnx", "-o", "c.ecir")]:
            outcome = self.run_program(*arguments, preexec_fn=limit_file_size(100))
            self.assertEqual(outcome.code, 1, outcome.err)
            self.assertIn("error EC1017:", outcome.err)
            self.assertIn("hint:", outcome.err)
            self.assertEqual(self.files(), before)

    def test_an_existing_file_survives_a_failed_write(self):
        self.write("o.ecir", "precious")
        outcome = self.run_program("optimize", "m.onnx", "-o", "o.ecir", preexec_fn=limit_file_size(100))
        self.assertEqual(outcome.code, 1)
        self.assertEqual((self.dir / "o.ecir").read_text(), "precious")

    def test_a_report_that_cannot_be_written_is_told_before_the_model_is(self):
        os.mkfifo(self.dir / "pipe")
        before = self.files()
        for report in ("missing/report.json", "pipe"):
            outcome = self.run_program("compile", "m.onnx", "-t", "tflite", "-o", "m.tflite", "--report", f"json={report}")
            self.assertEqual(outcome.code, 1, outcome.err)
            self.assertIn("error EC1017:", outcome.err)
            self.assertEqual(self.files(), before)

    def test_full_device(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            for arguments in [["ops"], ["inspect", "m.onnx"], ["inspect", "m.onnx", "--json"]]:
                process = subprocess.run([PROGRAM, *arguments], cwd=self.dir, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(process.returncode, 1)
                self.assertIn("EC1017", process.stderr)
                self.assertIn("No space left", process.stderr)

    def test_no_space_left(self):
        """On a small tmpfs, where mounting is allowed."""
        small = self.dir / "small"
        small.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)], capture_output=True, check=False)
        if mount.returncode != 0:
            self.skipTest("mounting is not allowed here")
        try:
            (small / "filler").write_bytes(bytes(4096))
            outcome = self.run_program("optimize", "m.onnx", "-o", small / "o.ecir")
            self.assertEqual(outcome.code, 1, outcome.err)
            self.assertIn("No space left", outcome.err)
            self.assertEqual(os.listdir(small), ["filler"])
        finally:
            subprocess.run(["umount", str(small)], check=False)

    def test_unwritable_places(self):
        self.bad(1, "EC1017", "optimize", "m.onnx", "-o", "missing/o.ecir")
        self.bad(2, "EC8001", "optimize", "m.onnx", "-o", "o.xyz")
        self.bad(2, "EC8001", "m.onnx", "-t", "cpu", "-o", "o.onnx")
        self.bad(1, "EC1017", "run", "m.onnx", "--dim", "batch=1", "-o", "m.onnx")

    def test_the_model_is_not_overwritten(self):
        content = (self.dir / "m.onnx").read_bytes()
        self.bad(2, "EC8001", "optimize", "m.onnx", "-o", "./m.onnx")
        self.assertEqual((self.dir / "m.onnx").read_bytes(), content)

    def test_interrupt(self):
        """Ctrl-C in a long run: exit 130, nothing half-written."""
        for number in [signal.SIGINT, signal.SIGTERM]:
            process = subprocess.Popen([PROGRAM, "bench", "m.onnx", "--dim", "batch=64", "--iterations", "100000000", "--warmup", "0"],
                                       cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(0.5 * SLOWER)
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 130)
            self.assertEqual(out, "")
            self.assertIn("interrupted", err)
        self.assertEqual(self.files(), ["m.onnx"])

    def test_interrupt_while_writing(self):
        """A reader that never reads keeps the write of the output open; the temporary goes away with the signal."""
        values = [float(i % 7) for i in range(1 << 16)]
        big = onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [1 << 16])], [onnx.value("y", [1 << 16])],
                         [onnx.tensor("w", [1 << 16], values)])
        self.write("big.onnx", big)
        before = self.files()
        for delay in [0.0, 0.002, 0.004, 0.006, 0.01, 0.02]:
            process = subprocess.Popen([PROGRAM, "optimize", "big.onnx", "-o", "big.ecir"], cwd=self.dir,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
            left = [f for f in self.files() if f not in before and f != "big.ecir"]
            # Before its handlers are installed the process dies of the signal itself, without a file.
            self.assertIn(process.returncode, [0, 130, -signal.SIGINT])
            self.assertEqual(left, [])

    def test_permissions_follow_the_umask(self):
        os.umask(0o022)
        self.good("optimize", "m.onnx", "-o", "o.ecir")
        self.assertEqual((self.dir / "o.ecir").stat().st_mode & 0o777, 0o644)

    def test_output_names_cannot_leave_the_directory(self):
        model = onnx.model([onnx.node("Relu", ["x"], ["../../evil"]), onnx.node("Neg", ["x"], ["a b/c"])], [onnx.value("x", [2])],
                           [onnx.value("../../evil", [2]), onnx.value("a b/c", [2])])
        self.write("evil.onnx", model)
        self.good("run", "evil.onnx", "-o", "out")
        self.assertEqual([f for f in self.files() if f.endswith(".npy")], ["out/_.._evil.npy", "out/a_b_c.npy"])


if __name__ == "__main__":
    unittest.main()
