"""Samples of a caller as files that the native part reads, one at a time."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

import numpy as np

from ._dtypes import array_of
from .errors import EdgeCompilerError

Array = Any  # a numpy array, or what numpy.asarray takes (a torch tensor on the CPU)
Sample = Union[Array, Sequence[Array], Mapping[str, Array]]
Samples = Union[str, "os.PathLike[str]", Array, Mapping[str, Array], Iterable[Sample]]


def samples_path(data: Samples, scratch: pathlib.Path, labelled: bool = False) -> str:
    """A path as it is; everything else goes to files.

    An array has samples along its first axis, and so have the arrays of a dict by input name. Of a list, an iterator or a
    generator each element is a sample: an array, a tuple of arrays in input order, or a dict by input name. Elements are
    written as they come, so that a generator of any length needs the memory of one.

    `labelled`: a tuple may have a label behind its arrays, or one for each row of them (what a DataLoader gives).
    """
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    if isinstance(data, Mapping) or hasattr(data, "__array__"):
        return str(_write(data, scratch / "samples"))
    folder = scratch / "samples"
    folder.mkdir()
    count = 0
    for sample in data:
        _write(sample, folder / f"sample_{count:08}", labelled)
        count += 1
    if count == 0:
        raise ValueError("the data holds no samples")
    return str(folder)


def _array(value: Array) -> Any:
    made = array_of(value, "a sample", code="EC4003")
    if made.dtype.hasobject:
        raise EdgeCompilerError("error EC4003: a sample holds Python objects, not numbers", code="EC4003")
    return made


def _has_label(arrays: Sequence[Any]) -> bool:
    if len(arrays) < 2:
        return False
    first, last = arrays[0], arrays[-1]
    rows = last.ndim == 1 and last.dtype.kind in "iu" and first.ndim > 1 and first.shape[0] == last.shape[0]
    return first.ndim > 0 and (last.ndim == 0 or rows)


def _write(sample: Sample, stem: pathlib.Path, labelled: bool = False) -> pathlib.Path:
    if isinstance(sample, Mapping):
        path = stem.with_suffix(".npz")
        named: dict[str, Any] = {str(name): _array(value) for name, value in sample.items()}
        np.savez(path, **named)
    elif isinstance(sample, tuple):
        path = stem.with_suffix(".npz")
        arrays = [_array(value) for value in sample]
        if labelled and _has_label(arrays):
            np.savez(path, *arrays[:-1], labels=arrays[-1])
        else:
            np.savez(path, *arrays)
    else:
        path = stem.with_suffix(".npy")
        np.save(path, _array(sample), allow_pickle=False)
    return path
