"""What a table was measured on: the kind of machine and the versions of the peers. No names of hosts or users."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import re


def _processor() -> str:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return "unknown processor"
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    flags = set((re.search(r"^flags\s*:\s*(.+)$", text, re.MULTILINE) or [None, ""])[1].split())
    widest = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "no AVX2")
    kind = "virtual machine" if "hypervisor" in flags else "machine"
    return f"{found[1].strip() if found else 'unknown processor'} with {widest}, {kind}"


def describe_setup(*packages: str) -> str:
    """One sentence for the head of a table."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    return f"{_processor()}, {cores} logical processors, load {load:.1f} at the end of the run; {versions}."
