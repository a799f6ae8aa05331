// Attributes of operations: plain structs with a field table. The table gives printing, parsing,
// equality, hashing and the Python view from one list of names; passes use the struct directly.
//
//   struct GatherAttrs {
//     int64_t axis = 0;
//     EC_ATTRS(GatherAttrs, axis)
//   };
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ir/dtype.h"

namespace ec {

// Enumerations used in attributes give their texts, in enumerator order, by specialising this.
template <class E>
struct EnumText;

enum class FieldKind : uint8_t { Int, Float, Bool, String, Ints, Floats, Strings, DType, Enum };

// The generic form of a field's value. Element types and enumerators travel as their text.
using FieldValue = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>,
                                std::vector<double>, std::vector<std::string>>;

struct Field {
  std::string_view name;
  FieldKind kind;
  FieldValue (*get)(const void* attrs);
  bool (*set)(void* attrs, const FieldValue& value);  // false: wrong kind or unknown enumerator
  std::span<const std::string_view> choices;          // of an Enum
};

struct AttrSchema {
  std::string_view name;
  std::span<const Field> fields;
  std::shared_ptr<void> (*make_default)();
  std::shared_ptr<void> (*clone)(const void*);
  bool (*equal)(const void*, const void*);

  const Field* find(std::string_view field_name) const {
    for (const Field& field : fields)
      if (field.name == field_name) return &field;
    return nullptr;
  }
};

namespace detail {

template <class M>
struct MemberOf;
template <class S, class T>
struct MemberOf<T S::*> {
  using Struct = S;
  using Type = T;
};

template <class T>
constexpr FieldKind field_kind() {
  if constexpr (std::is_same_v<T, bool>)
    return FieldKind::Bool;
  else if constexpr (std::is_same_v<T, int64_t>)
    return FieldKind::Int;
  else if constexpr (std::is_same_v<T, float>)
    return FieldKind::Float;
  else if constexpr (std::is_same_v<T, std::string>)
    return FieldKind::String;
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    return FieldKind::Ints;
  else if constexpr (std::is_same_v<T, std::vector<float>>)
    return FieldKind::Floats;
  else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return FieldKind::Strings;
  else if constexpr (std::is_same_v<T, DType>)
    return FieldKind::DType;
  else {
    static_assert(std::is_enum_v<T>,
                  "attribute fields are int64_t, float, bool, string, vectors, DType or enums");
    return FieldKind::Enum;
  }
}

template <class T>
FieldValue to_field_value(const T& value) {
  constexpr FieldKind kind = field_kind<T>();
  if constexpr (kind == FieldKind::Float)
    return static_cast<double>(value);
  else if constexpr (kind == FieldKind::Floats)
    return std::vector<double>(value.begin(), value.end());
  else if constexpr (kind == FieldKind::DType)
    return std::string(dtype_name(value));
  else if constexpr (kind == FieldKind::Enum)
    return std::string(EnumText<T>::kNames[static_cast<size_t>(value)]);
  else
    return value;
}

template <class T>
bool from_field_value(T& out, const FieldValue& value) {
  constexpr FieldKind kind = field_kind<T>();
  if constexpr (kind == FieldKind::Float) {
    if (const auto* d = std::get_if<double>(&value)) return out = static_cast<float>(*d), true;
    if (const auto* i = std::get_if<int64_t>(&value)) return out = static_cast<float>(*i), true;
    return false;
  } else if constexpr (kind == FieldKind::Floats) {
    if (const auto* d = std::get_if<std::vector<double>>(&value)) {
      out.clear();
      for (const double v : *d) out.push_back(static_cast<float>(v));
      return true;
    }
    if (const auto* i = std::get_if<std::vector<int64_t>>(&value)) {
      out.clear();
      for (const int64_t v : *i) out.push_back(static_cast<float>(v));
      return true;
    }
    return false;
  } else if constexpr (kind == FieldKind::DType) {
    const auto* text = std::get_if<std::string>(&value);
    const auto dtype = text ? dtype_from_name(*text) : std::nullopt;
    return dtype ? (out = *dtype, true) : false;
  } else if constexpr (kind == FieldKind::Enum) {
    const auto* text = std::get_if<std::string>(&value);
    if (!text) return false;
    const auto& names = EnumText<T>::kNames;
    for (size_t i = 0; i < std::size(names); ++i)
      if (names[i] == *text) return out = static_cast<T>(i), true;
    return false;
  } else {
    const T* same = std::get_if<T>(&value);
    if constexpr (kind == FieldKind::Strings || kind == FieldKind::Ints) {
      // An empty list in text has no element type of its own.
      const auto* ints = std::get_if<std::vector<int64_t>>(&value);
      if (!same && ints && ints->empty()) return out.clear(), true;
    }
    return same ? (out = *same, true) : false;
  }
}

template <auto Member>
constexpr Field make_field(std::string_view name) {
  using S = typename MemberOf<decltype(Member)>::Struct;
  using T = typename MemberOf<decltype(Member)>::Type;
  Field field{
      name,
      field_kind<T>(),
      [](const void* attrs) { return to_field_value(static_cast<const S*>(attrs)->*Member); },
      [](void* attrs, const FieldValue& value) {
        return from_field_value(static_cast<S*>(attrs)->*Member, value);
      },
      {}};
  if constexpr (field_kind<T>() == FieldKind::Enum) field.choices = EnumText<T>::kNames;
  return field;
}

template <class S>
constexpr AttrSchema make_schema(std::string_view name, std::span<const Field> fields) {
  return {name, fields, []() -> std::shared_ptr<void> { return std::make_shared<S>(); },
          [](const void* p) -> std::shared_ptr<void> {
            return std::make_shared<S>(*static_cast<const S*>(p));
          },
          [](const void* a, const void* b) {
            return *static_cast<const S*>(a) == *static_cast<const S*>(b);
          }};
}

}  // namespace detail

#define EC_PARENS ()
#define EC_EXPAND(...) EC_EXPAND3(EC_EXPAND3(EC_EXPAND3(__VA_ARGS__)))
#define EC_EXPAND3(...) EC_EXPAND2(EC_EXPAND2(EC_EXPAND2(__VA_ARGS__)))
#define EC_EXPAND2(...) EC_EXPAND1(EC_EXPAND1(EC_EXPAND1(__VA_ARGS__)))
#define EC_EXPAND1(...) __VA_ARGS__
#define EC_FIELD_LIST(S, first, ...)           \
  ::ec::detail::make_field<&S::first>(#first), \
      __VA_OPT__(EC_FIELD_LIST_AGAIN EC_PARENS(S, __VA_ARGS__))
#define EC_FIELD_LIST_AGAIN() EC_FIELD_LIST

// A template, so that a file only compiles the tables of the structs it uses.
#define EC_ATTRS(S, ...)                                                                      \
  template <class Self = S>                                                                   \
  static const ::ec::AttrSchema& schema() {                                                   \
    static constexpr ::ec::Field kFields[] = {EC_EXPAND(EC_FIELD_LIST(Self, __VA_ARGS__))};   \
    static constexpr ::ec::AttrSchema kSchema = ::ec::detail::make_schema<Self>(#S, kFields); \
    return kSchema;                                                                           \
  }                                                                                           \
  bool operator==(const S&) const = default;

struct NoAttrs {
  static const AttrSchema& schema() {
    static constexpr AttrSchema kSchema = detail::make_schema<NoAttrs>("NoAttrs", {});
    return kSchema;
  }
  bool operator==(const NoAttrs&) const = default;
};

// Holds one attribute struct of any kind. Copies share it until one of them is changed.
class Attrs {
 public:
  Attrs() : Attrs(NoAttrs{}) {}
  template <class S, class = decltype(S::schema())>
  Attrs(S value) : schema_(&S::schema()), data_(std::make_shared<S>(std::move(value))) {}  // NOLINT
  static Attrs defaults_of(const AttrSchema& schema) {
    return Attrs(schema, schema.make_default());
  }

  template <class S>
  bool is() const {
    return schema_ == &S::schema();
  }
  template <class S>
  const S& as() const {
    assert(is<S>());
    return *static_cast<const S*>(data_.get());
  }
  template <class S>
  S& edit() {
    assert(is<S>());
    return *static_cast<S*>(edit_raw());
  }
  const AttrSchema& schema() const { return *schema_; }
  FieldValue get(const Field& field) const { return field.get(data_.get()); }
  bool set(const Field& field, const FieldValue& value) { return field.set(edit_raw(), value); }

  bool operator==(const Attrs& other) const {
    return schema_ == other.schema_ &&
           (data_ == other.data_ || schema_->equal(data_.get(), other.data_.get()));
  }

 private:
  Attrs(const AttrSchema& schema, std::shared_ptr<void> data)
      : schema_(&schema), data_(std::move(data)) {}
  void* edit_raw() {
    if (data_.use_count() > 1) data_ = schema_->clone(data_.get());
    return data_.get();
  }

  const AttrSchema* schema_;
  std::shared_ptr<void> data_;
};

}  // namespace ec
