#!/usr/bin/env python3
"""What comes from the program's tables, pages of the manual and stubs of the Python package, is up to date.

usage: generated_docs.py REPOSITORY EDGECOMPILE
"""

import difflib
import pathlib
import subprocess
import sys
import tempfile


def main() -> int:
    root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(root / "scripts" / "generate-docs"), program, folder], check=True)
        for fresh in sorted(p for p in pathlib.Path(folder).rglob("*") if p.is_file()):
            name = fresh.relative_to(folder)
            page = root / name
            old = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
            new = fresh.read_text(encoding="utf-8").splitlines()
            if old != new:
                stale.append(str(name))
                print("\n".join(list(difflib.unified_diff(old, new, str(name), "generated", lineterm="", n=1))[:20]))
    print(f"out of date: {', '.join(stale)}; run `make docs`" if stale else "generated files are up to date")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
