// Programs: functions, blocks, operations and their operands.
#include "formats/coreml/encode_parts.h"
#include "formats/coreml/fields.h"

namespace ec::coreml {
namespace {

std::string named_type(const NamedType& named) {
  MessageWriter m;
  m.text(field::named_type::kName, named.name);
  m.message(field::named_type::kType, encode_value_type(named.type));
  return std::move(m).take();
}

std::string argument(const std::vector<Binding>& bindings) {
  MessageWriter m;
  for (const Binding& binding : bindings) {
    MessageWriter inner;
    if (binding.literal != nullptr)
      inner.message(field::binding::kValue, encode_value(*binding.literal));
    else
      inner.message(field::binding::kName, binding.name);
    m.message(field::argument::kBindings, std::move(inner).take());
  }
  return std::move(m).take();
}

std::string block(const Block& block);

std::string operation(const Operation& op) {
  MessageWriter m;
  m.text(field::operation::kType, op.type);
  for (const auto& [name, bindings] : op.inputs)
    m.entry(field::operation::kInputs, name, argument(bindings));
  for (const NamedType& output : op.outputs)
    m.message(field::operation::kOutputs, named_type(output));
  for (const Block& nested : op.blocks) m.message(field::operation::kBlocks, block(nested));
  for (const auto& [name, value] : op.attributes)
    m.entry(field::operation::kAttributes, name, encode_value(value));
  return std::move(m).take();
}

std::string block(const Block& block) {
  MessageWriter m;
  for (const NamedType& input : block.inputs) m.message(field::block::kInputs, named_type(input));
  for (const std::string& output : block.outputs) m.message(field::block::kOutputs, output);
  for (const Operation& op : block.operations) m.message(field::block::kOperations, operation(op));
  return std::move(m).take();
}

std::string function(const Function& function) {
  MessageWriter m;
  for (const NamedType& input : function.inputs)
    m.message(field::function::kInputs, named_type(input));
  m.text(field::function::kOpset, function.opset);
  m.entry(field::function::kBlocks, function.opset, block(function.block));
  return std::move(m).take();
}

}  // namespace

std::string encode_program(const Program& program) {
  MessageWriter m;
  m.number(field::program::kVersion, program.version);
  for (const auto& [name, body] : program.functions)
    m.entry(field::program::kFunctions, name, function(body));
  return std::move(m).take();
}

}  // namespace ec::coreml
