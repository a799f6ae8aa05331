"""Writes the seeds of the readers other than ONNX, and the dictionaries of words that files hold.

    gen_file_seeds.py build/bin/edgecompile [build/tests/fuzz/statistics_mutation_test]

Models of other formats are made from the ONNX seeds by the program itself; statistics are written by the test that damages them.
"""

from __future__ import annotations

import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import sample_files as made  # noqa: E402

SEEDS = HERE / "seeds"


def write(reader: str, name: str, content: bytes | str) -> None:
    path = SEEDS / reader / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def run(*arguments: object) -> str:
    return subprocess.run([str(a) for a in arguments], check=True, capture_output=True, text=True).stdout


def models(program: str) -> None:
    for name in ("ecir", "tflite"):
        (SEEDS / name).mkdir(parents=True, exist_ok=True)
    for source in sorted((SEEDS / "onnx").glob("*.onnx")):
        run(program, "optimize", source, "-o", SEEDS / "ecir" / f"{source.stem}.ecir")
    for name in ("cnn", "attention", "encodings", "shapes", "resize", "control"):
        source = SEEDS / "onnx" / f"{name}.onnx"
        run(program, "compile", source, "-t", "tflite", "-o", SEEDS / "tflite" / f"{name}.tflite")
    run(program, "compile", SEEDS / "onnx" / "cnn.onnx", "-t", "tflite", "-q", "ptq", "--calibration-data", "random",
        "-o", SEEDS / "tflite" / "cnn_int8.tflite")
    write("ecir", "text.ecir", """ecir 1
graph @g(%x: f32[N,4], %"odd name": i64[]) -> (y = %y, "z z" = %s) {
  %w = const f32[4,2] dense[1, -2.5, 1e-3, inf, nan, 0, 7, 8]
  %n = const i64[] splat(3) %yes = const bool[] splat(1)
  %m = matmul(%x, %w) : f32[N,2] loc("mm" : "MatMul")
  %r = loop(%n, %yes, %m) {num_carried=1} loc("l" : "Loop")
    body graph @b(%i: i64[], %c: bool[], %a: f32[N,2]) -> (c = %c, r = %e) {
      %e = exp(%a)
    }
  %y = clip(%r, _, %n2)
  %n2 = const f32[] splat(2)
  %s = shape(%y)
}
""")


def arrays() -> None:
    values = made.floats(*range(24))
    for name, content in {
        "plain": made.npy((2, 3, 2, 2), values),
        "columns": made.npy((2, 3, 2, 2), values, fortran=True),
        "big_endian": made.npy((24,), values, descr=">f4"),
        "bytes": made.npy((4,), b"abcd", descr="|u1"),
        "scalar": made.npy((), b"\0" * 8, descr="<i8"),
    }.items():
        write("arrays", f"{name}.npy", content)
    write("arrays", "stored.npz", made.npz({"x": made.npy((2, 3, 2, 2), values), "labels": made.npy((2,), b"\0" * 16, descr="<i8")}))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", made.npy((4, 3, 8, 8)))
        archive.writestr("y.npy", made.npy((2, 2), made.floats(1, 2, 3, 4), fortran=True))
    write("arrays", "packed.npz", packed.getvalue())


def samples() -> None:
    values = made.floats(*range(12))
    write("samples", "tensor.pt", made.tensor_file((1, 3, 2, 2), values))
    pickle = made.Pickle()
    write("samples", "dict.pt", pickle.file(pickle.dict({"x": pickle.tensor((1, 3, 2, 2), values),
                                                         "y": pickle.tensor((1, 3, 2, 2), values), "labels": pickle.integer(3)})))
    pickle = made.Pickle()
    pairs = [pickle.sequence([pickle.tensor((3, 2, 2), values), pickle.integer(i)], "tuple") for i in range(2)]
    write("samples", "pairs.pt", pickle.file(pickle.sequence(pairs)))
    pickle = made.Pickle()
    write("samples", "halves.pt", pickle.file(pickle.tensor((2, 3, 2, 2), bytes(48), storage="HalfStorage", item=2)))
    pickle = made.Pickle()
    strided = pickle.tensor((1, 3, 2, 2), values, strides=(12, 1, 6, 3), offset=0)
    write("samples", "strided.pt", pickle.file(strided))


def images() -> None:
    write("images", "a.ppm", made.ppm(1))
    write("images", "b.pgm", b"P5\n# grey\n4 4 255\n" + bytes(range(16)))
    write("images", "c.pgm", b"P2 2 2 15\n0 5 10 15\n")
    write("images", "d.png", made.png())
    write("images", "grey16.png", made.png(2, 2, b"\0\1\2\3\4\0\5\6\7\x08", 16, 0))
    write("images", "palette.png", b"\x89PNG\r\n\x1a\n" + made.png_chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 3, 0, 0, 0))
          + made.png_chunk(b"PLTE", bytes(range(12))) + made.png_chunk(b"tRNS", b"\0\xff")
          + made.png()[made.png().index(b"IDAT") - 4:])
    write("images", "e.jpg", made.JPEG)
    bmp = struct.pack("<IiiHHIIiiII", 40, 2, 2, 1, 24, 0, 16, 2835, 2835, 0, 0) + bytes(range(16))
    write("images", "f.bmp", b"BM" + struct.pack("<IHHI", 14 + len(bmp), 0, 0, 54) + bmp)
    indexed = struct.pack("<IiiHHIIiiII", 40, 4, -2, 1, 8, 0, 8, 2835, 2835, 2, 0) + bytes(8) + b"\0\1\1\0\1\0\0\1"
    write("images", "g.bmp", b"BM" + struct.pack("<IHHI", 14 + len(indexed), 0, 0, 62) + indexed)


