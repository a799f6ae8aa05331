"""Element types and their numpy forms.

numpy has no 16-bit brain float, 8-bit floats or integers below a byte. Arrays of those use the types of the ml_dtypes
package when it is installed; without it they are the raw bits (one element per byte for the small ones).
"""

from __future__ import annotations

import enum
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import EdgeCompilerError

Array = npt.NDArray[Any]


class IRDType(enum.Enum):
    """Element type of a tensor."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT64 = "float64"
    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    UINT64 = "uint64"
    BOOL = "bool"
    INT4 = "int4"
    UINT4 = "uint4"
    INT2 = "int2"
    UINT2 = "uint2"
    FLOAT8_E4M3FN = "float8_e4m3fn"
    FLOAT8_E4M3FNUZ = "float8_e4m3fnuz"
    FLOAT8_E5M2 = "float8_e5m2"
    FLOAT8_E5M2FNUZ = "float8_e5m2fnuz"
    FLOAT8_E8M0FNU = "float8_e8m0fnu"
    FLOAT4_E2M1FN = "float4_e2m1fn"

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy type of this tensor's arrays."""
        return _numpy_form(self)

    @classmethod
    def of(cls, dtype: IRDType | str | np.dtype[Any] | type) -> IRDType:
        """From a member, a name ("float32", "f32") or a numpy type."""
        if isinstance(dtype, IRDType):
            return dtype
        if isinstance(dtype, str) and dtype in _FROM_NATIVE:
            return _FROM_NATIVE[dtype]
        try:
            return cls(dtype if isinstance(dtype, str) else np.dtype(dtype).name)
        except (TypeError, ValueError):
            known = ", ".join(d.value for d in cls)
            raise TypeError(f"no element type {dtype!r}; known are {known}") from None


_NATIVE_NAMES = {
    IRDType.FLOAT32: "f32", IRDType.FLOAT16: "f16", IRDType.BFLOAT16: "bf16", IRDType.FLOAT64: "f64",
    IRDType.INT8: "i8", IRDType.UINT8: "u8", IRDType.INT16: "i16", IRDType.UINT16: "u16",
    IRDType.INT32: "i32", IRDType.UINT32: "u32", IRDType.INT64: "i64", IRDType.UINT64: "u64",
    IRDType.BOOL: "bool", IRDType.INT4: "i4", IRDType.UINT4: "u4", IRDType.INT2: "i2", IRDType.UINT2: "u2",
    IRDType.FLOAT8_E4M3FN: "f8e4m3fn", IRDType.FLOAT8_E4M3FNUZ: "f8e4m3fnuz", IRDType.FLOAT8_E5M2: "f8e5m2",
    IRDType.FLOAT8_E5M2FNUZ: "f8e5m2fnuz", IRDType.FLOAT8_E8M0FNU: "f8e8m0", IRDType.FLOAT4_E2M1FN: "f4e2m1",
}
_FROM_NATIVE = {text: dtype for dtype, text in _NATIVE_NAMES.items()}
# How the native part keeps the types that numpy lacks.
_STORAGE = {
    IRDType.BFLOAT16: np.uint16, IRDType.INT4: np.int8, IRDType.UINT4: np.uint8, IRDType.INT2: np.int8,
    IRDType.UINT2: np.uint8, IRDType.FLOAT8_E4M3FN: np.uint8, IRDType.FLOAT8_E4M3FNUZ: np.uint8,
    IRDType.FLOAT8_E5M2: np.uint8, IRDType.FLOAT8_E5M2FNUZ: np.uint8, IRDType.FLOAT8_E8M0FNU: np.uint8,
    IRDType.FLOAT4_E2M1FN: np.uint8,
}
_INTEGERS = frozenset({IRDType.INT4, IRDType.UINT4, IRDType.INT2, IRDType.UINT2})


def native_name(dtype: IRDType) -> str:
    return _NATIVE_NAMES[dtype]


def from_native_name(text: str) -> IRDType:
    return _FROM_NATIVE[text]


@functools.lru_cache(maxsize=None)
def _numpy_form(dtype: IRDType) -> np.dtype[Any]:
    if dtype not in _STORAGE:
        return np.dtype(dtype.value)
    try:
        import ml_dtypes  # type: ignore[import-not-found,unused-ignore]

        form: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype.value))
    except (ImportError, AttributeError):
        form = np.dtype(_STORAGE[dtype])
    return form


def array_of(value: Any, what: str, dtype: Any = None, code: str = "EC7003") -> Array:
    """What numpy makes of a caller's value; `what` names it where numpy makes nothing of it."""
    try:
        made: Array = np.asarray(value, dtype=dtype)
    except MemoryError as error:
        raise EdgeCompilerError(f"error EC5001: {what}: {error}", code="EC5001") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise EdgeCompilerError(f"error {code}: {what} is no array: {error}", code=code) from None
    return made


def array_from_native(buffer: Any, dtype: IRDType, shape: Any) -> Array:
    """An array on the native bytes: no copy, except for integers below a byte."""
    try:
        stored: Array = np.frombuffer(buffer, dtype=_STORAGE.get(dtype, dtype.numpy)).reshape(shape)
    except ValueError as error:  # more dimensions, or larger ones, than numpy has
        message = f"numpy has no array of shape {'x'.join(map(str, shape))}: {error}"
        raise EdgeCompilerError(message, code="EC5001") from None
    if dtype not in _STORAGE or stored.dtype == dtype.numpy:
        return stored
    return stored.astype(dtype.numpy) if dtype in _INTEGERS else stored.view(dtype.numpy)


def array_to_native(array: Array, dtype: IRDType) -> Array:
    """Contiguous, aligned bytes of an array in the native form; no copy when it already is that."""
    if dtype in _STORAGE and array.dtype != _STORAGE[dtype]:
        storage = _STORAGE[dtype]
        if dtype in _INTEGERS:
            array = array.astype(storage)
        else:
            array = np.ascontiguousarray(array).reshape(array.shape).view(storage)
    try:
        flat: Array = np.require(array, requirements=["C", "A"]).reshape(-1)
    except MemoryError as error:  # an array may be larger than its memory
        raise EdgeCompilerError(f"error EC5001: {error}", code="EC5001") from None
    return flat.view(np.uint8)
