"""What comparisons have in common: options, rows that are printed as they come, files of results, and the exit status."""

from __future__ import annotations

import argparse
import json
import pathlib
from collections.abc import Iterable
from typing import Any

import program


def parser(text: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--edgecompile", default=program.find(), help="the program under test")
    made.add_argument("--out", type=pathlib.Path, help="folder for the results")
    return made


def plain(value: Any) -> Any:
    """Numbers of NumPy as JSON has them."""
    return value.item() if hasattr(value, "item") else str(value)


def save_json(folder: pathlib.Path | None, name: str, content: Any) -> None:
    """Nothing without a folder."""
    save_lines(folder, name, [json.dumps(content, indent=1, default=plain)])


def save_lines(folder: pathlib.Path | None, name: str, lines: Iterable[str]) -> None:
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(lines) + "\n")


class Rows:
    """One row per case, with "ok" where it holds."""

    def __init__(self) -> None:
        self.rows: list[dict] = []

    def add(self, row: dict) -> None:
        self.rows.append(row)
        print(json.dumps(row, default=plain), flush=True)

    def finish(self, folder: pathlib.Path | None, name: str) -> int:
        """Saves the rows and tells the exit status."""
        save_json(folder, name, self.rows)
        return 0 if all(row["ok"] for row in self.rows) else 1
