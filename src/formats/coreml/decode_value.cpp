// Values: tensors of numbers and texts, lists, tuples, dictionaries, and references to the weight
// file. Numbers become the raw bytes that the weight file would hold.
#include <cstring>

#include "formats/coreml/decode_parts.h"
#include "formats/coreml/fields.h"
#include "support/checked.h"

namespace ec::coreml {
namespace {

using wire::Reader;

// Elements of a tensor type; an error where sizes are open or too large.
Result<int64_t> elements(const ValueType& type) {
  const auto count = checked_extent(type.dims, 1);
  if (type.variadic || !count) return corrupt("a constant has no size that is known");
  for (const int64_t size : type.dims)
    if (size == 0) return 0;
  return *count;
}

// Numbers of the wire that a field holds, packed or not. Varints end in a byte below 128.
size_t count_varints(Bytes message) {
  size_t count = 0;
  for (Reader r(message); r.next();) {
    if (r.tag() != field::repeated::kValues) {
      r.skip();
    } else if (r.is_message()) {
      Bytes run;
      r.read(run);
      for (const char c : run) count += (c & 0x80) == 0;
    } else {
      ++count;
      r.skip();
    }
  }
  return count;
}

// Writes numbers one after the other with `width` bytes each.
class NumberWriter {
 public:
  NumberWriter(Buffer& buffer, size_t width)
      : at_(buffer.data()), end_(at_ + buffer.size()), width_(width) {}
  void put(uint64_t number) {
    if (static_cast<size_t>(end_ - at_) < width_) return;
    std::memcpy(at_, &number, width_);  // little endian, as every machine that is supported
    at_ += width_;
  }

