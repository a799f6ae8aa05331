// A thin layer over protozero: views instead of data_view, wire types checked before each read
// (protozero only asserts them), exceptions converted to a Result at the edge.
#pragma once

#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/result.h"

namespace ec::wire {

using Bytes = std::string_view;  // an encoded message, or raw data

using protozero::pbf_wire_type;

class Reader {
 public:
  explicit Reader(Bytes message) : reader_(message.data(), message.size()) {}

  // Moves to the next field; false at the end.
  bool next() { return reader_.next(); }
  uint32_t tag() const { return reader_.tag(); }
  bool is_message() const { return is(pbf_wire_type::length_delimited); }
  bool is_varint() const { return is(pbf_wire_type::varint); }
  void skip() { reader_.skip(); }

  // Each reads the current field, or skips it and leaves the value when the wire type is another.
  void read(Bytes& value) {
    if (!is_message()) return skip();
    const auto view = reader_.get_view();
    value = {view.data(), view.size()};
  }
  void read(int64_t& value) { is_varint() ? void(value = reader_.get_int64()) : skip(); }
  void read(int32_t& value) { is_varint() ? void(value = reader_.get_int32()) : skip(); }
  void read(bool& value) { is_varint() ? void(value = reader_.get_bool()) : skip(); }
  void read(uint32_t& value) {  // fixed32
    is(pbf_wire_type::fixed32) ? void(value = reader_.get_fixed32()) : skip();
  }
  void read(float& value) {
    is(pbf_wire_type::fixed32) ? void(value = reader_.get_float()) : skip();
  }
  // Appends a number of a list, or a packed run of them; false when more than max would be held.
  template <class T>
  [[nodiscard]] bool append(std::vector<T>& values, size_t max) {
    if constexpr (std::is_same_v<T, Bytes>) {
      if (!is_message()) return skip(), true;
      if (values.size() >= max) return false;
      read(values.emplace_back());
    } else if (is_message()) {
      Bytes run;
      read(run);
      return append_packed(values, run, max);
    } else if (is(single_type<T>())) {
      if (values.size() >= max) return false;
      if constexpr (std::is_same_v<T, float>)
        values.push_back(reader_.get_float());
      else if constexpr (std::is_same_v<T, double>)
        values.push_back(reader_.get_double());
      else
        values.push_back(static_cast<T>(reader_.get_uint64()));
    } else {
      skip();
    }
    return true;
  }

 private:
  bool is(pbf_wire_type type) const { return reader_.has_wire_type(type); }
  template <class T>
  static constexpr pbf_wire_type single_type() {
    if (std::is_same_v<T, float>) return pbf_wire_type::fixed32;
    return std::is_same_v<T, double> ? pbf_wire_type::fixed64 : pbf_wire_type::varint;
  }

  template <class T>
    requires std::is_floating_point_v<T>
  static bool append_packed(std::vector<T>& values, Bytes run, size_t max) {
    const size_t old = values.size(), count = run.size() / sizeof(T);
    if (run.size() % sizeof(T) != 0) throw protozero::invalid_length_exception{};
    if (count > max - old) return false;
    values.resize(old + count);
    // The wire format and every supported machine are little endian.
    if (count > 0) run.copy(reinterpret_cast<char*>(values.data() + old), run.size());
    return true;
  }
  static bool append_packed(std::vector<int64_t>& values, Bytes run, size_t max) {
    const char* at = run.data();
    const char* const end = at + run.size();
    while (at != end) {
      if (values.size() >= max) return false;
      values.push_back(static_cast<int64_t>(protozero::decode_varint(&at, end)));
    }
    return true;
  }

  protozero::pbf_reader reader_;
};

// Calls f(tag, message) for each nested message.
template <class F>
void for_each_message(Bytes message, F&& f) {
  for (Reader r(message); r.next();) {
    if (!r.is_message()) {
      r.skip();
      continue;
    }
    const uint32_t tag = r.tag();  // reading ends the field
    Bytes nested;
    r.read(nested);
    f(tag, nested);
  }
}

// Runs a decoding function; what protozero throws becomes CorruptFile.
template <class F>
auto guarded(F&& decode) -> std::invoke_result_t<F> {
  try {
    return decode();
  } catch (const protozero::exception& e) {
    return Error(Code::CorruptFile, std::string("protobuf encoding is broken: ") + e.what())
        .hint("the file is damaged or was cut off: export or copy it again");
  }
}

}  // namespace ec::wire
