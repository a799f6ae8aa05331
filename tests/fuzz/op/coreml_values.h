// Random types and values of ML Programs for generate_coreml_file.cpp: mostly such as fit together,
// some that no converter would write.
#pragma once

#include <string>
#include <vector>

#include "formats/coreml/model.h"
#include "fuzz/op/random_source.h"

namespace ec::fuzz {

class CoremlValues {
 public:
  explicit CoremlValues(RandomSource& random);

  // Nearly all sizes of one model are the same number: then most operands fit each other.
  int64_t usual_size() const { return size_; }
  coreml::DataType usual_real() const { return real_; }
  // Something that no converter writes, where this is one of the models that have such things.
  bool odd(int percent) { return is_odd_ && random_.chance(percent); }
  coreml::DataType any_type();
  int64_t any_rank();
  std::vector<int64_t> dims(int64_t rank);
  // The same with sizes that are open, huge or negative, as only types can have them.
  std::vector<int64_t> declared_dims(std::vector<int64_t> dims);
  coreml::ValueType any_value_type();  // lists, tuples and the like, too

  int64_t number();
  float real();
  coreml::Value tensor(coreml::DataType type, std::vector<int64_t> dims);
  // Small numbers from `low` to `high`; the type is Int32, at times another.
  coreml::Value integers(const std::vector<int64_t>& values, bool scalar = false);
  coreml::Value integer(int64_t value) { return integers({value}, true); }
  coreml::Value number_of(coreml::DataType type, double value);
  coreml::Value flag(bool value);
  coreml::Value text(std::string value);
  coreml::Value odd_value();

 private:
  RandomSource& random_;
  const bool is_odd_;
  const int64_t size_, rank_;
  const coreml::DataType real_;
};

}  // namespace ec::fuzz
