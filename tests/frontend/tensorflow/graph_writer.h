// Writes small GraphDefs for tests: nodes with inputs and attributes.
#pragma once

#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/blob.h"

namespace ec::tf::testing {

using Attr = std::pair<std::string, std::string>;  // name, encoded AttrValue

inline std::string field(uint32_t tag, const std::string& value) {
  std::string out;
  protozero::pbf_writer(out).add_bytes(tag, value);
  return out;
}
inline Attr int_attr(std::string name, int64_t value) {
  std::string out;
  protozero::pbf_writer(out).add_int64(3, value);
  return {std::move(name), out};
}
inline Attr type_attr(std::string name, int32_t value) {
  std::string out;
  protozero::pbf_writer(out).add_int32(6, value);
  return {std::move(name), out};
}
inline Attr float_attr(std::string name, float value) {
  std::string out;
  protozero::pbf_writer(out).add_float(4, value);
  return {std::move(name), out};
}
inline Attr bool_attr(std::string name, bool value) {
  std::string out;
  protozero::pbf_writer(out).add_bool(5, value);
  return {std::move(name), out};
}
inline Attr function_attr(std::string name, const std::string& function) {
  return {std::move(name), field(10, field(1, function))};
}
// What a function's caller gives.
inline Attr placeholder_attr(std::string name, const std::string& of_caller) {
  return {std::move(name), field(9, of_caller)};
}
inline Attr int_list_attr(std::string name, const std::vector<int64_t>& values) {
  std::string list;
  for (const int64_t value : values) protozero::pbf_writer(list).add_int64(3, value);
  return {std::move(name), field(1, list)};
}
inline Attr float_list_attr(std::string name, const std::vector<float>& values) {
  std::string list;
  for (const float value : values) protozero::pbf_writer(list).add_float(4, value);
  return {std::move(name), field(1, list)};
}
inline Attr function_list_attr(std::string name, const std::vector<std::string>& functions) {
  std::string list;
  for (const std::string& function : functions) list += field(9, field(1, function));
  return {std::move(name), field(1, list)};
}
inline Attr text_attr(std::string name, const std::string& value) {
  return {std::move(name), field(2, value)};
}
inline std::string shape(const std::vector<int64_t>& sizes) {
  std::string out;
  for (const int64_t size : sizes) {
    std::string dim;
    protozero::pbf_writer(dim).add_int64(1, size);
    out += field(2, dim);
  }
  return out;
}
inline Attr shape_attr(std::string name, const std::vector<int64_t>& sizes) {
  return {std::move(name), field(7, shape(sizes))};
}
inline std::string float_tensor(const std::vector<int64_t>& sizes, const std::vector<float>& data) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_int32(1, 1);
  writer.add_bytes(2, shape(sizes));
  std::string content(data.size() * sizeof(float), '\0');
  std::memcpy(content.data(), data.data(), content.size());
  writer.add_bytes(4, content);
  return out;
}
inline std::string int_tensor(const std::vector<int64_t>& sizes, const std::vector<int64_t>& data) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_int32(1, 9);
  writer.add_bytes(2, shape(sizes));
  for (const int64_t value : data) writer.add_int64(10, value);
  return out;
}
inline Attr tensor_attr(std::string name, const std::string& tensor) {
  return {std::move(name), field(8, tensor)};
}

inline std::string map_entry(const std::string& key, const std::string& value) {
  return field(1, key) + field(2, value);
}
inline std::string encode_node(const std::string& name, const std::string& op,
                               const std::vector<std::string>& inputs,
                               const std::vector<Attr>& attrs) {
  std::string node;
  protozero::pbf_writer writer(node);
  writer.add_string(1, name);
  writer.add_string(2, op);
  for (const std::string& input : inputs) writer.add_string(3, input);
  for (const auto& [key, value] : attrs) writer.add_bytes(5, map_entry(key, value));
  return node;
}

// A function of the library: what it takes and gives, and where each result comes from.
struct FunctionSource {
  std::string name;
  std::vector<std::pair<std::string, int32_t>> inputs, outputs;  // names and types
  std::vector<std::string> nodes;                                // encoded
  std::vector<std::pair<std::string, std::string>> results;      // an output's name, "node:y:0"
  std::vector<std::pair<std::string, std::string>> control_results;
};
inline std::string encode_function(const FunctionSource& source) {
  const auto argument = [](const std::pair<std::string, int32_t>& described) {
    std::string message = field(1, described.first);
    protozero::pbf_writer(message).add_int32(3, described.second);
    return message;
  };
  std::string signature = field(1, source.name), out;
  for (const auto& input : source.inputs) signature += field(2, argument(input));
  for (const auto& output : source.outputs) signature += field(3, argument(output));
  for (const auto& [name, node] : source.control_results) signature += field(20, name);
  out += field(1, signature);
  for (const std::string& node : source.nodes) out += field(3, node);
  for (const auto& [name, from] : source.results) out += field(4, map_entry(name, from));
  for (const auto& [name, node] : source.control_results) out += field(6, map_entry(name, node));
  return out;
}

class GraphWriter {
 public:
  GraphWriter& node(const std::string& name, const std::string& op,
                    const std::vector<std::string>& inputs = {},
                    const std::vector<Attr>& attrs = {}) {
    bytes_ += field(1, encode_node(name, op, inputs, attrs));
    return *this;
  }
  GraphWriter& input(const std::string& name, const std::vector<int64_t>& sizes) {
    return node(name, "Placeholder", {}, {type_attr("dtype", 1), shape_attr("shape", sizes)});
  }
  GraphWriter& constant(const std::string& name, const std::vector<int64_t>& sizes,
                        const std::vector<float>& data) {
    return node(name, "Const", {},
                {type_attr("dtype", 1), tensor_attr("value", float_tensor(sizes, data))});
  }
  GraphWriter& integers(const std::string& name, const std::vector<int64_t>& sizes,
                        const std::vector<int64_t>& data) {
    return node(name, "Const", {},
                {type_attr("dtype", 9), tensor_attr("value", int_tensor(sizes, data))});
  }
  GraphWriter& function(const FunctionSource& source) {
    bytes_ += field(2, field(1, encode_function(source)));
    return *this;
  }
  const std::string& bytes() const { return bytes_; }
  Blob blob() const { return Blob::copy_of(std::span<const char>(bytes_)); }

 private:
  std::string bytes_;
};

}  // namespace ec::tf::testing
