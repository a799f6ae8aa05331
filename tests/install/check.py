#!/usr/bin/env python3
"""Installs the build, moves the installation, and builds and runs a program against it.

usage: check.py CMAKE BUILD WORK_DIRECTORY MODEL
"""

import os
import pathlib
import shutil
import subprocess
import sys


def run(*command: object) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True, check=False, env=environment)
    if done.returncode != 0:
        print(done.stdout, done.stderr, f"failed: {' '.join(str(c) for c in command)}", sep="\n")
        sys.exit(1)
    return done.stdout


def main() -> int:
    cmake, build, work, model = sys.argv[1], *(pathlib.Path(p) for p in sys.argv[2:])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    run(cmake, "--install", build, "--prefix", work / "installed")
    moved = (work / "installed").rename(work / "moved")
    version = run(moved / "bin" / "edgecompile", "--version")
    consumer = pathlib.Path(__file__).resolve().parent / "consumer"
    run(cmake, "-S", consumer, "-B", work / "consumer", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={moved}")
    run(cmake, "--build", work / "consumer")
    told = run(work / "consumer" / "consumer", model)
    if "1 result" not in told or "refused" not in told:
        print(f"unexpected: {told}")
        return 1
    print(version + told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
