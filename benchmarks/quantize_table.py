"""The tables of quantize_vs_peers.py: their columns, and results that are made anew row by row."""

from __future__ import annotations

COLUMNS = {
    "accuracy": [("network", "network", "{}"), ("quantiser", "tool", "{}"), ("top-1", "top1", "{:.4f}"),
                 ("agreement with float", "agreement", "{:.4f}"), ("output SQNR dB", "sqnr_db", "{:.1f}"),
                 ("answers put right, wrong", "changed", "{}"), ("chance", "chance", "{:.2f}"),
                 ("seconds", "seconds", "{:.1f}"), ("of CPU", "cpu_seconds", "{:.1f}"), ("peak MB", "memory_mb", "{:.0f}"), ("", "error", "{}")],
    "sets": [("network", "network", "{}"), ("quantiser", "tool", "{}"), ("top-1, mean", "top1", "{:.4f}"), ("least", "top1_least", "{:.4f}"),
             ("most", "top1_most", "{:.4f}"), ("against ours, answers", "against_ours", "{:+.1f}"), ("interval 95 %", "interval", "± {:.1f}"),
             ("agreement with float", "agreement", "{:.4f}"), ("output SQNR dB", "sqnr_db", "{:.1f}"), ("least ", "sqnr_least", "{:.1f}"), ("", "error", "{}")],
    "calibration": [("images", "images", "{}"), ("quantiser", "tool", "{}"), ("seconds", "seconds", "{:.1f}"),
                    ("of CPU", "cpu_seconds", "{:.1f}"), ("calibration alone", "calibrate_seconds", "{:.1f}"), ("peak MB", "memory_mb", "{:.0f}"), ("", "error", "{}")],
    "weights": [("network", "network", "{}"), ("form", "how", "{}"), ("writer", "tool", "{}"), ("bytes", "size", "{:,}"),
                ("top-1", "top1", "{:.4f}"), ("agreement with float", "agreement", "{:.4f}"),
                ("output SQNR dB", "sqnr_db", "{:.1f}"), ("", "error", "{}")],
}
TITLES = {"accuracy": "int8 networks", "sets": "The same with five sets of calibration images", "calibration": "Calibrating MobileNetV2", "weights": "Weights stored smaller"}


def cell(row: dict, key: str, form: str) -> str:
    return form.format(row[key]) if row.get(key) is not None else ""


def markdown(part: str, rows: list[dict]) -> list[str]:
    columns = COLUMNS[part]
    lines = ["", f"## {TITLES[part]}", "", "| " + " | ".join(c[0] for c in columns) + " |", "|---" * len(columns) + "|"]
    for row in rows:
        lines.append("| " + " | ".join(cell(row, key, form) for _, key, form in columns) + " |")
    return lines


def merged(old: list[dict], new: list[dict]) -> list[dict]:
    """New rows in the place of old ones for the same thing."""
    keys = ("network", "how", "images", "tool")
    fresh = {tuple(row.get(key) for key in keys): row for row in new}
    rows = [fresh.pop(tuple(row.get(key) for key in keys), row) for row in old]
    return rows + list(fresh.values())
