"""Bad files and bad arguments: each ends with its code and a way out, and leaves nothing behind."""

import os
import unittest

import onnx_builder as onnx
from harness import Case

READERS = ["inspect", "check", "optimize", "run", "bench", "compile"]


class BadFiles(Case):
    def each_verb(self, exit_code, code, name):
        before = self.files()
        for verb in READERS:
            outcome = self.bad(exit_code, code, verb, name)
            self.assertIn(name, outcome.err)
            self.assertEqual(outcome.out, "")
        self.assertEqual(self.files(), before)
        return outcome

    def test_missing_file(self):
        self.each_verb(7, "EC1001", "missing.onnx")

    def test_directory(self):
        (self.dir / "folder").mkdir()
        self.each_verb(7, "EC1004", "folder")

    def test_empty_file(self):
        self.write("empty.onnx", b"")
        self.each_verb(7, "EC1003", "empty.onnx")

    def test_no_permission(self):
        self.dir.chmod(0o755)
        self.write("m.onnx", onnx.relu_model()).chmod(0)
        # Root reads everything: become nobody, where the program can be reached as such.
        nobody = {"user": 65534} if os.geteuid() == 0 else {}
        if nobody and not self.reachable(nobody):
            self.skipTest("the program cannot be run as another user")
        self.bad(7, "EC1002", "inspect", "m.onnx", **nobody)

    def reachable(self, options):
        try:
            return self.run_program("--version", **options).code == 0
        except OSError:
            return False

    def test_wrong_format_is_said_by_content(self):
        for name, content, word in [
            ("a.onnx", b"\x1c\0\0\0TFL3" + bytes(64), "TFLite"),  # of version 0
            ("b.onnx", b"\x89HDF\r\n\x1a\n" + bytes(64), "HDF5"),
            ("c.onnx", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + bytes(64), "torch"),
        ]:
            self.write(name, content)
            self.assertIn(word.lower(), self.each_verb(7, "EC1005", name).err.lower())
        (self.dir / "saved").mkdir()
        (self.dir / "moved").mkdir()
        self.write("saved/saved_model.pb", b"x")
        self.assertIn("protobuf", self.each_verb(7, "EC1006", "saved").err)
        self.write("moved/saved_model.pb", b"\x08\x01\x12\x02")
        self.assertIn("SavedModel", self.each_verb(7, "EC1005", "moved/saved_model.pb").err)

    def test_damaged_tflite(self):
        self.write("cut.onnx", b"\x1c\0\0\0TFL3" + b"\xff" * 64)
        self.assertIn("TFLite", self.each_verb(7, "EC1006", "cut.onnx").err)

    def test_text_is_no_model(self):
        self.write("notes.onnx", "hello, this is no model\n" * 20)
        self.each_verb(7, "EC1005", "notes.onnx")
        self.write("noise.bin", bytes((i * i * 7 + 0xF3) % 256 for i in range(400)))
        self.each_verb(7, "EC1004", "noise.bin")

    def test_truncated(self):
        whole = onnx.conv_model()
        for part in [len(whole) // 4, len(whole) // 2, len(whole) - 3]:
            self.write("cut.onnx", whole[:part])
            outcome = self.run_program("inspect", "cut.onnx")
            self.assertEqual(outcome.code, 7, outcome.err)

    def test_newer_opset(self):
        self.write("new.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", [1])], [onnx.value("y", [1])], opset=999))
        for verb in READERS[1:]:
            self.bad(3, "EC1009", verb, "new.onnx")
        self.assertIn("warning EC1009", self.good("inspect", "new.onnx").err)

    def test_unknown_operators_are_all_listed_with_nearest_names(self):
        nodes = [onnx.node("Conw", ["x"], ["a"], "first"), onnx.node("Relo", ["x"], ["b"], "second"),
                 onnx.node("Sigmoyd", ["x"], ["c"], "third")]
        outputs = [onnx.value(n, None) for n in "abc"]
        self.write("unknown.onnx", onnx.model(nodes, [onnx.value("x", [1, 3, 4, 4])], outputs))
        outcome = self.run_program("run", "unknown.onnx", "--json")
        self.assertEqual(outcome.code, 3)
        self.assertEqual(outcome.codes, ["EC3001"] * 3)
        shown = self.good("inspect", "unknown.onnx", "--json")
        self.assertEqual(shown.json["diagnostics"], [{**d, "severity": "warning"} for d in outcome.json["diagnostics"]])
        for diagnostic, name, nearest in zip(outcome.json["diagnostics"], ["first", "second", "third"], ["Conv", "Relu", "Sigmoid"]):
            self.assertEqual(diagnostic["node"], name)
            self.assertIn(nearest, diagnostic["hint"] + diagnostic["message"] + " ".join(diagnostic["notes"]))
        check = self.run_program("check", "unknown.onnx", "--json")
        self.assertEqual((check.code, check.codes), (3, ["EC3004"]))
        one = self.run_program("check", "unknown.onnx", "-t", "cpu", "--json")
        self.assertEqual((one.code, one.codes), (3, ["EC3004"]))
        for entry in [*check.result["targets"], one.result]:
            self.assertEqual((entry["unsupported"], entry["runs"]), (3, False))
            self.assertTrue(all(row["reason"] for row in entry["operations"] if row["placement"] == "unsupported"))

    def test_missing_external_data(self):
        nodes = [onnx.node("Add", ["x", "w"], ["y"])]
        self.write("ext.onnx", onnx.model(nodes, [onnx.value("x", [4])], [onnx.value("y", [4])],
                                          [onnx.external_tensor("w", [4], "weights.bin")]))
        self.assertIn("weights.bin", self.each_verb(7, "EC1007", "ext.onnx").err)

    def test_external_data_outside_the_folder(self):
        nodes = [onnx.node("Add", ["x", "w"], ["y"])]
        for location in ["../weights.bin", "/etc/passwd"]:
            self.write("ext.onnx", onnx.model(nodes, [onnx.value("x", [4])], [onnx.value("y", [4])],
                                              [onnx.external_tensor("w", [4], location)]))
            self.each_verb(7, "EC1008", "ext.onnx")

    def test_six_faults_in_one_run(self):
        x, y = onnx.value("x", [2, 3]), onnx.value("y", [4, 5])
        nodes = [
            onnx.node("MatMul", ["x", "y"], ["a"], "wrong_shapes"),
            onnx.node("NoSuchOp", ["x"], ["b"], "no_such_op"),
            onnx.node("Relu", ["ghost"], ["c"], "reads_nothing"),
            onnx.node("Cast", ["x"], ["d"], "no_attribute"),
            onnx.node("Sigmoid", ["x", "x"], ["e"], "too_many_inputs"),
            onnx.node("Add", ["x", "i"], ["f"], "mixed_types"),
        ]
        outputs = [onnx.value(n, None) for n in "abcdef"]
        self.write("six.onnx", onnx.model(nodes, [x, y, onnx.value("i", [2, 3], onnx.INT64)], outputs))
        shown = self.good("inspect", "six.onnx", "--json")
        self.assertEqual(shown.result["operations"], 6)
        outcome = self.run_program("run", "six.onnx", "--json")
        errors = [d for d in outcome.json["diagnostics"] if d["severity"] == "error"]
        self.assertEqual(sorted(d["node"] for d in shown.json["diagnostics"]), sorted(d["node"] for d in errors))
        self.assertEqual(sorted(d.get("node", "") for d in errors),
                         ["mixed_types", "no_attribute", "no_such_op", "reads_nothing", "too_many_inputs", "wrong_shapes"])
        self.assertTrue(all(d["hint"] and d["code"] and d["message"] for d in errors), outcome.out)
        self.assertNotEqual(outcome.code, 0)

    def test_damaged_ecir(self):
        self.write("bad.ecir", "ecir 1\ngraph @a(%x: f32[2]) -> (y = %1) {\n  %1 = relu(%z) : f32[2]\n}\n")
        for verb in READERS:
            self.assertEqual(self.run_program(verb, "bad.ecir").code, 7)


