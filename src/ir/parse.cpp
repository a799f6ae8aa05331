#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>

#include "ir/base64.h"
#include "ir/lexer.h"
#include "ir/text.h"
#include "ops/convert.h"
#include "ops/infer.h"
#include "ops/op_def.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr int kMaxDepth = 64;
// Splats are the only constants that are larger in memory than in the text. One is printed up to a
// megabyte; all different ones together take at most this and the size of the text.
constexpr size_t kMaxSplatBytes = size_t{32} << 20;
constexpr size_t kMaxRank = 64;

class Parser {
 public:
  Parser(std::string_view text, const Blob& data)
      : lexer_(text), data_(data), text_size_(text.size()) {}

  Result<std::unique_ptr<Graph>> run() {
    EC_CHECK_OK(advance());
    if (token_.is_word("ecir")) {
      EC_CHECK_OK(advance());
      if (token_.kind != Token::Kind::Number || token_.text != "1")
        return fail("version 1 expected after 'ecir'");
      EC_CHECK_OK(advance());
      if (token_.is_word("data")) {  // the saved form's pointer to its data section
        EC_CHECK_OK(advance());
        EC_CHECK_OK(expect("="));
        EC_CHECK_OK(advance());
      }
    }
    EC_TRY(std::unique_ptr<Graph> graph, parse_graph(0));
    if (token_.kind != Token::Kind::End) return fail("end of text expected after the graph");
    return graph;
  }

 private:
  using Scope = std::unordered_map<std::string, Tensor*>;

  Status advance() {
    EC_TRY(token_, lexer_.next());
    return {};
  }
  Error fail(const std::string& message) const { return lexer_.error_at(token_.offset, message); }
  Status expect(std::string_view punct) {
    if (!token_.is(punct)) return fail("'" + std::string(punct) + "' expected");
    return advance();
  }
  Result<std::string> take(Token::Kind kind, const char* what) {
    if (token_.kind != kind) return fail(std::string(what) + " expected");
    std::string text = std::move(token_.text);
    EC_CHECK_OK(advance());
    return text;
  }
  Result<int64_t> take_int() {
    const auto value = token_.kind == Token::Kind::Number ? parse_int(token_.text) : std::nullopt;
    if (!value) return fail("integer expected");
    EC_CHECK_OK(advance());
    return *value;
  }
  // A plain or quoted name.
  Result<std::string> take_name() {
    const bool name = token_.kind == Token::Kind::Word || token_.kind == Token::Kind::String ||
                      token_.kind == Token::Kind::Number;
    if (!name) return fail("name expected");
    std::string text = std::move(token_.text);
    EC_CHECK_OK(advance());
    return text;
  }

  Result<std::unique_ptr<Graph>> parse_graph(int depth) {
    if (depth > kMaxDepth) return fail("graphs are nested too deeply");
    if (!token_.is_word("graph")) return fail("'graph' expected");
    EC_CHECK_OK(advance());
    EC_TRY(std::string name, take(Token::Kind::Symbol, "@name"));
    auto graph = std::make_unique<Graph>(std::move(name));
    Scope scope;
    EC_CHECK_OK(parse_inputs(*graph, scope));
    EC_CHECK_OK(expect("->"));
    // Outputs name tensors that are defined below: remember them.
    std::vector<std::pair<std::string, Token>> outputs;
    EC_CHECK_OK(parse_outputs(outputs));
    EC_CHECK_OK(expect("{"));
    while (!token_.is("}")) EC_CHECK_OK(parse_statement(*graph, scope, depth));
    EC_CHECK_OK(advance());
    for (auto& [output_name, ref] : outputs) {
      const auto it = scope.find(ref.text);
      if (it == scope.end())
        return lexer_.error_at(ref.offset, "undefined tensor %" + printable(ref.text));
      graph->add_output(std::move(output_name), it->second);
    }
    return graph;
  }

  Status parse_inputs(Graph& graph, Scope& scope) {
    EC_CHECK_OK(expect("("));
    while (!token_.is(")")) {
      const Token name = token_;
      EC_TRY(std::string text, take(Token::Kind::Ref, "%input"));
      EC_CHECK_OK(expect(":"));
      EC_TRY(TensorType type, parse_type());
      if (scope.contains(text)) return lexer_.error_at(name.offset, "tensor defined twice");
      scope[text] = graph.add_input(text, std::move(type));
      if (token_.is(","))
        EC_CHECK_OK(advance());
      else if (!token_.is(")"))
        return fail("',' or ')' expected");
    }
    return advance();
  }

