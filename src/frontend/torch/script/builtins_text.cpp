// Texts: mostly the messages of assertions.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/torch/script/builtins.h"
#include "frontend/torch/script/limits.h"
#include "support/strings.h"

namespace ec::torch::script {
namespace {

Error too_long() { return Error(Code::TooLarge, "a text is too long"); }

// "got {} of {}".format(a, b); without arguments left a brace pair stays.
BuiltinResult format(const BuiltinCall& call) {
  if (call.args.empty() || !call.args[0].is<std::string>()) return std::nullopt;
  const auto& pattern = call.args[0].get<std::string>();
  std::string text;
  size_t next = 1;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{' && i + 1 < pattern.size() && pattern[i + 1] == '}' &&
        next < call.args.size()) {
      text += text_of_value(call.args[next++]);
      if (text.size() > kMaxText) return too_long();
      ++i;
    } else {
      text += pattern[i];
    }
  }
  return TorchValue(std::move(text));
}

const std::string* text_at(const BuiltinCall& call, size_t i) {
  const TorchValue* value = call.arg(i);
  return value == nullptr ? nullptr : value->get_if<std::string>();
}

BuiltinResult starts_with(const BuiltinCall& call) {
  const auto *text = text_at(call, 0), *part = text_at(call, 1);
  if (text == nullptr || part == nullptr) return std::nullopt;
  return TorchValue(text->starts_with(*part));
}

BuiltinResult ends_with(const BuiltinCall& call) {
  const auto *text = text_at(call, 0), *part = text_at(call, 1);
  if (text == nullptr || part == nullptr) return std::nullopt;
  return TorchValue(text->ends_with(*part));
}

// text.find(part, start, end): a position, or -1.
BuiltinResult find_text(const BuiltinCall& call) {
  const auto *text = text_at(call, 0), *part = text_at(call, 1);
  if (text == nullptr || part == nullptr) return std::nullopt;
  const auto bound = [&](size_t i, int64_t otherwise) {
    const auto* at = call.arg(i) == nullptr ? nullptr : call.args[i].get_if<int64_t>();
    const auto size = static_cast<int64_t>(text->size());
    const int64_t value = at == nullptr ? otherwise : *at;
    return static_cast<size_t>(std::clamp<int64_t>(value < 0 ? value + size : value, 0, size));
  };
  const size_t start = bound(2, 0), end = bound(3, static_cast<int64_t>(text->size()));
  const size_t at = text->substr(0, end).find(*part, start);
  return TorchValue(at == std::string::npos ? int64_t{-1} : static_cast<int64_t>(at));
}

BuiltinResult replace(const BuiltinCall& call) {
  const auto *text = text_at(call, 0), *from = text_at(call, 1), *to = text_at(call, 2);
  if (text == nullptr || from == nullptr || to == nullptr || from->empty()) return std::nullopt;
  std::string made = *text;
  for (size_t at = made.find(*from); at != std::string::npos;
       at = made.find(*from, at + to->size())) {
    made.replace(at, from->size(), *to);
    if (made.size() > kMaxText) return too_long();
  }
  return TorchValue(std::move(made));
}

// "a %d" % b: for messages, whatever the letter says.
BuiltinResult percent_format(const BuiltinCall& call) {
  if (call.args.empty() || !call.args[0].is<std::string>()) return std::nullopt;
  const auto& pattern = call.args[0].get<std::string>();
  std::string text;
  size_t next = 1;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      text += pattern[i];
    } else if (pattern[++i] == '%') {
      text += '%';
    } else if (next < call.args.size()) {
      text += text_of_value(call.args[next++]);
      if (text.size() > kMaxText) return too_long();
    }
  }
  return TorchValue(std::move(text));
}

BuiltinResult lower(const BuiltinCall& call) {
  const auto* text = text_at(call, 0);
  if (text == nullptr) return std::nullopt;
  return TorchValue(to_lower(*text));
}

BuiltinResult strip(const BuiltinCall& call) {
  const auto* text = text_at(call, 0);
  if (text == nullptr || call.args.size() > 1) return std::nullopt;
  return TorchValue(std::string(trim(*text)));
}

BuiltinResult split_text(const BuiltinCall& call) {
  const auto *text = text_at(call, 0), *separator = text_at(call, 1);
  if (text == nullptr || separator == nullptr || separator->size() != 1) return std::nullopt;
  std::vector<TorchValue> parts;
  for (const std::string_view part : split(*text, (*separator)[0]))
    parts.emplace_back(std::string(part));
  return TorchValue::list(std::move(parts));
}

BuiltinResult join_texts(const BuiltinCall& call) {
  const auto* separator = text_at(call, 0);
  const auto* items = call.args.size() == 2 ? call.args[1].items() : nullptr;
  if (separator == nullptr || items == nullptr) return std::nullopt;
  std::string text;
  for (size_t i = 0; i < items->size(); ++i) {
    text += (i > 0 ? *separator : "") + text_of_value((*items)[i]);
    if (text.size() > kMaxText) return too_long();
  }
  return TorchValue(std::move(text));
}

BuiltinResult to_text(const BuiltinCall& call) {
  if (call.args.size() != 1) return std::nullopt;
  return TorchValue(text_of_value(call.args[0]));
}

BuiltinResult code_point(const BuiltinCall& call) {
  const auto* text = text_at(call, 0);
  if (text == nullptr || text->size() != 1) return std::nullopt;
  return TorchValue(static_cast<int64_t>(static_cast<unsigned char>((*text)[0])));
}

constexpr std::array kTexts = {
    NamedBuiltin{"aten::format", format},      NamedBuiltin{"aten::startswith", starts_with},
    NamedBuiltin{"aten::endswith", ends_with}, NamedBuiltin{"aten::lower", lower},
    NamedBuiltin{"aten::strip", strip},        NamedBuiltin{"aten::split", split_text},
    NamedBuiltin{"aten::join", join_texts},    NamedBuiltin{"aten::str", to_text},
    NamedBuiltin{"aten::ord", code_point},     NamedBuiltin{"aten::find", find_text},
    NamedBuiltin{"aten::replace", replace},    NamedBuiltin{"aten::percentFormat", percent_format},
};

// The text of containers is bounded: it only ends up in messages.
constexpr size_t kMaxPrinted = 2000;

}  // namespace

std::span<const NamedBuiltin> text_builtins() { return kTexts; }

std::string text_of_value(const TorchValue& value) {
  if (value.is_none()) return "None";
  if (const auto* flag = value.get_if<bool>()) return *flag ? "True" : "False";
  if (const auto* integer = value.get_if<int64_t>()) return std::to_string(*integer);
  if (const auto* real = value.get_if<double>()) return format_double(*real);
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* items = value.items()) {
    const bool list = value.is<TorchValue::List>();
    std::string text = list ? "[" : "(";
    for (size_t i = 0; i < items->size() && text.size() < kMaxPrinted; ++i)
      text += (i > 0 ? ", " : "") + text_of_value((*items)[i]);
    return text + (list ? "]" : ")");
  }
  return describe(value);
}

}  // namespace ec::torch::script
