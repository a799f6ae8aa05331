"""Calibration data in every form: what fits is used, and what does not is refused with the sample and the reason; nothing
is executed, nothing is written."""

from __future__ import annotations

import os
import pathlib
import struct
import unittest

import onnx_builder as onnx
import sample_files as files
from harness import Case

SHAPE, COUNT = (1, 3, 8, 8), 192
GOOD = files.floats(*[(i % 17) / 17 - 0.5 for i in range(COUNT)])


def one_input_model() -> bytes:
    weights = [((i * 37) % 19 - 9) / 20 for i in range(4 * 3 * 3 * 3)]
    nodes = [onnx.node("Conv", ["x", "w"], ["c"], "stem", pads=[1, 1, 1, 1]), onnx.node("Relu", ["c"], ["y"], "act")]
    return onnx.model(nodes, [onnx.value("x", list(SHAPE))], [onnx.value("y", [1, 4, 8, 8])],
                      [onnx.tensor("w", [4, 3, 3, 3], weights)])


def two_input_model() -> bytes:
    nodes = [onnx.node("Add", ["a", "b"], ["y"], "sum")]
    return onnx.model(nodes, [onnx.value("a", [1, 4]), onnx.value("b", [1, 4])], [onnx.value("y", [1, 4])])


class CalibrationCase(Case):
    def setUp(self):
        super().setUp()
        self.write("one.onnx", one_input_model())
        self.write("two.onnx", two_input_model())

    def put(self, name: str, content: bytes | str) -> pathlib.Path:
        (self.dir / name).parent.mkdir(parents=True, exist_ok=True)
        return self.write(name, content)

    def quantize(self, data: str, model: str = "one.onnx", *options: str):
        return self.run_program(model, "-t", "tflite", "-q", "ptq", "--calibration-data", data, "-o", "out.tflite", "--json",
                                *options)


