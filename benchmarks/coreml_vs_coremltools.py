"""Core ML packages side by side: operations, bytes and time of edgecompile and of coremltools for the same networks.

    python benchmarks/coreml_vs_coremltools.py EDGECOMPILE [--only 'resnet*,vit_tiny'] [--keep DIR] [--out DIR]

Needs coremltools, torch, torchvision and timm (tests/interop/requirements-coreml.txt). Both take the same traced archive with random
weights and write half precision for the same system. Operations are those of the program without constants, bytes those of all files
of the package. Time is processor time, twice for ours: of the whole program from start to end with the package read back but nothing
run (`--self-check-work 0`), and of the usual run, which executes the network four times more to measure what half precision costs and
to compare the package with the graph. Theirs is `coremltools.convert` alone, with the archive loaded and everything imported; it runs
nothing.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import fnmatch
import gc
import io
import json
import logging
import os
import pathlib
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "interop"))

import numpy as np  # noqa: E402
import torch  # noqa: E402

with contextlib.redirect_stderr(io.StringIO()):
    import coremltools as ct  # noqa: E402

import coreml_zoo_list  # noqa: E402
import torch_archives  # noqa: E402
from coremltools.proto import Model_pb2  # noqa: E402
from machine import describe_setup  # noqa: E402
from measured_process import run_measured  # noqa: E402

SYSTEMS = {7: ct.target.iOS16, 8: ct.target.iOS17, 9: ct.target.iOS18}
# Networks for which ours has more operations, with the reason.
MEAN = "a mean over the picture is reduce_mean and squeeze; coremltools writes reduce_mean without the sizes of 1"
LINEAR = ("`linear` is documented for up to three dimensions, so ours has a reshape on either side of those with four, which coremltools writes "
          "all the same")
REASONS: dict[str, str] = {
    "convnext_tiny": LINEAR,
    "xcit_nano": "norms of its attention stay in single precision, which takes casts, and are sums and roots",
    "mnasnet1_0": MEAN,
    "shufflenet_v2_x1_0": MEAN,
    "edgenext_xx_small": "norms of its attention stay in single precision, which takes casts; " + LINEAR,
    "BiGru": "the layer is unrolled step by step; coremltools writes loops, whose bodies are counted once",
    "SpatialTransformer": "the sampled grid is written as products and gathers, which every compute unit has; coremltools writes `affine`",
    "LstmTagger": "states of several layers are joined by expand_dims and concat instead of stack, and split by squeeze",
}
# And more bytes.
LARGER: dict[str, str] = {
    "swin_t": "the masks of shifted windows are constants; coremltools computes them in every run with 45 scatters",
    "BiGru": "the program of the unrolled layer",
    "SpatialTransformer": "the program of the sampled grid",
}


def operations(package: pathlib.Path) -> tuple[int, collections.Counter]:
    """The version, and operations without constants by name, those of nested blocks too."""
    model = Model_pb2.Model()
    model.ParseFromString((package / "Data/com.apple.CoreML/model.mlmodel").read_bytes())
    counts: collections.Counter = collections.Counter()

    def count(block) -> None:
        for op in block.operations:
            if op.type != "const":
                counts[op.type] += 1
            for nested in op.blocks:
                count(nested)

    for function in model.mlProgram.functions.values():
        for block in function.block_specializations.values():
            count(block)
    return model.specificationVersion, counts


def size(package: pathlib.Path) -> int:
    return sum(p.stat().st_size for p in package.rglob("*") if p.is_file())


def difference(ours: collections.Counter, theirs: collections.Counter) -> str:
    changed = {name: ours[name] - theirs[name] for name in sorted({*ours, *theirs}) if ours[name] != theirs[name]}
    return ", ".join(f"{name} {count:+d}" for name, count in changed.items())


def ours(binary: str, archive: pathlib.Path, inputs, package: pathlib.Path) -> dict:
    shapes = [text for i, x in enumerate(inputs) for text in ("--input-shape", f"{i}:{'x'.join(map(str, x.shape))}")]
    command = [binary, "compile", str(archive), "-t", "metal", *shapes]
    _, usage = run_measured([*command, "-o", str(package), "--self-check-work", "0"])
    _, checked = run_measured([*command, "-o", str(package.with_name("checked.mlpackage"))])
    version, counts = operations(package)
    return {"version": version, "counts": counts, "bytes": size(package), "seconds": usage["cpu_seconds"], "checked_seconds": checked["cpu_seconds"]}


def theirs(archive: pathlib.Path, inputs, outputs, version: int, package: pathlib.Path) -> dict:
    model = torch.jit.load(str(archive)).eval()
    # The interface of the model, as ours: coremltools' own choice is half precision from iOS 16 on.
    specs = [ct.TensorType(name=f"x{i}", shape=x.shape, dtype=np.float32 if x.dtype.kind == "f" else np.int32) for i, x in enumerate(inputs)]
    results = [ct.TensorType(dtype=np.float32 if y.dtype.kind == "f" else np.int32) for y in outputs]
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        begin = time.process_time()
        made = ct.convert(model, source="pytorch", inputs=specs, outputs=results, convert_to="mlprogram", minimum_deployment_target=SYSTEMS[version],
                          skip_model_load=True)
        seconds = time.process_time() - begin
        made.save(str(package))
    return {"counts": operations(package)[1], "bytes": size(package), "seconds": seconds}


def compare(binary: str, entry, keep: pathlib.Path) -> dict:
    archives = torch_archives.write_archives(entry, ["traced"], keep / entry.name)
    row: dict = {"network": entry.name}
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        inputs = archives.arrays("in")
        try:
            mine = ours(binary, archives.path("traced"), inputs, root / "ours.mlpackage")
        except RuntimeError as error:
            return {**row, "refused": " ".join(str(error).split())[:300]}
        row["ours"] = {**mine, "operations": sum(mine["counts"].values())}
        try:
            peer = theirs(archives.path("traced"), inputs, archives.arrays("out"), mine["version"], root / "theirs.mlpackage")
        except Exception as error:  # what coremltools cannot convert is no comparison
            return {**row, "peer_error": f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]}
        row["theirs"] = {**peer, "operations": sum(peer["counts"].values())}
        row["difference"] = difference(mine["counts"], peer["counts"])
        row["times"] = peer["seconds"] / mine["seconds"]
        row["checked_times"] = peer["seconds"] / mine["checked_seconds"]
    return row


def table(rows: list[dict]) -> list[str]:
    both = [r for r in rows if "theirs" in r]
    sums = {side: {key: sum(r[side][key] for r in both) for key in ("operations", "bytes", "seconds")} for side in ("ours", "theirs")}
    times, checked = sorted(r["times"] for r in both), sorted(r["checked_times"] for r in both)
    checked_seconds = sum(r["ours"]["checked_seconds"] for r in both)
    more = [r for r in both if r["ours"]["operations"] > r["theirs"]["operations"]]
    larger = [r for r in both if r["ours"]["bytes"] > r["theirs"]["bytes"]]
    lines = [
        "# Core ML packages: edgecompile and coremltools", "",
        f"{len(both)} networks with random weights that coremltools {ct.__version__} converts, from the same traced archive, half precision, the same system.",
        describe_setup("coremltools", "torch"), "",
        "| over all networks | edgecompile | coremltools | |", "|---|---|---|---|",
        f"| operations | {sums['ours']['operations']:,} | {sums['theirs']['operations']:,} | {len(more)} networks with more |",
        f"| bytes | {sums['ours']['bytes']:,} | {sums['theirs']['bytes']:,} | {len(larger)} networks with more |",
        f"| processor time | {sums['ours']['seconds']:.1f} s | {sums['theirs']['seconds']:.1f} s | least {times[0]:.0f} times, median {times[len(times) // 2]:.0f} times, "
        f"{sum(t >= 20 for t in times)} of {len(times)} at least 20 times |",
        f"| with the network run four times | {checked_seconds:.1f} s | {sums['theirs']['seconds']:.1f} s | least {checked[0]:.0f} times, median "
        f"{checked[len(checked) // 2]:.0f} times, {sum(t >= 20 for t in checked)} of {len(checked)} at least 20 times |", "",
        "| network | operations | theirs | bytes | theirs | time | with runs | theirs | times | with runs | difference |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in both:
        a, b = r["ours"], r["theirs"]
        lines.append(f"| {r['network']} | {a['operations']} | {b['operations']} | {a['bytes']:,} | {b['bytes']:,} | {a['seconds']:.2f} s | "
                     f"{a['checked_seconds']:.2f} s | {b['seconds']:.2f} s | {r['times']:.0f} | {r['checked_times']:.0f} | {r['difference'] if a['operations'] > b['operations'] else ''} |")
    reasons = [f"- {r['network']}: {REASONS.get(r['network'], 'not explained')}" for r in more]
    lines += ["", "## More operations than coremltools", "", *reasons] if reasons else []
    sizes = [f"- {r['network']}: {LARGER.get(r['network'], 'not explained')}" for r in larger]
    lines += ["", "## More bytes than coremltools", "", *sizes] if sizes else []
    missing = [f"- {r['network']}: {'edgecompile: ' + r['refused'] if 'refused' in r else 'coremltools: ' + r['peer_error']}" for r in rows if "theirs" not in r]
    return [*lines, "", *(["## Not compared", "", *missing] if missing else [])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edgecompile")
    parser.add_argument("--only", default="*", help="names or patterns, separated by commas")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build/interop/torch-archives"), help="where the archives are or go")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    library = coreml_zoo_list.declare_operators()
    rows = []
    for entry in torch_archives.entries():
        if not any(fnmatch.fnmatch(entry.name, pattern) for pattern in options.only.split(",")):
            continue
        try:
            rows.append(compare(options.edgecompile, entry, options.keep))
        except Exception as error:
            rows.append({"network": entry.name, "peer_error": f"no archive: {error}"[:200]})
        print(json.dumps({k: v for k, v in rows[-1].items() if k not in ("ours", "theirs")} |
                         {side: {k: v for k, v in rows[-1][side].items() if k != "counts"} for side in ("ours", "theirs") if side in rows[-1]}), flush=True)
        gc.collect()
        if any("theirs" in row for row in rows):  # what there is stays when the run is stopped
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / "coreml.json").write_text(json.dumps(rows, indent=1) + "\n")
            (options.out / "coreml.md").write_text("\n".join(table(rows)) + "\n")
    del library
    print("\n".join(table(rows)[:11]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
