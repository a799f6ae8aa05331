#!/usr/bin/env python3
"""Every header is self-contained: its own .cpp includes it first, or it compiles alone.

usage: headers.py REPOSITORY COMPILER [FLAGS...]
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)', re.M)
# Headers of the vector code are compiled once per instruction set, in a namespace that the build names.
DEFINES = ["-DEC_SIMD_NS=alone"]


def included_first(root: pathlib.Path, header: pathlib.Path) -> bool:
    source = header.with_suffix(".cpp")
    if not source.is_file():
        return False
    first = FIRST_INCLUDE.search(source.read_text(encoding="utf-8"))
    return bool(first) and any((base / first.group(1)) == header for base in (root / "src", root / "include", header.parent))


def compile_alone(root: pathlib.Path, header: pathlib.Path, command: list[str]) -> str:
    result = subprocess.run(
        [*command, "-std=c++20", "-fsyntax-only", "-Wall", *DEFINES, "-x", "c++", "-I", str(root / "src"), "-I", str(root / "include"), "-"],
        input=f'#include "{header}"\n',
        text=True,
        capture_output=True,
        check=False,
    )
    return "" if result.returncode == 0 else f"{header.relative_to(root)}:\n{result.stderr}"


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    headers = [p for top in ("src", "include", "tools") for p in sorted((root / top).rglob("*.h"))]
    unproven = [h for h in headers if not included_first(root, h)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [f for f in pool.map(lambda h: compile_alone(root, h, sys.argv[2:]), unproven) if f]
    summary = f"{len(headers)} headers are self-contained, {len(unproven)} of them compiled alone"
    print("\n".join(faults) if faults else summary)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
