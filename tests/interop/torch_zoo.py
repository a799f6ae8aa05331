"""Compares networks of torchvision and timm, saved by PyTorch in every form, with PyTorch itself.

    python tests/interop/torch_zoo.py EDGECOMPILE [--only 'resnet*'] [--forms traced,export] [--out DIR] [--fresh]

Needs PyTorch, torchvision and timm (requirements-torch.txt). Forms: traced (.pt), scripted (.pt), export (.pt2 as
torch.export.export gives it) and core (.pt2 after run_decompositions). A result passes when the largest error is at
most 1e-4 of the largest output. Results are kept in DIR/torch_zoo.json (default: EC_ZOO_DIR or build/zoo), so that a
run can be continued; torch_zoo.md is the table. Model files are removed after they were compared.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import gc
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np
import zoo
import zoo_list

FORMS = ("traced", "scripted", "export", "core")
TOLERANCE = 1e-4
VIDEO = ("r3d_18", "mc3_18", "r2plus1d_18", "s3d")
BACKBONES = ("resnet18", "mobilenet_v2")  # with feature pyramids, as detectors use them


def video_entries() -> list[zoo_list.Entry]:
    return [zoo_list.Entry(name, "video", name, ((1, 3, 16 if name == "s3d" else 8, 64, 64),)) for name in VIDEO]


def backbone_entries() -> list[zoo_list.Entry]:
    return [zoo_list.Entry(f"fpn_{name}", "fpn", name, zoo_list.image(128)) for name in BACKBONES]


def entries() -> list[zoo_list.Entry]:
    """Each architecture once."""
    found: dict[str, zoo_list.Entry] = {}
    for entry in [*zoo_list.ENTRIES, *video_entries(), *backbone_entries()]:
        if not entry.dynamic:
            found.setdefault(entry.name, entry)
    return list(found.values())


def build(entry: zoo_list.Entry):
    import torch

    if entry.source == "video":
        import torchvision

        torch.manual_seed(1)
        return getattr(torchvision.models.video, entry.model)(weights=None)
    if entry.source == "fpn":
        from torchvision.models.detection import backbone_utils

        torch.manual_seed(1)
        if entry.model.startswith("mobilenet"):
            from torchvision.models import mobilenet_v2

            backbone = mobilenet_v2(weights=None)
            return backbone_utils.BackboneWithFPN(
                backbone.features, {"6": "0", "13": "1", "18": "2"}, [32, 96, 1280], 64)
        return backbone_utils.resnet_fpn_backbone(backbone_name=entry.model, weights=None)
    return zoo.build(entry)


def flat(value) -> list[np.ndarray]:
    import torch

    if isinstance(value, torch.Tensor):
        return [value.detach().numpy()]
    if isinstance(value, dict):
        return [x for item in value.values() for x in flat(item)]
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in flat(item)]
    return []


def save(form: str, model, inputs, path: pathlib.Path, exported: dict) -> None:
    import torch

    with torch.no_grad():
        if form == "traced":
            torch.jit.trace(model, inputs, check_trace=False, strict=False).save(str(path))
        elif form == "scripted":
            torch.jit.script(model).save(str(path))
        else:
            if "program" not in exported:
                exported["program"] = torch.export.export(model, inputs)
            program = exported["program"]
            torch.export.save(program.run_decompositions() if form == "core" else program, path)


def run(binary: str, path: pathlib.Path, inputs, folder: pathlib.Path) -> list[np.ndarray] | str:
    command = [binary, "run", str(path), "-o", str(folder / "out"), "--json"]
    for i, value in enumerate(inputs):
        np.save(folder / f"in{i}.npy", value.numpy())
        command += ["-i", str(folder / f"in{i}.npy"), "--input-shape", f"{i}:{'x'.join(map(str, value.shape))}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    report = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    if done.returncode != 0:
        first = next((d for d in report.get("diagnostics", []) if d.get("severity") == "error"), None)
        if first is None:
            return (done.stderr or done.stdout or f"exit code {done.returncode}").strip()[:300]
        return f"{first['code']} {first.get('op_type', '')}: {first['message']}"[:300]
    return [np.load(output["file"]) for output in report["result"]["outputs"]]


def difference(got: list[np.ndarray], want: list[np.ndarray]) -> tuple[bool, str]:
    if len(got) != len(want):
        return False, f"{len(got)} outputs, expected {len(want)}"
    worst = 0.0
    for a, b in zip(got, want):
        if a.shape != b.shape:
            return False, f"shape {a.shape}, expected {b.shape}"
        largest = float(np.abs(b).max(initial=0.0)) or 1.0
        worst = max(worst, float(np.abs(a.astype(np.float64) - b).max(initial=0.0)) / largest)
    return worst <= TOLERANCE, f"{worst:.1e}"


def compare(entry: zoo_list.Entry, forms: list[str], binary: str) -> dict[str, dict]:
    import torch

    results: dict[str, dict] = {}
    model, inputs = build(entry), zoo.make_inputs(entry)
    zoo.settle(model, inputs)
    with torch.no_grad():
        want = flat(model(*inputs))
    exported: dict = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for form in forms:
            path = folder / f"model{'.pt2' if form in ('export', 'core') else '.pt'}"
            try:
                save(form, model, inputs, path, exported)
            except Exception as error:  # noqa: BLE001: PyTorch cannot write this form; the table says so
                reason = " ".join(str(error).split())[:200]
                results[form] = {"status": "torch cannot", "text": f"{type(error).__name__}: {reason}"}
                continue
            got = run(binary, path, inputs, folder)
            good, text = (False, got) if isinstance(got, str) else difference(got, want)
            results[form] = {"status": "pass" if good else "FAIL", "text": text}
            path.unlink()
    return results


def write_table(results: dict[str, dict], path: pathlib.Path) -> None:
    lines = ["| architecture | " + " | ".join(FORMS) + " |", "|---|" + "---|" * len(FORMS)]
    reasons = []
    for name, forms in sorted(results.items()):
        cells = []
        for form in FORMS:
            cell = forms.get(form)
            if cell is None:
                cells.append("")
            elif cell["status"] == "pass":
                cells.append(cell["text"])
            else:
                cells.append(cell["status"])
                reasons.append(f"- {name}, {form}: {cell['status']}: {cell['text']}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    path.write_text("\n".join([*lines, "", *reasons, ""]))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("edgecompile")
    parser.add_argument("--only", default="*")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--out", type=pathlib.Path, default=zoo.zoo_root())
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
    failed = 0
    for entry in entries():
        if not any(fnmatch.fnmatch(entry.name, pattern) for pattern in args.only.split(",")):
            continue
        known = results.setdefault(entry.name, {})
        wanted = [f for f in args.forms.split(",") if args.fresh or known.get(f, {}).get("status") in (None, "FAIL")]
        if not wanted:
            continue
        start = time.monotonic()
        try:
            known.update(compare(entry, wanted, args.edgecompile))
        except Exception as error:  # noqa: BLE001: the model itself cannot be built here
            print(f"{entry.name}: cannot be built: {error}", flush=True)
            continue
        text = "  ".join(f"{f}: {known[f]['status']} {known[f]['text'][:110]}" for f in wanted)
        print(f"{entry.name} ({time.monotonic() - start:.0f} s)  {text}", flush=True)
        store.write_text(json.dumps(results, indent=1))
        gc.collect()
    del library
    write_table(results, args.out / "torch_zoo.md")
    failed = sum(cell["status"] == "FAIL" for forms in results.values() for cell in forms.values())
    passed = sum(cell["status"] == "pass" for forms in results.values() for cell in forms.values())
    print(f"{len(results)} architectures: {passed} forms pass, {failed} fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
