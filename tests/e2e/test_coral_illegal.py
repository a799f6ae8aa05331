"""What the Edge TPU does not run: each with code, node, limit, value and fix; exit 3 with --strict."""

import unittest

from coral_illegal import CASES
from harness import Case


class Illegal(Case):
    def test_every_case(self):
        self.assertGreaterEqual(len(CASES), 50)
        for name, model, op, words, options in CASES:
            with self.subTest(name):
                self.write(f"{name}.ecir", model)
                # As it is, without the rewrites that would mend it.
                self.good(f"{name}.ecir", "-t", "tflite", "--passes", "none", "-o", f"{name}.tflite")
                self.check(f"{name}.tflite", op, words, options)

    def check(self, file, op, words, options):
        outcome = self.run_program("check", file, "-t", "coral", "--passes", "none", "--strict", "--json", *options)
        self.assertEqual(outcome.code, 3, outcome.out + outcome.err)
        self.assertEqual(outcome.codes, ["EC3004"], outcome.out)
        left = [row for row in outcome.result["operations"] if row["placement"] == "cpu"]
        found = [row for row in left if row["source_op"] == op]
        self.assertTrue(found, left)
        row = found[0]
        self.assertTrue(row["name"])
        self.assertTrue(row["status"])
        self.assertIn(words, row["reason"])
        self.assertTrue(row["fix"], row)
        diagnostic = outcome.json["diagnostics"][0]
        self.assertEqual(diagnostic["file"], file)
        self.assertTrue(diagnostic["hint"])
        self.assertTrue(any(row["name"] in note and row["reason"] in note and row["fix"] in note for note in diagnostic["notes"]),
                        diagnostic["notes"])

    def test_activations_of_pools_are_written_apart(self):
        """A file with a pool that takes its activation along is not mapped as it is; what is written of it is."""
        for kind in ("avg_pool", "max_pool"):
            model = ("graph @g(%x: i8[1,8,8,4] q(0.5:0)) -> (y = %y) {\n"
                     f"  %p = {kind}(%x) {{layout=nhwc, kernel=[2,2], strides=[2,2]}} : i8[1,4,4,4] q(0.5:0)\n"
                     "  %y = relu(%p) : i8[1,4,4,4] q(0.5:0)\n}\n")
            self.write(f"{kind}.ecir", model)
            self.good(f"{kind}.ecir", "-t", "tflite", "--passes", "none", "-o", f"{kind}.tflite")
            rows = self.good("check", f"{kind}.tflite", "-t", "coral", "--strict", "--json").result["operations"]
            self.assertEqual(len(rows), 2)


if __name__ == "__main__":
    unittest.main()
