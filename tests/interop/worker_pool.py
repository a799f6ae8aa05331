"""Runs a function over many items in child processes that may crash or hang without ending the run.

Every worker handles one item at a time. A worker that dies or overstays its time is replaced, and the item
it held is reported as ("crash", signal) or ("timeout", seconds).
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_context = multiprocessing.get_context("spawn")


def _serve(connection, function: Callable[[Any], Any]) -> None:
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        connection.send(function(item))


class _Worker:
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.connection, theirs = _context.Pipe()
        self.process = _context.Process(target=_serve, args=(theirs, function), daemon=True)
        self.process.start()
        theirs.close()
        self.index: int | None = None
        self.started = 0.0

    def give(self, index: int, item: Any) -> None:
        self.index, self.started = index, time.monotonic()
        self.connection.send(item)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _death(process) -> str:
    process.join(5)
    code = process.exitcode
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit status {code}"


def run_isolated(
    function: Callable[[Any], Any], items: Sequence[Any], workers: int = 2, timeout: float = 60.0
) -> Iterator[tuple[int, str, Any]]:
    """Yields (index, 'done' | 'crash' | 'timeout', value) in order of completion."""
    pending = list(range(len(items)))[::-1]
    pool = [_Worker(function) for _ in range(min(workers, len(items)))]
    try:
        while pending or any(w.index is not None for w in pool):
            for worker in pool:
                if worker.index is None and pending:
                    index = pending.pop()
                    worker.give(index, items[index])
            busy = [w for w in pool if w.index is not None]
            ready = multiprocessing.connection.wait([w.connection for w in busy], timeout=1.0)
            for worker in busy:
                outcome = _collect(worker, worker.connection in ready, timeout)
                if outcome is None:
                    continue
                index, worker.index = worker.index, None
                if outcome[0] != "done":
                    worker.stop()
                    pool[pool.index(worker)] = _Worker(function)
                yield index, *outcome
    finally:
        for worker in pool:
            worker.stop()


def _collect(worker: _Worker, is_ready: bool, timeout: float) -> tuple[str, Any] | None:
    if is_ready:
        try:
            return "done", worker.connection.recv()
        except (EOFError, ConnectionResetError):
            return "crash", _death(worker.process)
    if time.monotonic() - worker.started > timeout:
        return "timeout", f"more than {timeout:g} s"
    return None
