// Result<T> and Status: how every failure that a user's file can cause travels inside the compiler.
// Own code throws nothing; the public API turns an Error into an exception in one place.
#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "support/diagnostic.h"

namespace ec {

// An error is one diagnostic with severity error; kept behind a pointer so that Result stays small.
class [[nodiscard]] Error {
 public:
  explicit Error(Diagnostic diagnostic)
      : diagnostic_(std::make_unique<Diagnostic>(std::move(diagnostic))) {}
  Error(Code code, std::string message) : Error(Diagnostic(code, std::move(message))) {}

  const Diagnostic& diagnostic() const { return *diagnostic_; }
  Diagnostic& diagnostic() { return *diagnostic_; }
  Code code() const { return diagnostic_->code; }
  const std::string& message() const { return diagnostic_->message; }

  // Fluent additions on the way up: return Error(...).node("conv1").hint("...").
  Error&& file(std::string value) && {
    if (diagnostic_->file.empty()) diagnostic_->file = std::move(value);
    return std::move(*this);
  }
  Error&& node(std::string name, std::string op_type = {}) && {
    if (diagnostic_->node.empty()) {
      diagnostic_->node = std::move(name);
      diagnostic_->op_type = std::move(op_type);
    }
    return std::move(*this);
  }
  Error&& note(std::string text) && {
    diagnostic_->notes.push_back(std::move(text));
    return std::move(*this);
  }
  Error&& hint(std::string text) && {
    if (diagnostic_->hint.empty()) diagnostic_->hint = std::move(text);
    return std::move(*this);
  }

 private:
  std::unique_ptr<Diagnostic> diagnostic_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return assert(ok()), *std::get_if<0>(&state_); }
  const T& value() const& { return assert(ok()), *std::get_if<0>(&state_); }
  T&& value() && { return assert(ok()), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { return assert(!ok()), *std::get_if<1>(&state_); }
  const Error& error() const& { return assert(!ok()), *std::get_if<1>(&state_); }
  Error&& error() && { return assert(!ok()), std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  Error& error() & { return assert(!ok()), *error_; }
  const Error& error() const& { return assert(!ok()), *error_; }
  Error&& error() && { return assert(!ok()), std::move(*error_); }

 private:
  std::optional<Error> error_;
};

inline Status ok_status() { return {}; }

}  // namespace ec

#define EC_CONCAT_INNER(a, b) a##b
#define EC_CONCAT(a, b) EC_CONCAT_INNER(a, b)
// EC_CHECK_OK(status_expr): returns the error to the caller.
#define EC_CHECK_OK(expr)                                                                 \
  do {                                                                                    \
    if (auto ec_status_ = (expr); !ec_status_.ok()) return std::move(ec_status_).error(); \
  } while (false)
// EC_TRY(auto x, result_expr): binds the value or returns the error to the caller.
#define EC_TRY(declaration, expr) EC_TRY_IMPL(EC_CONCAT(ec_result_, __LINE__), declaration, expr)
#define EC_TRY_IMPL(tmp, declaration, expr)     \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return std::move(tmp).error(); \
  declaration = std::move(tmp).value()
