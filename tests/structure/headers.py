#!/usr/bin/env python3
"""Every header is self-contained: it compiles alone.

Nothing else shows it: sources start from precompiled standard headers, which hide a missing include. The compiler is
called through the compiler cache where there is one, so that only headers that changed cost time.

usage: headers.py REPOSITORY WORK_DIRECTORY COMPILER [FLAGS...]
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

# Headers of the vector code are compiled once per instruction set, in a namespace that the build names.
FLAGS = ["-std=c++20", "-O0", "-Wall", "-DEC_SIMD_NS=alone"]
# Folders that #include "..." starts from.
ROOTS = ["src", "include", "."]


def name_in_include(root: pathlib.Path, header: pathlib.Path) -> str:
    for base in ROOTS:
        if header.is_relative_to(root / base):
            return str(header.relative_to(root / base))
    raise ValueError(header)


def compile_alone(root: pathlib.Path, work: pathlib.Path, header: pathlib.Path, command: list[str]) -> str:
    name = name_in_include(root, header)
    source = work / (name.replace("/", "-") + ".cpp")
    source.write_text(f'#include "{name}"\n', encoding="utf-8")
    includes = [flag for base in ROOTS for flag in ("-I", str(root / base))]
    result = subprocess.run(
        [*command, *FLAGS, *includes, "-c", str(source), "-o", str(source.with_suffix(".o"))],
        cwd=work,
        text=True,
        capture_output=True,
        check=False,
    )
    return "" if result.returncode == 0 else f"{header.relative_to(root)}:\n{result.stderr}"


def main() -> int:
    root, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    work.mkdir(parents=True, exist_ok=True)
    headers = [p for top in ("src", "include", "tools") for p in sorted((root / top).rglob("*.h"))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [f for f in pool.map(lambda h: compile_alone(root, work, h, sys.argv[3:]), headers) if f]
    print("\n".join(faults) if faults else f"{len(headers)} headers compile alone")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
