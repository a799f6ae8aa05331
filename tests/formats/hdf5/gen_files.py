#!/usr/bin/env python3
"""Writes the HDF5 files of the tests into a folder: every form that the reader has, with the same arrays in each."""
import sys

import h5py
import numpy as np

OUT = sys.argv[1]
A = np.arange(60, dtype=np.float32).reshape(3, 4, 5) / 4
I = (np.arange(300, dtype=np.int32).reshape(30, 10) * 7) % 101
LONG = "configuration " * 6000  # larger than an object header takes


def fill(f, **how):
    f.attrs["short"] = "text"
    f.attrs["long"] = LONG
    f.attrs["names"] = ["a", "bc", "def"]
    f.attrs["fixed"] = np.array([b"one", b"three"])
    f.attrs["empty"] = np.array([])
    g = f.create_group("group/inner")
    g.create_dataset("floats", data=A, **how)
    g.create_dataset("ints", data=I, **how)
    g.create_dataset("half", data=A.astype(np.float16), **how)
    g.create_dataset("flags", data=I % 2 == 0, **how)
    f.create_dataset("scalar", data=np.float32(2.5))
    many = f.create_group("many")
    for k in range(40):
        many.create_dataset(f"d{k}", data=np.float32(k))
    for k in range(20):
        many.attrs[f"a{k}"] = f"value {k}"


for name, library, how in (("plain", "earliest", {}), ("latest", "latest", {}), ("chunks", "earliest", dict(chunks=True)),
                           ("packed", "earliest", dict(compression="gzip", shuffle=True, fletcher32=True)),
                           ("packed_latest", "latest", dict(compression="gzip", shuffle=True))):
    with h5py.File(f"{OUT}/{name}.h5", "w", libver=library) as f:
        fill(f, **how)
with h5py.File(f"{OUT}/links.h5", "w") as f:
    f["soft"] = h5py.SoftLink("/data")
    f["external"] = h5py.ExternalLink("other.h5", "/data")
    f.create_dataset("data", data=A)