def lists() -> None:
    write("lists", "list.txt", "# samples\na.npy\nsub/b c.png\nx=a.npy\ty=b.npy\n\nname=with=equals.npy\n")
    write("lists", "labels.txt", "path,label\nn01/a.jpg,3\nn02/b c.jpg\t17\nc.jpg 0\n")
    write("lists", "names.txt", "a.jpg cat\nb.jpg dog\nc.jpg cat\n")
    write("lists", "numbers.txt", "3\n1\n4\n1\n5\n")
    write("lists", "coco.json", json.dumps({
        "info": {"year": 2017}, "licenses": [],
        "images": [{"id": 139, "file_name": "000000000139.jpg", "width": 640, "height": 426},
                   {"id": 2, "file_name": "val2017/b.jpg", "width": 10.5, "height": 20, "coco_url": "http://x"}],
        "annotations": [{"id": 1, "image_id": 139, "category_id": 1, "bbox": [236.98, 142.51, 24.7, 69.5], "area": 531.8,
                         "iscrowd": 0, "segmentation": [[240.86, 211.31, 240.16, 197.19]]},
                        {"id": 2, "image_id": 2, "category_id": 90, "bbox": [1, 2, 3, 4], "iscrowd": 1,
                         "segmentation": {"counts": [1, 2], "size": [10, 20]}}],
        "categories": [{"id": 1, "name": "person", "supercategory": "person"}, {"id": 90, "name": "toothbrush"}]}))


def config(program: str) -> None:
    for verb in ("compile", "evaluate"):
        text = run(program, verb, "--generate-config")
        # The options as they would be written, each with its default where it has one.
        lines = [line.lstrip("# ") for line in text.splitlines() if re.match(r"#? ?[a-z0-9-]+ = ", line)]
        write("config", f"{verb}.toml", "\n".join(lines) + "\n")
    write("config", "tables.toml", """target = "coral"
verbose = true
dim = { N = 1, L = 128 }
mean = [0.485, 0.456, 0.406]
input-shape = { x = [1, 3, 224, 224] }

[bench]
iterations = 10

[compile]
quantize = "ptq"
output = "a\\u00e9.tflite"
calibration-samples = 100
""")
    write("config", "tables.json", json.dumps({
        "target": "tflite", "dim": {"N": 1}, "mean": [0.5, 0.5, 0.5], "std": "0.5", "bench": {"iterations": 3},
        "compile": {"quantize": "int8", "threads": 2, "keep-float": ["a", "b"]}, "timeout": 1.5}))


def dictionaries(program: str) -> None:
    """Words that mutations put in: a reader that knows a name goes on where one made of noise stops."""
    (HERE / "dictionaries").mkdir(exist_ok=True)
    ops = re.findall(r"^EC_OP\(\w+, *\"?(\w+)", (HERE.parents[1] / "src/ops/ops.def").read_text(), re.M)
    words = {
        "ecir": [*ops, "const", "splat(", "dense[", "base64(\"", "blob(0, 64)", "graph @", "body", "loc(", "f32[", "i64[", "quant"],
        "config": sorted(set(re.findall(r"^#? ?([a-z0-9-]+) = ", run(program, "compile", "--generate-config"), re.M))),
        "lists": ["images", "annotations", "categories", "bbox", "image_id", "category_id", "file_name", "iscrowd", "segmentation"],
        "statistics": ["answers", "calibration", "candidates", "channels", "extremes", "mean_square", "unbounded", "1e999", "-1",
                       "4294967296", "null"],
        "torch": ["aten::", "torch.", "ops.prim.", "Tensor", "annotate(", "uninitialized(", "getattr(", "for _ in range(", "if ",
                  "None", "List[int]", "Optional[Tensor]", "def forward(self: __torch__.M, x: Tensor) -> Tensor:"],
        "export": ["as_tensor", "as_int", "as_ints", "as_none", "as_sym_int", "as_graph", "torch.ops.aten.", "graph_module",
                   "range_constraints", "user_input", "parameter", "buffer", "higher_order.cond", "higher_order.while_loop"],
    }
    for name, list_ in words.items():
        lines = ["\"" + w.replace("\\", "\\\\").replace("\"", "\\\"") + "\"\n" for w in list_]
        (HERE / "dictionaries" / f"{name}.dict").write_text("".join(lines))


def main() -> None:
    program = sys.argv[1]
    models(program)
    arrays()
    samples()
    images()
    lists()
    config(program)
    dictionaries(program)
    if len(sys.argv) > 2:
        (SEEDS / "statistics").mkdir(exist_ok=True)
        subprocess.run([sys.argv[2]], env={**os.environ, "EC_WRITE_SEED": str(SEEDS / "statistics" / "ptq.json")}, check=True)


if __name__ == "__main__":
    main()
