#include "writer/coreml/emitter.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "ops/convert.h"
#include "ops/op_def.h"
#include "support/small_float.h"
#include "support/strings.h"

namespace ec::mil {
namespace {

constexpr std::string_view kReserved[] = {"any",   "bool",  "program", "func",   "tensor", "list",
                                          "dict",  "tuple", "true",    "false",  "string", "bf16",
                                          "fp16",  "fp32",  "fp64",    "int8",   "int16",  "int32",
                                          "int64", "uint8", "uint16",  "uint32", "uint64", "state"};

constexpr std::string_view kLaterTarget = "give a later --deployment-target";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Elements from which on constants lie in the weight file, as in files of Core ML's own tools.
constexpr int64_t kStoredElements = 10;

bool is_stored(const ValueType& type) {
  switch (type.element) {
    case DataType::Float16:
    case DataType::Float32:
    case DataType::Int8:
    case DataType::UInt8:
    case DataType::Int4:
    case DataType::UInt4:
    case DataType::UInt1:
    case DataType::UInt2:
    case DataType::UInt3:
    case DataType::UInt6:
      break;
    default:
      return false;
  }
  int64_t count = 1;
  for (const int64_t size : type.dims) count *= size;
  return count >= kStoredElements;
}

// Integers of 8 bits that are read or made by the operations that compute with scales.
bool keeps_eight_bits(const Tensor* tensor) {
  if (tensor->dtype() != DType::I8 && tensor->dtype() != DType::U8) return false;
  if (tensor->producer() != nullptr) return tensor->producer()->kind() == OpKind::Quantize;
  return std::any_of(tensor->uses().begin(), tensor->uses().end(), [](const Use& use) {
    return use.op->kind() == OpKind::Dequantize || use.op->kind() == OpKind::Quantize;
  });
}

bool fits_32_bits(std::span<const int64_t> values) {
  return std::ranges::all_of(values,
                             [](int64_t value) { return value == static_cast<int32_t>(value); });
}

// A constant's elements as programs hold them.
Blob elements_of(const Tensor* tensor, DataType element) {
  if (element != DataType::Int32 || tensor->dtype() == DType::I32) return tensor->raw_data();
  // Piece by piece: a list of all numbers in 64 bits would take more than the constant.
  constexpr int64_t kPiece = 1024;
  std::array<int64_t, kPiece> wide;
  const int64_t count = *tensor->type().num_elements();
  Buffer narrow = Buffer::allocate(static_cast<size_t>(count) * sizeof(int32_t));
  if (!narrow.ok()) return {};
  auto* out = reinterpret_cast<int32_t*>(narrow.data());
  for (int64_t at = 0; at < count; at += kPiece) {
    const int64_t n[] = {std::min(kPiece, count - at)};
    const size_t offset = static_cast<size_t>(at) * element_size(tensor->dtype());
    const auto piece = std::span(wide).first(static_cast<size_t>(n[0]));
    load<int64_t>(ConstView{tensor->dtype(), n, tensor->data().bytes().data() + offset}, piece);
    out = std::ranges::transform(piece, out, [](int64_t value) {
            return static_cast<int32_t>(std::clamp<int64_t>(
                value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
          }).out;
  }
  return std::move(narrow).to_blob();
}

}  // namespace

Status WriteState::need(int wanted, std::string what) {
  if (wanted > highest)
    return Error(Code::NotOnTarget, what + " needs " + std::string(coreml_system(wanted)))
        .hint(std::string(kLaterTarget));
  if (wanted > needed) {
    needed = wanted;
    needed_by = std::move(what);
  }
  return {};
}

std::string Names::legal(std::string_view wanted) {
  std::string name;
  for (const char c : wanted) name += is_word(c) ? c : '_';
  if (name.empty()) name = "value";
  if (name[0] >= '0' && name[0] <= '9') name.insert(0, "_");
  if (std::ranges::find(kReserved, name) != std::end(kReserved)) name += "_";
  return name;
}

std::string Names::unique(std::string_view wanted) {
  std::string name = legal(wanted);
  if (used_.insert(name).second) return name;
  int& next = next_[name];
  for (;;) {
    std::string candidate = name + "_" + std::to_string(++next);
    if (used_.insert(candidate).second) return candidate;
  }
}

std::optional<DataType> element_type(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return DataType::Float32;
    case DType::F16:
      return DataType::Float16;
    case DType::Bool:
      return DataType::Bool;
    case DType::I8:
    case DType::U8:
    case DType::I16:
    case DType::U16:
    case DType::I32:
    case DType::I64:
    case DType::I4:
    case DType::U4:
      return DataType::Int32;
    default:
      return std::nullopt;
  }
}

ValueType type_of(const Tensor* tensor) {
  DataType element = element_type(tensor->dtype()).value_or(DataType::Unused);
  if (keeps_eight_bits(tensor))
    element = tensor->dtype() == DType::I8 ? DataType::Int8 : DataType::UInt8;
  ValueType type = ValueType::tensor(element);
  if (!tensor->shape()) {
    type.variadic = true;
    return type;
  }
  for (const Dim& dim : *tensor->shape())
    type.dims.push_back(dim.is_static() ? dim.size() : coreml::kUnknownSize);
  return type;
}

std::optional<std::vector<int64_t>> int_values(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->is_constant() || !is_integer(tensor->dtype()))
    return std::nullopt;
  const std::vector<int64_t> shape = tensor->shape()->sizes();
  std::vector<int64_t> values(static_cast<size_t>(count_elements(shape)));
  load<int64_t>(ConstView{tensor->dtype(), shape, tensor->data().bytes().data()}, values);
  return values;
}

std::optional<double> scalar_value(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->is_constant() || tensor->type().num_elements() != 1)
    return std::nullopt;
  double value = 0;
  load<double>(ConstView{tensor->dtype(), {}, tensor->data().bytes().data()}, std::span(&value, 1));
  return value;
}

