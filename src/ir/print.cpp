#include "ir/print.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/base64.h"
#include "ops/convert.h"
#include "ops/op_def.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr int64_t kMaxDense = 64;
// A splat is expanded when it is read: larger ones are stored as they are.
constexpr size_t kMaxSplatBytes = size_t{1} << 20;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == '$' || c == '-';
}

std::string quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string name_text(std::string_view name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), is_name_char);
  return plain ? std::string(name) : quote(name);
}

// Names of outputs stand without a sigil, so they are plain only where the lexer takes them for one
// word or one number.
std::string output_name_text(std::string_view name) {
  const auto is_letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool word = !name.empty() && (is_letter(name[0]) || name[0] == '_');
  const bool number = !name.empty() && (is_digit(name[0]) || name[0] == '-') &&
                      name.find_first_of("/$") == std::string_view::npos;
  return word || number ? name_text(name) : quote(name);
}

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (is_name_char(c) && std::isalnum(static_cast<unsigned char>(c)) != 0);
  });
}

std::string dim_text(const Dim& dim) {
  if (!dim.is_symbol()) return dim.text();
  return is_identifier(dim.symbol_name()) ? std::string(dim.symbol_name())
                                          : quote(dim.symbol_name());
}

std::string type_text(const TensorType& type) {
  std::string out(dtype_name(type.dtype));
  if (!type.shape) {
    out += "[*]";
  } else {
    out += "[";
    for (size_t i = 0; i < type.shape->rank(); ++i) {
      if (i > 0) out += ",";
      out += dim_text((*type.shape)[i]);
    }
    out += "]";
  }
  if (!type.quant) return out;
  TensorType scalar(type.dtype, Shape{});
  scalar.quant = type.quant;
  const std::string with_quant = scalar.text();
  return out + with_quant.substr(with_quant.find(" q("));
}

bool has_nan(const ConstView& view) {
  if (!is_float(view.dtype)) return false;
  const Reader<double> reader(view);
  return std::any_of(reader.values().begin(), reader.values().end(),
                     [](double v) { return std::isnan(v); });
}

std::string element_text(const ConstView& view, size_t index) {
  ConstView one{view.dtype, {}, view.data + index * element_size(view.dtype), nullptr};
  if (view.dtype == DType::F64) return format_double(Reader<double>(one)[0]);
  if (is_float(view.dtype)) return format_float(Reader<float>(one)[0]);
  if (view.dtype == DType::U64) return std::to_string(Reader<uint64_t>(one)[0]);
  return std::to_string(Reader<int64_t>(one)[0]);
}

