#include "quantize/target/target_spec.h"

#include "ops/op_def.h"

namespace ec::quantize {
namespace {

ResultRule result_rule(QuantRule rule) {
  switch (rule) {
    case QuantRule::Free:
    case QuantRule::WeightedSum:
      return ResultRule::Calibrated;
    case QuantRule::SameAsInput:
      return ResultRule::SameScale;
    case QuantRule::FixedOutput:
      return ResultRule::Fixed;
    case QuantRule::Compared:
    case QuantRule::Never:
      return ResultRule::Plain;
  }
  return ResultRule::Plain;
}

}  // namespace

OpRule rule_from_table(const OpDef& def) {
  OpRule rule;
  rule.integer = def.quant != QuantRule::Never;
  if (!rule.integer) rule.reason = std::string(def.name) + " is never quantised";
  rule.result = result_rule(def.quant);
  return rule;
}

}  // namespace ec::quantize
