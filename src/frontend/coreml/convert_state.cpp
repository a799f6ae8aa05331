// State that outlives a run, and the names of classes.
#include "frontend/coreml/table.h"

namespace ec::mil {
namespace {

// The key of the state that a parameter names; empty: an error was remembered.
std::string state_key(OpCall& c) {
  const MilValue* found = c.value(c.has("input") ? "input" : "state");
  if (found == nullptr || found->kind != MilValue::Kind::State) {
    c.fail(Code::TypeMismatch, "the operand is no state");
    return {};
  }
  if (!c.scope().site.is_main) {
    c.unsupported("state inside a branch or loop");
    return {};
  }
  return found->state;
}

Tensors read_state(OpCall& c) {
  const std::string key = state_key(c);
  if (!c.ok() || !c.importer().has_state(key))
    return {c.fail(Code::UndefinedName, "no such state")};
  return {c.importer().states().value(key)};
}

// The result, where there is one, is what was written.
Tensors write_state(OpCall& c) {
  const std::string key = state_key(c);
  Tensor* data = c.in(c.has("data") ? "data" : "value");
  if (!c.ok() || !c.importer().has_state(key))
    return {c.fail(Code::UndefinedName, "no such state")};
  c.importer().states().assign(key, data);
  return {data};
}

// Probabilities pass; the names of classes become metadata of the model.
Tensors classify(OpCall& c) {
  Tensor* probabilities = c.in("probabilities");
  const coreml::Value* classes = c.stored("classes");
  if (classes != nullptr) c.importer().set_classes(*classes);
  for (size_t i = 0; i < c.num_outputs(); ++i) {
    if (c.source().outputs[i].type.kind == coreml::ValueType::Kind::Dictionary)
      c.bind(i, c.add(OpKind::Identity, {probabilities}));
    else
      c.bind(i, MilValue::label());
  }
  return {};
}

constexpr OpRow kRows[] = {
    {"read_state", kIos18, "input", read_state},
    {"write_state", kIos18, "input data", write_state},
    {"coreml_update_state", kIos18, "state value", write_state},
    {"classify", kIos15, "probabilities classes", classify},
};

}  // namespace

const std::span<const OpRow> kStateRows = kRows;

}  // namespace ec::mil
