#include "frontend/torch/aten/schema.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "support/strings.h"

namespace ec::torch {
namespace {

using Base = ArgType::Base;

struct TypeName {
  std::string_view text;
  Base base;
};
constexpr std::array kTypeNames = {
    TypeName{"Tensor", Base::Tensor}, TypeName{"int", Base::Int},
    TypeName{"SymInt", Base::Int},    TypeName{"ScalarType", Base::Int},
    TypeName{"Layout", Base::Int},    TypeName{"MemoryFormat", Base::Int},
    TypeName{"float", Base::Float},   TypeName{"SymFloat", Base::Float},
    TypeName{"bool", Base::Bool},     TypeName{"SymBool", Base::Bool},
    TypeName{"Scalar", Base::Scalar}, TypeName{"number", Base::Scalar},
    TypeName{"str", Base::Str},       TypeName{"Device", Base::Any},
    TypeName{"Generator", Base::Any}, TypeName{"Packed", Base::Any},
    TypeName{"Any", Base::Any},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Schema> run() {
    Schema schema;
    const size_t open = text_.find('(');
    if (open == std::string_view::npos) return fault("no argument list");
    std::string_view name = text_.substr(0, open);
    const size_t colons = name.find("::");
    if (colons == std::string_view::npos) return fault("no namespace");
    const size_t dot = name.find('.', colons);
    schema.name = std::string(name.substr(0, dot));
    if (dot != std::string_view::npos) schema.overload = std::string(name.substr(dot + 1));
    at_ = open + 1;
    EC_CHECK_OK(arguments(schema));
    EC_CHECK_OK(results(schema));
    return schema;
  }

 private:
  Error fault(std::string_view what) const {
    return Error(Code::BadText, "signature '" + std::string(text_) + "': " + std::string(what) +
                                    " at " + std::to_string(at_));
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::string_view word() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Result<ArgType> type() {
    const std::string_view name = word();
    const auto found = std::ranges::find(kTypeNames, name, &TypeName::text);
    if (found == kTypeNames.end()) return fault("unknown type");
    ArgType result;
    result.base = found->base;
    if (accept("(")) {  // Tensor(a!): what it aliases
      while (at_ < text_.size() && text_[at_] != ')') ++at_;
      if (!accept(")")) return fault("')' expected");
    }
    if (accept("?")) result.optional = true;
    if (accept("[")) {
      result.list = true;
      result.optional_items = std::exchange(result.optional, false);
      if (const auto size = parse_int(word())) result.list_size = *size;
      if (!accept("]")) return fault("']' expected");
      if (accept("?")) result.optional = true;
    }
    return result;
  }

  Result<TorchValue> literal() {
    skip_space();
    if (accept("[")) {
      std::vector<TorchValue> items;
      while (!accept("]")) {
        EC_TRY(TorchValue item, literal());
        items.push_back(std::move(item));
        accept(",");
      }
      return TorchValue::list(std::move(items));
    }
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      const size_t end = text_.find(text_[at_], at_ + 1);
      if (end == std::string_view::npos) return fault("unclosed text");
      const std::string value(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
      return TorchValue(value);
    }
    const size_t end = std::min(text_.find_first_of(",)] ", at_), text_.size());
    const std::string_view token = text_.substr(at_, end - at_);
    at_ = end;
    if (token == "None") return TorchValue();
    if (token == "True") return TorchValue(true);
    if (token == "False") return TorchValue(false);
    if (token == "contiguous_format") return TorchValue(0);
    if (token == "Mean") return TorchValue(1);
    if (const auto value = parse_int(token)) return TorchValue(*value);
    if (const auto value = parse_double(token)) return TorchValue(*value);
    return fault("unknown default");
  }

  Status arguments(Schema& schema) {
    bool keyword_only = false;
    while (!accept(")")) {
      if (at_ >= text_.size()) return fault("')' expected");
      if (accept("*")) {
        keyword_only = true;
      } else {
        SchemaArg arg;
        EC_TRY(arg.type, type());
        arg.name = std::string(word());
        arg.keyword_only = keyword_only;
        if (arg.name.empty()) return fault("an argument has no name");
        if (accept("=")) {
          EC_TRY(TorchValue fallback, literal());
          // "int[2] stride=1" and "int? dim=None": a float's default may be written as an integer.
          if (arg.type.base == Base::Float && fallback.is<int64_t>())
            fallback = static_cast<double>(fallback.get<int64_t>());
          arg.fallback = std::move(fallback);
        }
        schema.args.push_back(std::move(arg));
      }
      accept(",");
    }
    return {};
  }

  Status results(Schema& schema) {
    if (!accept("->")) return fault("'->' expected");
    const bool many = accept("(");
    while (at_ < text_.size() && text_[at_] != ')') {
      EC_CHECK_OK(type());
      word();  // names of results say nothing here
      ++schema.num_results;
      if (!accept(",")) break;
    }
    if (many && !accept(")")) return fault("')' expected");
    skip_space();
    return at_ == text_.size() ? Status() : fault("text after the signature");
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

size_t Schema::num_positional() const {
  return static_cast<size_t>(
      std::ranges::count_if(args, [](const SchemaArg& arg) { return !arg.keyword_only; }));
}

const SchemaArg* Schema::find(std::string_view arg) const {
  const auto found = std::ranges::find(args, arg, &SchemaArg::name);
  return found == args.end() ? nullptr : &*found;
}

Result<Schema> parse_schema(std::string_view text) { return Parser(text).run(); }

}  // namespace ec::torch
