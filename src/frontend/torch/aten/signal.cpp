// Spectra. Complex numbers are pairs of real ones in a last dimension of 2.
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

Result<ec::Tensor*> stft(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t size = c.integer("n_fft"), step = c.integer("hop_length", size / 4);
  if (c.integer("win_length", size) != size) return c.unsupported("windows shorter than n_fft");
  if (c.boolean("normalized")) return c.unsupported("normalised spectra");
  if (c.boolean("return_complex")) return c.unsupported("complex results (return_complex=True)");
  const bool single = c.rank(x) == 1;
  if (single) {
    EC_TRY(x, c.unsqueeze(x, {0}));
  }
  if (c.has_arg("center") && c.boolean("center")) {
    EC_TRY(x, c.op("aten::pad", {x, TorchValue::ints({size / 2, size / 2}), c.text("pad_mode")}));
  }
  EC_TRY(x, c.unsqueeze(x, {2}));
  ec::Tensor* window = c.has("window") ? c.tensor("window") : nullptr;
  StftAttrs attrs;
  attrs.onesided = c.boolean("onesided", true);
  EC_TRY(ec::Tensor * y, c.add(OpKind::Stft,
                               {x, c.scalar(DType::I64, static_cast<double>(step)), window,
                                c.scalar(DType::I64, static_cast<double>(size))},
                               attrs));
  EC_TRY(y, c.transpose(y, {0, 2, 1, 3}));  // frequencies before frames
  return single ? c.squeeze(y, {0}) : Result<ec::Tensor*>(y);
}

constexpr OperatorRow kRows[] = {
    {"aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
     "Tensor? window=None, bool normalized=False, bool? onesided=None, "
     "bool? return_complex=None, bool? align_to_window=None) -> Tensor",
     stft},
    {"aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
     "Tensor? window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, "
     "bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
     stft},
};

}  // namespace

const std::span<const OperatorRow> kSignalRows = kRows;

}  // namespace ec::torch
