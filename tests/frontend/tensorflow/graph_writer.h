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

class GraphWriter {
 public:
  GraphWriter& node(const std::string& name, const std::string& op,
                    const std::vector<std::string>& inputs = {},
                    const std::vector<Attr>& attrs = {}) {
    std::string node;
    protozero::pbf_writer writer(node);
    writer.add_string(1, name);
    writer.add_string(2, op);
    for (const std::string& input : inputs) writer.add_string(3, input);
    for (const auto& [key, value] : attrs) {
      std::string entry;
      protozero::pbf_writer pair(entry);
      pair.add_string(1, key);
      pair.add_bytes(2, value);
      writer.add_bytes(5, entry);
    }
    bytes_ += field(1, node);
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
  Blob blob() const { return Blob::copy_of(std::span<const char>(bytes_)); }

 private:
  std::string bytes_;
};

}  // namespace ec::tf::testing
