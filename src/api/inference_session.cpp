// The public session: plain types in and out, failures as exceptions.
#include <cstring>

#include "api/raise.h"
#include "driver/jobs.h"
#include "edgecompiler/session.h"

namespace ec {

struct InferenceSession::Impl {
  std::unique_ptr<Session> session;
  std::vector<TensorInfo> inputs, outputs;
};

namespace {

TensorInfo info_of(const TensorDescription& tensor) {
  TensorInfo info;
  info.name = tensor.name;
  info.dtype = std::string(dtype_name(tensor.type.dtype));
  info.has_shape = tensor.type.has_rank();
  if (info.has_shape) {
    for (const Dim& dim : *tensor.type.shape) {
      info.shape.push_back(dim.is_static() ? dim.size() : -1);
      info.dims.push_back(dim.text());
    }
  }
  if (tensor.type.quant) {
    info.scales = tensor.type.quant->scales;
    info.zero_points = tensor.type.quant->zero_points;
    info.quantized_axis = tensor.type.quant->axis;
  }
  return info;
}

Result<std::vector<NamedValue>> values_of(const std::vector<InputTensor>& inputs) {
  std::vector<NamedValue> values;
  for (const InputTensor& input : inputs) {
    const auto dtype = dtype_from_name(input.dtype);
    if (!dtype)
      return Error(Code::InputTypeMismatch,
                   "input '" + input.name + "': unknown element type '" + input.dtype + "'");
    if (input.data == nullptr && input.bytes > 0)
      return Error(Code::MissingInput, "input '" + input.name + "' has no data");
    const auto* bytes = static_cast<const std::byte*>(input.data);
    // The caller's memory, borrowed for the run.
    values.push_back({input.name, Value(*dtype, input.shape, Blob(nullptr, {bytes, input.bytes}))});
  }
  return values;
}

std::shared_ptr<const void> owned(const Blob& blob) {
  auto copy = std::make_shared<Blob>(blob);
  return {copy, copy->bytes().data()};
}

}  // namespace

InferenceSession::InferenceSession(const std::string& path, const InferenceOptions& options)
    : impl_(std::make_unique<Impl>()) {
  open(*impl_, path, options);
}

InferenceSession::InferenceSession(const void* model, size_t bytes, const InferenceOptions& options)
    : impl_(std::make_unique<Impl>()) {
  const auto* begin = static_cast<const std::byte*>(model);
  // The caller's memory may go: the model keeps views of it.
  open(*impl_, ModelRef("model in memory", Blob::copy_of(std::span(begin, bytes))), options);
}

void InferenceSession::open(Impl& impl, const ModelRef& model, const InferenceOptions& options) {
  Options given{{"threads", options.threads}, {"reference", options.reference}};
  if (!options.target.empty()) given.set("target", options.target);
  if (!options.input_shapes.empty()) given.set("input-shape", options.input_shapes);
  if (!options.dims.empty()) given.set("dim", options.dims);
  if (!options.optimize) given.set("passes", "none");
  DiagnosticSink sink;
  impl.session =
      value_or_raise(open_session(default_registry(), model, Verb::Run, given, sink), sink).session;
  for (const TensorDescription& t : impl.session->inputs()) impl.inputs.push_back(info_of(t));
  for (const TensorDescription& t : impl.session->outputs()) impl.outputs.push_back(info_of(t));
}

InferenceSession::~InferenceSession() = default;
InferenceSession::InferenceSession(InferenceSession&&) noexcept = default;
InferenceSession& InferenceSession::operator=(InferenceSession&&) noexcept = default;

const std::vector<TensorInfo>& InferenceSession::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& InferenceSession::outputs() const { return impl_->outputs; }

std::vector<OutputTensor> InferenceSession::run(const std::vector<InputTensor>& inputs) {
  const std::vector<NamedValue> values = value_or_raise(values_of(inputs));
  const std::vector<Value> results = value_or_raise(impl_->session->run(values));
  std::vector<OutputTensor> outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs.push_back({impl_->outputs[i].name, std::string(dtype_name(results[i].dtype)),
                       results[i].shape, owned(results[i].data), results[i].data.size()});
  return outputs;
}

BenchmarkResult InferenceSession::benchmark(int64_t iterations, int64_t warmup,
                                            const std::vector<InputTensor>& inputs) {
  const std::vector<NamedValue> values =
      value_or_raise(inputs.empty() ? impl_->session->random_inputs(1) : values_of(inputs));
  const BenchmarkStats s = value_or_raise(
      impl_->session->benchmark(values, {.warmup = warmup, .iterations = iterations}));
  return {s.iterations, s.mean_ms, s.p50_ms, s.p95_ms,
          s.p99_ms,     s.min_ms,  s.max_ms, s.throughput_fps};
}

void InferenceSession::reset() {
  if (const Status status = impl_->session->reset(); !status.ok()) raise(status.error(), {});
}

void InferenceSession::close() noexcept { impl_->session->close(); }

}  // namespace ec
