"""What this build knows: error codes, targets, passes."""

from __future__ import annotations

import json
from typing import Any

from . import _native


def explain(code: str | None = None) -> dict[str, Any] | list[dict[str, Any]]:
    """An error code in full ("EC3001": code, name, title, explanation, exit_code); without `code` a list of all."""
    report: dict[str, Any] = json.loads(_native.explain(code))
    codes: list[dict[str, Any]] = report.get("codes", [])
    return codes if code is None else report


def targets() -> list[dict[str, Any]]:
    """The targets with files, variants and options; `available` tells which are in this build."""
    report: list[dict[str, Any]] = json.loads(_native.targets())["targets"]
    return report


def passes() -> dict[str, Any]:
    """The `passes`, the `pipelines` made of them, and the `strategies` of quantisation with their steps."""
    report: dict[str, Any] = json.loads(_native.passes())
    return report
