// What the decoders of several kinds of messages share. For decode*.cpp alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "formats/coreml/model.h"
#include "formats/protobuf/budget.h"
#include "formats/protobuf/wire.h"
#include "support/result.h"

namespace ec::coreml {

using wire::Bytes;

// Deeper than any converter nests them: loops and branches, types, and values in values.
inline constexpr size_t kMaxBlockDepth = 32, kMaxTypeDepth = 8, kMaxValueDepth = 8;
// Names of values and operations.
inline constexpr size_t kMaxNameBytes = 64 << 10;

// One decoding. The functions throw what breaks the wire format: call them within wire::guarded.
class Decoder {
 public:
  explicit Decoder(const Blob& file) : file_(file), budget_(wire::Budget::for_file(file.size())) {}

  Status description(Bytes message, Model& model);
  Result<Program> program(Bytes message);

 private:
  Result<Function> function(Bytes message);
  Status block(Bytes message, Block& block, size_t depth);
  Status operation(Bytes message, Operation& operation, size_t depth);
  Status bindings(Bytes argument, std::vector<Binding>& list);
  Result<NamedType> named_type(Bytes message);
  Status value_type(Bytes message, ValueType& type, size_t depth = 0);
  Status tensor_type(Bytes message, ValueType& type);
  Status value(Bytes message, Value& value, size_t depth = 0);
  Status immediate(Bytes message, Value& value, size_t depth);
  Status tensor_value(Bytes message, Value& value);
  Status numbers(Bytes message, uint32_t arm, Value& value);
  Status strings(Bytes message, Value& value);
  Status items(Bytes message, bool pairs, Value& value, size_t depth);

  // Room for a struct that a message of this size became. Messages of an honest size are free: the
  // graph that they become takes as much.
  Status charge(size_t message_bytes, size_t struct_bytes);
  // The bytes of the file that a view shows, shared.
  Blob part_of_file(Bytes bytes) const;

  const Blob& file_;
  wire::Budget budget_;
};

Error corrupt(std::string message);
// An entry of a map: two fields of one message.
struct Entry {
  Bytes key, value;
};
Entry read_entry(Bytes message);
Result<std::string> read_name(Bytes text);
// Calls f(tag, message) for each nested message until one fails.
template <class F>
Status each_message(Bytes message, F&& f) {
  for (wire::Reader r(message); r.next();) {
    if (!r.is_message()) {
      r.skip();
      continue;
    }
    const uint32_t tag = r.tag();  // reading ends the field
    Bytes nested;
    r.read(nested);
    EC_CHECK_OK(f(tag, nested));
  }
  return {};
}

}  // namespace ec::coreml
