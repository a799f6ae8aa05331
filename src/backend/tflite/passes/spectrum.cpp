#include "backend/tflite/passes/spectrum.h"

#include <bit>

#include "backend/tflite/passes/rules.h"
#include "passes/replacement.h"

namespace ec::passes {
namespace {

// The transform's length and axis when both are known, with static shapes on both sides.
struct Transform {
  int64_t length = 0;
  int64_t axis = 0;
  size_t rank = 0;
};
std::optional<Transform> transform_of(const Operation* op) {
  if (op == nullptr || op->kind() != OpKind::Dft || !is_plain(op)) return std::nullopt;
  const auto shape = static_shape(op->input(0));
  const auto axis = op->input(2) == nullptr ? std::optional(-2.0) : scalar_value(op->input(2));
  if (!shape || !axis || !static_shape(op->output()) || op->output()->dtype() != DType::F32)
    return std::nullopt;
  Transform t{.length = 0,
              .axis = positive_axis(static_cast<int64_t>(*axis), shape->size()),
              .rank = shape->size()};
  const auto length = op->input(1) == nullptr ? std::nullopt : scalar_value(op->input(1));
  if (op->input(1) != nullptr && !length) return std::nullopt;
  t.length = length ? static_cast<int64_t>(*length) : (*shape)[static_cast<size_t>(t.axis)];
  return t;
}

// x[..., part] where the part is a constant.
bool takes_part(const Operation* op) {
  const auto rank = rank_of(op->input(0));
  return op->kind() == OpKind::Gather && rank && scalar_value(op->input(1)) &&
         rank_of(op->input(1)) == size_t{0} &&
         positive_axis(op->attrs_as<GatherAttrs>().axis, *rank) + 1 == static_cast<int64_t>(*rank);
}

bool takes_magnitude(const Operation* op) {
  const auto rank = rank_of(op->input(0));
  return op->kind() == OpKind::ReduceL2 && rank && !op->attrs_as<ReduceAttrs>().keep_dims &&
         reduce_axes(op) == std::vector<int64_t>{static_cast<int64_t>(*rank) - 1};
}

// A part or a magnitude of a spectrum with other dimensions: of the spectrum itself, then reshaped.
Result<bool> read_before_view(Rewriter& r, Operation* op) {
  if (!is_plain(op) || !(takes_part(op) || takes_magnitude(op))) return false;
  const auto out = static_shape(op->output());
  Tensor* source = source_keeping_last(op->input(0), 1);
  while (source != nullptr && !is_spectrum(source)) source = source_keeping_last(source, 1);
  if (source == nullptr || !out) return false;
  Replacement p(r, op);
  const auto last = static_cast<int64_t>(source->shape()->rank()) - 1;
  Tensor* y = op->kind() == OpKind::Gather
                  ? p.op(OpKind::Gather, {source, op->input(1)}, GatherAttrs{.axis = last})
                  : p.reduce(OpKind::ReduceL2, source, {last}, false);
  return p.replace(p.sized(y, *out));
}

constexpr RewriteRule kRules[] = {
    {OpKind::Gather, read_before_view, "Fourier transforms"},
    {OpKind::ReduceL2, read_before_view, "Fourier transforms"},
};

}  // namespace

const std::span<const RewriteRule> kTfliteSpectrum = kRules;

bool is_row_length(int64_t length) {
  constexpr int64_t kLeast = 2, kMost = 1 << 24;
  return length >= kLeast && length <= kMost && std::has_single_bit(static_cast<uint64_t>(length));
}

bool is_row_transform(const Operation* op) {
  const auto t = transform_of(op);
  if (!t || t->rank < 2 || t->axis + 2 != static_cast<int64_t>(t->rank)) return false;
  const auto& attrs = op->attrs_as<DftAttrs>();
  return attrs.onesided && !attrs.inverse && is_row_length(t->length) &&
         static_shape(op->input(0))->back() == 1;
}

bool is_column_transform(const Operation* op) {
  const auto t = transform_of(op);
  if (!t || t->rank < 3 || t->axis + 3 != static_cast<int64_t>(t->rank)) return false;
  const auto& attrs = op->attrs_as<DftAttrs>();
  const bool is_forward = !attrs.onesided && !attrs.inverse;
  return is_forward && is_row_length(t->length) && has_single_use(op->input(0)) &&
         is_row_transform(op->input(0)->producer());
}

bool is_spectrum(const Tensor* tensor) {
  const Operation* producer = tensor->producer();
  return producer != nullptr && (is_row_transform(producer) || is_column_transform(producer));
}

bool reads_spectrum(const Operation* op) {
  return (takes_part(op) || takes_magnitude(op)) && is_spectrum(op->input(0));
}

}  // namespace ec::passes
