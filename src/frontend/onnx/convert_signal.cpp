// Fourier transforms, windows, mel weights.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

Status dft(NodeContext& ctx) {
  DftAttrs attrs;
  attrs.inverse = ctx.attr_bool("inverse", false);
  attrs.onesided = ctx.attr_bool("onesided", false);
  ec::Tensor* axis = ctx.in(2);
  if (axis == nullptr)
    axis = ctx.scalar(DType::I64,
                      ctx.version() < 20 ? static_cast<double>(ctx.attr_int("axis", 1)) : -2.0);
  return ctx.finish(OpKind::Dft, {ctx.in(0), ctx.in(1), axis}, attrs);
}

Status stft(NodeContext& ctx) {
  StftAttrs attrs;
  attrs.onesided = ctx.attr_bool("onesided", true);
  std::vector<ec::Tensor*> inputs = ctx.tensors();
  // Real signals without the dimension for real and imaginary values, which ONNX Runtime takes too.
  if (inputs[0]->shape() && inputs[0]->shape()->rank() == 2) {
    constexpr int64_t kLastOfThree[] = {2};
    EC_TRY(inputs[0], ctx.unsqueeze(inputs[0], kLastOfThree));
  }
  return ctx.finish(OpKind::Stft, std::move(inputs), attrs);
}

template <OpKind kKind>
Status window(NodeContext& ctx) {
  WindowAttrs attrs;
  attrs.periodic = ctx.attr_bool("periodic", true);
  attrs.dtype = ctx.attr_dtype("output_datatype", DType::F32);
  return ctx.finish(kKind, {ctx.in(0)}, attrs);
}

Status mel_weight_matrix(NodeContext& ctx) {
  MelAttrs attrs;
  attrs.dtype = ctx.attr_dtype("output_datatype", DType::F32);
  return ctx.finish(OpKind::MelWeightMatrix, ctx.tensors(), attrs);
}

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {"DFT", 17, 19, {1, 2}, k1, dft},
    {"DFT", 20, kLatest, {1, 3}, k1, dft},
    {"STFT", 17, kLatest, {2, 4}, k1, stft},
    {"HannWindow", 17, kLatest, k1, k1, window<OpKind::HannWindow>},
    {"HammingWindow", 17, kLatest, k1, k1, window<OpKind::HammingWindow>},
    {"BlackmanWindow", 17, kLatest, k1, k1, window<OpKind::BlackmanWindow>},
    {"MelWeightMatrix", 17, kLatest, {5, 5}, k1, mel_weight_matrix},
};

}  // namespace

const std::span<const OpRow> kSignalRows = kRows;

}  // namespace ec::onnx
