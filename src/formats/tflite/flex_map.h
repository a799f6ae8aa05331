// Options of custom operators: a FlexBuffer map, verified before anything in it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/blob.h"
#include "support/result.h"

namespace ec::tflite {

class FlexMap {
 public:
  // Refuses what is no map or leaves its bounds (CorruptFile).
  static Result<FlexMap> open(const Blob& bytes);

  bool has(const char* key) const;
  // Nothing when the key is missing or holds another kind of value.
  std::optional<int64_t> integer(const char* key) const;  // also of booleans
  std::optional<double> number(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  std::optional<Blob> bytes(const char* key) const;  // of a string or a blob
  std::optional<std::vector<int64_t>> integers(const char* key) const;
  size_t length(const char* key) const;  // of a vector; 0 when there is none

 private:
  explicit FlexMap(Blob bytes) : bytes_(std::move(bytes)) {}
  Blob bytes_;
};

}  // namespace ec::tflite
