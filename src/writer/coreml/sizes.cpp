#include "writer/coreml/sizes.h"

#include <algorithm>

namespace ec::mil {

std::string shape_of(OpEmitter& e, const std::string& value, size_t rank) {
  return e.step("shape", {{"x", value}},
                ValueType::tensor(DataType::Int32, {static_cast<int64_t>(rank)}));
}

void SizeList::add_size(const std::string& value, size_t rank, int64_t axis) {
  auto found = std::ranges::find(shapes_, value, &std::pair<std::string, std::string>::first);
  if (found == shapes_.end()) {
    shapes_.emplace_back(value, shape_of(e_, value, rank));
    found = shapes_.end() - 1;
  }
  add_element(found->second, axis);
}

void SizeList::add_input(size_t input, int64_t axis) {
  const int64_t size = e_.sizes(e_.input(input))[static_cast<size_t>(axis)];
  if (size != coreml::kUnknownSize)
    add(size);
  else
    add_size(e_.in(input), e_.rank(input), axis);
}

std::string SizeList::take() && {
  std::vector<std::string> parts;
  for (size_t i = 0; i < entries_.size();) {
    // Neighbours within one list, and numbers, are one part.
    size_t end = i + 1;
    const Entry& first = entries_[i];
    while (end < entries_.size() && entries_[end].list == first.list &&
           (first.list.empty() || entries_[end].at == first.at + static_cast<int64_t>(end - i)))
      ++end;
    const auto count = static_cast<int64_t>(end - i);
    if (first.list.empty()) {
      std::vector<int64_t> numbers;
      for (; i < end; ++i) numbers.push_back(entries_[i].at);
      parts.push_back(e_.ints(numbers));
    } else {
      parts.push_back(
          e_.step("slice_by_size",
                  {{"x", first.list}, {"begin", e_.ints({first.at})}, {"size", e_.ints({count})}},
                  ValueType::tensor(DataType::Int32, {count})));
    }
    i = end;
  }
  if (parts.size() == 1) return parts.front();
  return e_.step(
      "concat", {{"values", std::move(parts)}, {"axis", e_.i32(0)}, {"interleave", e_.flag(false)}},
      ValueType::tensor(DataType::Int32, {static_cast<int64_t>(entries_.size())}));
}

std::string reshaped(OpEmitter& e, const std::string& value, const ValueType& type,
                     SizeList sizes) {
  const bool one_open = std::ranges::count(type.dims, coreml::kUnknownSize) <= 1;
  const std::string shape = one_open ? e.ints(type.dims) : std::move(sizes).take();
  return e.step("reshape", {{"x", value}, {"shape", shape}}, type);
}

}  // namespace ec::mil
