#!/usr/bin/env python3
"""Checks #include "..." of every source folder against the allow table in src/README.md's order.

usage: layering.py REPOSITORY
"""

import pathlib
import re
import sys

# Folder -> folders whose headers it may include (its own always). Longest matching prefix counts.
ALLOWED = {
    "src/support": [],
    "src/options": ["src/support", "include/edgecompiler/options.h"],
    "src/formats": ["src/support"],
    # Shapes, names and floats: both the quantiser and evaluate judge by tasks.
    "src/tasks": ["src/support"],
    # An operation stores attributes and Graph::add runs the op's inference: ir sees the table's interface and
    # the conversion of elements.
    "src/ir": ["src/support", *(f"src/ops/{name}" for name in ("attrs.h", "convert.h", "infer.h", "op_def.h", "op_kind.h", "ops.def"))],
    "src/ops": ["src/support", "src/ir"],
    "src/analysis": ["src/support", "src/ir", "src/ops", "include/edgecompiler/report"],
    "src/frontend": ["src/support", "src/options", "include/edgecompiler/options.h", "src/ir", "src/ops", "src/analysis", "src/formats"],
    "src/passes": ["src/support", "src/ir", "src/ops", "src/analysis"],
    "src/limits": ["src/support", "src/options", "src/ir", "src/passes", "include/edgecompiler/options.h"],
    "src/runtime": ["src/support", "src/ir", "src/ops", "src/analysis", "include/edgecompiler"],
    "src/quantize": ["src/support", "src/options", "src/tasks", "src/ir", "src/ops", "src/analysis", "src/formats", "src/passes", "src/runtime",
                     "include/edgecompiler/report"],
    "src/writer": ["src/support", "src/ir", "src/ops", "src/analysis", "src/formats"],
    "src/report": ["src/support", "src/ir", "src/ops", "src/analysis", "src/frontend", "src/passes", "src/quantize", "include/edgecompiler"],
    # Everything but the driver and what stands on it; siblings are checked below.
    "src/backend": ["src/support", "src/options", "src/formats", "src/ir", "src/ops", "src/analysis", "src/frontend", "src/passes",
                    "src/runtime", "src/quantize", "src/writer", "src/report", "include/edgecompiler"],
    "src/driver": [f"src/{name}" for name in ("support", "options", "tasks", "formats", "ir", "ops", "analysis", "frontend", "passes", "limits", "runtime",
                                              "quantize", "writer", "report", "backend")] + ["include/edgecompiler"],
    "src/evaluate": [f"src/{name}" for name in ("support", "options", "tasks", "formats", "ir", "ops", "analysis", "frontend", "passes", "limits", "runtime",
                                                "quantize", "writer", "report", "backend", "driver")] + ["include/edgecompiler"],
    "src/api": ["src", "include/edgecompiler"],
    "include/edgecompiler": [],
    "tools": ["src", "include/edgecompiler"],
}
# Front ends, writers and back ends do not include each other, but for headers that a back end exports.
SIBLINGS = ["src/frontend", "src/writer", "src/backend"]
EXPORTED = ["src/backend/tflite/encode.h", "src/backend/tflite/exports.h", "src/backend/tflite/formulas.h", "src/backend/tflite/integer_rules.h"]
# The driver knows the interface of back ends and their list.
DRIVER_SEES = ["src/backend/backend.h", "src/backend/backends.def"]
LIBRARY_IN_HEADER = re.compile(r"#include <(nlohmann|fmt|toml|CLI|pybind11|protozero|iostream|regex)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def folder_of(path: str) -> str:
    return max((f for f in ALLOWED if path.startswith(f + "/")), key=len, default="")


def resolve(root: pathlib.Path, source: pathlib.Path, name: str) -> str | None:
    for base in (root / "src", root / "include", source.parent):
        candidate = base / name
        # Headers of FlatBuffers files are generated from the schema of the same name.
        if candidate.is_file() or candidate.with_suffix(".fbs").is_file():
            return str(candidate.resolve().relative_to(root))
    return None


def sibling(path: str) -> str | None:
    for parent in SIBLINGS:
        parts = path[len(parent) + 1 :].split("/") if path.startswith(parent + "/") else []
        if len(parts) > 1:
            return parent + "/" + parts[0]
    return None


def check(root: pathlib.Path) -> list[str]:
    faults = []
    files = [p for top in ("src", "include", "tools") for p in sorted((root / top).rglob("*")) if p.suffix in (".h", ".cpp", ".def")]
    for file in files:
        relative = str(file.relative_to(root))
        folder = folder_of(relative)
        if not folder:
            faults.append(f"{relative}: folder is not in the table of tests/structure/layering.py")
            continue
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".h" and not relative.startswith("src/formats/"):
            faults += [f"{relative}: {m.group(0)} does not belong in a header" for m in LIBRARY_IN_HEADER.finditer(text)]
        for name in INCLUDE.findall(text):
            target = resolve(root, file, name)
            if target is None:
                faults.append(f'{relative}: "{name}" is no file of the project')
                continue
            own, other = sibling(relative), sibling(target)
            if own and other and own != other and own.rsplit("/", 1)[0] == other.rsplit("/", 1)[0] and target not in EXPORTED:
                faults.append(f"{relative}: {own} may not include {target}")
            if folder in ("src/driver", "src/evaluate", "src/api", "tools") and target.startswith("src/backend/") and target not in DRIVER_SEES:
                faults.append(f"{relative}: {folder} sees back ends through backend.h alone, not {target}")
            allowed = [folder, *ALLOWED[folder]]
            if not any(target == a or target.startswith(a + "/") for a in allowed):
                faults.append(f"{relative}: {folder} may not include {target}")
    return faults


def main() -> int:
    faults = check(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(faults) if faults else "layering holds")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
