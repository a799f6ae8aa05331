// Sessions: arrays in as buffers, results out as blobs, the interpreter free while the model runs.
#include "runtime/session.h"

#include <map>

#include "bindings.h"
#include "buffers.h"
#include "driver/open_model.h"
#include "driver/optimize.h"
#include "driver/session.h"
#include "driver/specialize.h"
#include "driver/targets.h"
#include "types.h"

namespace ec::python {
namespace {

// One array: input name, element type, shape, bytes.
using Feed = std::tuple<std::string, std::string, std::vector<int64_t>, py::buffer>;
using Shapes = std::map<std::string, std::vector<int64_t>>;
using SessionPtr = std::unique_ptr<Session>;

[[noreturn]] void fail(DiagnosticSink& sink, const Error& error, const std::string& path,
                       const std::string& target) {
  if (!sink.has_errors()) sink.report(error.diagnostic());
  throw Failure(sink.diagnostics(), path, target);
}

CompileOptions make_options(const std::string& target, Shapes input_shapes, int threads,
                            bool optimized, bool reference) {
  CompileOptions options;
  options.target = target;
  options.input_shapes = std::move(input_shapes);
  options.threads = threads;
  options.reference = reference;
  if (!optimized) options.passes = "none";
  return options;
}

SessionPtr open_file(const std::string& path, const std::string& target, Shapes input_shapes,
                     int threads, bool optimized, bool reference) {
  const CompileOptions options =
      make_options(target, std::move(input_shapes), threads, optimized, reference);
  DiagnosticSink sink;
  Result<OpenedSession> opened = open_session(path, options, /*profile=*/false, sink);
  if (!opened.ok()) fail(sink, opened.error(), path, target);
  return std::move(opened->session);
}

Result<SessionPtr> prepare(const Graph& graph, const CompileOptions& options,
                           DiagnosticSink& sink) {
  EC_TRY([[maybe_unused]] const TargetInfo* found, find_target(options.target));
  std::unique_ptr<Graph> copy = graph.clone();
  EC_CHECK_OK(specialize(*copy, options, sink));
  const std::string pipeline = options.reference ? "none" : "runtime";
  SessionOptions session_options;
  session_options.threads = options.threads.value_or(1);
  session_options.reference = options.reference;
  if (has_open_sizes(*copy))
    return Session::create_open(make_open_model(std::move(copy), options, pipeline),
                                session_options);
  EC_TRY([[maybe_unused]] const PipelineReport report, optimize(*copy, options, pipeline, sink));
  return Session::create(std::move(copy), session_options);
}

SessionPtr open_graph(const Graph& graph, const std::string& target, Shapes input_shapes,
                      int threads, bool optimized, bool reference) {
  const CompileOptions options =
      make_options(target, std::move(input_shapes), threads, optimized, reference);
  DiagnosticSink sink;
  Result<SessionPtr> session = prepare(graph, options, sink);
  if (!session.ok()) fail(sink, session.error(), {}, target);
  return std::move(session).value();
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
  std::vector<Value> results;
  {
    const py::gil_scoped_release released;
    results = value_or_throw(session.run(inputs));
  }
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
  {
    const py::gil_scoped_release released;
    const Status status =
        session.run_all_tensors(inputs, [&](const Tensor& tensor, const ConstView& view) {
          const std::span<const std::byte> bytes(view.data, view.bytes());
          tensors.push_back({tensor.name(),
                             view.dtype,
                             {view.shape.begin(), view.shape.end()},
                             Blob::copy_of(bytes)});
        });
    check_or_throw(status);
  }
  py::list list;
  for (Computed& tensor : tensors)
    list.append(py::make_tuple(tensor.name, std::string(dtype_name(tensor.dtype)), tensor.shape,
                               Bytes{std::move(tensor.data), true}));
  return list;
}

py::dict benchmark(Session& session, int64_t iterations, int64_t warmup,
                   const std::optional<std::vector<Feed>>& feeds) {
  const std::vector<NamedValue> inputs =
      feeds ? named_values(*feeds) : value_or_throw(session.random_inputs(0));
  BenchmarkStats stats;
  {
    const py::gil_scoped_release released;
    stats = value_or_throw(session.benchmark(inputs, {warmup, iterations}));
  }
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
    list.append(py::make_tuple(tensor.name, std::string(dtype_name(tensor.type.dtype)),
                               shape_to_python(tensor.type.shape),
                               quant_to_python(tensor.type.quant)));
  return list;
}

}  // namespace

void bind_session(py::module_& module) {
  using Release = py::call_guard<py::gil_scoped_release>;
  py::class_<Session, SessionPtr>(module, "Session", "A prepared model.")
      .def_static("open", &open_file, py::arg("path"), py::arg("target"), py::arg("input_shapes"),
                  py::arg("threads"), py::arg("optimize"), py::arg("reference"), Release())
      .def_static("from_graph", &open_graph, py::arg("graph"), py::arg("target"),
                  py::arg("input_shapes"), py::arg("threads"), py::arg("optimize"),
                  py::arg("reference"), Release())
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
