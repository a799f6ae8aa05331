"""A program run once: what it printed, and what it took."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
import time


def run_measured(command: list[str]) -> tuple[str, dict]:
    """Output, and what it took."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"})
        peak = 0.0
        while True:
            peak = max(peak, peak_memory(process.pid))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.005)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"exit {process.returncode}: {(out.read() + err.read())[-3000:]}")
        return out.read(), {"wall": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "memory_mb": peak}


def peak_memory(pid: int) -> float:
    """MB so far. What the kernel tells when the process ends counts this program's memory too."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmHWM:")), 0.0)
