// Strategies that store weights smaller under operations that go on computing on floats: `dynamic`
// (8-bit weights, which operations multiply with activations rounded at run time) and `float16`
// (16-bit floats, widened in front of their readers). Activations get no parameters, so that no
// samples are needed; where there are some they measure the outputs.
#pragma once

#include "quantize/strategy/common_steps.h"
#include "quantize/strategy/strategy.h"

namespace ec::quantize::weight_only {

// Refuse targets without such operations.
Status begin_dynamic(QuantizeContext& context);
Status begin_float16(QuantizeContext& context);

Status store_dynamic(QuantizeContext& context);
Status store_float16(QuantizeContext& context);
Status report(QuantizeContext& context);

inline constexpr std::string_view kStoreSummary =
    "constants stored with fewer bits, where that saves something";
inline constexpr Step kVerify{"verify", "the rules that quantised graphs keep", verify_result};
inline constexpr Step kReport{
    "report", "error of every weight; of the outputs too where samples are given", report};

inline constexpr Step kDynamicSteps[] = {
    {"weights", kStoreSummary, store_dynamic}, kVerify, kReport};
inline constexpr Step kFloat16Steps[] = {
    {"weights", kStoreSummary, store_float16}, kVerify, kReport};

}  // namespace ec::quantize::weight_only
