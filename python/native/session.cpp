// Sessions: arrays in as buffers, results out as blobs, the interpreter free while the model runs.
#include "runtime/session.h"

#include "bindings.h"
#include "buffers.h"
#include "driver/jobs.h"
#include "interruptible.h"
#include "models.h"
#include "options.h"
#include "types.h"

namespace ec::python {
namespace {

// One array: input name, element type, shape, bytes.
using Feed = std::tuple<std::string, std::string, std::vector<int64_t>, py::buffer>;
using SessionPtr = std::unique_ptr<Session>;

SessionPtr open(const ModelRef& model, const py::dict& keywords) {
  const Options options = options_from_python(keywords, Verb::Run);
  return run_interruptible([&] {
    DiagnosticSink sink;
    OpenedSession opened =
        value_or_fail(open_session(default_registry(), model, Verb::Run, options, sink), sink,
                      model.name, options.text("target"));
    return std::move(opened.session);
  });
}

std::vector<NamedValue> named_values(const std::vector<Feed>& feeds) {
  std::vector<NamedValue> values;
  for (const auto& [name, dtype, shape, buffer] : feeds) {
    const TensorType type(dtype_from_text(dtype), Shape::of(shape));
    Blob bytes = view_of_buffer(buffer);
    const auto size = type.num_bytes();
    if (!size || static_cast<size_t>(*size) != bytes.size())
      throw py::value_error("array '" + name + "' has another size than its shape");
    values.push_back({name, Value(type.dtype, shape, std::move(bytes))});
  }
  return values;
}

// An output may be an input handed through; the caller's array must not change under it.
bool overlaps(const Blob& result, const std::vector<NamedValue>& inputs) {
  for (const NamedValue& input : inputs) {
    const auto bytes = input.value.data.bytes();
    const std::byte* at = result.bytes().data();
    if (!bytes.empty() && at >= bytes.data() && at < bytes.data() + bytes.size()) return true;
  }
  return false;
}

py::list run(Session& session, const std::vector<Feed>& feeds) {
  const std::vector<NamedValue> inputs = named_values(feeds);
  std::vector<Value> results =
      run_interruptible([&] { return value_or_throw(session.run(inputs)); });
  py::list list;
  for (Value& result : results) {
    if (overlaps(result.data, inputs)) result.data = Blob::copy_of(result.data.bytes());
    // Bytes that nobody else holds may be written by the caller.
    const bool writable = result.data.use_count() == 1;
    list.append(py::make_tuple(std::string(dtype_name(result.dtype)), result.shape,
                               Bytes{std::move(result.data), writable}));
  }
  return list;
}

// Every tensor that operations compute, by name, as copies: values live only until they are read.
py::list run_all_tensors(Session& session, const std::vector<Feed>& feeds) {
  const std::vector<NamedValue> inputs = named_values(feeds);
  struct Computed {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
    Blob data;
  };
  std::vector<Computed> tensors;
  run_interruptible([&] {
    const Status status =
        session.run_all_tensors(inputs, [&](const Tensor& tensor, const ConstView& view) {
          const std::span<const std::byte> bytes(view.data, view.bytes());
          tensors.push_back({tensor.name(),
                             view.dtype,
                             {view.shape.begin(), view.shape.end()},
                             Blob::copy_of(bytes)});
        });
    check_or_throw(status);
  });
  py::list list;
  for (Computed& tensor : tensors)
    list.append(py::make_tuple(text(tensor.name), std::string(dtype_name(tensor.dtype)),
                               tensor.shape, Bytes{std::move(tensor.data), true}));
  return list;
}

py::dict benchmark(Session& session, int64_t iterations, int64_t warmup,
                   const std::optional<std::vector<Feed>>& feeds) {
  const std::vector<NamedValue> inputs =
      feeds ? named_values(*feeds) : value_or_throw(session.random_inputs(0));
  const BenchmarkStats stats = run_interruptible([&] {
    return value_or_throw(session.benchmark(inputs, {warmup, iterations}));
  });
  py::dict dict;
  dict["mean_ms"] = stats.mean_ms;
  dict["p50_ms"] = stats.p50_ms;
  dict["p95_ms"] = stats.p95_ms;
  dict["p99_ms"] = stats.p99_ms;
  dict["min_ms"] = stats.min_ms;
  dict["max_ms"] = stats.max_ms;
  dict["throughput_fps"] = stats.throughput_fps;
  return dict;
}

py::list describe(const std::vector<TensorDescription>& tensors) {
  py::list list;
  for (const TensorDescription& tensor : tensors)
    list.append(py::make_tuple(text(tensor.name), std::string(dtype_name(tensor.type.dtype)),
                               shape_to_python(tensor.type.shape),
                               quant_to_python(tensor.type.quant)));
  return list;
}

}  // namespace

void bind_session(py::module_& module) {
  using Release = py::call_guard<py::gil_scoped_release>;
  py::class_<Session, SessionPtr>(module, "Session", "A prepared model.")
      .def_static("open", &open, py::arg("model"), py::arg("options"))
      .def("inputs", [](const Session& session) { return describe(session.inputs()); })
      .def("outputs", [](const Session& session) { return describe(session.outputs()); })
      .def("run_all_tensors", &run_all_tensors, py::arg("feeds"))
      .def("run", &run, py::arg("feeds"))
      .def("benchmark", &benchmark, py::arg("iterations"), py::arg("warmup"), py::arg("feeds"))
      .def(
          "reset", [](Session& session) { check_or_throw(session.reset()); }, Release())
      .def("close", &Session::close, Release());
}

}  // namespace ec::python
