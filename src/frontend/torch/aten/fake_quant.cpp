// Quantisation that training simulates: real values moved to the nearest step. The steps stay in
// the graph as quantize and dequantize with the trained parameters.
#include "frontend/torch/aten/quantization.h"
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

Result<ec::Tensor*> simulate(Call& c, QuantParams quant) {
  const int64_t low = c.integer("quant_min"), high = c.integer("quant_max");
  EC_TRY(const DType dtype, step_type(c, low, high));
  EC_TRY(ec::Tensor * x, limited(c, c.computed(c.tensor("self")), quant, dtype, low, high));
  EC_TRY(const TensorRef steps,
         quantized(c.site(), x, std::make_shared<QuantParams>(std::move(quant)), dtype));
  return dequantized(c.site(), steps);
}

Result<ec::Tensor*> whole(Call& c) {
  return simulate(c, per_tensor(c.number("scale"), c.integer("zero_point")));
}

Result<ec::Tensor*> channels(Call& c) {
  EC_TRY(QuantParams quant, known_parameters(c, c.tensor("scale"), c.tensor("zero_point"),
                                             c.dim("axis", c.rank(c.tensor("self")))));
  return simulate(c, std::move(quant));
}

template <TensorFn kConvert>
Result<std::vector<TorchValue>> with_mask(Call& c) {
  EC_TRY(ec::Tensor * y, kConvert(c));
  return std::vector<TorchValue>{y, TorchValue()};
}

void warn_of_observer(Call& c) {
  if (known_int(c.arg("observer_on")) == 0 || c.site().sink == nullptr) return;
  c.site().sink->warn(Code::UnsupportedOpForm,
                      "the model still observes ranges while it runs; the stored scale is used",
                      std::string(c.site().location.name()),
                      "call model.apply(torch.ao.quantization.disable_observer) before exporting");
}

Result<ec::Tensor*> fused_observer(Call& c) {
  if (known_int(c.arg("fake_quant_on")) == 0) return c.tensor("self");
  warn_of_observer(c);
  std::optional<int64_t> axis;
  if (c.boolean("per_row_fake_quant")) axis = c.dim("ch_axis", c.rank(c.tensor("self")));
  EC_TRY(QuantParams quant, known_parameters(c, c.tensor("scale"), c.tensor("zero_point"), axis));
  return simulate(c, std::move(quant));
}

// The observer's state does not change: it is off, or its results are not used.
Result<std::vector<TorchValue>> fused_observer_functional(Call& c) {
  EC_TRY(ec::Tensor * y, fused_observer(c));
  return std::vector<TorchValue>{y,
                                 TorchValue(),
                                 c.tensor("running_min"),
                                 c.tensor("running_max"),
                                 c.tensor("scale"),
                                 c.tensor("zero_point")};
}

#define EC_STEPS "int quant_min, int quant_max"
#define EC_FUSED                                                                                \
  "(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, "                \
  "Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, " \
  "int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> "

constexpr OperatorRow kRows[] = {
    {"aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, " EC_STEPS
     ") -> Tensor",
     whole},
    {"aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, "
     "Tensor zero_point, " EC_STEPS ") -> Tensor",
     whole},
    {"aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int "
     "zero_point, " EC_STEPS ") -> (Tensor output, Tensor mask)",
     with_mask<whole>},
    {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, "
     "Tensor zero_point, Tensor fake_quant_enabled, " EC_STEPS ") -> (Tensor output, Tensor mask)",
     with_mask<whole>},
    {"aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, "
     "int axis, " EC_STEPS ") -> Tensor",
     channels},
    {"aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, "
     "Tensor zero_point, int axis, " EC_STEPS ") -> (Tensor output, Tensor mask)",
     with_mask<channels>},
    {"aten::fused_moving_avg_obs_fake_quant" EC_FUSED "Tensor", fused_observer},
    {"aten::_fused_moving_avg_obs_fq_helper" EC_FUSED "(Tensor output, Tensor mask)",
     with_mask<fused_observer>},
    {"aten::_fused_moving_avg_obs_fq_helper_functional" EC_FUSED
     "(Tensor output, Tensor mask, Tensor running_min_out, Tensor running_max_out, "
     "Tensor scale_out, Tensor zero_point_out)",
     fused_observer_functional},
};

}  // namespace

const std::span<const OperatorRow> kFakeQuantRows = kRows;

}  // namespace ec::torch
