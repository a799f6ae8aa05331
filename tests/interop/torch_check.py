#!/usr/bin/env python3
"""Runs every archive of PyTorch in the given folders and compares with the recorded results.

usage: torch_check.py EDGECOMPILE FOLDER... [--only NAME] [--reference]

A folder has an index.json (name -> how, atol, out_step, inputs, outputs; "_reject": files that must be
refused), NAME.pt or NAME.pt2, and NAME.npz with in0... and out0... (and call2_in0... for a second call, which is
compared when the model keeps no state: the sizes may differ). No PyTorch is needed.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np

import program

# What the advice for each kind of refused file must say.
ADVICE = {
    "state_dict": ["state_dict", "load_state_dict", "torch.jit.trace"],
    "state_dict_legacy": ["torch.save", "load_state_dict", "torch.jit.trace"],
    "pickled_module": ["class", "torch.load", "torch.jit.trace"],
}


def arrays(npz, prefix: str) -> list[np.ndarray]:
    found = []
    while f"{prefix}{len(found)}" in npz:
        found.append(npz[f"{prefix}{len(found)}"])
    return found


def difference(got: np.ndarray, want: np.ndarray) -> float | str:
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "iub":
        return 0.0 if np.array_equal(got, want) else "integers differ"
    with np.errstate(invalid="ignore"):
        error = np.abs(got.astype(np.float64) - want.astype(np.float64))
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    return float(np.where(same, 0.0, error).max(initial=0.0))


def check(binary: str, folder: pathlib.Path, name: str, entry: dict, more: list[str]) -> tuple[bool, str]:
    model = folder / entry.get("file", name + ".pt")
    npz = np.load(folder / f"{name}.npz")
    keeps_state = any(word in entry.get("note", "") for word in ("state", "buffer_mutation"))
    calls = [""] + (["call2_"] if f"call2_in0" in npz and not keeps_state else [])
    limit = entry["atol"]
    if entry.get("out_step"):  # biases are rounded to int32: one step of the last quantisation
        limit = max(limit, entry["out_step"] * 1.01)
    worst = 0.0
    for call in calls:
        inputs = arrays(npz, call + "in")
        try:
            got = list(program.run_model(binary, model, inputs, *program.shapes_in_order(inputs), *more).values())
        except program.Failed as error:
            return False, str(error)
        want = arrays(npz, call + "out")
        if len(got) != len(want):
            return False, f"{len(got)} outputs, expected {len(want)}"
        for i, (a, b) in enumerate(zip(got, want)):
            d = difference(a, b)
            if isinstance(d, str):
                return False, f"{call}out{i}: {d}"
            worst = max(worst, d)
    return worst <= limit, f"largest difference {worst:.2g}, allowed {limit:.2g}"


def check_refusal(binary: str, path: pathlib.Path) -> tuple[bool, str]:
    done = subprocess.run([binary, "inspect", str(path)], capture_output=True, text=True, timeout=60)
    text = done.stderr + done.stdout
    wanted = ADVICE[path.stem.removeprefix("reject_")]
    missing = [w for w in wanted if w not in text]
    if done.returncode == 0 or missing:
        return False, f"exit code {done.returncode}, advice lacks {missing}"
    return True, text.splitlines()[0].split(": ", 1)[-1]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("edgecompile")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--reference", action="store_true")
    args = parser.parse_args()
    passed = failed = 0
    for folder in args.folders:
        index = json.loads((folder / "index.json").read_text())
        results = [(n, *check(args.edgecompile, folder, n, e, ["--reference"] if args.reference else []))
                   for n, e in index.items() if not n.startswith("_") and args.only in n]
        results += [(f, *check_refusal(args.edgecompile, folder / f)) for f in index.get("_reject", []) if args.only in f]
        for name, good, text in results:
            print(f"{'pass' if good else 'FAIL'}  {folder.name}/{name:28s} {text}")
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