std::vector<float> float_values(const Tensor* tensor) {
  const std::vector<int64_t> shape = tensor->shape()->sizes();
  std::vector<float> values(static_cast<size_t>(count_elements(shape)));
  load<float>(ConstView{tensor->dtype(), shape, tensor->data().bytes().data()}, values);
  return values;
}

// --- the block -----------------------------------------------------------------------------------

std::string BlockEmitter::shared_constant(const std::string& key) const {
  for (const BlockEmitter* block = this; block != nullptr; block = block->outer_)
    if (const auto found = block->constants_.find(key); found != block->constants_.end())
      return found->second;
  return {};
}

Value BlockEmitter::stored_value(ValueType type, Blob data) {
  Value value;
  value.type = std::move(type);
  if (is_stored(value.type)) {
    int64_t count = 1;
    for (const int64_t size : value.type.dims) count *= size;
    value.weight = state_.weights.add(value.type.element, count, data);
  } else {
    value.data = std::move(data);
  }
  return value;
}

std::string BlockEmitter::constant(Value value, std::string_view base) {
  std::string key;
  if (is_stored(value.type)) {
    value = stored_value(std::move(value.type), std::move(value.data));
  } else {
    key = std::to_string(static_cast<int>(value.type.element)) + ":";
    for (const int64_t size : value.type.dims) key += std::to_string(size) + ",";
    key += ":";
    key.append(reinterpret_cast<const char*>(value.data.bytes().data()), value.data.size());
    for (const std::string& text : value.strings) key += text + '\0';
    if (std::string found = shared_constant(key); !found.empty()) return found;
  }
  const std::string name = state_.names.unique(base);
  coreml::Operation op;
  op.type = "const";
  op.outputs.push_back({name, value.type});
  op.attributes.emplace_back("val", std::move(value));
  add(std::move(op), name);
  if (!key.empty()) constants_.emplace(std::move(key), name);
  return name;
}

void BlockEmitter::add(coreml::Operation operation, std::string_view name) {
  Value text;
  text.type = ValueType::tensor(DataType::String);
  text.strings = {std::string(name)};
  operation.attributes.emplace_back("name", std::move(text));
  std::ranges::sort(operation.attributes, {}, [](const auto& entry) { return entry.first; });
  block_.operations.push_back(std::move(operation));
}