  Status parse_outputs(std::vector<std::pair<std::string, Token>>& outputs) {
    EC_CHECK_OK(expect("("));
    while (!token_.is(")")) {
      EC_TRY(std::string name, take_name());
      EC_CHECK_OK(expect("="));
      if (token_.kind != Token::Kind::Ref) return fail("%tensor expected");
      outputs.emplace_back(std::move(name), token_);
      EC_CHECK_OK(advance());
      if (token_.is(","))
        EC_CHECK_OK(advance());
      else if (!token_.is(")"))
        return fail("',' or ')' expected");
    }
    return advance();
  }

  Status parse_statement(Graph& graph, Scope& scope, int depth) {
    if (token_.is_word("metadata")) {
      EC_CHECK_OK(advance());
      EC_TRY(std::string key, take(Token::Kind::String, "key"));
      EC_CHECK_OK(expect("="));
      EC_TRY(graph.metadata()[key], take(Token::Kind::String, "value"));
      return {};
    }
    std::vector<std::string> names;
    const size_t start = token_.offset;
    while (token_.kind == Token::Kind::Ref) {
      if (scope.contains(token_.text))
        return fail("tensor %" + printable(token_.text) + " is defined twice");
      names.push_back(token_.text);
      EC_CHECK_OK(advance());
      if (!token_.is(",")) break;
      EC_CHECK_OK(advance());
    }
    if (!names.empty()) EC_CHECK_OK(expect("="));
    if (token_.is_word("const")) {
      if (names.size() != 1) return lexer_.error_at(start, "a constant defines one tensor");
      EC_CHECK_OK(advance());
      return parse_constant(graph, scope, names[0]);
    }
    return parse_operation(graph, scope, std::move(names), depth);
  }

  Result<TensorType> parse_type() {
    const auto dtype =
        token_.kind == Token::Kind::Word ? dtype_from_name(token_.text) : std::nullopt;
    if (!dtype) return fail("element type expected");
    EC_CHECK_OK(advance());
    EC_CHECK_OK(expect("["));
    TensorType type(*dtype);
    if (token_.is("*")) {
      EC_CHECK_OK(advance());
    } else {
      type.shape = Shape{};
      while (!token_.is("]")) {
        EC_TRY(const Dim dim, parse_dim());
        type.shape->push_back(dim);
        if (type.shape->rank() > kMaxRank) return fail("too many dimensions");
        if (token_.is(","))
          EC_CHECK_OK(advance());
        else if (!token_.is("]"))
          return fail("',' or ']' expected");
      }
    }
    EC_CHECK_OK(expect("]"));
    if (token_.is_word("q")) {
      EC_CHECK_OK(advance());
      EC_TRY(type.quant, parse_quant());
    }
    return type;
  }

  Result<Dim> parse_dim() {
    if (token_.is("?")) {
      EC_CHECK_OK(advance());
      return Dim::unknown();
    }
    if (token_.kind == Token::Kind::Word || token_.kind == Token::Kind::String) {
      EC_TRY(const std::string name, take_name());
      return Dim::symbol(name);
    }
    EC_TRY(const int64_t size, take_int());
    if (size < 0) return fail("a dimension is not negative");
    return Dim(size);
  }

  Result<std::optional<QuantParams>> parse_quant() {
    QuantParams quant;
    EC_CHECK_OK(expect("("));
    if (token_.is_word("axis")) {
      EC_CHECK_OK(advance());
      EC_CHECK_OK(expect("="));
      EC_TRY(const int64_t axis, take_int());
      if (axis < 0 || axis > static_cast<int64_t>(kMaxRank)) return fail("axis out of range");
      quant.axis = static_cast<int32_t>(axis);
      EC_CHECK_OK(expect(","));
    }
    while (!token_.is(")")) {
      EC_TRY(const double scale, take_number());
      EC_CHECK_OK(expect(":"));
      EC_TRY(const int64_t zero_point, take_int());
      if (zero_point != static_cast<int32_t>(zero_point)) return fail("zero point out of range");
      quant.scales.push_back(static_cast<float>(scale));
      quant.zero_points.push_back(static_cast<int32_t>(zero_point));
      if (token_.is(","))
        EC_CHECK_OK(advance());
      else if (!token_.is(")"))
        return fail("',' or ')' expected");
    }
    EC_CHECK_OK(advance());
    return std::optional<QuantParams>(std::move(quant));
  }

