"""One network as `.pt`, `.pt2` and `.onnx`: as many operations after optimisation, and the same results.

    python tests/interop/torch_twins.py EDGECOMPILE [--only vit_tiny,resnet18] [--out DIR] [--keep DIR]

Needs PyTorch, torchvision and timm. Results of every form are compared with those of the traced one: at most 1e-5 of
the largest output (2e-5 where the exporter rounds weights itself). OUT/torch_twins.md is the table; where counts differ, it says by which operations.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import pathlib
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import program
import zoo
from torch_archives import FORMS, TWINS, Archives, entries, write_archives
from torch_zoo import largest_error, run

TOLERANCE = {form: 1e-5 for form in (*FORMS, *TWINS)}
TOLERANCE["onnx-dynamo"] = 2e-5  # this exporter folds normalisation into weights, in single precision
VIEWS = ("flatten", "reshape", "squeeze", "unsqueeze")  # the same thing under several names
SUBSET = ("mobilenet_v2", "resnet18", "efficientnet_b0", "convnext_atto", "vit_tiny")
# Why counts differ, where they do.
REASONS = {
    ("swin_t", "core"): "run_decompositions() writes torch.roll as an index by constant places, one gather in place of two slices "
                        "and a concat",
}
NETWORKS = (
    "mobilenet_v2", "resnet18", "efficientnet_b0", "convnext_atto", "vit_tiny", "deit_tiny", "swin_t", "mobilevit_xs",
    "mobilenet_v3_small", "regnet_y_400mf", "shufflenet_v2_x1_0", "squeezenet1_1",
)


def operations(binary: str, path: pathlib.Path, inputs) -> dict[str, int] | str:
    """How many operations of each kind are left after optimisation."""
    with tempfile.TemporaryDirectory() as folder:
        graph = f"{folder}/graph.ecir"
        try:
            program.report(binary, "optimize", path, *program.shapes_in_order(inputs), "-o", graph)
            rows = program.report(binary, "inspect", graph)["ops"]
        except program.Failed as error:
            return str(error)[:200]
    counts: dict[str, int] = {}
    for row in rows:
        kind = "view" if row["op"] in VIEWS else row["op"]
        counts[kind] = counts.get(kind, 0) + row["count"]
    return counts


def differences(counts: dict[str, int], expected: dict[str, int]) -> str:
    kinds = sorted(set(counts) | set(expected))
    return ", ".join(f"{counts.get(k, 0) - expected.get(k, 0):+d} {k}" for k in kinds if counts.get(k, 0) != expected.get(k, 0))


def compare(archives: Archives, binary: str) -> dict[str, dict]:
    """Per form: operations, their difference from the traced form's, and the error against its results."""
    inputs = archives.arrays("in")
    counts = operations(binary, archives.path("traced"), inputs)
    want = run(binary, archives.path("traced"), inputs)
    if isinstance(counts, str) or isinstance(want, str):
        return {"traced": {"fault": counts if isinstance(counts, str) else want}}
    rows: dict[str, dict] = {}
    for form in (*FORMS, *TWINS):
        if form in archives.refused:
            continue
        own = operations(binary, archives.path(form), inputs)
        error = largest_error(run(binary, archives.path(form), inputs), want)
        if isinstance(own, str) or isinstance(error, str):
            rows[form] = {"fault": own if isinstance(own, str) else error}
            continue
        rows[form] = {"operations": sum(own.values()), "differences": differences(own, counts), "error": error}
    return rows


def write_table(results: dict[str, dict], path: pathlib.Path) -> None:
    forms = [*FORMS, *TWINS]
    lines = ["# One network in every format", "",
             "Operations after optimisation of one network as PyTorch saves and exports it. Results agree with the traced",
             "form's to 1e-5 of the largest output (onnx-dynamo, whose exporter folds normalisation in single precision: 2e-5).",
             "Made by `tests/interop/torch_twins.py`.", "",
             "| network | " + " | ".join(forms) + " | largest error |", "|---|" + "---|" * (len(forms) + 1)]
    notes = []
    for name, rows in results.items():
        cells = [str(rows.get(f, {}).get("operations", "" if f not in rows else "fault")) for f in forms]
        worst = max((row["error"] for row in rows.values() if "error" in row), default=0.0)
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {worst:.1e} |")
        notes += [f"- {name}, {f}: {row['differences']}: {REASONS.get((name, f), 'no reason known')}"
                  for f, row in rows.items() if row.get("differences")]
        notes += [f"- {name}, {f}: {row['fault']}" for f, row in rows.items() if "fault" in row]
    path.write_text("\n".join([*lines, "", *(["## Differences from the traced form", ""] if notes else []), *notes, ""]))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("edgecompile")
    parser.add_argument("--only", default=",".join(NETWORKS))
    parser.add_argument("--subset", action="store_true", help="five networks")
    parser.add_argument("--out", type=pathlib.Path, default=zoo.zoo_root())
    parser.add_argument("--keep", type=pathlib.Path, help="where the model files stay")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    library = None
    with contextlib.suppress(Exception):
        library = zoo.declare_torchvision_ops()
    known = {entry.name: entry for entry in entries()}
    results: dict[str, dict] = {}
    failed = 0
    for name in SUBSET if args.subset else args.only.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            folder = (args.keep or pathlib.Path(scratch)) / name
            rows = compare(write_archives(known[name], [*FORMS, *TWINS], folder), args.edgecompile)
        results[name] = rows
        bad = [f for f, row in rows.items() if "fault" in row or row["error"] > TOLERANCE[f]
               or (row["differences"] and (name, f) not in REASONS)]
        failed += len(bad)
        text = "  ".join(f"{f} {row.get('operations', row.get('fault'))} {row.get('differences', '')}".strip() for f, row in rows.items())
        print(f"{'FAIL' if bad else 'pass'}  {name}: {text}", flush=True)
    del library
    write_table(results, args.out / "torch_twins.md")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
