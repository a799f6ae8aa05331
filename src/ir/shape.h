// Shapes with symbolic dimensions. A dimension is a size, or a symbol: equal symbols are equal
// sizes. Symbols are interned strings ("batch", or "?3" for one the importer had to invent).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ec {

class Dim {
 public:
  Dim(int64_t size) : value_(size) {}  // NOLINT: sizes convert; size >= 0
  static Dim symbol(std::string_view name);
  // A size nobody knows: differs from every other dimension, itself included.
  static Dim unknown() { return Dim(kUnknown, 0); }

  bool is_static() const { return value_ >= 0; }
  bool is_symbol() const { return value_ == kSymbol; }
  bool is_unknown() const { return value_ == kUnknown; }
  int64_t size() const { return value_; }  // requires is_static()
  std::string_view symbol_name() const;    // requires is_symbol()
  std::string text() const;                // "3", "batch", "?"

  // Same text: what graph equality and printing mean by equal.
  bool operator==(const Dim& other) const = default;
  // Provably the same size.
  bool same_size(const Dim& other) const { return *this == other && !is_unknown(); }

 private:
  static constexpr int64_t kSymbol = -1;
  static constexpr int64_t kUnknown = -2;
  Dim(int64_t value, uint32_t symbol_id) : value_(value), symbol_id_(symbol_id) {}

  int64_t value_;
  uint32_t symbol_id_ = 0;
};

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  static Shape of(std::span<const int64_t> sizes) {
    return Shape(std::vector<Dim>(sizes.begin(), sizes.end()));
  }

  size_t rank() const { return dims_.size(); }
  const Dim& operator[](size_t i) const { return dims_[i]; }
  Dim& operator[](size_t i) { return dims_[i]; }
  const std::vector<Dim>& dims() const { return dims_; }
  std::vector<Dim>& dims() { return dims_; }
  void push_back(Dim dim) { dims_.push_back(dim); }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  bool is_static() const;
  // Product of all sizes; empty when a dimension is open or the product overflows int64.
  std::optional<int64_t> num_elements() const;
  std::vector<int64_t> sizes() const;  // requires is_static()
  std::string text() const;            // "[N,3,8]"
  bool operator==(const Shape&) const = default;

 private:
  std::vector<Dim> dims_;
};

// a * b, or empty on overflow; for sizes that come from files.
std::optional<int64_t> checked_mul(int64_t a, int64_t b);
std::optional<int64_t> checked_add(int64_t a, int64_t b);

}  // namespace ec
