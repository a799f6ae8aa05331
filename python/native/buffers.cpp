#include "buffers.h"

#include <memory>
#include <span>

namespace ec::python {
namespace {

std::shared_ptr<Py_buffer> hold(const py::buffer& buffer) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(buffer.ptr(), view.get(), PyBUF_C_CONTIGUOUS) != 0)
    throw py::error_already_set();
  // The last user of the bytes may be any thread, and releasing a buffer needs the interpreter.
  return {view.release(), [](Py_buffer* held) {
            const py::gil_scoped_acquire lock;
            PyBuffer_Release(held);
            delete held;
          }};
}

std::span<const std::byte> bytes_of(const Py_buffer& view) {
  return {static_cast<const std::byte*>(view.buf), static_cast<size_t>(view.len)};
}

}  // namespace

Blob blob_from_buffer(const py::buffer& buffer) {
  const auto owner = hold(buffer);
  return owner->readonly != 0 ? Blob(owner, bytes_of(*owner)) : Blob::copy_of(bytes_of(*owner));
}

Blob view_of_buffer(const py::buffer& buffer) {
  const auto owner = hold(buffer);
  return {owner, bytes_of(*owner)};
}

void bind_bytes(py::module_& module) {
  py::class_<Bytes>(module, "Bytes", py::buffer_protocol(),
                    "Bytes of a constant or a result; numpy.frombuffer reads them.")
      .def_buffer([](Bytes& bytes) {
        // Constants are declared read-only; a result's bytes belong to nobody but the caller.
        auto* data = const_cast<std::byte*>(bytes.blob.bytes().data());  // NOLINT
        const auto size = static_cast<py::ssize_t>(bytes.blob.size());
        return py::buffer_info(data, 1, "B", 1, {size}, {py::ssize_t{1}}, !bytes.writable);
      })
      .def("__len__", [](const Bytes& bytes) { return bytes.blob.size(); });
}

}  // namespace ec::python
