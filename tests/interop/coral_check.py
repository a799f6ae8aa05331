"""Placement on the Edge TPU against what Google's compiler did: the pairs of coral-partition-truth.json whose original
is at hand, with the published rules and with the fitted ones apart.

usage: coral_check.py --edgecompile PROGRAM [--shared DIR] [--out DIR]
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import subprocess
import sys


def placement(program: str, model: pathlib.Path, rules: str) -> list[dict]:
    command = [program, "check", str(model), "--target", "coral", "--edgetpu-rules", rules, "--json"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        raise RuntimeError(f"{model.name}: {process.stdout}{process.stderr}")
    return json.loads(process.stdout)["result"]["operations"]


def is_mapped(row: dict) -> bool:
    return row["placement"] == "native"


def agrees(record: dict, rows: list[dict]) -> bool:
    """Same operators mapped: by count of each kind, and by position of those that are not."""
    mapped = collections.Counter(row["source_op"] for row in rows if is_mapped(row))
    left = sorted(i for i, row in enumerate(rows) if not is_mapped(row))
    return mapped == record["mapped_counts"] and left == sorted(op["index"] for op in record["unmapped_ops"])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edgecompile", dest="program", required=True)
    parser.add_argument("--shared", type=pathlib.Path, default=pathlib.Path("../shared"))
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    truth = arguments.shared / "reference" / "coral-partition-truth.json"
    if not truth.exists():
        print("coral: no pairs of original and compiled files here, skipped")
        return 0
    at_hand = {path.name: path for path in (arguments.shared / "data" / "coral").glob("*.tflite")}
    lines = ["| original | compiled | ops | mapped by Google | published rules | fitted rules |", "|---|---|---|---|---|---|"]
    pairs = fitted_right = published_right = 0
    for record in json.loads(truth.read_text())["records"]:
        if record["kind"] != "pair":
            continue
        model = at_hand.get(pathlib.PurePath(record["original"]).name)
        if model is None:
            continue
        pairs += 1
        results = {rules: agrees(record, placement(arguments.program, model, rules)) for rules in ("published", "fitted")}
        published_right += results["published"]
        fitted_right += results["fitted"]
        words = {True: "equal", False: "differs"}
        lines.append(
            f"| {model.name} | {pathlib.PurePath(record['compiled']).name} | {record['original_total_ops']} | {record['mapped_total']} "
            f"| {words[results['published']]} | {words[results['fitted']]} |"
        )
    lines.append(f"\nof {pairs} pairs: published rules right in {published_right}, fitted rules in {fitted_right}")
    print("\n".join(lines))
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "coral_partition.md").write_text("\n".join(lines) + "\n")
    return 0 if fitted_right == pairs else 1


if __name__ == "__main__":
    sys.exit(main())
