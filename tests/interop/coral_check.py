"""Placement on the Edge TPU against what Google's compiler did: the pairs of coral-partition-truth.json whose original
is at hand, with the published rules and with the fitted ones apart; of all other files the lists of operators.

usage: coral_check.py [--edgecompile PROGRAM] [--shared DIR] [--out DIR]
"""

from __future__ import annotations

import collections
import json
import pathlib
import re
import sys

import comparison
import program


def placement(tool: str, model: pathlib.Path, rules: str) -> list[dict]:
    return program.report(tool, "check", model, "--target", "coral", "--passes", "none", "--edgetpu-rules", rules)["operations"]


def is_mapped(row: dict) -> bool:
    return row["placement"] == "native"


def agrees(record: dict, rows: list[dict]) -> bool:
    """Same operators mapped: by count of each kind, and by position of those that are not."""
    mapped = collections.Counter(row["source_op"] for row in rows if is_mapped(row))
    left = sorted(i for i, row in enumerate(rows) if not is_mapped(row))
    return mapped == record["mapped_counts"] and left == sorted(op["index"] for op in record["unmapped_ops"])


def known_operators() -> dict[str, set[str]]:
    """Operators of the table by rules: those of Google's page, and with those that only compiled files show."""
    table = pathlib.Path(__file__).resolve().parents[2] / "src" / "backend" / "coral" / "support.def"
    rows = re.findall(r"^EC_CORAL_OPERATOR(_SEEN)?\((\w+),", table.read_text(), re.MULTILINE)
    published = {name for seen, name in rows if not seen}
    return {"published": published, "fitted": {name for _, name in rows}}


def list_faults(record: dict, known: set[str]) -> list[str]:
    """What of a file's lists of operators the table contradicts: kinds that were mapped and are not in it. Kinds that were
    left can be in it, for their types, sizes or place."""
    faults = [f"{op} was mapped" for op in record.get("mapped_counts", {}) if op not in known]
    for op in record.get("unmapped_ops", []):
        bytes_only = all(t["type"] in ("INT8", "UINT8", "INT32") for t in op["inputs"] + op["outputs"])
        limited = op["op"] in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SOFTMAX", "RESHAPE")
        if op["role"] == "frontier" and op["op"] in known and bytes_only and not limited:
            faults.append(f"{op['op']} was left")
    # Of files without an original only what was left is known.
    if record["kind"] != "pair":
        faults += [f"{op} was left" for op in record["ops_outside_custom_op"] if op in known]
    return faults


def main() -> int:
    parser = comparison.parser(__doc__)
    parser.add_argument("--shared", type=pathlib.Path, default=pathlib.Path("../shared"))
    arguments = parser.parse_args()
    truth = arguments.shared / "reference" / "coral-partition-truth.json"
    if not truth.exists():
        print("coral: no pairs of original and compiled files here, skipped")
        return 0
    at_hand = {path.name: path for path in (arguments.shared / "data" / "coral").glob("*.tflite")}
    lines = ["| original | compiled | ops | mapped by Google | published rules | fitted rules |", "|---|---|---|---|---|---|"]
    pairs = fitted_right = published_right = others = 0
    known, contradicted = known_operators(), {"published": [], "fitted": []}
    for record in json.loads(truth.read_text())["records"]:
        model = at_hand.get(pathlib.PurePath(record["original"] or "").name)
        if record["kind"] != "pair" or model is None:
            others += 1
            for rules, faults in contradicted.items():
                faults += [f"{record['compiled']}: {fault}" for fault in list_faults(record, known[rules])]
            continue
        pairs += 1
        results = {rules: agrees(record, placement(arguments.edgecompile, model, rules)) for rules in ("published", "fitted")}
        published_right += results["published"]
        fitted_right += results["fitted"]
        words = {True: "equal", False: "differs"}
        lines.append(
            f"| {model.name} | {pathlib.PurePath(record['compiled']).name} | {record['original_total_ops']} | {record['mapped_total']} "
            f"| {words[results['published']]} | {words[results['fitted']]} |"
        )
    lines.append(f"\nof {pairs} pairs: published rules right in {published_right}, fitted rules in {fitted_right}")
    for rules, faults in contradicted.items():
        lines.append(f"operator lists of the {others} other files, {rules} table: {len(faults)} contradictions"
                     + "".join(f"\n- {fault}" for fault in faults))
    print("\n".join(lines))
    comparison.save_lines(arguments.out, "coral_partition.md", lines)
    return 0 if fitted_right == pairs and not contradicted["fitted"] else 1


if __name__ == "__main__":
    sys.exit(main())