std::string BlockEmitter::name(const Tensor* tensor) {
  for (BlockEmitter* block = this; block != nullptr; block = block->outer_)
    if (const auto found = block->names_.find(tensor); found != block->names_.end())
      return found->second;
  std::string name;
  const bool stored = state_.stored != nullptr && state_.stored->contains(tensor);
  if (stored) {
    name = stored_constant(tensor, state_.stored->at(tensor));
  } else if (tensor->is_constant()) {
    Value value;
    value.type = type_of(tensor);
    if (tensor->dtype() == DType::I64 && !fits_32_bits(tensor->values<int64_t>()))
      state_.sink->report(
          Error(Code::NotOnTarget, "the constant '" + printable(tensor->name()) +
                                       "' has numbers beyond the 32 bits of programs")
              .hint("keep integers within 32 bits"));
    value.data = elements_of(tensor, value.type.element);
    if (value.data.empty() && tensor->type().num_elements() != 0)
      state_.sink->report(Error(Code::OutOfMemory, "the constant '" + printable(tensor->name()) +
                                                       "' does not fit in memory"));
    name = constant(std::move(value), tensor->name());
  } else {
    name = state_.names.unique(tensor->name());
  }
  names_.emplace(tensor, name);
  return name;
}

void BlockEmitter::emit_outputs(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Tensor* tensor = graph_.outputs()[i];
    std::string value = name(tensor);
    const bool own = tensor->producer() != nullptr && (names.empty() || value == names[i]);
    if (!own || !seen.insert(value).second) {
      coreml::Operation copy;
      copy.type = "identity";
      copy.inputs.emplace_back("x", std::vector<coreml::Binding>{{value, nullptr}});
      value = names.empty() ? state_.names.unique(value) : names[i];
      copy.outputs.push_back({value, type_of(tensor)});
      add(std::move(copy), value);
      seen.insert(value);
    }
    block_.outputs.push_back(value);
  }
}

// --- one operation -------------------------------------------------------------------------------

std::string OpEmitter::new_name(std::string_view suffix) {
  return block_.state().names.unique(op_.output()->name() + "_" + std::string(suffix));
}

namespace {

coreml::Operation operation_of(std::string_view type, std::vector<Arg> args) {
  coreml::Operation op;
  op.type = type;
  std::ranges::sort(args, {}, &Arg::parameter);
  for (Arg& arg : args) {
    std::vector<coreml::Binding> bindings;
    for (std::string& value : arg.values) bindings.push_back({std::move(value), nullptr});
    op.inputs.emplace_back(std::string(arg.parameter), std::move(bindings));
  }
  return op;
}

}  // namespace

void OpEmitter::emit(std::string_view type, std::vector<Arg> args) {
  coreml::Operation op = operation_of(type, std::move(args));
  for (const Tensor* output : op_.outputs())
    op.outputs.push_back({block_.name(output), type_of(output)});
  const std::string name = op.outputs.front().name;
  block_.add(std::move(op), name);
}

void OpEmitter::emit_result(size_t i, std::string_view type, std::vector<Arg> args) {
  coreml::Operation op = operation_of(type, std::move(args));
  const std::string name = block_.name(op_.output(i));
  op.outputs.push_back({name, type_of(op_.output(i))});
  block_.add(std::move(op), name);
}

void OpEmitter::emit_blocks(std::string_view type, std::vector<Arg> args,
                            std::vector<coreml::NamedType> results,
                            std::vector<coreml::Block> blocks) {
  coreml::Operation op = operation_of(type, std::move(args));
  op.outputs = std::move(results);
  op.blocks = std::move(blocks);
  const std::string name = op.outputs.front().name;
  block_.add(std::move(op), name);
}

void OpEmitter::emit_alone(std::string_view type, std::vector<Arg> args, std::string_view name) {
  const std::string unique = block_.state().names.unique(name);
  block_.add(operation_of(type, std::move(args)), unique);
}

