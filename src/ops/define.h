// What an op family's .cpp includes: attributes, inference, kernels and the definition macro.
//
//   EC_OP_DEF(Relu, .signature = "(x) -> y", .summary = "max(x, 0)",
//             .traits = {.elementwise = true}, .infer = infer_same_as_first, .reference = relu,
//             .quant = QuantRule::SameAsInput, .layout = LayoutRule::Agnostic);
#pragma once

#include "ops/attrs.h"
#include "ops/convert.h"
#include "ops/infer.h"
#include "ops/kernel.h"
#include "ops/op_def.h"

namespace ec::ops {

constexpr std::string_view op_text(OpKind kind) {
  switch (kind) {
#define EC_OP(Name, text, AttrsType) \
  case OpKind::Name:                 \
    return #text;
#include "ops/ops.def"
#undef EC_OP
  }
  return {};
}

using SchemaFn = const AttrSchema& (*)();

constexpr SchemaFn op_schema(OpKind kind) {
  switch (kind) {
#define EC_OP(Name, text, AttrsType) \
  case OpKind::Name:                 \
    return &AttrsType::schema;
#include "ops/ops.def"
#undef EC_OP
  }
  return nullptr;
}

}  // namespace ec::ops

#define EC_OP_DEF(Name, ...)                                                                 \
  constinit const ::ec::OpDef k##Name##Def {                                                 \
    .kind = ::ec::OpKind::Name, .name = ::ec::ops::op_text(::ec::OpKind::Name), __VA_ARGS__, \
    .attrs = ::ec::ops::op_schema(::ec::OpKind::Name)                                        \
  }