class GoodForms(CalibrationCase):
    def samples_of(self, data: str, model: str = "one.onnx") -> int:
        outcome = self.quantize(data, model)
        self.assertEqual(outcome.code, 0, outcome.out)
        return outcome.result["quantization"]["calibration_samples"]

    def test_torch_tensors(self):
        self.put("one.pt", files.tensor_file(SHAPE, GOOD))
        self.assertEqual(self.samples_of("one.pt"), 1)
        self.put("batch.pth", files.tensor_file((5, *SHAPE[1:]), GOOD * 5))
        self.assertEqual(self.samples_of("batch.pth"), 5)
        self.put("double.pt", files.tensor_file(SHAPE, struct.pack(f"<{COUNT}d", *([0.25, -0.5] * (COUNT // 2))),
                                                storage="DoubleStorage", item=8))
        self.assertEqual(self.samples_of("double.pt"), 1)
        # A view: channels last in memory, as .permute() leaves it.
        self.put("view.pt", files.tensor_file(SHAPE, GOOD, strides=(192, 1, 24, 3)))
        self.assertEqual(self.samples_of("view.pt"), 1)

    def test_lists_tuples_and_dicts_of_tensors(self):
        pickle = files.Pickle()
        self.put("list.pt", pickle.file(pickle.sequence([pickle.tensor(SHAPE, GOOD) for _ in range(4)])))
        self.assertEqual(self.samples_of("list.pt"), 4)
        pickle = files.Pickle()
        self.put("tuples.pt", pickle.file(pickle.sequence(
            [pickle.sequence([pickle.tensor(SHAPE, GOOD)], "tuple") for _ in range(3)])))
        self.assertEqual(self.samples_of("tuples.pt"), 3)
        row = files.floats(1, -2, 3, 4)
        pickle = files.Pickle()
        self.put("pair.pt", pickle.file(pickle.sequence([pickle.tensor((1, 4), row), pickle.tensor((1, 4), row)], "tuple")))
        self.assertEqual(self.samples_of("pair.pt", "two.onnx"), 1)
        pickle = files.Pickle()
        self.put("dicts.pt", pickle.file(pickle.sequence(
            [pickle.dict({"b": pickle.tensor((1, 4), row), "a": pickle.tensor((1, 4), row)}) for _ in range(3)])))
        self.assertEqual(self.samples_of("dicts.pt", "two.onnx"), 3)
        pickle = files.Pickle()
        self.put("stacked.pt", pickle.file(pickle.dict({"a": pickle.tensor((6, 4), row * 6),
                                                        "b": pickle.tensor((6, 4), row * 6)})))
        self.assertEqual(self.samples_of("stacked.pt", "two.onnx"), 6)

    def test_raw_files(self):
        self.put("one.bin", GOOD)
        self.assertEqual(self.samples_of("one.bin"), 1)
        self.put("three.raw", GOOD * 3)
        self.assertEqual(self.samples_of("three.raw"), 3)
        row = files.floats(1, -2, 3, 4)
        self.put("a.bin", row)
        self.put("b.npy", files.npy((1, 4), row))
        self.put("list.txt", "a=a.bin\tb=b.npy\n" * 2)
        self.assertEqual(self.samples_of("list.txt", "two.onnx"), 2)

    def test_arrays_without_names_belong_to_inputs_in_order(self):
        row = files.floats(1, -2, 3, 4)
        self.put("pair.npz", files.npz({"arr_0": files.npy((2, 4), row * 2), "arr_1": files.npy((2, 4), row * 2)}))
        self.assertEqual(self.samples_of("pair.npz", "two.onnx"), 2)

    def test_folders_mix_all_forms(self):
        self.put("set/a.ppm", files.ppm(1, 20, 12))
        self.put("set/b.png", files.png(40, 9))
        self.put("set/c.jpg", files.JPEG)
        self.put("set/d.npy", files.npy(SHAPE, GOOD))
        self.put("set/e.pt", files.tensor_file(SHAPE, GOOD))
        self.put("set/f.bin", GOOD)
        self.put("set/readme.md", "not data")
        self.assertEqual(self.samples_of("set"), 6)


# --- what does not fit: (name, content of the file or of several, data path, model, what the message must name) --------------


def array_faults():
    for shape in ((1, 3, 8, 7), (1, 3, 7, 8), (1, 8, 8, 3), (1, 4, 8, 8), (3, 8), (192,), (1, 192), (), (0,), (0, 3, 8, 8),
                  (1, 3, 8, 8, 1), (2, 2, 3, 8, 8), (1, 1, 1, 3, 8, 8), (3, 8, 9), (1, 1, 8, 8), (5, 5)):
        yield f"shape_{'x'.join(map(str, shape)) or 'scalar'}.npy", files.npy(shape)
    for descr in ("|u1", "|i1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "|b1", "<c8", "<c16", "|S4", "<U4", "|O", "|V3", "<M8"):
        yield f"type_{descr.strip('<|')}.npy", files.npy(SHAPE, descr=descr)
    for name, value in (("nan", float("nan")), ("inf", float("inf")), ("minus_inf", float("-inf"))):
        yield f"value_{name}.npy", files.npy(SHAPE, GOOD[:-4] + files.floats(value))
    sound = files.npy(SHAPE, GOOD)
    for cut in (1, 5, 6, 7, 9, 10, 11, 20, 60, 90, 127, 128, 129, 200, 500, len(sound) - 1):
        yield f"cut_{cut}.npy", sound[:cut]
    for i, header in enumerate(("", "{", "{}", "{'descr': '<f4'}", "{'shape': (1,), 'descr': 3, 'fortran_order': False}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3)}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}",
                                "{'descr': '<f4', 'fortran_order': False, 'shape': 7}",
                                "__import__('os').system('touch executed')", "[" * 5000)):
        yield f"header_{i}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + GOOD
    yield "version_9.npy", b"\x93NUMPY\x09\x00" + sound[8:]
    for size in (1, 4, 100, 767, 769, 1000, 1535):
        yield f"size_{size}.bin", bytes(size)
    yield "nan.raw", files.floats(*[float("nan")] * COUNT)


def picture_faults():
    for cut in sorted({2, 3, 4, 10, 19, 20, 21, 30, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240, 260, 280, 300,
                       len(files.JPEG) // 2, len(files.JPEG) - 200, len(files.JPEG) - 100}):
        yield f"cut_{cut}.jpg", files.JPEG[:cut]
    for at in (2, 4, 20, 21, 22):
        yield f"flipped_{at}.jpg", files.JPEG[:at] + bytes([files.JPEG[at] ^ 0xFF]) + files.JPEG[at + 1:]
    sound = files.png()
    for cut in (4, 8, 12, 16, 20, 24, 28, 33, 37, 41, 45, len(sound) - 20, len(sound) - 13):
        yield f"cut_{cut}.png", sound[:cut]
    for width, height in ((0, 8), (8, 0), (0, 0), (1 << 31, 8), (8, 1 << 31), (60000, 60000), (1 << 20, 1 << 20),
                          (100000, 1), (0xFFFFFFFF, 0xFFFFFFFF), (65535, 65535)):
        yield f"size_{width}x{height}.png", files.png(width, height, b"\0")
    for depth, colour in ((3, 2), (8, 1), (8, 5), (0, 0), (32, 2)):
        yield f"form_{depth}_{colour}.png", files.png(depth=depth, colour=colour)
    yield "checksum.png", sound[:29] + b"\0\0\0\0" + sound[33:]
    yield "filter.png", files.png(rows=b"".join(b"\x09" + bytes(24) for _ in range(8)))
    yield "short.png", files.png(rows=b"\0" * 10)
    for i, header in enumerate((b"P6", b"P6 ", b"P6 8", b"P6 8 8", b"P6 8 8 ", b"P6 8 8 0\n", b"P6 8 8 70000\n", b"P6 -8 8 255\n",
                                b"P6 0 8 255\n", b"P6 x 8 255\n", b"P6 99999999999999999999 8 255\n", b"P6 60000 60000 255\n",
                                b"P7 8 8 255\n", b"P6 8 8 255\n" + b"\0" * 100, b"P5 8 8 255\n" + b"\0" * 10)):
        yield f"header_{i}.ppm", header
    for i, content in enumerate((b"BM", b"BM" + bytes(52), b"BM" + b"\xff" * 60, b"GIF89a" + bytes(20), b"RIFF" + bytes(30),
                                 b"<svg></svg>", b"\0" * 100, b"\xff" * 100, "häß".encode() * 9)):
        yield f"other_{i}.bmp", content


def torch_faults():
    for shape in ((1, 3, 8, 7), (1, 8, 8, 3), (192,), (3, 8), (1, 4, 8, 8), (1, 3, 8, 8, 1), (2, 2, 3, 8, 8)):
        count = 1
        for size in shape:
            count *= size
        yield f"shape_{'x'.join(map(str, shape))}.pt", files.tensor_file(shape, bytes(4 * count))
    for storage, item in (("ByteStorage", 1), ("CharStorage", 1), ("ShortStorage", 2), ("IntStorage", 4), ("LongStorage", 8),
                          ("BoolStorage", 1), ("BFloat16Storage", 2), ("ComplexFloatStorage", 8), ("NoStorage", 4)):
        yield f"type_{storage}.pt", files.tensor_file(SHAPE, bytes(COUNT * item), storage=storage, item=item)
    yield "nan.pt", files.tensor_file(SHAPE, GOOD[:-4] + files.floats(float("nan")))
    yield "short_storage.pt", files.tensor_file(SHAPE, GOOD[:-8])
    yield "offset.pt", files.tensor_file(SHAPE, GOOD, offset=1)
    yield "negative_offset.pt", files.tensor_file(SHAPE, GOOD, offset=-1)
    yield "far_strides.pt", files.tensor_file(SHAPE, GOOD, strides=(1 << 30, 1 << 30, 1 << 30, 1 << 30))
    yield "negative_strides.pt", files.tensor_file(SHAPE, GOOD, strides=(192, -64, 8, 1))
    yield "huge.pt", files.tensor_file((1 << 30, 1 << 30, 1 << 30, 3), GOOD, strides=(0, 0, 0, 0))
    yield "negative.pt", files.tensor_file((-1, 3, 8, 8), GOOD, strides=(192, 64, 8, 1))
    yield "few_strides.pt", files.tensor_file(SHAPE, GOOD, strides=(8, 1))
    pickle = files.Pickle()
    roots = {"none": b"N", "number": b"K\x07", "text": pickle.text("x"), "true": b"\x88", "empty_list": b"]", "empty_tuple": b")",
             "empty_dict": b"}", "numbers": b"](K\x01K\x02e", "texts": pickle.sequence([pickle.text("a")]),
             "nested": b"]" * 3 + b"aa", "dict_of_numbers": pickle.dict({"x": b"K\x01"}), "number_keys": b"}(K\x01K\x02u",
             "set": b"cbuiltins\nset\n)R", "no_stop": b"", "no_stack": b"0", "deep": b"(" * 20000 + b"t" * 20000}
    for name, root in roots.items():
        yield f"root_{name}.pt", pickle.file(root)
    for module, function, argument in (("os", "system", "touch executed"), ("posix", "system", "touch executed"),
                                       ("nt", "system", "touch executed"), ("subprocess", "call", "touch"),
                                       ("subprocess", "Popen", "touch"), ("builtins", "eval", "open('executed','w')"),
                                       ("builtins", "exec", "open('executed','w')"), ("__builtin__", "eval", "1"),
                                       ("builtins", "getattr", "x"), ("builtins", "open", "executed"),
                                       ("runpy", "run_path", "x.py"), ("torch", "load", "x.pt"), ("importlib", "import_module", "os"),
                                       ("pickle", "loads", "x"), ("shutil", "rmtree", "."), ("numpy.core.multiarray", "_reconstruct", "x"),
                                       ("webbrowser", "open", "x"), ("pty", "spawn", "sh"), ("code", "interact", "x")):
        call = f"c{module}\n{function}\n".encode() + b"(" + files.Pickle.text(argument) + b"tR"
        yield f"call_{module}_{function}.pt", pickle.file(call)
    for opcode in (b"i", b"o", b"\x93", b"\x82\x01", b"P1\n", b"F1.0\n", b"S'x'\n", b"\x95" + bytes(8)):
        yield f"opcode_{opcode[0]:02x}.pt", pickle.file(opcode)
    yield "inst.pt", pickle.file(b"(ios\nsystem\n" + files.Pickle.text("touch executed"))
    sound = files.tensor_file(SHAPE, GOOD)
    for cut in (1, 4, 30, 100, 200, 400, 800, len(sound) - 30, len(sound) - 22, len(sound) - 1):
        yield f"cut_{cut}.pt", sound[:cut]
    yield "legacy.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
    yield "script.pt", files.archive({"m/data.pkl": b"\x80\x02N.", "m/constants.pkl": b"\x80\x02).", "m/version": b"3\n"})
    yield "no_pickle.pt", files.archive({"m/version": b"3\n"})
    yield "no_storage.pt", files.archive({"m/data.pkl": b"\x80\x02" + files.Pickle().tensor(SHAPE, GOOD) + b".", "m/version": b"3"})


def two_input_faults():
    row, wide = files.npy((1, 4), files.floats(1, 2, 3, 4)), files.npy((1, 5), files.floats(1, 2, 3, 4, 5))
    arrays = {"one_name": {"a": row}, "other_names": {"c": row, "d": row}, "wrong_shape": {"a": row, "b": wide},
              "rows": {"a": files.npy((2, 4)), "b": files.npy((3, 4))}, "three_unnamed": {"arr_0": row, "arr_1": row, "arr_2": row},
              "integers": {"a": row, "b": files.npy((1, 4), descr="<i4")}, "broken": {"a": row, "b": row[:40]}, "none": {}}
    for name, content in arrays.items():
        yield f"{name}.npz", files.npz(content)
    yield "text.npz", b"no archive"
    yield "cut.npz", files.npz({"a": row, "b": row})[:-30]
    yield "single.npy", row
    yield "single.bin", files.floats(1, 2, 3, 4)
    pickle = files.Pickle()
    tensors = [pickle.tensor((1, 4), bytes(16)) for _ in range(3)]
    yield "three.pt", pickle.file(pickle.sequence(tensors))
    yield "names.pt", pickle.file(pickle.dict({"c": tensors[0], "d": tensors[1]}))
    yield "one_of_two.pt", pickle.file(pickle.dict({"a": tensors[0]}))
    yield "pairs_and_single.pt", pickle.file(pickle.sequence([pickle.sequence(tensors[:2], "tuple"), tensors[2]]))


def list_faults():
    """Lines, and what the message has to name."""
    yield "absent.ppm\n", "absent.ppm"
    yield "good.npy\nabsent.npy\n", "absent.npy"
    yield "# nothing\n\n", "list.txt"
    yield "\n", "list.txt"
    yield "sub\n", "sub"
    yield "other.txt\n", "other.txt"
    yield "y=good.npy\n", "'y'"
    yield "x=good.npy\tx=good.npy\n", "twice"
    yield "x=good.npy\tz=good.npy\n", "'z'"
    yield "good.npy\nbad.npy\n", "bad.npy"
    yield "x=bad.npy\n", "bad.npy"
    yield "\0\1\2\3\n", "x01"
    yield "../outside/of/everything.npy\n", "everything.npy"
    yield "good.npy good.npy\n", "good.npy"
    yield "x = \n", "list.txt"
    yield "x=good.pt\tx=good.pt\n", "list.txt"


class Faults(CalibrationCase):
    """Every one is refused by a code of loading or calibration, with the sample's name and a reason."""

    count = 0

    def refused(self, data: str, named: str, model: str = "one.onnx", *options: str) -> None:
        before = self.files()
        outcome = self.quantize(data, model, *options)
        self.assertIn(outcome.code, (3, 7), f"{data}: exit {outcome.code}\n{outcome.out}{outcome.err}")
        errors = [d for d in outcome.json["diagnostics"] if d["severity"] == "error"]
        self.assertTrue(errors, outcome.out)
        self.assertRegex(errors[0]["code"], "^EC(1|3003|4003|7)", outcome.out)
        told = " ".join([errors[0].get("file", ""), errors[0]["message"], errors[0]["hint"], *errors[0]["notes"]])
        self.assertIn(named, told)
        self.assertGreater(len(errors[0]["message"]), 8)
        self.assertEqual(self.files(), before, "something was written or executed")
        Faults.count += 1

    def check_all(self, faults, model: str = "one.onnx") -> None:
        for name, content in faults:
            with self.subTest(file=name):
                self.put(name, content)
                self.refused(name, name, model)
                (self.dir / name).unlink()

    def test_arrays(self):
        self.check_all(array_faults())

    def test_pictures(self):
        self.check_all(picture_faults())

    def test_torch_files(self):
        self.check_all(torch_faults())

    def test_two_inputs(self):
        self.check_all(two_input_faults(), "two.onnx")

    def test_lists(self):
        self.put("good.npy", files.npy(SHAPE, GOOD))
        self.put("good.pt", files.tensor_file(SHAPE, GOOD))
        self.put("bad.npy", files.npy((2, 2)))
        self.put("other.txt", "good.npy\n")
        os.mkdir(self.dir / "sub")
        for lines, named in list_faults():
            with self.subTest(lines=lines):
                self.put("list.txt", lines)
                self.refused("list.txt", named)

    def test_folders(self):
        for name in ("empty", "text", "hidden"):
            os.mkdir(self.dir / name)
        self.put("text/readme.md", "no data")
        self.put("hidden/.a.ppm", files.ppm(1))
        for folder in ("empty", "text", "hidden", "absent", "absent/deeper"):
            with self.subTest(folder=folder):
                self.refused(folder, folder)
        # One bad file among good ones is named.
        for bad, content in (("bad.npy", files.npy((1, 3, 8, 9))), ("bad.jpg", files.JPEG[:200]), ("bad.pt", b"PK"),
                             ("bad.bin", bytes(5)), ("bad.png", b"text")):
            with self.subTest(bad=bad):
                for i in range(12):
                    self.put(f"mixed/{i}.npy", files.npy(SHAPE, GOOD))
                self.put(f"mixed/{bad}", content)
                self.refused("mixed", bad)
                (self.dir / "mixed" / bad).unlink()

    def test_pictures_for_what_is_no_image(self):
        self.put("x.ppm", files.ppm(1))
        self.refused("x.ppm", "x.ppm", "two.onnx")

    @classmethod
    def tearDownClass(cls):
        assert cls.count >= 200, f"{cls.count} cases"


if __name__ == "__main__":
    unittest.main()