  Result<double> take_number() {
    const bool number = token_.kind == Token::Kind::Number || token_.kind == Token::Kind::Word;
    const auto value = number ? parse_double(token_.text) : std::nullopt;
    if (!value) return fail("number expected");
    EC_CHECK_OK(advance());
    return *value;
  }

  Status parse_constant(Graph& graph, Scope& scope, const std::string& name) {
    const size_t start = token_.offset;
    EC_TRY(TensorType type, parse_type());
    const auto bytes = type.num_bytes();
    if (!bytes) return lexer_.error_at(start, "a constant needs a static shape that fits memory");
    EC_TRY(const std::string form, take(Token::Kind::Word, "splat, dense, base64 or blob"));
    Blob data;
    if (form == "splat" || form == "dense") {
      EC_TRY(data, parse_elements(type, form == "splat"));
    } else if (form == "base64") {
      EC_CHECK_OK(expect("("));
      EC_TRY(const std::string text, take(Token::Kind::String, "base64 text"));
      EC_CHECK_OK(expect(")"));
      const auto decoded = base64_decode(text);
      if (!decoded) return lexer_.error_at(start, "not valid base64");
      data = Blob::copy_of(std::span<const std::byte>(*decoded));
    } else if (form == "blob") {
      EC_CHECK_OK(expect("("));
      EC_TRY(const int64_t offset, take_int());
      EC_CHECK_OK(expect(","));
      EC_TRY(const int64_t length, take_int());
      EC_CHECK_OK(expect(")"));
      if (offset < 0 || length < 0 || static_cast<size_t>(offset) > data_.size() ||
          static_cast<size_t>(length) > data_.size() - static_cast<size_t>(offset))
        return lexer_.error_at(start, "blob lies outside the file's data section");
      data = data_.slice(static_cast<size_t>(offset), static_cast<size_t>(length));
    } else {
      return lexer_.error_at(start, "splat, dense, base64 or blob expected");
    }
    if (data.size() != static_cast<size_t>(*bytes))
      return lexer_.error_at(start, "constant needs " + std::to_string(*bytes) + " bytes, has " +
                                        std::to_string(data.size()));
    scope[name] = graph.add_constant(name, std::move(type), std::move(data));
    return {};
  }

  // The same value repeated: constants of different sizes share the longest run of it.
  Result<Blob> splat_of(const TensorType& type, const Token& value) {
    const auto bytes = static_cast<size_t>(*type.num_bytes());
    if (bytes == 0) return Blob();
    Blob& known = splats_[{type.dtype, value.text}];
    if (known.size() >= bytes) return known.slice(0, bytes);
    const size_t limit = kMaxSplatBytes + text_size_;
    if (bytes > limit - std::min(limit, splat_bytes_))
      return fail("splats need more memory than the text allows");
    splat_bytes_ += bytes;
    const size_t width = element_size(type.dtype);
    Buffer buffer = Buffer::allocate(bytes);
    if (!buffer.ok()) return fail("constant does not fit memory");
    EC_CHECK_OK(store_element(type.dtype, value, buffer.data()));
    for (size_t at = width; at < bytes; at += width)
      std::memcpy(buffer.data() + at, buffer.data(), width);
    return known = std::move(buffer).to_blob();
  }

  Result<Blob> parse_elements(const TensorType& type, bool splat) {
    EC_CHECK_OK(expect(splat ? "(" : "["));
    std::vector<Token> elements;
    while (!token_.is(splat ? ")" : "]")) {
      if (token_.kind != Token::Kind::Number && token_.kind != Token::Kind::Word)
        return fail("number expected");
      elements.push_back(token_);
      EC_CHECK_OK(advance());
      if (token_.is(",")) EC_CHECK_OK(advance());
    }
    const int64_t count = *type.num_elements();
    if (splat ? elements.size() != 1 : static_cast<int64_t>(elements.size()) != count)
      return fail(splat ? "splat takes one value" : std::to_string(count) + " elements expected");
    EC_CHECK_OK(advance());
    if (splat) return splat_of(type, elements[0]);
    const size_t width = element_size(type.dtype);
    Buffer buffer = Buffer::allocate(static_cast<size_t>(*type.num_bytes()));
    if (!buffer.ok()) return fail("constant does not fit memory");
    for (size_t i = 0; i < elements.size(); ++i)
      EC_CHECK_OK(store_element(type.dtype, elements[i], buffer.data() + i * width));
    return std::move(buffer).to_blob();
  }

