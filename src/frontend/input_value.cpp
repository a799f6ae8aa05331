#include "frontend/input_value.h"

#include <cmath>

#include "ops/convert.h"
#include "ops/infer.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr int kMaxDepth = 16;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<InputValue> whole() {
    // Only lists and quotes have structure; other texts are taken as they are.
    const char first = text_.empty() ? '\0' : text_.front();
    if (first != '[' && first != '(' && first != '"' && first != '\'') return atom(text_);
    EC_TRY(InputValue value, item(0));
    skip_spaces();
    if (at_ != text_.size()) return fault("text after the value");
    return value;
  }

 private:
  Error fault(const std::string& what) const {
    return Error(Code::BadValue, what + " in '" + printable(text_) + "'")
        .hint("write a number, true, false, none, a text, or a list such as [1, 2]");
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  Result<InputValue> item(int depth) {
    if (depth > kMaxDepth) return fault("lists nest too deep");
    skip_spaces();
    if (at_ == text_.size()) return fault("a value is missing");
    const char first = text_[at_];
    if (first == '"' || first == '\'') {
      const size_t end = text_.find(first, at_ + 1);
      if (end == std::string_view::npos) return fault("a quote without end");
      InputValue value{std::string(text_.substr(at_ + 1, end - at_ - 1))};
      at_ = end + 1;
      return value;
    }
    if (first == '[' || first == '(') return list(first == '[' ? ']' : ')', depth);
    const size_t end = std::min(text_.find_first_of(",])", at_), text_.size());
    const std::string_view plain = trim(text_.substr(at_, end - at_));
    if (plain.empty()) return fault("a value is missing");
    at_ = end;
    return atom(plain);
  }

  Result<InputValue> list(char close, int depth) {
    InputValue::List items;
    ++at_;
    for (;;) {
      skip_spaces();
      if (at_ < text_.size() && text_[at_] == close) break;
      EC_TRY(InputValue value, item(depth + 1));
      items.push_back(std::move(value));
      skip_spaces();
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (at_ >= text_.size() || text_[at_] != close) return fault("a list without end");
    }
    ++at_;
    return InputValue{std::move(items)};
  }

  static InputValue atom(std::string_view text) {
    const std::string word = to_lower(text);
    if (word == "true") return {true};
    if (word == "false") return {false};
    if (word == "none" || word == "null") return {};
    if (const auto number = parse_int(text)) return {*number};
    if (const auto number = parse_double(text)) return {*number};
    return {std::string(text)};
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::optional<double> number_of(const InputValue& value) {
  if (const auto* number = std::get_if<double>(&value.value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value.value)) return static_cast<double>(*number);
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag ? 1.0 : 0.0;
  return std::nullopt;
}

// All numbers of a nested list, in order; false when something else is in it.
bool flatten(const InputValue& value, std::vector<InputValue>& numbers) {
  if (const auto* list = std::get_if<InputValue::List>(&value.value)) {
    for (const InputValue& item : *list)
      if (!flatten(item, numbers)) return false;
    return true;
  }
  if (!number_of(value)) return false;
  numbers.push_back(value);
  return true;
}

// False when the element type cannot hold the number.
bool store_number(DType dtype, const InputValue& value, std::byte* to) {
  const MutableView view{dtype, {}, to, nullptr};
  const double number = *number_of(value);
  if (is_float(dtype)) {
    store<double>(view, std::span(&number, 1));
    return true;
  }
  const auto* whole = std::get_if<int64_t>(&value.value);
  if (whole == nullptr && std::trunc(number) != number) return false;
  const int64_t integer = whole != nullptr ? *whole : static_cast<int64_t>(number);
  const bool fits =
      dtype == DType::Bool
          ? integer == 0 || integer == 1
          : static_cast<double>(integer) >= static_cast<double>(lowest_integer(dtype)) &&
                static_cast<double>(integer) <= static_cast<double>(highest_integer(dtype));
  if (!fits) return false;
  store<int64_t>(view, std::span(&integer, 1));
  return true;
}

}  // namespace

Result<InputValue> parse_input_value(std::string_view text) { return Parser(trim(text)).whole(); }

std::string input_value_text(const InputValue& value) {
  struct Text {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const {
      std::string text = format_double(number);
      const bool whole = text.find_first_not_of("-0123456789") == std::string::npos;
      return whole ? text + ".0" : text;
    }
    std::string operator()(const std::string& text) const { return '"' + text + '"'; }
    std::string operator()(const InputValue::List& list) const {
      std::string text = "[";
      for (const InputValue& item : list)
        text += (text.size() > 1 ? ", " : "") + input_value_text(item);
      return text + "]";
    }
  };
  return std::visit(Text(), value.value);
}

Result<Tensor*> add_input_constant(Graph& graph, const std::string& name, const TensorType& type,
                                   const InputValue& value) {
  const auto misfit = [&] {
    return Error(Code::BadValue, "input '" + printable(name) + "' is " + type.text() +
                                     ", the value " + printable(input_value_text(value)) +
                                     " does not fit it")
        .hint("give a number for every element, or one number for all");
  };
  std::vector<InputValue> numbers;
  if (!flatten(value, numbers) || numbers.empty() || type.quant) return misfit();
  const bool is_list = std::holds_alternative<InputValue::List>(value.value);
  if (!type.shape) return misfit();
  std::vector<int64_t> sizes;
  size_t open = 0;
  for (const Dim& dim : *type.shape) open += dim.is_static() ? 0 : 1;
  for (const Dim& dim : *type.shape)
    sizes.push_back(dim.is_static() ? dim.size() : is_list && open == 1 ? -1 : 1);
  int64_t known = 1;
  for (const int64_t size : sizes)
    if (size >= 0) known = checked_mul(known, size).value_or(0);
  for (int64_t& size : sizes)
    if (size < 0) size = known > 0 ? static_cast<int64_t>(numbers.size()) / known : 0;
  TensorType fixed(type.dtype, Shape::of(sizes));
  const auto count = fixed.num_elements();
  const auto bytes = fixed.num_bytes();
  constexpr int64_t kMaxBytes = int64_t{1} << 30;
  if (!count || !bytes || *bytes > kMaxBytes ||
      (is_list && *count != static_cast<int64_t>(numbers.size())))
    return misfit();
  Buffer buffer = Buffer::allocate(static_cast<size_t>(*bytes));
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for the value of an input");
  const size_t width = element_size(type.dtype);
  for (size_t i = 0; i < static_cast<size_t>(*count); ++i)
    if (!store_number(type.dtype, numbers[is_list ? i : 0], buffer.data() + i * width))
      return misfit();
  return graph.add_constant(name, std::move(fixed), std::move(buffer).to_blob());
}

void bind_input_values(Graph& graph, const InputValues& values, DiagnosticSink& sink) {
  bool changed = false;
  for (const auto& [name, value] : values) {
    size_t index = 0;
    while (index < graph.inputs().size() && graph.inputs()[index]->name() != name) ++index;
    if (index == graph.inputs().size()) {
      if (graph.metadata().contains(std::string(kInputValueKey) + name)) continue;
      std::vector<std::string_view> known;
      for (const Tensor* input : graph.inputs()) known.push_back(input->name());
      std::string hint = did_you_mean(name, known);
      if (hint.empty() && !known.empty())
        hint = "the first input is '" + std::string(known[0]) + "'";
      sink.report(Error(Code::UnknownInput,
                        "the model has no input '" + printable(name) + "' that takes a value")
                      .hint(std::move(hint)));
      continue;
    }
    Tensor* input = graph.inputs()[index];
    Result<Tensor*> made = add_input_constant(graph, name, input->type(), value);
    if (!made.ok()) {
      sink.report(std::move(made).error());
      continue;
    }
    graph.replace_all_uses(input, *made);
    graph.erase_input(index);
    graph.rename(*made, name);
    graph.metadata()[std::string(kInputValueKey) + name] = input_value_text(value);
    changed = true;
  }
  if (changed) infer_graph(graph, sink);
}

}  // namespace ec
