#!/usr/bin/env python3
"""No target's name stands outside its own folder, the list of back ends and the tests.

A back end that leaks its name into the driver or the tools costs every later one. Names that are also words of a file format
or of a framework count only as quoted texts, and the folders of those formats may hold them.

usage: target_names.py REPOSITORY
"""

import pathlib
import re
import sys

LISTED = re.compile(r"^EC_(?:ABSENT_)?BACKEND\((\w+)", re.M)
# Other words for the same device.
ALIASES = {"coral": ["edgetpu", "edge tpu", "edge_tpu"]}
# Names that mean something else as plain words: only "name" in quotes is the target.
QUOTED_ONLY = {"cpu", "tflite", "arm", "metal"}
# Folders that may hold a name because it is theirs for another reason.
ALSO_FORMAT = {
    "tflite": ["src/formats/tflite", "src/frontend/tflite", "src/writer/tflite"],
    "cpu": ["src/frontend/torch", "src/analysis"],  # PyTorch calls a device so; the processor beside a device
    "coral": ["src/formats/edgetpu"],
}
# Generated from the tables of the program.
GENERATED = ["python/edgecompiler/_jobs.pyi", "python/edgecompiler/reports.py"]
SUFFIXES = {".h", ".cpp", ".py", ".pyi"}


def pattern(name: str) -> re.Pattern[str]:
    if name in QUOTED_ONLY:
        return re.compile(rf"""["']{name}["']""")
    words = "|".join(re.escape(word) for word in [name, *ALIASES.get(name, [])])
    return re.compile(rf"(?i)(?<![a-z])(?:{words})(?![a-z])")


def check(root: pathlib.Path) -> list[str]:
    names = LISTED.findall((root / "src/backend/backends.def").read_text(encoding="utf-8"))
    folders = {path.name for path in (root / "src/backend").iterdir() if path.is_dir()}
    faults = [f"src/backend/{name}: the folder is not in backends.def" for name in sorted(folders - set(names))]
    for top in ("src", "tools", "include", "python/edgecompiler", "python/native"):
        for file in sorted((root / top).rglob("*")):
            relative = str(file.relative_to(root))
            if file.suffix not in SUFFIXES or relative in GENERATED:
                continue
            lines = file.read_text(encoding="utf-8").splitlines()
            for name in names:
                if any(relative.startswith(f"{own}/") for own in (f"src/backend/{name}", *ALSO_FORMAT.get(name, []))):
                    continue
                # A back end may build on another one and then names it.
                if relative.startswith("src/backend/") and name in QUOTED_ONLY:
                    continue
                faults += [f"{relative}:{i}: names target '{name}': {line.strip()}" for i, line in enumerate(lines, 1) if pattern(name).search(line)]
    return faults


def main() -> int:
    faults = check(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(faults) if faults else "targets are named in their own folders alone")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
