"""A back end is one folder and one line of a list: it shows up everywhere, with its options, and can be used."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "e2e"))

from harness import Case  # noqa: E402

OPTIONS = ["--null-cores", "--null-mode", "--null-trace"]
MODEL = """graph @g(%x: f32[2,3]) -> (y = %s) {
  %a = relu(%x) loc("act" : "Relu")
  %s = softmax(%a) loc("scores" : "Softmax")
}
"""


class Null(Case):
    def setUp(self):
        super().setUp()
        self.write("m.ecir", MODEL)

    def test_is_listed(self):
        targets = {t["name"]: t for t in self.good("targets", "--json").result["targets"]}
        self.assertTrue(targets["null"]["available"])
        self.assertIn("small", self.good("targets").out)
        self.assertIn("Null device", self.good("doctor").out)
        self.assertIn("to-null", self.good("passes").out)

    def test_options_are_everywhere(self):
        for page in (["--help"], ["compile", "--help"], ["check", "--help"], ["man"], ["help", "--markdown"], ["targets", "--markdown"],
                     ["completion", "bash"], ["completion", "zsh"], ["help", "--python-stubs"]):
            text = self.good(*page).out.replace("\\-", "-")
            for option in OPTIONS:
                names = (option, option[2:].replace("-", "_"))
                self.assertTrue(any(name in text for name in names), (page, option))
        self.assertIn("null-cores", self.good("compile", "m.ecir", "-t", "null", "--generate-config").out)

    def test_options_are_checked(self):
        self.bad(2, "EC8001", "m.ecir", "-t", "null", "--null-cores", "65")
        self.bad(2, "EC8001", "m.ecir", "-t", "null", "--null-mode", "busy")
        other = self.bad(2, "EC8001", "m.ecir", "--null-trace")
        self.assertIn("it belongs to: null", other.err)
        self.bad(2, "EC6001", "m.ecir", "-t", "null:large")

    def test_check_and_compile_agree(self):
        for target, host in (("null", 0), ("null:small", 1)):
            checked = self.good("check", "m.ecir", "-t", target, "--json").result
            compiled = self.good("m.ecir", "-t", target, "-o", "m.null", "--json").result
            self.assertEqual(checked["operations"], compiled["placement"]["operations"])
            self.assertEqual(checked["host"], host)
            self.assertEqual(compiled["target"], target)
            self.assertTrue(compiled["self_check"]["ran"])
        self.bad(3, "EC3004", "m.ecir", "-t", "null:small", "--strict", "-o", "n.null")

    def test_writes_a_directory(self):
        (self.dir / "n.toml").write_text("null-cores = 8\nnull-trace = true\n")
        self.good("m.ecir", "-t", "null", "--config", "n.toml", "--null-mode", "eager", "-o", "out.null")
        self.assertEqual((self.dir / "out.null/settings/null.txt").read_text(), "cores=8\nmode=eager\ntrace=true\n")
        self.good("m.ecir", "-t", "null", "-o", "out.null")  # replaces it whole
        self.assertEqual((self.dir / "out.null/settings/null.txt").read_text(), "cores=4\nmode=lazy\ntrace=false\n")
        self.assertEqual(self.files(), ["m.ecir", "n.toml", "out.null/graph.ecir", "out.null/settings/null.txt"])

    def test_memory_that_is_not_there_is_a_coded_error(self):
        refused = self.bad(4, "EC5001", "m.ecir", "-t", "null", "--null-mode", "greedy")
        self.assertIn("phase 'place'", refused.err)
        self.assertEqual(self.files(), ["m.ecir"])

    @unittest.skipUnless("EC_NULL_PYTHON" in os.environ, "built without the Python module")
    def test_python(self):
        code = (
            "import inspect, edgecompiler\n"
            "assert 'null_cores' in inspect.signature(edgecompiler.compile).parameters\n"
            "assert 'null' in [t['name'] for t in edgecompiler.targets()]\n"
            "try:\n    edgecompiler.compile('m.ecir', target='null', null_mode='greedy')\n"
            "except edgecompiler.EdgeCompilerError as e:\n    assert e.code == 'EC5001', e.code\n"
            "else:\n    raise SystemExit('compiled')\n"
            "r = edgecompiler.compile('m.ecir', target='null', null_cores=2, output='p.null')\n"
            "assert r.backend == 'null', r.backend\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.environ["EC_NULL_PYTHON"]}
        result = subprocess.run([os.environ["EC_PYTHON"], "-c", code], cwd=self.dir, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("cores=2", (self.dir / "p.null/settings/null.txt").read_text())


if __name__ == "__main__":
    unittest.main()
