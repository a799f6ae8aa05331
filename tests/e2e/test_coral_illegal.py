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


if __name__ == "__main__":
    unittest.main()
