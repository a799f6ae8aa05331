#include "frontend/torch/script/nesting.h"

#include "frontend/torch/script/limits.h"

namespace ec::torch::script {
namespace {

constexpr int kMaxValueDepth = 64;

class Walk {
 public:
  explicit Walk(const void* container) : container_(container) {}

  Status visit(const TorchValue& value, int depth) {
    if (depth > kMaxValueDepth) return Error(Code::TooDeep, "lists and tuples nest too deep");
    if (++count_ > kMaxItems) return Error(Code::TooLarge, "lists and tuples hold too much");
    if (const auto* dict = value.get_if<TorchValue::Dict>()) {
      EC_CHECK_OK(check(dict->get()));
      for (const auto& [key, item] : (*dict)->items) {
        EC_CHECK_OK(visit(key, depth + 1));
        EC_CHECK_OK(visit(item, depth + 1));
      }
      return {};
    }
    const std::vector<TorchValue>* items = value.items();
    if (items == nullptr) return {};
    if (const auto* list = value.get_if<TorchValue::List>()) EC_CHECK_OK(check(list->get()));
    for (const TorchValue& item : *items) EC_CHECK_OK(visit(item, depth + 1));
    return {};
  }

  size_t count() const { return count_; }

 private:
  Status check(const void* seen) const {
    if (seen != container_) return {};
    return Error(Code::TooDeep, "a list contains itself");
  }

  const void* container_;
  size_t count_ = 0;
};

}  // namespace

Status check_nesting(const TorchValue& value, const void* container, size_t* items) {
  Walk walk(container);
  Status status = walk.visit(value, 0);
  if (items != nullptr) *items = walk.count();
  return status;
}

size_t memory_items(const TorchValue& value) {
  const auto* text = value.get_if<std::string>();
  return 1 + (text == nullptr ? 0 : text->size() / sizeof(TorchValue));
}

size_t memory_items(const std::vector<TorchValue>& values) {
  size_t items = 1;
  for (const TorchValue& value : values) items += memory_items(value);
  return items;
}

}  // namespace ec::torch::script
