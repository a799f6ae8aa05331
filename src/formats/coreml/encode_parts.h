// The functions that encode the parts of a model. Messages are built as strings, inner ones first;
// maps and lists keep the order that the model gives them, so that equal models give equal bytes.
#pragma once

#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>

#include "formats/coreml/model.h"

namespace ec::coreml {

// A message in the making. Numbers and texts that are zero or empty are left out, as proto3 does.
class MessageWriter {
 public:
  void number(uint32_t field, int64_t value) {
    if (value != 0) writer_.add_int64(field, value);
  }
  void text(uint32_t field, std::string_view value) {
    if (!value.empty()) message(field, value);
  }
  // Written where it is empty, too: that it is there says something.
  void message(uint32_t field, std::string_view bytes) {
    writer_.add_bytes(field, bytes.data(), bytes.size());
  }
  // An entry of a map.
  void entry(uint32_t field, std::string_view key, std::string_view value);
  protozero::pbf_writer& raw() { return writer_; }
  std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
  protozero::pbf_writer writer_{bytes_};
};

std::string encode_description(const Model& model);
std::string encode_program(const Program& program);
std::string encode_value(const Value& value);
std::string encode_value_type(const ValueType& type);

}  // namespace ec::coreml
