// Elements of JSON that have to be there. Faults are remembered and end the decoding when it is
// over, so that the steps read without ceremony.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "frontend/torch/export/program.h"
#include "support/result.h"

namespace ec::torch::exported {

using nlohmann::json;

class JsonReader {
 public:
  Status status() const;
  void fault(const std::string& what) {
    if (error_.empty()) error_ = what;
  }
  bool failed() const { return !error_.empty(); }

  const json& at(const json& object, const char* key);
  const json& list(const json& value);
  std::string text(const json& value);
  int64_t integer(const json& value);
  double number(const json& value);
  std::string optional_text(const json& object, const char* key);
  std::optional<int64_t> optional_integer(const json& object, const char* key);
  // The only key of a union, and its value.
  std::pair<std::string, const json*> alternative(const json& value);

  SizeDef size(const json& value);
  TensorMeta tensor_meta(const json& value);

 private:
  std::string error_;
};

}  // namespace ec::torch::exported
