// The program: functions, blocks, operations, and the types of values.
#include <algorithm>

#include "formats/coreml/decode_parts.h"
#include "formats/coreml/fields.h"
#include "support/strings.h"

namespace ec::coreml {
namespace {

using wire::Reader;

constexpr size_t kMaxRank = 64;

template <class T>
Status sort_by_name(std::vector<std::pair<std::string, T>>& list, std::string_view what) {
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto twice = std::adjacent_find(
      list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == list.end()) return {};
  return corrupt(std::string(what) + " '" + printable(twice->first) + "' is given twice");
}

Error too_deep(std::string_view what) {
  return Error(Code::TooDeep, std::string(what) + " are nested too deep")
      .hint("the file is damaged or was made to exhaust memory");
}

// A size, or kUnknownSize.
Result<int64_t> dimension(Bytes message, bool& variadic) {
  int64_t size = kUnknownSize;
  bool found = false;
  wire::for_each_message(message, [&](uint32_t tag, Bytes nested) {
    if (tag == field::dimension::kConstant) {
      size = 0;
      found = true;
      for (Reader r(nested); r.next();)
        r.tag() == field::constant_dimension::kSize ? r.read(size) : r.skip();
    } else if (tag == field::dimension::kUnknown) {
      size = kUnknownSize;
      found = true;
      for (Reader r(nested); r.next();)
        r.tag() == field::unknown_dimension::kVariadic ? r.read(variadic) : r.skip();
      return;
    }
  });
  if (!found) return corrupt("a dimension has no size");
  if (size < kUnknownSize) return corrupt("a dimension is larger than any tensor's");
  return size;
}

}  // namespace

Result<Program> Decoder::program(Bytes message) {
  Program program;
  program.version = 0;
  for (Reader r(message); r.next();) {
    const uint32_t tag = r.tag();
    if (tag == field::program::kVersion) {
      r.read(program.version);
      continue;
    }
    Bytes nested;
    r.read(nested);
    if (tag != field::program::kFunctions) continue;
    const Entry entry = read_entry(nested);
    EC_CHECK_OK(budget_.charge(1, sizeof(Function) + 64));
    EC_TRY(const std::string name, read_name(entry.key));
    EC_TRY(Function function, this->function(entry.value));
    if (!program.functions.emplace(name, std::move(function)).second)
      return corrupt("function '" + printable(name) + "' is defined twice");
  }
  if (program.version != 1)
    return Error(Code::UnsupportedFormat,
                 "an ML Program of version " + std::to_string(program.version) + " is not known")
        .hint("version 1 is read: export the model again with a converter of today");
  return program;
}

Result<Function> Decoder::function(Bytes message) {
  Function function;
  std::vector<Entry> blocks;
  Status read = each_message(message, [&](uint32_t tag, Bytes nested) -> Status {
    if (tag == field::function::kInputs) {
      EC_CHECK_OK(charge(nested.size(), sizeof(NamedType)));
      EC_TRY(NamedType input, named_type(nested));
      function.inputs.push_back(std::move(input));
    } else if (tag == field::function::kOpset) {
      EC_TRY(function.opset, read_name(nested));
    } else if (tag == field::function::kBlocks) {
      EC_CHECK_OK(budget_.charge(1, sizeof(Entry)));
      blocks.push_back(read_entry(nested));
    }
    return {};
  });
  if (!read.ok()) return std::move(read).error();
  const auto block = std::find_if(blocks.begin(), blocks.end(),
                                  [&](const Entry& entry) { return entry.key == function.opset; });
  if (block == blocks.end())
    return corrupt("a function has no block for its operator set '" + printable(function.opset) +
                   "'");
  EC_CHECK_OK(this->block(block->value, function.block, 0));
  return function;
}

Status Decoder::block(Bytes message, Block& block, size_t depth) {
  if (depth >= kMaxBlockDepth) return too_deep("blocks");
  return each_message(message, [&](uint32_t tag, Bytes nested) -> Status {
    if (tag == field::block::kInputs) {
      EC_CHECK_OK(charge(nested.size(), sizeof(NamedType)));
      EC_TRY(NamedType input, named_type(nested));
      block.inputs.push_back(std::move(input));
    } else if (tag == field::block::kOutputs) {
      EC_CHECK_OK(charge(nested.size(), sizeof(std::string)));
      EC_TRY(std::string name, read_name(nested));
      block.outputs.push_back(std::move(name));
    } else if (tag == field::block::kOperations) {
      EC_CHECK_OK(charge(nested.size(), sizeof(Operation)));
      return operation(nested, block.operations.emplace_back(), depth);
    }
    return {};
  });
}

Status Decoder::operation(Bytes message, Operation& operation, size_t depth) {
  Status read = each_message(message, [&](uint32_t tag, Bytes nested) -> Status {
    switch (tag) {
      case field::operation::kType: {
        EC_TRY(operation.type, read_name(nested));
        return {};
      }
      case field::operation::kInputs: {
        const Entry entry = read_entry(nested);
        EC_CHECK_OK(charge(nested.size(), sizeof(operation.inputs[0])));
        EC_TRY(std::string name, read_name(entry.key));
        return bindings(entry.value, operation.inputs.emplace_back(std::move(name), 0).second);
      }
      case field::operation::kOutputs: {
        EC_CHECK_OK(charge(nested.size(), sizeof(NamedType)));
        EC_TRY(NamedType output, named_type(nested));
        operation.outputs.push_back(std::move(output));
        return {};
      }
      case field::operation::kBlocks:
        EC_CHECK_OK(charge(nested.size(), sizeof(Block)));
        return block(nested, operation.blocks.emplace_back(), depth + 1);
      case field::operation::kAttributes: {
        const Entry entry = read_entry(nested);
        EC_CHECK_OK(charge(nested.size(), sizeof(operation.attributes[0])));
        EC_TRY(std::string name, read_name(entry.key));
        return value(entry.value,
                     operation.attributes.emplace_back(std::move(name), Value()).second);
      }
      default:
        return {};
    }
  });
  if (!read.ok()) return std::move(read).error();
  EC_CHECK_OK(sort_by_name(operation.inputs, "parameter"));
  return sort_by_name(operation.attributes, "attribute");
}

Status Decoder::bindings(Bytes argument, std::vector<Binding>& list) {
  return each_message(argument, [&](uint32_t tag, Bytes nested) -> Status {
    if (tag != field::argument::kBindings) return {};
    EC_CHECK_OK(charge(nested.size(), sizeof(Binding)));
    Binding& binding = list.emplace_back();
    return each_message(nested, [&](uint32_t inner, Bytes bytes) -> Status {
      if (inner == field::binding::kName) {
        EC_TRY(binding.name, read_name(bytes));
        binding.literal.reset();
      } else if (inner == field::binding::kValue) {
        EC_CHECK_OK(charge(bytes.size(), sizeof(Value)));
        auto literal = std::make_shared<Value>();
        EC_CHECK_OK(value(bytes, *literal));
        binding.literal = std::move(literal);
        binding.name.clear();
      }
      return {};
    });
  });
}

Result<NamedType> Decoder::named_type(Bytes message) {
  NamedType named;
  bool typed = false;
  Status read = each_message(message, [&](uint32_t tag, Bytes nested) -> Status {
    if (tag == field::named_type::kName) {
      EC_TRY(named.name, read_name(nested));
    } else if (tag == field::named_type::kType) {
      typed = true;
      return value_type(nested, named.type);
    }
    return {};
  });
  if (!read.ok()) return std::move(read).error();
  if (!typed) return corrupt("value '" + printable(named.name) + "' has no type");
  return named;
}

Status Decoder::value_type(Bytes message, ValueType& type, size_t depth) {
  if (depth >= kMaxTypeDepth) return too_deep("types");
  type = ValueType();
  bool found = false;
  const auto nest = [&](Bytes nested) -> Status {
    EC_CHECK_OK(charge(nested.size(), sizeof(ValueType)));
    return value_type(nested, type.nested.emplace_back(), depth + 1);
  };
  Status read = each_message(message, [&](uint32_t tag, Bytes inner) -> Status {
    if (tag < field::value_type::kTensor || tag > field::value_type::kState) return {};
    found = true;
    type.kind = static_cast<ValueType::Kind>(tag - field::value_type::kTensor);
    type.nested.clear();
    if (tag == field::value_type::kTensor) return tensor_type(inner, type);
    return each_message(inner, [&](uint32_t part, Bytes nested) -> Status {
      if (tag == field::value_type::kList && part == field::list_type::kLength) {
        bool variadic = false;
        EC_TRY(type.list_length, dimension(nested, variadic));
        return {};
      }
      const uint32_t last = tag == field::value_type::kDictionary ? 2 : 1;
      return part <= last ? nest(nested) : Status();
    });
  });
  if (!read.ok()) return std::move(read).error();
  if (!found) return corrupt("a value has no type");
  constexpr size_t kParts[] = {0, 1, 0, 2, 1};
  if (type.kind != ValueType::Kind::Tuple &&
      type.nested.size() != kParts[static_cast<size_t>(type.kind)])
    return corrupt("the type of a list, dictionary or state is not complete");
  return {};
}

Status Decoder::tensor_type(Bytes message, ValueType& type) {
  int32_t element = 0;
  int64_t rank = 0;
  type.dims.clear();
  type.variadic = false;
  for (Reader r(message); r.next();) {
    if (r.tag() == field::tensor_type::kDataType) {
      r.read(element);
    } else if (r.tag() == field::tensor_type::kRank) {
      r.read(rank);
    } else if (r.tag() == field::tensor_type::kDimensions && r.is_message()) {
      Bytes nested;
      r.read(nested);
      if (type.dims.size() >= kMaxRank)
        return Error(Code::TooLarge, "a tensor has more than 64 dimensions")
            .hint("the file is damaged or was made to exhaust memory");
      EC_TRY(const int64_t size, dimension(nested, type.variadic));
      type.dims.push_back(size);
    } else {
      r.skip();
    }
  }
  type.element = static_cast<DataType>(element);
  if (bits_of(type.element) == 0 && type.element != DataType::String)
    return Error(Code::UnsupportedType,
                 "element type " + std::to_string(element) + " of MIL is not known")
        .hint("the model was made by a newer converter: lower its deployment target");
  // A rank that is not known has -1 and one variadic dimension.
  if (type.variadic)
    type.dims.clear();
  else if (rank != static_cast<int64_t>(type.dims.size()))
    return corrupt("a tensor of rank " + std::to_string(rank) + " has " +
                   std::to_string(type.dims.size()) + " dimensions");
  return {};
}

}  // namespace ec::coreml
