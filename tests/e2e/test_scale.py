"""Graphs with many nodes: none is refused, and every node is accounted for."""

import pathlib
import sys
import unittest

from harness import Case

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import scale_graphs  # noqa: E402


class Scale(Case):
    def model(self, kind, count):
        path = self.dir / f"{kind}.onnx"
        scale_graphs.write(path, kind, count)
        return path.name

    def placed(self, kind, count, *arguments):
        result = self.good("check", self.model(kind, count), *(arguments or ("-t", "cpu")), "--json").result
        self.assertEqual(result["unsupported"], 0)
        return len(result["operations"])

    def test_check_counts_every_node(self):
        self.assertEqual(self.placed("residual", 50_000), 50_000)
        self.assertEqual(self.placed("shared", 20_000, "-t", "tflite"), 20_000)

    def test_equal_operations_become_one(self):
        # Half of the nodes compute the same; one of them and the sums are left.
        self.assertEqual(self.placed("repeated", 50_000), 25_000)

    def test_small_nodes_are_not_refused(self):
        # About thirty bytes for each node: the file itself lists them all.
        result = self.good("inspect", self.model("chain", 200_000), "--json").result
        self.assertEqual(result["operations"], 200_000)

    def test_more_than_ten_million_nodes_are_refused_at_once(self):
        # Of two bytes each; docs/limits.md has the limit.
        graph = scale_graphs.field(1, b"") * 10_000_001 + scale_graphs.field(2, b"g")
        opset = scale_graphs.field(1, b"") + scale_graphs.number(2, 17)
        path = self.dir / "many.onnx"
        path.write_bytes(scale_graphs.number(1, 8) + scale_graphs.field(7, graph) + scale_graphs.field(8, opset))
        self.bad(7, "EC1014", "inspect", path)


if __name__ == "__main__":
    unittest.main()
