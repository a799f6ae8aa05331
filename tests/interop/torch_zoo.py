"""Compares networks of torchvision and timm, saved by PyTorch in every form, with PyTorch itself.

    python tests/interop/torch_zoo.py EDGECOMPILE [--only 'resnet*'] [--forms traced,export] [--out DIR] [--keep DIR]

Needs PyTorch, torchvision and timm (requirements-torch.txt). torch_archives.py has the networks and the forms. A result
passes when the largest error is at most 1e-4 of the largest output. Results are kept in OUT/torch_zoo.json (default:
EC_ZOO_DIR or build/zoo), so that a run can be continued; torch_zoo.md is the table. Model files go to a temporary
folder, or stay in KEEP, where later runs find them.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import gc
import json
import logging
import pathlib
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np

import program
import zoo
import zoo_list
from torch_archives import FORMS, Archives, entries, write_archives

TOLERANCE = 1e-4
STATUSES = ("pass", "FAIL", "ill-conditioned", "torch cannot")
# Of every kind of network one, each quick to export: what `make interop` compares.
SUBSET = (
    "resnet18", "mobilenet_v2", "efficientnet_b0", "squeezenet1_1", "convnext_atto", "vit_tiny", "levit_128s",
    "mobilevit_xs", "lraspp_mobilenet_v3_large", "fpn_resnet18", "mc3_18", "LstmTagger",
)


def run(binary: str, path: pathlib.Path, inputs: list[np.ndarray]) -> list[np.ndarray] | str:
    """The outputs, or what went wrong."""
    try:
        return list(program.run_model(binary, path, inputs, *program.shapes_in_order(inputs)).values())
    except program.Failed as error:
        return str(error)[:300]


def largest_error(got: list[np.ndarray] | str, want: list[np.ndarray]) -> float | str:
    """Relative to the largest output, or why the results cannot be compared."""
    if isinstance(got, str):
        return got
    if len(got) != len(want):
        return f"{len(got)} outputs, expected {len(want)}"
    worst = 0.0
    for a, b in zip(got, want):
        if a.shape != b.shape:
            return f"shape {a.shape}, expected {b.shape}"
        if not np.isfinite(b).all():
            return "PyTorch's result is not finite"
        largest = float(np.abs(b).max(initial=0.0)) or 1.0
        error = float(np.abs(a.astype(np.float64) - b).max(initial=0.0)) / largest
        worst = max(worst, error) if error == error else float("inf")
    return worst


def is_ill_conditioned(got: list[np.ndarray], archives: Archives) -> str:
    """Why a larger error is nobody's: PyTorch itself is as far from the results in double precision as we are."""
    exact = archives.arrays("exact")
    ours, theirs = largest_error(got, exact), largest_error(archives.arrays("out"), exact)
    if isinstance(ours, str) or isinstance(theirs, str) or ours > 1.5 * theirs:
        return ""
    return f"from double precision PyTorch is {theirs:.1e} away, we are {ours:.1e}"


def compare(archives: Archives, forms: list[str], binary: str) -> dict[str, dict]:
    results: dict[str, dict] = {}
    for form in forms:
        if form in archives.refused:
            results[form] = {"status": "torch cannot", "text": archives.refused[form]}
            continue
        got = run(binary, archives.path(form), archives.arrays("in"))
        error = largest_error(got, archives.arrays("out"))
        if isinstance(error, str):
            results[form] = {"status": "FAIL", "text": error}
        elif error <= TOLERANCE:
            results[form] = {"status": "pass", "text": f"{error:.1e}"}
        elif reason := is_ill_conditioned(got, archives):
            results[form] = {"status": "ill-conditioned", "text": f"{error:.1e}; {reason}"}
        else:
            results[form] = {"status": "FAIL", "text": f"{error:.1e}"}
    return results


def write_table(results: dict[str, dict], path: pathlib.Path) -> None:
    sources = {entry.name: entry.source for entry in entries()}
    public = sum(sources.get(name) != "own" for name in results)
    own = len(results) - public
    cells = [cell for forms in results.values() for cell in forms.values()]
    count = {status: sum(cell["status"] == status for cell in cells) for status in STATUSES}
    lines = [
        "# PyTorch archives against PyTorch", "",
        f"{public} architectures of torchvision and timm{f' and {own} small networks' if own else ''}, with random weights, in the forms",
        "that PyTorch 2.13 can write. Each cell is the largest error as a share of the largest output; at most "
        f"{TOLERANCE:g} passes.",
        f"{count['pass']} pass, {count['FAIL']} fail, {count['ill-conditioned']} are ill-conditioned (PyTorch's own rounding errors are as "
        f"large); {count['torch cannot']} cannot be written by PyTorch. "
        "Made by `tests/interop/torch_zoo.py`.", "",
        "| architecture | " + " | ".join(FORMS) + " |", "|---|" + "---|" * len(FORMS)]
    reasons = []
    for name, forms in sorted(results.items(), key=lambda item: item[0].lower()):
        row = []
        for form in FORMS:
            cell = forms.get(form, {"status": "", "text": ""})
            row.append(cell["text"] if cell["status"] == "pass" else cell["status"])
            if cell["status"] in STATUSES[1:]:
                reasons.append(f"- {name}, {form}: {cell['status']}: {cell['text']}")
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    path.write_text("\n".join([*lines, "", *(["## Gaps", ""] if reasons else []), *reasons, ""]))


def compare_entry(entry: zoo_list.Entry, forms: list[str], binary: str, keep: pathlib.Path | None) -> dict[str, dict]:
    with tempfile.TemporaryDirectory() as scratch:
        return compare(write_archives(entry, forms, (keep or pathlib.Path(scratch)) / entry.name), forms, binary)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("edgecompile")
    parser.add_argument("--only", default="*", help="names or patterns, separated by commas")
    parser.add_argument("--subset", action="store_true", help="one network of every kind")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--out", type=pathlib.Path, default=zoo.zoo_root())
    parser.add_argument("--keep", type=pathlib.Path, help="where the model files stay")
    parser.add_argument("--fresh", action="store_true", help="compare again what was compared before")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    store = args.out / "torch_zoo.json"
    results = json.loads(store.read_text()) if store.exists() else {}
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    library = None
    with contextlib.suppress(Exception):
        library = zoo.declare_torchvision_ops()
    patterns = list(SUBSET) if args.subset else args.only.split(",")
    failed = passed = 0
    for entry in entries():
        if not any(fnmatch.fnmatch(entry.name, pattern) for pattern in patterns):
            continue
        known = results.setdefault(entry.name, {})
        wanted = [f for f in args.forms.split(",") if args.fresh or known.get(f, {}).get("status") in (None, "FAIL")]
        start = time.monotonic()
        if wanted:
            known.update(compare_entry(entry, wanted, args.edgecompile, args.keep))
            text = "  ".join(f"{f}: {known[f]['status']} {known[f]['text'][:110]}" for f in wanted)
            print(f"{entry.name} ({time.monotonic() - start:.0f} s)  {text}", flush=True)
            store.write_text(json.dumps(results, indent=1))
            gc.collect()
        failed += sum(cell["status"] == "FAIL" for cell in known.values())
        passed += sum(cell["status"] == "pass" for cell in known.values())
    del library
    write_table(results, args.out / "torch_zoo.md")
    print(f"torch zoo: {passed} forms pass, {failed} fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
