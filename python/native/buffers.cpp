#include "buffers.h"

#include <memory>
#include <span>

namespace ec::python {

Blob blob_from_buffer(const py::buffer& buffer) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(buffer.ptr(), view.get(), PyBUF_C_CONTIGUOUS) != 0)
    throw py::error_already_set();
  // The last user of the blob may be any thread, and releasing a buffer needs the interpreter.
  const std::shared_ptr<Py_buffer> owner(view.release(), [](Py_buffer* held) {
    const py::gil_scoped_acquire lock;
    PyBuffer_Release(held);
    delete held;
  });
  const std::span bytes(static_cast<const std::byte*>(owner->buf), static_cast<size_t>(owner->len));
  return owner->readonly != 0 ? Blob(owner, bytes) : Blob::copy_of(bytes);
}

void bind_blob(py::module_& module) {
  py::class_<Blob>(module, "Blob", py::buffer_protocol(),
                   "Immutable bytes of a constant or a result; numpy.frombuffer reads them.")
      .def_buffer([](Blob& blob) {
        // The buffer is declared read-only, so the pointer is never written through.
        auto* data = const_cast<std::byte*>(blob.bytes().data());  // NOLINT
        const auto size = static_cast<py::ssize_t>(blob.size());
        return py::buffer_info(data, 1, "B", 1, {size}, {py::ssize_t{1}}, /*readonly=*/true);
      })
      .def("__len__", &Blob::size);
}

}  // namespace ec::python