std::vector<std::string> OpEmitter::steps(std::string_view type, std::vector<Arg> args,
                                          std::vector<ValueType> results) {
  coreml::Operation op = operation_of(type, std::move(args));
  std::vector<std::string> names;
  for (ValueType& result : results) {
    names.push_back(new_name(type));
    op.outputs.push_back({names.back(), std::move(result)});
  }
  block_.add(std::move(op), names.front());
  return names;
}

std::string OpEmitter::step(std::string_view type, std::vector<Arg> args, ValueType result) {
  return steps(type, std::move(args), {std::move(result)}).front();
}

std::string OpEmitter::constant(ValueType type, Blob data) {
  Value value;
  value.type = std::move(type);
  value.data = std::move(data);
  return block_.constant(std::move(value), op_.output()->name() + "_const");
}

std::string OpEmitter::ints(std::span<const int64_t> values) {
  std::vector<int32_t> narrow;
  for (const int64_t value : values)
    narrow.push_back(static_cast<int32_t>(std::clamp<int64_t>(
        value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())));
  return constant(ValueType::tensor(DataType::Int32, {static_cast<int64_t>(narrow.size())}),
                  Blob::copy_of(std::span<const int32_t>(narrow)));
}

std::string OpEmitter::exact_ints(std::span<const int64_t> values) {
  beyond_32_bits_ |= !fits_32_bits(values);
  return ints(values);
}

std::string OpEmitter::i32(int64_t value) {
  const auto narrow = static_cast<int32_t>(value);
  beyond_32_bits_ |= narrow != value;
  return constant(ValueType::tensor(DataType::Int32),
                  Blob::copy_of(std::span<const int32_t>(&narrow, 1)));
}

std::string OpEmitter::flag(bool value) {
  const uint8_t byte = value ? 1 : 0;
  return constant(ValueType::tensor(DataType::Bool),
                  Blob::copy_of(std::span<const uint8_t>(&byte, 1)));
}

std::string OpEmitter::flags(const std::vector<bool>& values) {
  std::vector<uint8_t> bytes;
  for (const bool value : values) bytes.push_back(value ? 1 : 0);
  return constant(ValueType::tensor(DataType::Bool, {static_cast<int64_t>(bytes.size())}),
                  Blob::copy_of(std::span<const uint8_t>(bytes)));
}

std::string OpEmitter::text(std::string_view value) {
  Value text;
  text.type = ValueType::tensor(DataType::String);
  text.strings = {std::string(value)};
  return block_.constant(std::move(text), op_.output()->name() + "_text");
}

std::string OpEmitter::real(double value, DataType type) {
  if (type == DataType::Float16) {
    const uint16_t bits = float_to_half(static_cast<float>(value));
    return constant(ValueType::tensor(type), Blob::copy_of(std::span<const uint16_t>(&bits, 1)));
  }
  const auto single = static_cast<float>(value);
  return constant(ValueType::tensor(DataType::Float32),
                  Blob::copy_of(std::span<const float>(&single, 1)));
}

std::string OpEmitter::number(double value) {
  return element() == DataType::Int32 ? i32(static_cast<int64_t>(value)) : real(value);
}

Status OpEmitter::need(int version, std::string_view why) {
  WriteState& state = block_.state();
  if (version > state.highest)
    return fail(std::string(why) + " needs " + std::string(coreml_system(version)),
                std::string(kLaterTarget));
  return state.need(version, std::string(op_.def().name) + " '" +
                                 printable(std::string(op_.location().name()), 80) +
                                 "': " + std::string(why));
}

Error OpEmitter::fail(std::string message, std::string hint) const {
  Error error(Code::NotOnTarget, std::string(op_.def().name) + ": " + std::move(message));
  const Location& location = op_.location();
  std::string node(location.name());
  if (node.empty() && !op_.outputs().empty()) node = op_.output()->name();
  error = std::move(error).node(std::move(node), location.op_type);
  return std::move(error).hint(std::move(hint));
}

}  // namespace ec::mil
