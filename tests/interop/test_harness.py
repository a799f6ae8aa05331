"""The harness must see what it is there to see: crashes, hangs, wrong values, unexpected passes.

    python -m unittest discover tests/interop
"""

import contextlib
import io
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np

import comparison
import node_suite
import node_tests
import program
import zoo_check
from worker_pool import run_isolated


def act(what: str) -> str:
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "exit":
        os._exit(3)
    if what == "hang":
        time.sleep(60)
    return what.upper()


class WorkerPool(unittest.TestCase):
    def test_crashes_and_hangs_are_reported_and_the_rest_still_runs(self):
        items = ["a", "crash", "b", "hang", "exit", "c"]
        got = {items[i]: (outcome, value) for i, outcome, value in run_isolated(act, items, workers=2, timeout=10.0)}
        self.assertEqual(got["a"], ("done", "A"))
        self.assertEqual(got["b"], ("done", "B"))
        self.assertEqual(got["c"], ("done", "C"))
        self.assertEqual(got["crash"], ("crash", "SIGSEGV"))
        self.assertEqual(got["exit"], ("crash", "exit status 3"))
        self.assertEqual(got["hang"][0], "timeout")


class Comparison(unittest.TestCase):
    def check(self, actual, expected):
        return node_suite.compare(np.asarray(actual), np.asarray(expected), 1e-3, 1e-4)

    def test_values(self):
        self.assertIsNone(self.check(np.float32([1.0005, np.nan, np.inf]), np.float32([1.0, np.nan, np.inf])))
        self.assertIn("1 of 2 values", self.check(np.float32([1.0, 2.1]), np.float32([1.0, 2.0])))
        self.assertIsNotNone(self.check(np.float32([np.nan]), np.float32([1.0])))
        self.assertIsNotNone(self.check(np.int32([1]), np.int32([2])))
        self.assertIn("dtype", self.check(np.float64([1]), np.float32([1])))
        self.assertIn("shape", self.check(np.float32([[1]]), np.float32([1])))

    def test_relative_error(self):
        one = [np.float32([1, -4])]
        self.assertAlmostEqual(zoo_check.relative_error([np.float32([1, -3])], one), 0.25)
        self.assertEqual(zoo_check.relative_error([np.float64([1, -4])], one), float("inf"))
        self.assertEqual(zoo_check.relative_error([np.float32([np.nan, -4])], one), float("inf"))
        self.assertEqual(zoo_check.relative_error(one, one), 0.0)


class Expectations(unittest.TestCase):
    def test_new_failures_and_unexpected_passes_are_faults(self):
        def record(status):
            return {"status": status, "code": "", "reason": ""}

        expected = {"node/a": {"status": "unsupported"}, "node/b": {"status": "wrong"}}
        records = {"node/a": record("unsupported"), "node/b": record("pass"), "node/c": record("crash")}
        faults = node_tests.compare_with_expected(records, expected)
        self.assertEqual([f.split(":")[0] for f in faults], ["node/b", "node/c"])


class Program(unittest.TestCase):
    def run_script(self, text: str) -> dict:
        """Of a program that is this shell script."""
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "edgecompile"
            script.write_text(f"#!/bin/sh\n{text}\n")
            script.chmod(0o755)
            return program.report(str(script), "model.onnx")

    def test_result_of_the_report(self):
        self.assertEqual(self.run_script("""echo "{\\"result\\": {\\"arguments\\": \\"$*\\"}}" """), {"arguments": "model.onnx --json"})

    def test_errors_of_the_report_are_told(self):
        report = '{"diagnostics": [{"severity": "warning"}, {"severity": "error", "code": "EC1", "node": "n", "message": "no"}]}'
        with self.assertRaises(program.Failed) as caught:
            self.run_script(f"echo '{report}'; exit 1")
        self.assertEqual((str(caught.exception), len(caught.exception.errors)), ("EC1 n: no", 1))

    def test_an_end_without_report_is_told(self):
        with self.assertRaisesRegex(program.Failed, "exit status -11: words"):
            self.run_script("echo words >&2; kill -SEGV $$")


class Rows(unittest.TestCase):
    def test_status_and_file(self):
        with tempfile.TemporaryDirectory() as folder:
            rows = comparison.Rows()
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                rows.add({"value": np.float32(0.5), "ok": True})
            self.assertEqual(printed.getvalue(), '{"value": 0.5, "ok": true}\n')
            self.assertEqual(rows.finish(pathlib.Path(folder) / "new", "rows.json"), 0)
            self.assertIn('"value": 0.5', (pathlib.Path(folder) / "new" / "rows.json").read_text())
            rows.rows.append({"ok": False})
            self.assertEqual(rows.finish(None, "rows.json"), 1)


if __name__ == "__main__":
    unittest.main()