  Status store_element(DType dtype, const Token& token, std::byte* out) {
    const MutableView view{dtype, {}, out, nullptr};
    if (is_float(dtype)) {
      const auto value = parse_double(token.text);
      if (!value) return lexer_.error_at(token.offset, "number expected");
      if (dtype == DType::F64) return store<double>(view, std::span(&*value, 1)), ok_status();
      const auto narrow = static_cast<float>(*value);
      // Infinity is what the constant holds, not a number that is out of range.
      if (std::isinf(narrow) && small_float_format(dtype) != nullptr)
        return store_unsaturated(view, std::span(&narrow, 1)), ok_status();
      return store<float>(view, std::span(&narrow, 1)), ok_status();
    }
    if (const auto value = parse_int(token.text))
      return store<int64_t>(view, std::span(&*value, 1)), ok_status();
    // Only u64 has values beyond int64.
    const auto wide = token.text.size() <= 20 ? parse_unsigned(token.text) : std::nullopt;
    if (!wide || dtype != DType::U64) return lexer_.error_at(token.offset, "integer expected");
    return store<uint64_t>(view, std::span(&*wide, 1)), ok_status();
  }

  static std::optional<uint64_t> parse_unsigned(std::string_view text) {
    uint64_t value = 0;
    for (const char c : text) {
      if (c < '0' || c > '9') return std::nullopt;
      if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
          __builtin_add_overflow(value, static_cast<uint64_t>(c - '0'), &value))
        return std::nullopt;
    }
    return value;
  }

  Status parse_operation(Graph& graph, Scope& scope, std::vector<std::string> names, int depth) {
    const size_t start = token_.offset;
    EC_TRY(const std::string op_text, take(Token::Kind::Word, "operation"));
    const OpDef* def = find_op(op_text);
    if (def == nullptr) return unknown_op(op_text, start);
    std::vector<Tensor*> inputs;
    EC_CHECK_OK(parse_operands(scope, inputs));
    OpSpec spec;
    EC_TRY(spec.attrs, parse_attributes(*def));
    std::vector<TensorType> types;
    if (token_.is(":")) {
      do {
        EC_CHECK_OK(advance());
        EC_TRY(TensorType type, parse_type());
        types.push_back(std::move(type));
      } while (token_.is(","));
    }
    // Without types, inference gives them: for texts written by hand.
    if (!types.empty() && types.size() != names.size())
      return lexer_.error_at(start, std::to_string(names.size()) + " results need as many types");
    EC_TRY(spec.location, parse_location());
    while (token_.is_word("body")) {
      EC_CHECK_OK(advance());
      EC_TRY(std::unique_ptr<Graph> body, parse_graph(depth + 1));
      spec.bodies.push_back(std::move(body));
    }
    spec.output_names = names;
    auto added = graph.add_typed(def->kind, std::move(inputs), std::move(spec),
                                 types.empty() ? std::vector<TensorType>(names.size()) : types);
    if (!added.ok()) return lexer_.error_at(start, added.error().message());
    EC_CHECK_OK(check_types(*added.value(), types, start));
    for (size_t i = 0; i < names.size(); ++i) scope[names[i]] = added.value()->output(i);
    return {};
  }

  Error unknown_op(const std::string& name, size_t offset) const {
    std::vector<std::string_view> known;
    for (const OpDef* def : all_ops()) known.push_back(def->name);
    return lexer_.error_at(offset, "unknown operation '" + printable(name) + "'")
        .hint(did_you_mean(name, known));
  }

  // Inference must agree with the written types; it also recovers the tracked dimensions.
  Status check_types(Operation& op, const std::vector<TensorType>& written, size_t offset) {
    Graph& graph = op.graph();
    if (Status status = infer_operation(op); !status.ok())
      return lexer_.error_at(offset, status.error().message());
    for (size_t i = 0; i < written.size(); ++i) {
      const TensorType& inferred = op.output(i)->type();
      bool agree = inferred.dtype == written[i].dtype;
      if (agree && inferred.shape && written[i].shape) {
        agree = inferred.shape->rank() == written[i].shape->rank();
        for (size_t d = 0; agree && d < inferred.shape->rank(); ++d) {
          const Dim &a = (*inferred.shape)[d], &b = (*written[i].shape)[d];
          agree = !a.is_static() || !b.is_static() || a.size() == b.size();
        }
      }
      if (!agree)
        return lexer_.error_at(offset, "result " + std::to_string(i) + " is written as " +
                                           written[i].text() + ", inference says " +
                                           inferred.text());
      graph.set_type(op.output(i), written[i]);
    }
    return {};
  }

  Status parse_operands(const Scope& scope, std::vector<Tensor*>& inputs) {
    EC_CHECK_OK(expect("("));
    while (!token_.is(")")) {
      if (token_.is_word("_")) {
        inputs.push_back(nullptr);
      } else {
        const auto it = token_.kind == Token::Kind::Ref ? scope.find(token_.text) : scope.end();
        if (token_.kind != Token::Kind::Ref) return fail("%operand or _ expected");
        if (it == scope.end()) return fail("undefined tensor %" + printable(token_.text));
        inputs.push_back(it->second);
      }
      EC_CHECK_OK(advance());
      if (token_.is(","))
        EC_CHECK_OK(advance());
      else if (!token_.is(")"))
        return fail("',' or ')' expected");
    }
    return advance();
  }

  Result<Attrs> parse_attributes(const OpDef& def) {
    Attrs attrs = Attrs::defaults_of(def.attrs());
    if (!token_.is("{")) return attrs;
    EC_CHECK_OK(advance());
    while (!token_.is("}")) {
      const size_t start = token_.offset;
      EC_TRY(const std::string name, take(Token::Kind::Word, "attribute"));
      const Field* field = def.attrs().find(name);
      if (field == nullptr) {
        std::vector<std::string_view> known;
        for (const Field& f : def.attrs().fields) known.push_back(f.name);
        return lexer_
            .error_at(start, std::string(def.name) + " has no attribute '" + printable(name) + "'")
            .hint(did_you_mean(name, known));
      }
      EC_CHECK_OK(expect("="));
      EC_TRY(const FieldValue value, parse_field_value(*field));
      if (!attrs.set(*field, value))
        return lexer_.error_at(start, "wrong value for attribute '" + name + "'");
      if (token_.is(","))
        EC_CHECK_OK(advance());
      else if (!token_.is("}"))
        return fail("',' or '}' expected");
    }
    EC_CHECK_OK(advance());
    return attrs;
  }

  Result<FieldValue> parse_field_value(const Field& field) {
    switch (field.kind) {
      case FieldKind::Int: {
        EC_TRY(const int64_t value, take_int());
        return FieldValue(value);
      }
      case FieldKind::Float: {
        EC_TRY(const double value, take_number());
        return FieldValue(value);
      }
      case FieldKind::Bool: {
        EC_TRY(const std::string word, take(Token::Kind::Word, "true or false"));
        if (word != "true" && word != "false") return fail("true or false expected");
        return FieldValue(word == "true");
      }
      case FieldKind::String: {
        EC_TRY(std::string text, take(Token::Kind::String, "string"));
        return FieldValue(std::move(text));
      }
      case FieldKind::DType:
      case FieldKind::Enum: {
        EC_TRY(std::string word, take(Token::Kind::Word, "name"));
        return FieldValue(std::move(word));
      }
      case FieldKind::Ints:
        return parse_list<int64_t>([this] { return take_int(); });
      case FieldKind::Floats:
        return parse_list<double>([this] { return take_number(); });
      case FieldKind::Strings:
        return parse_list<std::string>([this] { return take(Token::Kind::String, "string"); });
    }
    return fail("attribute value expected");
  }

  template <class T, class F>
  Result<FieldValue> parse_list(F&& take_item) {
    EC_CHECK_OK(expect("["));
    std::vector<T> items;
    while (!token_.is("]")) {
      EC_TRY(T item, take_item());
      items.push_back(std::move(item));
      if (token_.is(","))
        EC_CHECK_OK(advance());
      else if (!token_.is("]"))
        return fail("',' or ']' expected");
    }
    EC_CHECK_OK(advance());
    return FieldValue(std::move(items));
  }

  Result<Location> parse_location() {
    Location location;
    if (!token_.is_word("loc")) return location;
    EC_CHECK_OK(advance());
    EC_CHECK_OK(expect("("));
    while (token_.kind == Token::Kind::String) {
      location.nodes.push_back(token_.text);
      EC_CHECK_OK(advance());
      if (!token_.is(",")) break;
      EC_CHECK_OK(advance());
    }
    if (token_.is(":")) {
      EC_CHECK_OK(advance());
      EC_TRY(location.op_type, take(Token::Kind::String, "op type"));
    }
    EC_CHECK_OK(expect(")"));
    return location;
  }

  Lexer lexer_;
  const Blob& data_;
  Token token_;
  size_t text_size_, splat_bytes_ = 0;
  std::map<std::pair<DType, std::string>, Blob> splats_;  // by type and value
};

}  // namespace

Result<std::unique_ptr<Graph>> parse(std::string_view text, const Blob& data) {
  return Parser(text, data).run();
}

}  // namespace ec
