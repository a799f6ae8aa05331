"""Calibration files written with the standard library only: pictures, arrays and torch.save archives, sound or broken."""

from __future__ import annotations

import base64
import io
import random
import struct
import zipfile
import zlib


def ppm(seed: int, width: int = 8, height: int = 8) -> bytes:
    return f"P6 {width} {height} 255\n".encode() + random.Random(seed).randbytes(width * height * 3)


def flat_ppm(colour: tuple[int, int, int], width: int = 8, height: int = 8) -> bytes:
    return f"P6 {width} {height} 255\n".encode() + bytes(colour) * (width * height)


def png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int = 8, height: int = 8, rows: bytes | None = None, depth: int = 8, colour: int = 2) -> bytes:
    rows = b"".join(b"\0" + bytes(width * 3) for _ in range(height)) if rows is None else rows
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(rows))
            + png_chunk(b"IEND", b""))


def npy(shape: tuple[int, ...], content: bytes | None = None, descr: str = "<f4", fortran: bool = False) -> bytes:
    count = 1
    for size in shape:
        count *= size
    item = int("".join(c for c in descr if c.isdigit()) or 1)
    body = bytes(max(0, min(count * item, 1 << 20))) if content is None else content
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + body


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def archive(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return buffer.getvalue()


def npz(arrays: dict[str, bytes]) -> bytes:
    return archive({f"{name}.npy": content for name, content in arrays.items()})


class Pickle:
    """The instructions of protocol 2 that torch.save writes."""

    def __init__(self) -> None:
        self.storages: dict[str, bytes] = {}

    @staticmethod
    def text(value: str) -> bytes:
        raw = value.encode()
        return b"X" + struct.pack("<I", len(raw)) + raw

    @staticmethod
    def integer(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    def ints(self, values: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(map(self.integer, values)) + b"t"

    def tensor(self, shape: tuple[int, ...], content: bytes, storage: str = "FloatStorage", item: int = 4,
               strides: tuple[int, ...] | None = None, offset: int = 0, count: int | None = None) -> bytes:
        key = str(len(self.storages))
        self.storages[key] = content
        if strides is None:
            strides, step = (), 1
            for size in reversed(shape):
                strides, step = (step, *strides), step * size
        identity = (b"(" + self.text("storage") + b"ctorch\n" + storage.encode() + b"\n" + self.text(key) + self.text("cpu")
                    + self.integer(len(content) // item if count is None else count) + b"tQ")
        arguments = (b"(" + identity + self.integer(offset) + self.ints(shape) + self.ints(strides)
                     + b"\x89ccollections\nOrderedDict\n)Rt")
        return b"ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"R"

    @staticmethod
    def sequence(items: list[bytes], kind: str = "list") -> bytes:
        return b"](" + b"".join(items) + b"e" if kind == "list" else b"(" + b"".join(items) + b"t"

    def dict(self, items: dict[str, bytes]) -> bytes:
        return b"}(" + b"".join(self.text(key) + value for key, value in items.items()) + b"u"

    def file(self, root: bytes) -> bytes:
        """The archive of torch.save whose object the instructions make."""
        entries = {"data/data.pkl": b"\x80\x02" + root + b".", "data/byteorder": b"little"}
        entries |= {f"data/data/{key}": content for key, content in self.storages.items()}
        return archive(entries | {"data/version": b"3\n"})


def tensor_file(shape: tuple[int, ...], content: bytes, **how) -> bytes:
    pickle = Pickle()
    return pickle.file(pickle.tensor(shape, content, **how))


# An 8x8 baseline JPEG.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYV"
    "pQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAI"
    "AAgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/xAAeEAABBAEFAAAAAAAAAAAAAAABAAIDETEEITJBUf/EABUBAQEAAAAAAAAAAA"
    "AAAAAAAAED/8QAGhEAAQUBAAAAAAAAAAAAAAAAAQACAxExE//aAAwDAQACEQMRAD8Aqdzo4HwaoRvbRcQIhGBTh0eOBivdrBREVIqAxLIel246"
    "V//Z"
)