 private:
  std::byte* at_;
  std::byte* end_;
  size_t width_;
};

void read_varints(Bytes message, NumberWriter& writer) {
  for (Reader r(message); r.next();) {
    if (r.tag() != field::repeated::kValues) {
      r.skip();
    } else if (r.is_message()) {
      Bytes run;
      r.read(run);
      const char* at = run.data();
      const char* const end = at + run.size();
      while (at != end) writer.put(protozero::decode_varint(&at, end));
    } else {
      int64_t number = 0;
      r.read(number);
      writer.put(static_cast<uint64_t>(number));
    }
  }
}

// Whether a kind of tensor value carries this type. Integers of 8 bits are bytes; other writers put
// them among the integers.
bool carries(uint32_t arm, DataType type) {
  switch (arm) {
    case field::tensor_value::kFloats:
      return type == DataType::Float32;
    case field::tensor_value::kDoubles:
      return type == DataType::Float64;
    case field::tensor_value::kBools:
      return type == DataType::Bool;
    case field::tensor_value::kLongInts:
      return type == DataType::Int64 || type == DataType::UInt64;
    case field::tensor_value::kInts:
      return type == DataType::Int32 || type == DataType::Int16 || type == DataType::UInt16 ||
             type == DataType::Int8 || type == DataType::UInt8 || type == DataType::UInt32;
    case field::tensor_value::kBytes:
      return type != DataType::String && type != DataType::Unused;
    default:
      return type == DataType::String;
  }
}

// The first field of a message that is a run of bytes; all of them where there are several.
Result<Bytes> only_run(Bytes message) {
  Bytes run;
  size_t count = 0;
  wire::for_each_message(message, [&](uint32_t tag, Bytes nested) {
    if (tag != field::repeated::kValues) return;
    run = nested;
    ++count;
  });
  if (count > 1) return corrupt("the elements of a constant are given twice");
  return run;
}

}  // namespace

Status Decoder::value(Bytes message, Value& value, size_t depth) {
  if (depth >= kMaxValueDepth)
    return Error(Code::TooDeep, "values are nested too deep")
        .hint("the file is damaged or was made to exhaust memory");
  Bytes immediate;
  bool typed = false, filled = false;
  Status read = each_message(message, [&](uint32_t tag, Bytes nested) -> Status {
    if (tag == field::value::kType) {
      typed = true;
      return value_type(nested, value.type);
    }
    if (tag == field::value::kImmediate) {
      immediate = nested;
      value.weight.reset();
      filled = true;
    } else if (tag == field::value::kBlobFile) {
      value.weight.emplace();
      value.weight->file.clear();
      filled = true;
      for (Reader r(nested); r.next();) {
        if (r.tag() == field::blob_file::kFileName) {
          Bytes name;
          r.read(name);
          EC_TRY(value.weight->file, read_name(name));
        } else if (r.tag() == field::blob_file::kOffset) {
          int64_t offset = 0;
          r.read(offset);
          value.weight->offset = static_cast<uint64_t>(offset);
        } else {
          r.skip();
        }
      }
    }
    return {};
  });
  if (!read.ok()) return std::move(read).error();
  if (!typed) return corrupt("a constant has no type");
  if (!filled) return corrupt("a constant has no value");
  return value.weight ? Status() : this->immediate(immediate, value, depth);
}

Status Decoder::immediate(Bytes message, Value& value, size_t depth) {
  using Kind = ValueType::Kind;
  bool found = false;
  Status read = each_message(message, [&](uint32_t tag, Bytes nested) -> Status {
    constexpr uint32_t kTags[] = {field::immediate::kTensor, field::immediate::kList,
                                  field::immediate::kTuple, field::immediate::kDictionary};
    if (value.type.kind == Kind::State || tag != kTags[static_cast<size_t>(value.type.kind)])
      return corrupt("a constant's value is of another kind than its type");
    if (found) return corrupt("a constant has two values");
    found = true;
    if (tag == field::immediate::kTensor) return tensor_value(nested, value);
    return items(nested, tag == field::immediate::kDictionary, value, depth);
  });
  if (!read.ok()) return std::move(read).error();
  if (!found && value.type.kind == Kind::Tensor) {
    EC_TRY(const int64_t count, elements(value.type));
    if (count != 0) return corrupt("a constant has no value");
  }
  return {};
}

Status Decoder::items(Bytes message, bool pairs, Value& value, size_t depth) {
  return each_message(message, [&](uint32_t tag, Bytes nested) -> Status {
    if (tag != field::repeated::kValues) return {};
    if (!pairs) {
      EC_CHECK_OK(charge(nested.size(), sizeof(Value)));
      return this->value(nested, value.items.emplace_back(), depth + 1);
    }
    EC_CHECK_OK(charge(nested.size(), 2 * sizeof(Value)));
    const Entry entry = read_entry(nested);
    EC_CHECK_OK(this->value(entry.key, value.items.emplace_back(), depth + 1));
    return this->value(entry.value, value.items.emplace_back(), depth + 1);
  });
}

Status Decoder::tensor_value(Bytes message, Value& value) {
  bool found = false;
  Status read = each_message(message, [&](uint32_t arm, Bytes nested) -> Status {
    if (arm < field::tensor_value::kFloats || arm > field::tensor_value::kBytes) return {};
    if (found) return corrupt("a constant has two values");
    found = true;
    if (!carries(arm, value.type.element))
      return Error(Code::BadTensorData, "a constant of type " +
                                            std::string(name_of(value.type.element)) +
                                            " holds elements of another type");
    return arm == field::tensor_value::kStrings ? strings(nested, value)
                                                : numbers(nested, arm, value);
  });
  if (!read.ok()) return std::move(read).error();
  EC_TRY(const int64_t count, elements(value.type));
  const bool texts = value.type.element == DataType::String;
  const uint64_t bits =
      static_cast<uint64_t>(count) * static_cast<uint64_t>(bits_of(value.type.element));
  const uint64_t wanted = texts ? static_cast<uint64_t>(count) : (bits + 7) / 8;
  const uint64_t held = texts ? value.strings.size() : value.data.size();
  if (held == wanted) return {};
  return Error(Code::BadTensorData, "a constant needs " + std::to_string(wanted) +
                                        (texts ? " texts" : " bytes") + " and holds " +
                                        std::to_string(held))
      .hint("the file is damaged: export or copy it again");
}

Status Decoder::numbers(Bytes message, uint32_t arm, Value& value) {
  const bool varints = arm == field::tensor_value::kInts || arm == field::tensor_value::kBools ||
                       arm == field::tensor_value::kLongInts;
  if (!varints) {  // floats, doubles and bytes are as they are in the file
    EC_TRY(const Bytes run, only_run(message));
    value.data = part_of_file(run);
    return {};
  }
  const auto width = static_cast<size_t>(bits_of(value.type.element)) / 8;
  const size_t count = count_varints(message);
  EC_CHECK_OK(charge(message.size(), count * width));
  Buffer buffer = Buffer::allocate(count * width);
  if (!buffer.ok()) return Error(Code::TooLarge, "a constant does not fit into memory");
  NumberWriter writer(buffer, width);
  read_varints(message, writer);
  value.data = std::move(buffer).to_blob();
  return {};
}

Status Decoder::strings(Bytes message, Value& value) {
  return each_message(message, [&](uint32_t tag, Bytes text) -> Status {
    if (tag != field::repeated::kValues) return {};
    EC_CHECK_OK(charge(text.size(), sizeof(std::string)));
    value.strings.emplace_back(text);
    return {};
  });
}

}  // namespace ec::coreml
