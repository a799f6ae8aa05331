"""Limits: endless models stop when asked, jobs end by their own limits, and folding leaves to the run what grows.

EC_ENDLESS=50 measures all endless models and prints how long each took to stop.
"""

import os
import pathlib
import resource
import signal
import subprocess
import time
import unittest

import endless
from harness import PROGRAM, SLOWER, Case

HOSTILE = pathlib.Path(__file__).parent.parent / "data" / "hostile"
COUNT = int(os.environ.get("EC_ENDLESS", "7"))
SANITIZED = SLOWER > 1


class Endless(Case):
    def stop(self, name: str, *arguments: str) -> float:
        """Interrupts a run and gives the seconds until it ended."""
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            time.sleep(0.5 * SLOWER)
            self.assertIsNone(process.poll(), f"{name}: ended by itself: {process.stderr.read() if process.poll() is not None else ''}")
            asked = time.monotonic()
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
            return time.monotonic() - asked
        finally:
            if process.poll() is None:
                process.kill()
            process.stderr.close()
            self.code = process.wait()

    def test_interrupts_stop_a_run(self):
        for name, text in endless.models(COUNT):
            with self.subTest(name):
                self.write("m.ecir", text)
                took = self.stop(name, "run", "m.ecir")
                self.assertEqual(self.code, 130)
                self.assertLess(took, 1 * SLOWER)
                if COUNT > 10:
                    print(f"run, Ctrl-C: {name}: {took:.3f} s")

    def test_a_timeout_stops_a_run(self):
        for name, text in endless.models(COUNT):
            with self.subTest(name):
                self.write("m.ecir", text)
                begun = time.monotonic()
                outcome = self.run_program("run", "m.ecir", "--timeout", "0.5", "--json")
                took = time.monotonic() - begun
                self.assertEqual(outcome.code, 4, outcome.out)
                self.assertEqual(outcome.codes[0], "EC5002")
                self.assertLess(took, 1.7 * SLOWER)
                self.assertIn("--timeout", outcome.json["diagnostics"][0]["hint"])
                if COUNT > 10:
                    print(f"run, --timeout 0.5: {name}: {took - 0.5:.3f} s")

    def test_compile_ends_by_its_own_limit(self):
        for name, text in endless.models(COUNT):
            with self.subTest(name):
                self.write("m.ecir", text)
                begun = time.monotonic()
                outcome = self.run_program("compile", "m.ecir", "-t", "tflite", "-o", "m.tflite", "--json")
                took = time.monotonic() - begun
                self.assertLess(took, 10 * SLOWER)
                if outcome.code == 0:
                    check = outcome.result["self_check"]
                    self.assertFalse(check["ran"])
                    self.assertIn("left unfinished", check["reason"])
                    self.assertIn("--self-check-", check["reason"])
                else:  # TFLite has no form for it
                    self.assertIn(outcome.codes[0], ("EC3004", "EC6002", "EC3002"))
                if COUNT > 10:
                    print(f"compile: {name}: {took:.3f} s")

    def test_the_error_tells_where(self):
        self.write("m.ecir", endless.models(1)[0][1])
        outcome = self.bad(4, "EC5002", "run", "m.ecir", "--timeout", "0.2")
        self.assertIn("'endless'", outcome.err)
        outcome = self.bad(4, "EC5002", "compile", "m.ecir", "-t", "tflite", "-o", "m.tflite", "--timeout", "0.3", "--self-check-work", "1000000")
        self.assertIn("phase 'self-check'", outcome.err)
        self.assertEqual(self.files(), ["m.ecir"])

    def test_memory_of_a_run_has_a_limit(self):
        self.write("m.ecir", "ecir 1\ngraph @g(%x: f32[1000,1000]) -> (y = %y) {\n  %t = exp(%x)\n  %u = matmul(%t, %t)\n  %y = add(%u, %t)\n}\n")
        self.good("run", "m.ecir")
        self.bad(4, "EC5001", "run", "m.ecir", "--max-memory", "2")


class Hostile(Case):
    """Small files that asked for hours or gigabytes."""

    def measured(self, *arguments: str) -> tuple[int, str, float, int]:
        begun = time.monotonic()
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        text = process.stderr.read()
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, text, time.monotonic() - begun, usage.ru_maxrss

    def test_every_command_ends_soon_and_in_little_memory(self):
        commands = [["inspect"], ["check"], ["check", "-t", "tflite"], ["check", "-t", "coral"],
                    ["optimize", "-o", "o.ecir"], ["compile", "-t", "tflite", "-o", "o.tflite"]]
        for name in ("convtranspose_dilated_dynamic_w.onnx", "gather_zero.onnx", "gather_neg.onnx", "tiny_pool.onnx",
                     "roialign.onnx", "concat60_const.onnx", "concat30.onnx", "catgrow.pt", "loop_inf.onnx",
                     "loop_1e12.onnx", "pad_reflect_huge.onnx", "tensor_1gb.tflite", "bad_utf8_attr.onnx"):
            for verb, *options in commands:
                with self.subTest(name, verb=verb, options=options):
                    code, text, seconds, kilobytes = self.measured(verb, str(HOSTILE / name), *options)
                    self.assertGreaterEqual(code, 0, text)
                    self.assertNotIn("EC9", text)
                    self.assertNotIn("EC5004", text)
                    self.assertLess(seconds, 10 * SLOWER)
                    if not SANITIZED:
                        self.assertLess(kilobytes, 64 * 1024 + 2 * (HOSTILE / name).stat().st_size / 1024)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
