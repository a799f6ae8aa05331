"""Limits: endless models stop when asked, jobs end by their own limits, and folding leaves to the run what grows.

EC_ENDLESS=50 measures all endless models and prints how long each took to stop.
"""

import os
import resource
import signal
import subprocess
import time
import unittest

import endless
from harness import PROGRAM, SLOWER, Case

COUNT = int(os.environ.get("EC_ENDLESS", "7"))


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
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                outcome = self.run_program("compile", "m.ecir", "-t", "tflite", "-o", "m.tflite", "--json")
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                self.assertLess(took, 10 * SLOWER)
                if outcome.code == 0:
                    check = outcome.result["self_check"]
                    self.assertFalse(check["ran"])
                    self.assertIn("left unfinished", check["reason"])
                    self.assertIn("--self-check-", check["reason"])
                else:  # TFLite has no form for it
                    self.assertIn(outcome.codes[0], ("EC3004", "EC6002", "EC3002"))
                if COUNT > 10:
                    print(f"compile, by itself: {name}: {took:.3f} s of the processor")

    def test_measuring_ends_by_its_own_limit(self):
        for name, text in endless.models(COUNT):
            with self.subTest(name):
                self.write("m.ecir", text)
                outcome = self.run_program("bench", "m.ecir", "--run-work", "200", "--run-memory", "256", "--json")
                self.assertEqual(outcome.code, 4, outcome.out)
                self.assertIn(outcome.codes[0], ("EC5001", "EC5003"))
                self.assertIn("--run-", outcome.json["diagnostics"][0]["hint"])

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


class Numbers(Case):
    """One absurd sample among the calibration data does not ruin the ranges of the others."""

    MODEL = """ecir 1
graph @g(%x: f32[1,4,8,8]) -> (y = %y) {
  %w = const f32[4,4,3,3] splat(0.1)
  %c = conv(%x, %w) {pads=[1,1,1,1]} loc("conv" : "Conv")
  %y = relu(%c) loc("relu" : "Relu")
}
"""

    def quantized(self, absurd: float | None) -> tuple[float, str]:
        values = [(i * 7919 % 1000) / 1000 for i in range(12 * 256)]
        if absurd is not None:
            values[5 * 256 + 17] = absurd
        self.write("m.ecir", self.MODEL)
        self.write_npy("x.npy", (12, 4, 8, 8), values)
        outcome = self.run_program("compile", "m.ecir", "-t", "tflite", "-q", "ptq", "--calibration-data", "x.npy", "-o", "m.tflite", "--json")
        if outcome.code != 0:
            return 0.0, outcome.codes[0]
        warnings = [d["message"] for d in outcome.json["diagnostics"] if d["code"] == "EC4004"]
        return outcome.result["quantization"]["accuracy"]["outputs"][0]["sqnr_db"], " ".join(warnings)

    def test_an_absurd_sample_is_left_out_and_named(self):
        sound, warnings = self.quantized(None)
        self.assertNotIn("far beyond", warnings)
        ruined, warnings = self.quantized(1e30)
        self.assertIn("x.npy[5]", warnings)
        self.assertIn("1e+30", warnings)
        self.assertGreater(ruined, sound - 3)

    def test_what_is_no_number_is_an_error(self):
        self.assertEqual(self.quantized(float("inf"))[1], "EC4003")
        self.assertEqual(self.quantized(float("nan"))[1], "EC4003")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
