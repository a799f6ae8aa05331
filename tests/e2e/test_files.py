"""Files as such: what is no file, what changes, what is linked, what unpacks to more than it is."""

import contextlib
import io
import os
import pathlib
import random
import re
import resource
import socket
import struct
import subprocess
import time
import unittest
import zipfile

import onnx_builder as onnx
import sample_files
from harness import PROGRAM, SLOWER, Case

MB = 1 << 20
# INT4 and INT2 of TensorProto.DataType.
INT4, INT2 = 22, 26
# AddressSanitizer's own memory hides what the program takes.
SANITIZED = "ASAN_OPTIONS" in os.environ


class Files(Case):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", onnx.conv_model())

    def measured(self, *arguments):
        """Exit code, text of errors, seconds of the processor, and the most memory that the program took."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.dir, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # What wait4() tells of a new process counts the memory of this one, which it was started from.
        memory = 0
        while process.poll() is None:
            with contextlib.suppress(OSError):
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                if os.readlink(f"/proc/{process.pid}/exe") == os.path.realpath(PROGRAM):
                    memory = max([memory, *(int(kb) * 1024 for kb in re.findall(r"VmHWM:\s+(\d+) kB", status))])
            time.sleep(0.001)
        _, errors = process.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return process.returncode, errors, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, memory

    def bounded(self, *arguments, files):
        """The run neither crashes nor takes long, and keeps to twice its files and 64 MB."""
        code, errors, seconds, memory = self.measured(*arguments)
        self.assertGreaterEqual(code, 0, errors)
        self.assertNotIn("EC9", errors)
        self.assertLess(seconds, 10 * SLOWER)
        if not SANITIZED:
            self.assertLess(memory, 2 * sum(os.path.getsize(self.dir / f) for f in files) + 64 * MB, arguments)
        return code, errors

    def places(self, name):
        """Every kind of input that a path can be; `name` gives a path that ends as asked."""
        calibrated = ["check", "m.onnx", "-t", "tflite", "-q", "ptq", "--dim", "batch=1"]
        yield ["inspect", name(".onnx")]
        for ending in [".npy", ".npz"]:
            yield ["run", "m.onnx", "-i", f"x={name(ending)}"]
        yield ["run", "m.onnx", "--config", name(".toml")]
        for ending in [".npy", ".npz", ".pt", ".bin", ".png", ".txt"]:
            yield [*calibrated, "--calibration-data", name(ending)]
        yield [*calibrated, "--statistics", name(".json")]
        for ending in [".npy", ".png", ".pt"]:
            self.write("list.lst", f"{name(ending)}\n")
            yield [*calibrated, "--calibration-data", "list.lst"]
        for ending in [".txt", ".npy", ".json"]:
            yield ["evaluate", "m.onnx", "--data", "random", "--labels", name(ending)]
        yield ["evaluate", "m.onnx", "--data", name(".npy"), "--reference", "m.onnx"]
        yield ["evaluate", "m.onnx", "--data", "random", "--reference", name(".onnx")]
        weights = onnx.external_tensor("w", [2], name(".bin"))
        self.write("external.onnx", onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [2])],
                                               [onnx.value("y", [2])], [weights]))
        yield ["inspect", "external.onnx"]

    def test_what_is_no_file_is_refused_at_once(self):
        def pipe(ending):
            path = self.dir / f"pipe{ending}"
            if not path.exists():
                os.mkfifo(path)
            return path.name

        def endless(ending):
            path = self.dir / f"zero{ending}"
            if not os.path.lexists(path):
                path.symlink_to("/dev/zero")
            return path.name

        def folder(ending):
            path = self.dir / f"folder{ending}"
            path.mkdir(exist_ok=True)
            return path.name

        for kind in [pipe, endless, folder]:
            for arguments in self.places(kind):
                with self.subTest(arguments=arguments):
                    outcome = self.run_program(*arguments)  # which ends it after two minutes
                    self.assertGreater(outcome.code, 0, outcome.out)
                    # A folder of samples is a folder; everything else is refused for what it is, not for how it was asked.
                    self.assertRegex(outcome.err, r"error EC[14]\d\d\d:", arguments)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        here = os.getcwd()
        os.chdir(self.dir)  # names of sockets are short
        listener.bind("socket.onnx")
        os.chdir(here)
        for path in ["socket.onnx", "/dev/zero", "/dev/stdin", "/proc/kcore", "/proc/self/environ", "/proc/self/mem"]:
            self.assertRegex(self.run_program("inspect", path).err, r"error EC[15]\d\d\d:")

    def test_places_for_outputs_that_are_no_files(self):
        for ending in [".tflite", ".ecir", ".json", ".npy"]:
            os.mkfifo(self.dir / f"pipe{ending}")
        fixed = ["m.onnx", "-t", "tflite", "--dim", "batch=1"]
        for arguments in [["compile", *fixed, "-o", "pipe.tflite"], ["optimize", "m.onnx", "-o", "pipe.ecir"],
                          ["compile", *fixed, "-o", "a.tflite", "--report", "json=pipe.json"],
                          ["compile", *fixed, "-o", "b.tflite", "-q", "ptq", "--calibration-data", "random",
                           "--save-statistics", "pipe.json"],
                          ["run", "m.onnx", "--dim", "batch=1", "-o", "pipe.npy"],
                          ["compile", *fixed, "-o", "c.tflite", "--dump-phases", "pipe.json"]]:
            with self.subTest(arguments=arguments):
                outcome = self.run_program(*arguments)
                self.assertEqual(outcome.code, 1, outcome.err)
                self.assertIn("error EC1017:", outcome.err)

    def test_json_that_becomes_far_more_than_it_is(self):
        """Lists of nothing, two bytes each, take thirty times as much; and deep ones are copied by recursion."""
        deep = "[" * 300_000 + "]" * 300_000
        many = "[" + "[]," * (4 * MB) + "[]]"
        calibrated = ["check", "m.onnx", "-t", "tflite", "-q", "ptq", "--dim", "batch=1"]
        for content, code in [(deep, "EC1013"), (many, "EC1014")]:
            self.write("statistics.json", f'{{"format": "edgecompiler statistics", "version": 4, "answers": {content}}}')
            self.write("coco.json", f'{{"images": [], "annotations": [], "categories": {content}}}')
            for arguments in [[*calibrated, "--statistics", "statistics.json"],
                              ["evaluate", "m.onnx", "--data", "random", "--labels", "coco.json"]]:
                with self.subTest(code=code, arguments=arguments):
                    found, errors = self.bounded(*arguments, files=["m.onnx", arguments[-1]])
                    self.assertEqual(found, 7, errors[:500])
                    self.assertIn(code, errors)
        self.write("config.json", f'{{"dim": {deep}}}')
        found, errors = self.bounded("run", "m.onnx", "--config", "config.json", files=["config.json"])
        self.assertIn("EC1014", errors)
        self.write("config.toml", "dim = [" + "1," * MB + "]\n")
        found, errors = self.bounded("run", "m.onnx", "--config", "config.toml", files=["config.toml"])
        self.assertIn("EC1014", errors)

    def test_lists_and_labels_of_millions_of_lines(self):
        self.write("relu.onnx", onnx.relu_model([1, 3, 8, 8]))
        self.write("list.txt", "a\n" * (2 * MB))
        self.write("labels.txt", "1\n" * (4 * MB))
        for arguments in [["check", "relu.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", "list.txt"],
                          ["evaluate", "relu.onnx", "--data", "random", "--labels", "labels.txt"]]:
            with self.subTest(arguments=arguments):
                code, errors = self.bounded(*arguments, files=["relu.onnx", arguments[-1]])
                self.assertEqual(code, 7, errors)
                self.assertIn("EC1014", errors)

    def test_a_folder_with_a_pipe_is_calibration_data(self):
        folder = self.dir / "samples"
        folder.mkdir()
        os.mkfifo(folder / "b.npy")
        outcome = self.run_program("check", "m.onnx", "-t", "tflite", "-q", "ptq", "--dim", "batch=1",
                                   "--calibration-data", folder)
        self.assertIn("EC4003", outcome.err)

    def test_hard_linked_external_data_is_refused(self):
        self.write("secret.bin", struct.pack("<2f", 1, 2))
        (self.dir / "model").mkdir()
        weights = onnx.external_tensor("w", [2], "w.bin")
        model = onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [2])], [onnx.value("y", [2])], [weights])
        self.write("model/m.onnx", model)
        os.link(self.dir / "secret.bin", self.dir / "model" / "w.bin")
        outcome = self.bad(7, "EC1008", "inspect", "model/m.onnx")
        self.assertIn("hard links", outcome.err)
        os.unlink(self.dir / "secret.bin")
        self.good("inspect", "model/m.onnx")
        os.link(self.dir / "model" / "m.onnx", self.dir / "other.onnx")  # the model itself may be linked
        self.good("inspect", "model/m.onnx")

    def shared_model(self, dtype, dims, count, step):
        """Initialisers that name one file, `step` bytes apart."""
        tensors, nodes, outputs = [], [], []
        for i in range(count):
            entries = [data for key, text in [("location", "blob.bin"), ("offset", str(i * step))]
                       for data in [onnx.data(13, onnx.data(1, key) + onnx.data(2, text))]]
            tensors.append(b"".join(onnx.number(1, d) for d in dims) + onnx.number(2, dtype) + onnx.data(8, f"w{i}")
                           + b"".join(entries) + onnx.number(14, 1))
            nodes.append(onnx.node("Shape", [f"w{i}"], [f"y{i}"]))
            outputs.append(onnx.value(f"y{i}", None, onnx.INT64))
        return onnx.model(nodes, [], outputs, tensors)

    def test_external_data_is_unpacked_once(self):
        self.write("blob.bin", bytes(range(256)) * 4096)
        for dtype, dims in [(INT4, [2 * MB]), (INT2, [4 * MB]), (onnx.BOOL, [MB])]:
            with self.subTest(dtype=dtype):
                self.write("share.onnx", self.shared_model(dtype, dims, 3000, 0))
                self.bounded("inspect", "share.onnx", files=["share.onnx", "blob.bin"])

    def test_ranges_that_differ_by_a_byte_are_bounded(self):
        self.write("blob.bin", bytes(range(256)) * 4096)
        for dtype, dims in [(INT4, [2 * MB - 8192]), (INT2, [4 * MB - 16384]), (onnx.BOOL, [MB - 4096]),
                            (onnx.UINT8, [MB - 4096])]:
            with self.subTest(dtype=dtype):
                self.write("share.onnx", self.shared_model(dtype, dims, 3000, 1))
                code, errors = self.bounded("inspect", "share.onnx", files=["share.onnx", "blob.bin"])
                self.assertEqual(code, 7)
                self.assertIn("EC1014", errors)

    def test_small_numbers_do_not_grow_without_limit(self):
        """A number of 8 bytes takes one in a typed field."""
        count = 30 * MB
        body = onnx.number(1, count) + onnx.number(2, onnx.INT64) + onnx.data(8, "w") + onnx.data(7, b"\x01" * count)
        self.write("varints.onnx", onnx.model([onnx.node("Shape", ["w"], ["y"])], [], [onnx.value("y", None, onnx.INT64)], [body]))
        code, errors = self.bounded("inspect", "varints.onnx", files=["varints.onnx"])
        self.assertEqual(code, 7)
        self.assertIn("EC1014", errors)

    def packed(self, name, entries, level=9):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
            for entry, size, head in entries:
                with archive.open(entry, "w", force_zip64=True) as stream:
                    stream.write(head)
                    for _ in range(size // MB):
                        stream.write(bytes(MB))
        self.write(name, out.getvalue())

    def test_archives_that_unpack_to_gigabytes(self):
        rows = 300 * MB // (4 * 3 * 8 * 8)
        header = sample_files.npy((rows, 3, 8, 8), b"")
        self.write("relu.onnx", onnx.relu_model([1, 3, 8, 8]))
        self.packed("bomb.npz", [("x.npy", 300 * MB, header)])
        for arguments in [["check", "relu.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", "bomb.npz"],
                          ["run", "relu.onnx", "-i", "bomb.npz"], ["evaluate", "relu.onnx", "--data", "bomb.npz"]]:
            with self.subTest(arguments=arguments):
                code, errors = self.bounded(*arguments, files=["relu.onnx", "bomb.npz"])
                self.assertEqual(code, 7, errors)
                self.assertIn("EC1014", errors)

    def test_packed_samples_are_read_row_by_row(self):
        """Real data packs by a factor of ten: no reason to refuse it, and none to hold it in memory."""
        source = random.Random(1)
        block = struct.pack("<4096f", *(source.uniform(-1, 1) for _ in range(4096))) + bytes(MB - 4 * 4096)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            with archive.open("x.npy", "w", force_zip64=True) as stream:
                stream.write(sample_files.npy((150 * MB // 768, 3, 8, 8), b""))
                for _ in range(150):
                    stream.write(block)
        self.write("data.npz", out.getvalue())
        self.write("relu.onnx", onnx.relu_model([1, 3, 8, 8]))
        code, errors = self.bounded("check", "relu.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", "data.npz",
                                    files=["relu.onnx", "data.npz"])
        self.assertEqual(code, 0, errors)

    def test_samples_of_torch_that_unpack_to_gigabytes(self):
        content = sample_files.tensor_file((1, 3, 8, 8), bytes(768))
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
            for entry in source.infolist():
                storage = "/data/" in entry.filename
                with target.open(entry.filename, "w", force_zip64=True) as stream:
                    stream.write(source.read(entry))
                    for _ in range(200 if storage else 0):
                        stream.write(bytes(MB))
        self.write("x.pt", out.getvalue())
        self.write("relu.onnx", onnx.relu_model([1, 3, 8, 8]))
        code, errors = self.bounded("check", "relu.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", "x.pt",
                                    files=["relu.onnx", "x.pt"])
        self.assertEqual(code, 7, errors)
        self.assertIn("EC1014", errors)

    def test_names_of_every_kind_are_written_and_read_again(self):
        for i, name in enumerate(["/y", ".y", "$y", "-y", "->", "1/x", "...", "", "\"", "\\", "a b", "\n", "\x01", "é", "y" * 3000]):
            with self.subTest(name=name):
                if name:
                    self.write("n.onnx", onnx.model([onnx.node("Relu", ["x" + name], [name])], [onnx.value("x" + name, [2])],
                                                    [onnx.value(name, [2])]))
                    self.good("optimize", "n.onnx", "-o", f"n{i}.ecir")
                    self.good("inspect", f"n{i}.ecir")
                    self.good("optimize", f"n{i}.ecir", "-o", f"n{i}.onnx")
                    self.good("inspect", f"n{i}.onnx")

    def test_a_model_that_is_cut_or_overwritten_during_the_run(self):
        """Whatever the moment, the run ends without a signal."""
        weights = b"".join(onnx.number(1, d) for d in [4 * MB]) + onnx.number(2, onnx.FLOAT) + onnx.data(8, "w") \
            + onnx.data(9, bytes(16 * MB))
        content = onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [4 * MB])], [onnx.value("y", [4 * MB])], [weights])
        self.damage_during_runs("big.onnx", content)

    def test_a_model_that_is_read_in_parts_is_cut_or_overwritten(self):
        """The same for a frozen graph, whose weights are read when the graph is complete."""
        def entry(key, value):
            return onnx.data(5, onnx.data(1, key) + onnx.data(2, value))

        def sizes(size):
            return onnx.data(2, onnx.number(1, size))

        def node(name, op, inputs, *entries):
            return onnx.data(1, onnx.data(1, name) + onnx.data(2, op) + b"".join(onnx.data(3, i) for i in inputs) + b"".join(entries))

        floats = entry("dtype", onnx.number(6, 1))
        weights = onnx.number(1, 1) + onnx.data(2, sizes(4 * MB)) + onnx.data(4, bytes(16 * MB))
        content = node("x", "Placeholder", [], floats, entry("shape", onnx.data(7, sizes(4 * MB)))) \
            + node("w", "Const", [], floats, entry("value", onnx.data(8, weights))) \
            + node("y", "AddV2", ["x", "w"], entry("T", onnx.number(6, 1)))
        self.damage_during_runs("big.pb", content)

    def damage_during_runs(self, name, content):
        path = pathlib.Path(self.dir / name)
        path.write_bytes(content)
        self.good("optimize", name, "-o", "sound.ecir")
        for i in range(12):
            path.write_bytes(content)
            process = subprocess.Popen([PROGRAM, "optimize", name, "-o", f"o{i}.ecir"], cwd=self.dir,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(0.004 * i * SLOWER)
            with open(path, "r+b") as file:
                if i % 2:
                    file.truncate(1000)
                else:
                    file.write(bytes(len(content)))
            _, errors = process.communicate(timeout=60)
            self.assertGreaterEqual(process.returncode, 0, errors)
            if process.returncode == 0:
                self.good("inspect", f"o{i}.ecir")
            else:
                self.assertRegex(errors, r"error EC1\d\d\d:")
        self.assertFalse([f for f in self.files() if not f.endswith((".onnx", ".pb", ".ecir"))])


if __name__ == "__main__":
    unittest.main()
