#include "quantize/strategy/weight_only.h"

#include <fmt/format.h>

#include "quantize/strategy/accuracy_budget.h"
#include "quantize/strategy/weight_store.h"
#include "quantize/tuning.h"

namespace ec::quantize::weight_only {
namespace {

Status begin(QuantizeContext& context, bool supported, std::string_view what) {
  const QuantizeRequest& request = context.request;
  if (!supported)
    return Error(Code::Usage, fmt::format("target '{}' has no {}", request.target->name, what))
        .hint(request.target->integers_only ? "use --quantize ptq: it computes on integers only"
                                            : "use --quantize ptq, or another target");
  EC_CHECK_OK(check_budget_without_samples(context));
  context.result.graph = context.graph->clone();
  context.report().method = "none needed";
  if (request.samples != nullptr && request.samples->holds_images())
    context.report().preprocessing = request.preprocessing.text();
  return {};
}

size_t count_constants(const Graph& graph) {
  size_t count = 0;
  for (const Tensor* tensor : graph.tensors()) count += is_float_constant(tensor);
  return count;
}

// Nothing can be raised here: a budget that does not hold is an error.
Status check_accuracy(const AccuracyReport& accuracy, const AccuracyBudget& budget) {
  const double agreement = accuracy.agreement().value_or(1.0), sqnr = accuracy.worst_sqnr_db();
  const bool dropped = budget.max_drop && 1.0 - agreement > *budget.max_drop;
  const bool noisy = budget.min_sqnr && sqnr < *budget.min_sqnr;
  if (!dropped && !noisy) return {};
  return Error(Code::AccuracyNotMet,
               fmt::format("agreement {:.4f}, SQNR of the worst output {:.1f} dB, less than asked",
                           agreement, sqnr))
      .hint("keep layers in float with --keep-float, or use --quantize float16");
}

Status measure(QuantizeContext& context) {
  const QuantizeRequest& request = context.request;
  if (request.samples == nullptr) return {};
  std::vector<size_t> all(request.samples->size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const size_t wanted =
      request.wanted_samples != 0 ? request.wanted_samples : tuning::kWeightOnlyReportSamples;
  AccuracyReport& accuracy = context.report().accuracy;
  EC_CHECK_OK(find_meaning(context, all));
  EC_TRY(accuracy,
         measure_outputs(*context.graph, *context.result.graph, *request.samples,
                         evenly_spaced(all, wanted), request.threads, *context.reference));
  accuracy.held_out = true;
  return check_accuracy(accuracy, request.budget);
}

}  // namespace

Status begin_dynamic(QuantizeContext& context) {
  return begin(context, context.request.target->describe_weights != nullptr,
               "operations on floats with 8-bit weights");
}

Status begin_float16(QuantizeContext& context) {
  return begin(context, context.request.target->has_float16, "weights of 16-bit floats");
}

Status report(QuantizeContext& context) {
  EC_CHECK_OK(measure(context));
  context.result.graph->metadata()["quantization"] =
      fmt::format("{}, {} of {} float constants stored smaller", context.report().strategy,
                  context.report().stored_weights.size(), count_constants(*context.graph));
  return {};
}

}  // namespace ec::quantize::weight_only
