// Constants among concatenated tensors: the device takes one of zeros beside one tensor. The others
// are padded on, and what is not zero is added.
#include <algorithm>
#include <cstring>

#include "backend/coral/passes/rules.h"

namespace ec::passes {
namespace {

constexpr int64_t kMostAdded = int64_t{1} << 22;  // elements of the constant sum

// Bytes that stand for zero.
bool is_zero(const Tensor* constant) {
  const auto& quant = constant->type().quant;
  const double zero = quant && !quant->zero_points.empty() ? quant->zero_points[0] : 0;
  return is_splat(constant, zero);
}

// The result with zeros where tensors are computed: what is left of it when they are zero.
Tensor* constant_part(Replacement& p, const Operation* op, size_t axis) {
  const std::vector<int64_t> sizes = op->output()->shape()->sizes();
  const size_t width = element_size(op->output()->dtype());
  const auto& quant = op->output()->type().quant;
  const auto zero = static_cast<uint8_t>(quant ? quant->zero_points[0] : 0);
  size_t outer = 1, inner = width;
  for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(sizes[d]);
  for (size_t d = axis + 1; d < sizes.size(); ++d) inner *= static_cast<size_t>(sizes[d]);
  const size_t row = inner * static_cast<size_t>(sizes[axis]);
  std::vector<std::byte> bytes(outer * row, std::byte{zero});
  size_t at = 0;
  for (const Tensor* x : op->inputs()) {
    const size_t size = inner * static_cast<size_t>(x->shape()->sizes()[axis]);
    if (x->is_constant())
      for (size_t o = 0; o < outer; ++o)
        std::memcpy(bytes.data() + o * row + at, x->data().bytes().data() + o * size, size);
    at += size;
  }
  return p.rewriter().graph().add_constant("", op->output()->type(),
                                           Blob::copy_of(std::span<const std::byte>(bytes)));
}

// Runs of computed tensors, with zeros in place of the constants between them.
Tensor* padded_part(Replacement& p, const Operation* op, size_t axis) {
  const size_t rank = op->output()->shape()->rank();
  std::vector<Tensor*> groups, run;
  int64_t before = 0, after = 0;
  const auto close = [&] {
    if (run.empty()) return;
    Tensor* joined =
        with_parameters_of(p, p.concat(std::move(run), static_cast<int64_t>(axis)), op->output());
    run.clear();
    std::vector<int64_t> pads(2 * rank, 0);
    pads[axis] = before;
    pads[rank + axis] = after;
    groups.push_back(p.pad(joined, pads));
    before = after = 0;
  };
  for (Tensor* x : op->inputs()) {
    const int64_t size = x->shape()->sizes()[axis];
    if (x->is_constant()) {
      (run.empty() ? before : after) += size;
      continue;
    }
    if (after > 0) close();
    run.push_back(x);
  }
  close();
  return with_parameters_of(p, p.concat(std::move(groups), static_cast<int64_t>(axis)),
                            op->output());
}

Result<bool> join_constants(Rewriter& r, Operation* op) {
  const auto out = static_shape(op->output());
  if (!out || out->empty()) return false;
  const auto axis = static_cast<size_t>(positive_axis(op->attrs_as<AxisAttrs>().axis, out->size()));
  const DType dtype = op->output()->dtype();
  if (dtype != DType::F32 && dtype != DType::I8 && dtype != DType::U8) return false;
  size_t constants = 0;
  bool zeros = true;
  for (const Tensor* x : op->inputs()) {
    if (!static_shape(x) || x->dtype() != dtype || x->type().quant != op->output()->type().quant)
      return false;
    if (!x->is_constant()) continue;
    ++constants;
    zeros = zeros && is_zero(x);
  }
  if (constants == 0 || constants == op->inputs().size()) return false;
  if (constants == 1 && op->inputs().size() == 2 && zeros) return false;  // as the device takes it
  if (op->output()->type().quant && op->output()->type().quant->per_channel()) return false;
  if (!zeros && op->output()->type().num_elements().value_or(kMostAdded + 1) > kMostAdded)
    return false;
  Replacement p(r, op);
  Tensor* y = padded_part(p, op, axis);
  if (zeros) return rewritten(p, y, "PAD");
  return rewritten(p, p.add(y, constant_part(p, op, axis)), "PAD and a sum with a constant");
}

constexpr RewriteRule kRules[] = {{OpKind::Concat, join_constants, "concatenated constants"}};

}  // namespace

const std::span<const RewriteRule> kCoralConcat = kRules;

}  // namespace ec::passes