// -0 is not the default 0, and not-a-number is itself.
bool same_number(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

bool same_value(const FieldValue& a, const FieldValue& b) {
  if (const auto* x = std::get_if<double>(&a)) {
    const auto* y = std::get_if<double>(&b);
    return y != nullptr && same_number(*x, *y);
  }
  if (const auto* x = std::get_if<std::vector<double>>(&a)) {
    const auto* y = std::get_if<std::vector<double>>(&b);
    return y != nullptr && std::equal(x->begin(), x->end(), y->begin(), y->end(), same_number);
  }
  return a == b;
}

class Printer {
 public:
  explicit Printer(const ConstantPrinter& large_constant) : large_constant_(large_constant) {}

  void graph(const Graph& g, const std::string& indent) {
    out_ += "graph @" + name_text(g.name()) + "(";
    for (size_t i = 0; i < g.inputs().size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += ref(g.inputs()[i]) + ": " + type_text(g.inputs()[i]->type());
    }
    out_ += ") -> (";
    for (size_t i = 0; i < g.outputs().size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += output_name_text(g.output_names()[i]) + " = " + ref(g.outputs()[i]);
    }
    out_ += ") {\n";
    const std::string inner = indent + "  ";
    for (const auto& [key, value] : g.metadata())
      out_ += inner + "metadata " + quote(key) + " = " + quote(value) + "\n";
    for (const Tensor* tensor : g.tensors())
      if (tensor->is_constant()) constant(*tensor, inner);
    for (const Operation* op : g.topological()) operation(*op, inner);
    out_ += indent + "}\n";
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string ref(const Tensor* tensor) {
    return tensor == nullptr ? "_" : "%" + name_text(tensor->name());
  }

  void constant(const Tensor& tensor, const std::string& indent) {
    out_ += indent + ref(&tensor) + " = const " + type_text(tensor.type()) + " " +
            constant_text(tensor) + "\n";
  }

  std::string constant_text(const Tensor& tensor) const {
    const std::vector<int64_t> sizes = tensor.shape()->sizes();
    const size_t width = element_size(tensor.dtype());
    const auto raw = tensor.raw_data().bytes();
    const bool splat = raw.size() > width && raw.size() <= kMaxSplatBytes &&
                       std::memcmp(raw.data(), raw.data() + width, raw.size() - width) == 0;
    const bool small = count_elements(sizes) <= kMaxDense;
    if (splat || small) {
      const ConstView view{tensor.dtype(), sizes, tensor.data().bytes().data(), nullptr};
      if (!has_nan(view)) {  // a NaN's payload has no decimal text
        if (splat) return "splat(" + element_text(view, 0) + ")";
        std::string text = "dense[";
        for (size_t i = 0; i < static_cast<size_t>(view.count()); ++i) {
          if (i > 0) text += ",";
          text += element_text(view, i);
        }
        return text + "]";
      }
    }
    std::string text = large_constant_(tensor);
    return text.empty() ? "base64(\"" + base64_encode(raw) + "\")" : text;
  }

  void operation(const Operation& op, const std::string& indent) {
    out_ += indent;
    for (size_t i = 0; i < op.outputs().size(); ++i)
      out_ += (i > 0 ? ", " : "") + ref(op.outputs()[i]);
    out_ += (op.outputs().empty() ? "" : " = ") + std::string(op.def().name) + "(";
    for (size_t i = 0; i < op.inputs().size(); ++i)
      out_ += (i > 0 ? ", " : "") + ref(op.inputs()[i]);
    out_ += ")" + attributes_text(op.attrs());
    for (size_t i = 0; i < op.outputs().size(); ++i)
      out_ += (i > 0 ? ", " : " : ") + type_text(op.output(i)->type());
    out_ += location_text(op.location()) + "\n";
    for (const auto& body : op.bodies()) {
      out_ += indent + "  body ";
      graph(*body, indent + "  ");
    }
  }

  static std::string attributes_text(const Attrs& attrs) {
    const Attrs defaults = Attrs::defaults_of(attrs.schema());
    std::string text;
    for (const Field& field : attrs.schema().fields) {
      const FieldValue value = attrs.get(field);
      if (same_value(value, defaults.get(field))) continue;
      text += (text.empty() ? "" : ", ") + std::string(field.name) + "=" +
              field_text(field.kind, value);
    }
    return text.empty() ? text : " {" + text + "}";
  }

  static std::string field_text(FieldKind kind, const FieldValue& value) {
    const auto list = [](const auto& items, auto&& to_text) {
      std::string text = "[";
      for (size_t i = 0; i < items.size(); ++i) text += (i > 0 ? "," : "") + to_text(items[i]);
      return text + "]";
    };
    // Float attributes are stored in single precision: their shortest text is the float's.
    const auto float_text = [](double v) { return format_float(static_cast<float>(v)); };
    switch (kind) {
      case FieldKind::Int:
        return std::to_string(std::get<int64_t>(value));
      case FieldKind::Float:
        return float_text(std::get<double>(value));
      case FieldKind::Bool:
        return std::get<bool>(value) ? "true" : "false";
      case FieldKind::String:
        return quote(std::get<std::string>(value));
      case FieldKind::Ints:
        return list(std::get<std::vector<int64_t>>(value),
                    [](int64_t v) { return std::to_string(v); });
      case FieldKind::Floats:
        return list(std::get<std::vector<double>>(value), float_text);
      case FieldKind::Strings:
        return list(std::get<std::vector<std::string>>(value),
                    [](const auto& v) { return quote(v); });
      case FieldKind::DType:
      case FieldKind::Enum:
        return std::get<std::string>(value);
    }
    return {};
  }

  static std::string location_text(const Location& location) {
    if (location.nodes.empty() && location.op_type.empty()) return {};
    std::string text = " loc(";
    for (size_t i = 0; i < location.nodes.size(); ++i)
      text += (i > 0 ? ", " : "") + quote(location.nodes[i]);
    if (!location.op_type.empty())
      text += (location.nodes.empty() ? ": " : " : ") + quote(location.op_type);
    return text + ")";
  }

  const ConstantPrinter& large_constant_;
  std::string out_;
};

}  // namespace

std::string print_graph(const Graph& graph, const ConstantPrinter& large_constant) {
  Printer printer(large_constant);
  printer.graph(graph, "");
  return printer.take();
}

std::string print(const Graph& graph, ConstantText constants) {
  const ConstantPrinter large = [&](const Tensor&) {
    return std::string(constants == ConstantText::Elide ? "..." : "");
  };
  return "ecir 1\n" + print_graph(graph, large);
}

}  // namespace ec
