// Operations and blocks of random ML Programs.
#include <algorithm>

#include "fuzz/op/coreml_program.h"

namespace ec::fuzz {

using coreml::DataType;
using coreml::ValueType;

namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

size_t CoremlProgram::usual_outputs(std::string_view op) const {
  if (op == "lstm") return 3;
  if (op == "non_maximum_suppression") return opset_ < mil::kIos17 ? 4 : 3;
  return is_one_of(op, {"topk", "gru", "rnn", "split", "classify", "constexpr_lut_to_sparse",
                        "constexpr_sparse_blockwise_shift_scale"})
             ? 2
             : 1;
}

// Of those that the operator set has, most of the time. In blocks simple ones are more frequent:
// one operation that is refused spoils the whole.
const CoremlOperator& CoremlProgram::any_operator() {
  const auto& all = coreml_operators_to_try();
  while (true) {
    const CoremlOperator& op = random_.one_of(all);
    const bool simple = op.parameters.size() <= 2;
    if (depth_ > 0 && !simple && random_.chance(60)) continue;
    if (mil::find_row(op.row->op, opset_) == op.row || values_.odd(5)) return op;
  }
}

// The type that a program states of a result: the sizes are left open most of the time.
ValueType CoremlProgram::result_type(std::string_view op, size_t i) {
  DataType element = has_first_ ? first_.element : values_.usual_real();
  if (op.ends_with("equal") || op.starts_with("less") || op.starts_with("greater") ||
      op.starts_with("logical"))
    element = DataType::Bool;
  if (is_one_of(op, {"shape", "non_zero", "reduce_argmax", "reduce_argmin", "argsort",
                     "list_length", "random_categorical"}))
    element = DataType::Int32;
  if (i == 1 && op == "topk") element = DataType::Int32;
  if (i >= 2 && op == "non_maximum_suppression") element = DataType::Int32;
  if (is_one_of(op, {"cast", "constexpr_cast", "quantize"})) element = to_;
  if (op.starts_with("constexpr") && op != "constexpr_cast") element = values_.usual_real();
  if (op == "constexpr_sparse_to_dense") element = first_.element;
  if (i == 0 &&
      is_one_of(op, {"constexpr_lut_to_sparse", "constexpr_sparse_blockwise_shift_scale"}))
    element = DataType::UInt1;
  if (op == "list_read" || op == "list_gather") element = first_.element;
  if (op == "random_categorical" || op == "list_length")
    element = DataType::Int32;
  else if (op == "dequantize" || op == "one_hot" || op.starts_with("random"))
    element = values_.usual_real();
  ValueType type = ValueType::tensor(values_.odd(5) ? values_.any_type() : element);
  if (op == "classify" && i == 0) {
    type.kind = ValueType::Kind::Dictionary;
    type.nested = {ValueType::tensor(DataType::String), ValueType::tensor(element)};
    return type;
  }
  if (values_.odd(3)) return values_.any_value_type();
  if (has_first_ && random_.chance(8)) {
    type.dims = first_.dims;
    return type;
  }
  type.variadic = !values_.odd(10);
  if (!type.variadic) type.dims = values_.declared_dims(values_.dims(values_.any_rank()));
  return type;
}

void CoremlProgram::add_operation(const CoremlOperator& op) {
  const std::string_view name = op.row->op;
  if (name.starts_with("list_") && any_known(Known::Kind::List) == nullptr && random_.chance(90))
    add_list();
  first_ = {};
  has_first_ = false;
  to_ = DataType::Float32;
  if (name == "make_list") elements_.clear();
  coreml::Operation made;
  made.type = std::string(name);
  const bool split_by_sizes = random_.chance(50);
  for (const CoremlParameter& parameter : op.parameters) {
    const bool rare = parameter.name.ends_with("activation") || parameter.name == "clip";
    bool skip = parameter.optional ? random_.chance(rare ? 85 : 60) : values_.odd(2);
    // A split is given by its sizes or by their number.
    if (parameter.name == "split_sizes") skip = !split_by_sizes;
    if (parameter.name == "num_splits") skip = split_by_sizes;
    if (skip) continue;
    std::vector<coreml::Binding> operands = operand(op, parameter);
    if (!operands.empty()) fit_first(operands.front());
    // Stored values may stand among the attributes as well.
    if (operands.size() == 1 && operands[0].literal != nullptr && random_.chance(10))
      made.attributes.emplace_back(std::string(parameter.name), *operands[0].literal);
    else
      made.inputs.emplace_back(std::string(parameter.name), std::move(operands));
  }
  if (values_.odd(1)) made.inputs.emplace_back("nosuch", std::vector<coreml::Binding>());
  if (name == "cond" || name == "while_loop" || values_.odd(1)) add_blocks(made);
  const bool writes = is_one_of(name, {"write_state"});
  size_t outputs = writes ? random_.index(2) : usual_outputs(name);
  if (name == "while_loop") outputs = made.inputs.empty() ? 1 : made.inputs.front().second.size();
  if (name == "cond" && !made.blocks.empty()) outputs = made.blocks.front().outputs.size();
  if (values_.odd(4)) outputs = random_.index(4);
  const auto kind = name == "make_list" || name == "list_write" || name == "list_scatter"
                        ? Known::Kind::List
                        : Known::Kind::Tensor;
  const bool made_list = name == "make_list";
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::ranges::sort(made.inputs, by_name);
  for (size_t i = 0; i < outputs; ++i) {
    const bool again = values_.odd(2) && !known_.empty();
    const std::string result = again ? random_.one_of(known_).name : new_name();
    const bool carried = name == "while_loop" && i < loop_types_.size() && !values_.odd(5);
    made.outputs.push_back({result, carried ? loop_types_[i] : result_type(name, i)});
  }
  if (random_.chance(20)) made.attributes.emplace_back("name", values_.text("op" + made.type));
  std::ranges::sort(made.attributes, by_name);
  operations_.push_back(std::move(made));
  for (const coreml::NamedType& output : operations_.back().outputs) {
    Known known{output.name, output.type, kind};
    if (kind == Known::Kind::List) known.type = ValueType::tensor(made_list ? to_ : first_.element);
    // The rank that operands are made for; the importer knows the true one.
    if (known.type.variadic && has_first_) known.type.dims = first_.dims;
    known_.push_back(std::move(known));
  }
}

// --- blocks --------------------------------------------------------------------------------------

coreml::Block CoremlProgram::block(std::vector<coreml::NamedType> inputs, size_t outputs,
                                   bool condition) {
  const size_t seen = known_.size();
  std::vector<coreml::Operation> around = std::move(operations_);
  operations_.clear();
  const ValueType first = first_;
  const bool has_first = has_first_;
  ++depth_;
  coreml::Block made;
  for (const coreml::NamedType& input : inputs) known_.push_back({input.name, input.type});
  for (int64_t i = random_.pick(0, 2); i > 0; --i) {
    const CoremlOperator& op = any_operator();
    const bool nests = op.row->op == "cond" || op.row->op == "while_loop";
    if (!nests || depth_ < 3) add_operation(op);
  }
  if (condition) {
    coreml::Operation less;
    less.type = "less";
    const std::string what = inputs.empty() ? "nosuch" : inputs.front().name;
    less.inputs = {{"x", {{what, nullptr}}}, {"y", {constant(values_.integer(3))}}};
    less.outputs = {{new_name(), ValueType::tensor(DataType::Bool)}};
    made.outputs.push_back(less.outputs[0].name);
    operations_.push_back(std::move(less));
    if (values_.odd(5)) made.outputs.push_back(made.outputs[0]);
  } else {
    for (size_t i = 0; i < outputs; ++i) {
      const bool passes = i < inputs.size() && random_.chance(60);
      const Known* known = any_known(values_.odd(10) ? Known::Kind::List : Known::Kind::Tensor);
      made.outputs.push_back(passes ? inputs[i].name : known != nullptr ? known->name : "nosuch");
    }
  }
  made.inputs = std::move(inputs);
  made.operations = std::move(operations_);
  operations_ = std::move(around);
  first_ = first;
  has_first_ = has_first;
  --depth_;
  // Inputs of the function stay visible; what the block defined does not.
  std::erase_if(known_, [&](const Known& known) {
    const auto at = static_cast<size_t>(&known - known_.data());
    return at >= seen && std::ranges::none_of(inputs_, [&](const coreml::NamedType& input) {
             return input.name == known.name;
           });
  });
  return made;
}

void CoremlProgram::add_blocks(coreml::Operation& made) {
  const bool loop = made.type == "while_loop";
  const auto count = values_.odd(5) ? random_.pick(0, 3) : 2;
  if (!loop) {
    const size_t outputs = random_.index(3) + (values_.odd(20) ? 0 : 1);
    for (int64_t i = 0; i < count; ++i)
      made.blocks.push_back(block({}, values_.odd(8) ? random_.index(4) : outputs, false));
    return;
  }
  std::vector<coreml::NamedType> variables;
  made.inputs.clear();
  std::vector<coreml::Binding> values = {constant(values_.integer(random_.pick(0, 4)))};
  variables.push_back({new_name(), ValueType::tensor(DataType::Int32)});
  for (int64_t i = random_.pick(0, 2); i > 0; --i) {
    const Known* known = any_known(random_.chance(90) ? Known::Kind::Tensor : Known::Kind::List);
    const bool stored = known == nullptr || random_.chance(30);
    coreml::Binding value{stored ? "" : known->name, nullptr};
    if (stored) value = tensor(values_.any_type(), values_.dims(values_.any_rank()), false);
    variables.push_back(
        {new_name(), known == nullptr || values_.odd(20) ? values_.any_value_type() : known->type});
    values.push_back(std::move(value));
  }
  if (values_.odd(5)) values.pop_back();
  loop_types_.clear();
  for (const coreml::NamedType& variable : variables) {
    loop_types_.push_back(variable.type);
    if (variable.type.kind == ValueType::Kind::Tensor) loop_types_.back().variadic = true;
  }
  const std::vector<ValueType> types = loop_types_;
  made.inputs.emplace_back("loop_vars", std::move(values));
  for (int64_t i = 0; i < count; ++i) {
    std::vector<coreml::NamedType> own = variables;
    for (coreml::NamedType& variable : own) variable.name = new_name();
    if (values_.odd(5)) own.pop_back();
    coreml::Block part = block(own, variables.size(), i == 0);
    if (i == 1 && random_.chance(85) && !own.empty()) {
      // The loop comes to an end.
      coreml::Operation next;
      next.type = "add";
      next.inputs = {{"x", {{own[0].name, nullptr}}},
                     {"y", {{"", std::make_shared<coreml::Value>(values_.integer(1))}}}};
      next.outputs = {{new_name(), ValueType::tensor(DataType::Int32)}};
      part.outputs[0] = next.outputs[0].name;
      part.operations.push_back(std::move(next));
    }
    made.blocks.push_back(std::move(part));
  }
  loop_types_ = types;  // that of this loop, not of one in it
}

coreml::Function CoremlProgram::function(const CoremlOperator& subject, int opset) {
  opset_ = opset;
  known_.clear();
  inputs_.clear();
  operations_.clear();
  for (int64_t i = random_.pick(0, 2); i > 0; --i)
    input(values_.any_type(), values_.dims(values_.any_rank()));
  for (int64_t i = random_.chance(60) ? 0 : 1; i > 0; --i) add_operation(any_operator());
  add_operation(subject);
  for (int64_t i = random_.chance(60) ? 0 : random_.pick(1, 3); i > 0; --i)
    add_operation(any_operator());
  coreml::Function function;
  function.inputs = std::move(inputs_);
  function.opset = "CoreML" + std::to_string(opset);
  if (values_.odd(3))
    function.opset = random_.one_of({"CoreML", "", "CoreML99", "iOS17", "CoreML0"});
  for (const Known& known : known_) {
    const bool made = known.kind == Known::Kind::Tensor &&
                      std::ranges::none_of(function.inputs, [&](const auto& input) {
                        return input.name == known.name;
                      });
    if (made ? random_.chance(85) : values_.odd(4)) function.block.outputs.push_back(known.name);
  }
  // Without a result of its own: the last value, or nothing at all.
  if (function.block.outputs.empty() && !known_.empty() && !values_.odd(50))
    function.block.outputs.push_back(known_.back().name);
  if (values_.odd(2)) function.block.outputs.push_back("nosuch");
  if (values_.odd(4) && !function.block.outputs.empty())
    function.block.outputs.push_back(function.block.outputs.front());
  function.block.operations = std::move(operations_);
  return function;
}

}  // namespace ec::fuzz
