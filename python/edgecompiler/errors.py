"""Exceptions of edgecompiler. Each carries the diagnostics that caused it, with code, node and hint."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

__all__ = [
    "BackendError",
    "Diagnostic",
    "EdgeCompilerError",
    "FrontendError",
    "QuantizationError",
    "UnsupportedOpError",
]


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One problem or remark: what the command line prints for the same input."""

    severity: str  # "error", "warning" or "remark"
    code: str  # "EC3001"
    message: str
    file: str = ""
    node: str = ""  # name in the source model
    op_type: str = ""  # in the source model's words
    notes: tuple[str, ...] = ()
    hint: str = ""
    text: str = dataclasses.field(default="", repr=False, compare=False)  # as printed

    def __str__(self) -> str:
        return self.text or f"{self.severity} {self.code}: {self.message}"


class EdgeCompilerError(Exception):
    """Base of all errors. `code`, `node` and `hint` are those of the first diagnostic."""

    def __init__(self, message: str, *, code: str | None = None, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        first = next((d for d in diagnostics if d.severity == "error"), None)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        self.code: str | None = code if code is not None else (first.code if first else None)
        self.node: str | None = first.node or None if first else None
        self.hint: str | None = first.hint or None if first else None


class FrontendError(EdgeCompilerError):
    """A model file cannot be read: missing, damaged, or of a kind that has no front end."""

    model_path: str = ""
    format_hint: str | None = None


class UnsupportedOpError(EdgeCompilerError):
    """An operation is not supported. `diagnostics` lists all of them, not only the first."""

    op_type: str = ""
    backend: str = ""
    suggestion: str | None = None


class QuantizationError(EdgeCompilerError):
    """Quantisation parameters are missing or not valid."""

    tensor_name: str = ""
    reason: str = ""


class BackendError(EdgeCompilerError):
    """A target is unknown, or cannot take the graph."""

    target: str = ""
    reason: str = ""


# By the thousands digit of the code; what is not here is an EdgeCompilerError.
_CLASSES: dict[str, type[EdgeCompilerError]] = {
    "1": FrontendError,
    "3": UnsupportedOpError,
    "4": QuantizationError,
    "6": BackendError,
}
# Failing to write is no fault of the model.
_PLAIN_CODES = frozenset({"EC1017"})


def from_diagnostics(items: Sequence[dict[str, Any]], path: str = "", target: str = "") -> EdgeCompilerError:
    """The exception for a failure reported by the native part; `path` and `target` say what was asked for."""
    diagnostics = tuple(Diagnostic(**{**item, "notes": tuple(item["notes"])}) for item in items)
    first = next(d for d in diagnostics if d.severity == "error")
    kind = EdgeCompilerError if first.code in _PLAIN_CODES else _CLASSES.get(first.code[2:3], EdgeCompilerError)
    error = kind("\n".join(str(d) for d in diagnostics if d.severity == "error"), diagnostics=diagnostics)
    if isinstance(error, FrontendError):
        error.model_path, error.format_hint = first.file or path, first.hint or None
    elif isinstance(error, UnsupportedOpError):
        error.op_type, error.backend, error.suggestion = first.op_type, target, first.hint or None
    elif isinstance(error, QuantizationError):
        error.tensor_name, error.reason = first.node, first.message
    elif isinstance(error, BackendError):
        error.target, error.reason = target, first.message
    return error
