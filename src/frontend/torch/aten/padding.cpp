// Padding.
#include <algorithm>

#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

// PyTorch lists the pads of the last dimension first, begin and end together.
Result<ec::Tensor*> padded(Call& c, ec::Tensor* x, const Ints& pads, PadMode mode, double value) {
  const auto rank = static_cast<size_t>(c.rank(x));
  if (pads.size() % 2 != 0 || pads.size() / 2 > rank)
    return c.fail(Code::BadValue, "pads do not fit the dimensions");
  if (std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; })) return x;
  Ints both(2 * rank, 0);
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    both[rank - 1 - i] = pads[2 * i];
    both[2 * rank - 1 - i] = pads[2 * i + 1];
  }
  PadAttrs attrs;
  attrs.mode = mode;
  Tensors operands = {x, c.int_list(both)};
  if (mode == PadMode::Constant) operands.push_back(c.scalar(x->dtype(), value));
  return c.add(OpKind::Pad, std::move(operands), attrs);
}

Result<ec::Tensor*> pad(Call& c) {
  const std::string mode = c.text("mode");
  const Ints pads = c.ints("pad");
  const PadMode kind = mode == "constant"    ? PadMode::Constant
                       : mode == "reflect"   ? PadMode::Reflect
                       : mode == "replicate" ? PadMode::Edge
                                             : PadMode::Wrap;
  if (kind == PadMode::Wrap && mode != "circular") return c.unsupported("padding '" + mode + "'");
  return padded(c, c.tensor("self"), pads, kind, c.number("value", 0));
}

Result<ec::Tensor*> constant_pad(Call& c) {
  return padded(c, c.tensor("self"), c.ints("pad"), PadMode::Constant, c.number("value"));
}

template <PadMode kMode>
Result<ec::Tensor*> pad_with(Call& c) {
  return padded(c, c.tensor("self"), c.ints("padding"), kMode, 0);
}

constexpr OperatorRow kRows[] = {
    {"aten::pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None) -> Tensor", pad},
    {"aten::constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor", constant_pad},
    {"aten::reflection_pad1d(Tensor self, int[2] padding) -> Tensor", pad_with<PadMode::Reflect>},
    {"aten::reflection_pad2d(Tensor self, int[4] padding) -> Tensor", pad_with<PadMode::Reflect>},
    {"aten::reflection_pad3d(Tensor self, int[6] padding) -> Tensor", pad_with<PadMode::Reflect>},
    {"aten::replication_pad1d(Tensor self, int[2] padding) -> Tensor", pad_with<PadMode::Edge>},
    {"aten::replication_pad2d(Tensor self, int[4] padding) -> Tensor", pad_with<PadMode::Edge>},
    {"aten::replication_pad3d(Tensor self, int[6] padding) -> Tensor", pad_with<PadMode::Edge>},
};

}  // namespace

const std::span<const OperatorRow> kPaddingRows = kRows;

}  // namespace ec::torch