class BadArguments(Case):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", onnx.relu_model(["n", 2, 2]))

    def test_dynamic_shape_not_given(self):
        self.write("h.onnx", onnx.relu_model(["height", 2, 2]))
        for verb in ["run", "bench"]:
            self.assertIn("--input-shape", self.bad(1, "EC2003", verb, "h.onnx").err)

    def test_shape_that_does_not_fit(self):
        for option in ["x:1x3x2", "x:1x2", "z:1x2x2", "7:1x2x2"]:
            self.bad(2, "EC2004", "run", "m.onnx", "--input-shape", option)
        self.assertIn("'n'", self.bad(2, "EC2004", "run", "m.onnx", "--dim", "m=1").err)
        self.bad(2, "EC2004", "run", "m.onnx", "--dim", "n=1", "--input-shape", "x:2x2x2")

    def test_wrong_input_name(self):
        self.write_npy("x.npy", (1, 2, 2), [0.0] * 4)
        self.assertIn("'x'", self.bad(2, "EC7001", "run", "m.onnx", "-i", "y=x.npy").err)
        self.bad(2, "EC7001", "run", "m.onnx", "-i", "x.npy", "-i", "x.npy")

    def test_missing_input(self):
        self.write("two.onnx", onnx.model([onnx.node("Add", ["a", "b"], ["y"])],
                                          [onnx.value("a", [2]), onnx.value("b", [2])], [onnx.value("y", [2])]))
        self.write_npy("a.npy", (2,), [1.0, 2.0])
        self.assertIn("'b'", self.bad(2, "EC7002", "run", "two.onnx", "-i", "a=a.npy").err)

    def test_wrong_type(self):
        self.write_npy("x.npy", (1, 2, 2), [0.0] * 4, "<f8")
        text = self.bad(2, "EC7003", "run", "m.onnx", "-i", "x=x.npy").err
        self.assertIn("f32", text)
        self.assertIn("f64", text)

    def test_wrong_shape(self):
        self.write_npy("x.npy", (1, 2, 3), [0.0] * 6)
        text = self.bad(2, "EC7004", "run", "m.onnx", "-i", "x=x.npy").err
        self.assertIn("[n,2,2]", text)
        self.assertIn("[1,2,3]", text)

    def test_bad_array_files(self):
        self.bad(7, "EC1001", "run", "m.onnx", "-i", "x=missing.npy")
        self.write("x.npy", b"no array")
        self.bad(7, "EC7007", "run", "m.onnx", "-i", "x=x.npy")
        self.write("x.npz", b"no archive")
        self.bad(7, "EC7007", "run", "m.onnx", "-i", "x=x.npz")
        good = self.write_npy("x.npy", (1, 2, 2), [0.0] * 4).read_bytes()
        self.write("x.npy", good[:-1])
        self.bad(7, "EC7007", "run", "m.onnx", "-i", "x=x.npy")


if __name__ == "__main__":
    unittest.main()
