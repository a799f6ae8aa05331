#include "ir/shape.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

namespace ec {
namespace {

// Interned symbol names. Process-wide and append-only; ids never reach any output, names do.
class SymbolTable {
 public:
  uint32_t intern(std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (auto it = ids_.find(name); it != ids_.end()) return it->second;
    const auto id = static_cast<uint32_t>(names_.size());
    names_.emplace_back(name);
    ids_.emplace(names_.back(), id);
    return id;
  }
  std::string_view name(uint32_t id) {
    const std::lock_guard lock(mutex_);
    return id < names_.size() ? std::string_view(names_[id]) : "?";
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> names_;  // stable addresses: the map's keys point here
  std::map<std::string_view, uint32_t, std::less<>> ids_;
};

SymbolTable& symbols() {
  static SymbolTable table;
  return table;
}

}  // namespace

Dim Dim::symbol(std::string_view name) { return Dim(kSymbol, symbols().intern(name)); }
std::string_view Dim::symbol_name() const { return symbols().name(symbol_id_); }

std::string Dim::text() const {
  if (is_static()) return std::to_string(value_);
  return is_symbol() ? std::string(symbol_name()) : "?";
}

bool Shape::is_static() const {
  return std::all_of(dims_.begin(), dims_.end(), [](const Dim& d) { return d.is_static(); });
}

std::optional<int64_t> Shape::num_elements() const {
  if (!is_static()) return std::nullopt;
  // A zero anywhere makes the tensor empty, however large the other sizes are.
  if (std::any_of(dims_.begin(), dims_.end(), [](const Dim& d) { return d.size() == 0; })) return 0;
  int64_t product = 1;
  for (const Dim& dim : dims_) {
    const auto next = checked_mul(product, dim.size());
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

std::vector<int64_t> Shape::sizes() const {
  std::vector<int64_t> out;
  out.reserve(dims_.size());
  for (const Dim& dim : dims_) out.push_back(dim.size());
  return out;
}

std::string Shape::text() const {
  std::string out = "[";
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) out += ",";
    out += dims_[i].text();
  }
  return out + "]";
}

std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

}  // namespace ec
