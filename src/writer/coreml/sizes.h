// Lists of sizes that a program computes: numbers, sizes of values, elements of other lists.
#pragma once

#include <string>
#include <vector>

#include "writer/coreml/emitter.h"

namespace ec::mil {

class SizeList {
 public:
  explicit SizeList(OpEmitter& e) : e_(e) {}

  void add(int64_t number) { entries_.push_back({"", number}); }
  // Size `axis` of a value with `rank` dimensions.
  void add_size(const std::string& value, size_t rank, int64_t axis);
  // Size `axis` of the operation's input: a number where it is known.
  void add_input(size_t input, int64_t axis);
  // Element `at` of an int32 list.
  void add_element(std::string list, int64_t at) { entries_.push_back({std::move(list), at}); }

  // The list as one value; the operation on the way are written.
  std::string take() &&;

 private:
  struct Entry {
    std::string list;  // empty: a number
    int64_t at;        // the number, or the position within the list
  };
  OpEmitter& e_;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, std::string>> shapes_;  // of values, as lists
};

// The shape of a value as an int32 list.
std::string shape_of(OpEmitter& e, const std::string& value, size_t rank);

// A value as a tensor of these sizes, of which one may be open: the others of the list are computed
// where they are open, too. `type` has the sizes.
std::string reshaped(OpEmitter& e, const std::string& value, const ValueType& type, SizeList sizes);

}  // namespace ec::mil
