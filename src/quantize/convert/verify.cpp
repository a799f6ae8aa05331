#include "quantize/convert/verify.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/op_def.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, DiagnosticSink& sink) : graph_(graph), sink_(sink) {}

  Status run() {
    const size_t before = sink_.error_count();
    for (const Tensor* tensor : graph_.tensors())
      if (tensor->type().quant) check_tensor(*tensor);
    for (const Operation* op : graph_.topological()) {
      if (op->def().quant == QuantRule::WeightedSum) check_bias(*op);
      if (op->def().quant == QuantRule::SameAsInput && op->outputs().size() > 1) check_parts(*op);
    }
    if (sink_.error_count() > before) return sink_.first_error();
    return {};
  }

 private:
  void fault(const Tensor& tensor, const std::string& message) {
    Error error(Code::BadQuantParams,
                fmt::format("tensor '{}': {}", printable(tensor.name()), message));
    if (const Operation* op = tensor.producer())
      error = std::move(error).node(std::string(op->location().name()), op->location().op_type);
    sink_.report(std::move(error));
  }

  void check_tensor(const Tensor& tensor) {
    const QuantParams& quant = *tensor.type().quant;
    if (!is_integer(tensor.dtype()))
      return fault(tensor, fmt::format("{} carries parameters", dtype_name(tensor.dtype())));
    if (quant.scales.empty() || quant.scales.size() != quant.zero_points.size())
      return fault(tensor, "scales and zero points differ in number");
    if (quant.per_channel()) {
      const auto axis = static_cast<size_t>(quant.axis);
      if (!tensor.shape() || axis >= tensor.shape()->rank() ||
          (*tensor.shape())[axis] != Dim(static_cast<int64_t>(quant.scales.size())))
        return fault(tensor, fmt::format("{} scales for axis {} of {}", quant.scales.size(),
                                         quant.axis, tensor.type().text()));
    } else if (quant.scales.size() != 1) {
      return fault(tensor, "several scales and no axis");
    }
    for (size_t i = 0; i < quant.scales.size(); ++i) {
      if (!(quant.scales[i] > 0) || !std::isfinite(quant.scales[i]))
        return fault(tensor, fmt::format("scale {}", quant.scales[i]));
      const int64_t zero = quant.zero_points[i];
      if (zero < lowest_integer(tensor.dtype()) ||
          (zero > 0 && static_cast<uint64_t>(zero) > highest_integer(tensor.dtype())))
        return fault(tensor,
                     fmt::format("zero point {} outside {}", zero, dtype_name(tensor.dtype())));
    }
  }

  // What is taken apart has one scale.
  void check_parts(const Operation& op) {
    const Tensor* whole = op.input(0);
    for (const Tensor* part : op.outputs())
      if (whole->type().quant && part->type().quant && *whole->type().quant != *part->type().quant)
        fault(*part, "its parameters are not those of what it is a part of");
  }

  void check_bias(const Operation& op) {
    const Tensor *x = op.input(0), *w = op.input(1), *bias = op.input(2);
    if (bias == nullptr || !bias->type().quant || !x->type().quant || !w->type().quant) return;
    const QuantParams &in = *x->type().quant, &weights = *w->type().quant,
                      &own = *bias->type().quant;
    if (own.scales.size() != weights.scales.size() || in.scales.size() != 1)
      return fault(*bias, "its scales are not those of input x weights");
    for (size_t i = 0; i < own.scales.size(); ++i)
      if (own.zero_points[i] != 0 || own.scales[i] != in.scales[0] * weights.scales[i])
        return fault(*bias, "its parameters are not those of input x weights");
    for (const int32_t zero : weights.zero_points)
      if (zero != 0) return fault(*w, "weights with a zero point");
  }

  const Graph& graph_;
  DiagnosticSink& sink_;
};

}  // namespace

Status verify_quantized(const Graph& graph, DiagnosticSink& sink) {
  return Verifier(graph, sink).run();
}

}  // namespace ec::quantize
