#include "ir/use_list.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

namespace ec {
namespace {

// Longer lists have an index. Searching this many costs less than looking into one.
constexpr size_t kShort = 64;

struct Hash {
  size_t operator()(const Use& use) const {
    return std::hash<const void*>()(use.op) * 31 + use.index;
  }
};

}  // namespace

// Where each use stands; looked up, never iterated.
struct UseList::Index {
  std::unordered_map<Use, uint32_t, Hash> position;
};

UseList::UseList() = default;
UseList::~UseList() = default;

void UseList::add(Use use) {
  if (index_ != nullptr) index_->position.emplace(use, static_cast<uint32_t>(items_.size()));
  items_.push_back(use);
}

void UseList::remove(Use use) {
  if (index_ == nullptr && items_.size() <= kShort) {
    const auto found = std::find(items_.begin(), items_.end(), use);
    assert(found != items_.end());
    items_.erase(found);
    return;
  }
  if (index_ == nullptr) {
    index_ = std::make_unique<Index>();
    close_gaps();
  }
  const auto found = index_->position.find(use);
  assert(found != index_->position.end());
  const uint32_t at = found->second;
  index_->position.erase(found);
  items_[at].op = nullptr;
  ++gaps_;
  // The first use is asked for often: it is not searched for behind gaps every time.
  while (first_ < items_.size() && items_[first_].op == nullptr) ++first_;
  if (gaps_ > items_.size() / 2) close_gaps();
}

void UseList::close_gaps() {
  std::erase_if(items_, [](const Use& use) { return use.op == nullptr; });
  gaps_ = 0;
  first_ = 0;
  index_->position.clear();
  if (items_.size() <= kShort) {
    index_.reset();
    return;
  }
  index_->position.reserve(items_.size());
  for (size_t i = 0; i < items_.size(); ++i)
    index_->position.emplace(items_[i], static_cast<uint32_t>(i));
}

void UseList::clear() {
  items_.clear();
  index_.reset();
  gaps_ = 0;
  first_ = 0;
}

}  // namespace ec
