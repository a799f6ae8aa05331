#!/usr/bin/env python3
"""The driver stays a corridor: below 2,500 lines, and nothing in it that a back end needs.

usage: driver_size.py REPOSITORY
"""

import pathlib
import sys

LIMIT = 2500


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    lines = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in sorted((root / "src/driver").iterdir()) if p.is_file())
    faults = [] if lines < LIMIT else [f"src/driver has {lines} lines, the limit is {LIMIT}: move what has a subject of its own"]
    for file in sorted((root / "src/backend").rglob("*")):
        if file.suffix in (".h", ".cpp") and '#include "driver/' in file.read_text(encoding="utf-8"):
            faults.append(f"{file.relative_to(root)} includes a header of the driver")
    print("\n".join(faults) if faults else f"src/driver has {lines} lines")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
