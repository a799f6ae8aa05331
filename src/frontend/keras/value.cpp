#include "frontend/keras/value.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace ec::keras {
namespace {

constexpr size_t kMaxDepth = 200, kMaxValues = 4'000'000;

// Builds a Value while the parser walks over the text.
class Reader : public nlohmann::json::json_sax_t {
 public:
  bool null() override { return take(Value()); }
  bool boolean(bool value) override { return take(Value::boolean(value)); }
  bool number_integer(number_integer_t value) override { return take(Value::integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return take(value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
                    ? Value::integer(static_cast<int64_t>(value))
                    : Value::number(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override {
    return take(Value::number(value));
  }
  bool string(string_t& value) override { return take(Value::text(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Value::dict()); }
  bool key(string_t& key) override {
    keys_.back() = std::move(key);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Value::list({})); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  Value result;
  bool too_deep = false, too_many = false;

 private:
  bool take(Value value) {
    if (++count_ > kMaxValues) return too_many = true, false;
    if (open_.empty())
      result = std::move(value);
    else if (open_.back().is_dict())
      open_.back().set(std::move(keys_.back()), std::move(value));
    else
      open_.back().append(std::move(value));
    return true;
  }
  bool open(Value value) {
    if (open_.size() >= kMaxDepth) return too_deep = true, false;
    open_.push_back(std::move(value));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Value value = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    // Keras 3 marks tuples; they are lists like others.
    if (value.is_dict() && value["class_name"].is("__tuple__"))
      value = Value(value["config"]["value"]);
    return take(std::move(value));
  }

  std::vector<Value> open_;
  std::vector<std::string> keys_;
  size_t count_ = 0;
};

// Python writes numbers that JSON has not; they become numbers that overflow, and null.
std::string without_nan(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      out += c;
      if (++i < text.size()) out += text[i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (!quoted && text.substr(i).starts_with("Infinity")) {
      out += "1.7976931348623157e308";
      i += 7;
    } else if (!quoted && text.substr(i).starts_with("NaN")) {
      out += "null";
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Value Value::boolean(bool value) {
  Value v;
  v.kind_ = Kind::Bool;
  v.bool_ = value;
  return v;
}
Value Value::integer(int64_t value) {
  Value v;
  v.kind_ = Kind::Int;
  v.int_ = value;
  return v;
}
Value Value::number(double value) {
  Value v;
  v.kind_ = Kind::Float;
  v.number_ = value;
  return v;
}
Value Value::text(std::string value) {
  Value v;
  v.kind_ = Kind::Text;
  v.parts().text = std::move(value);
  return v;
}
Value Value::tensor(ec::Tensor* tensor, ec::Tensor* mask) {
  Value v;
  v.kind_ = Kind::Tensor;
  v.tensor_ = tensor;
  v.mask_ = mask;
  return v;
}
Value Value::list(std::vector<Value> items) {
  Value v;
  v.kind_ = Kind::List;
  v.parts().items = std::move(items);
  return v;
}
Value Value::dict() {
  Value v;
  v.kind_ = Kind::Dict;
  return v;
}
Value Value::slice(Value begin, Value end, Value step) {
  Value v = list({std::move(begin), std::move(end), std::move(step)});
  v.kind_ = Kind::Slice;
  return v;
}
Value Value::failed() {
  Value v;
  v.kind_ = Kind::Failed;
  return v;
}

Value::Parts& Value::parts() {
  if (!parts_ || parts_.use_count() > 1)
    parts_ = parts_ ? std::make_shared<Parts>(*parts_) : std::make_shared<Parts>();
  return *parts_;
}

bool Value::as_bool(bool otherwise) const {
  if (kind_ == Kind::Bool) return bool_;
  if (kind_ == Kind::Int) return int_ != 0;
  return otherwise;
}
int64_t Value::as_int(int64_t otherwise) const {
  if (kind_ == Kind::Int) return int_;
  if (kind_ == Kind::Bool) return bool_ ? 1 : 0;
  if (kind_ == Kind::Float && std::abs(number_) < 0x1p62) return static_cast<int64_t>(number_);
  return otherwise;
}
double Value::as_number(double otherwise) const {
  if (kind_ == Kind::Float) return number_;
  if (kind_ == Kind::Int) return static_cast<double>(int_);
  if (kind_ == Kind::Bool) return bool_ ? 1 : 0;
  return otherwise;
}
const std::string& Value::as_text() const {
  static const std::string kEmpty;
  return is_text() && parts_ ? parts_->text : kEmpty;
}
const std::vector<Value>& Value::items() const {
  static const std::vector<Value> kEmpty;
  return parts_ ? parts_->items : kEmpty;
}
const std::vector<std::string>& Value::keys() const {
  static const std::vector<std::string> kEmpty;
  return parts_ ? parts_->keys : kEmpty;
}
const Value& Value::operator[](std::string_view key) const {
  static const Value kNone{};
  if (kind_ != Kind::Dict || !parts_) return kNone;
  for (size_t i = 0; i < parts_->keys.size(); ++i)
    if (parts_->keys[i] == key) return parts_->items[i];
  return kNone;
}
void Value::set(std::string key, Value item) {
  Parts& p = parts();
  p.keys.push_back(std::move(key));
  p.items.push_back(std::move(item));
}

void collect_tensors(const Value& value, std::vector<ec::Tensor*>& tensors) {
  if (value.is_tensor()) tensors.push_back(value.as_tensor());
  for (const Value& item : value.items()) collect_tensors(item, tensors);
}

bool contains_failed(const Value& value) {
  if (value.is_failed()) return true;
  for (const Value& item : value.items())
    if (contains_failed(item)) return true;
  return false;
}

Result<Value> parse_json(std::string_view text) {
  Reader reader;
  const std::string plain = without_nan(text);
  if (nlohmann::json::sax_parse(plain, &reader)) return std::move(reader.result);
  if (reader.too_deep)
    return Error(Code::TooDeep, "the model's configuration is nested deeper than 200 levels");
  if (reader.too_many)
    return Error(Code::TooLarge, "the model's configuration has more than 4 million values");
  return Error(Code::CorruptFile, "the model's configuration is no valid JSON")
      .hint("the file is damaged: save or copy it again");
}

}  // namespace ec::keras
