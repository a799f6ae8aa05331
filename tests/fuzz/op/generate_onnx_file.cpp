// ONNX files whose nodes are made from the importer's own table, without looking at any rule: names
// of operators and attributes are right, everything else is as it comes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "formats/onnx/encode.h"
#include "frontend/onnx/onnx.h"
#include "frontend/onnx/table.h"
#include "fuzz/op/generate.h"

namespace ec::fuzz {
namespace {

struct AttributeName {
  std::string_view op, kind, name;
};
// Written when the build is configured: the attributes that each file of converters asks for, once
// for every operator of that file.
constexpr AttributeName kAttributeNames[] = {
#include "onnx_attribute_names.inc"
};

struct Operator {
  std::string_view domain;
  const onnx::OpRow* row;
  std::vector<const AttributeName*> attributes;
};

const std::vector<Operator>& operators() {
  static const std::vector<Operator> kOperators = [] {
    std::multimap<std::string_view, const AttributeName*> names;
    for (const AttributeName& name : kAttributeNames) names.emplace(name.op, &name);
    std::vector<Operator> list;
    for (const onnx::DomainRows& family : onnx::all_rows())
      for (const onnx::OpRow& row : family.rows) {
        Operator op{family.domain, &row, {}};
        const auto [first, last] = names.equal_range(row.name);
        for (auto it = first; it != last; ++it) op.attributes.push_back(it->second);
        list.push_back(std::move(op));
      }
    return list;
  }();
  return kOperators;
}

constexpr int kOpset = 21;

class FileGenerator {
 public:
  explicit FileGenerator(RandomSource& random) : random_(random) {}

  std::string generate(const Operator& subject) {
    for (int64_t i = random_.pick(1, 4); i > 0; --i) add_tensor();
    const int64_t before = random_.chance(60) ? 0 : 1;
    for (int64_t i = 0; i < before; ++i) add_node(random_.one_of(operators()));
    add_node(subject);
    for (int64_t i = random_.pick(0, 2); i > 0; --i) add_node(random_.one_of(operators()));
    onnx::GraphSource graph;
    graph.name = "g";
    graph.nodes = std::move(nodes_);
    graph.initializers = std::move(initializers_);
    graph.inputs = std::move(inputs_);
    for (const std::string& name : results_)
      if (graph.outputs.empty() || random_.chance(40))
        graph.outputs.push_back(onnx::encode_value(
            {.name = name, .type = onnx::DataType::Undefined, .has_shape = false, .dims = {}}));
    onnx::ModelSource model;
    model.ir_version = 10;
    const int64_t version = random_.chance(70) ? kOpset : random_.pick(1, 24);
    model.opsets = {{"", version},
                    {"com.microsoft", 1},
                    {"ai.onnx.ml", random_.pick(1, 5)},
                    {"ai.onnx.preview.training", 1},
                    {"ai.onnx.preview", 1}};
    return onnx::encode_model(model, onnx::encode_graph(std::move(graph))).joined();
  }

 private:
  onnx::DataType type() {
    using enum onnx::DataType;
    if (random_.chance(75)) return random_.one_of({Float, Float, Int64, Int32, Bool, Uint8, Int8});
    return static_cast<onnx::DataType>(random_.pick(1, 26));
  }
  static size_t bytes_of(onnx::DataType type) {
    using enum onnx::DataType;
    switch (type) {
      case Float:
      case Int32:
      case Uint32:
        return 4;
      case Int64:
      case Uint64:
      case Double:
      case Complex64:
        return 8;
      case Float16:
      case Bfloat16:
      case Int16:
      case Uint16:
        return 2;
      case Complex128:
        return 16;
      default:
        return 1;
    }
  }
  int64_t number() {
    if (random_.chance(75)) return random_.pick(-2, 5);
    return random_.one_of<int64_t>({INT64_MIN, INT64_MAX, INT64_MAX - 1, int64_t{1} << 40,
                                    int64_t{1} << 31, -(int64_t{1} << 31), 1000, -1000, 65536,
                                    1 << 20});
  }
  float real() {
    if (random_.chance(75)) return static_cast<float>(random_.pick(-8, 8)) / 4;
    return random_.one_of<float>({0.0f, -0.0f, 1e30f, -1e30f, 1e-30f, INFINITY, NAN, 1e-45f});
  }

  // Small integers, small floats or any bytes at all, by the type.
  std::string content(onnx::DataType type, size_t count) {
    std::string bytes;
    for (size_t i = 0; i < count; ++i) {
      uint64_t word = static_cast<uint64_t>(number());
      if (type == onnx::DataType::Float) word = std::bit_cast<uint32_t>(real());
      if (type == onnx::DataType::Double)
        word = std::bit_cast<uint64_t>(static_cast<double>(real()));
      if (type == onnx::DataType::Bool) word &= 1;
      bytes.append(
          std::string(reinterpret_cast<const char*>(&word), std::min<size_t>(bytes_of(type), 8)));
      if (bytes_of(type) == 16) bytes.append(8, '\0');
    }
    return bytes;
  }

  void add_tensor() {
    const std::string name = "t" + std::to_string(names_.size());
    const onnx::DataType dtype = type();
    std::vector<int64_t> dims;
    for (int64_t d = random_.pick(0, random_.chance(80) ? 4 : 6); d > 0; --d)
      dims.push_back(random_.chance(3) ? 0 : random_.pick(1, 5));
    if (random_.chance(60)) {
      onnx::ValueSource value{
          .name = name, .type = dtype, .has_shape = random_.chance(90), .dims = {}};
      for (const int64_t dim : dims) {
        onnx::Dimension one;
        if (random_.chance(85))
          one.value = dim;
        else if (random_.chance(70))
          one.param = "N";
        value.dims.push_back(one);
      }
      inputs_.push_back(onnx::encode_value(value));
    } else {
      size_t count = 1;
      for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
      const std::string bytes = content(dtype, count);
      initializers_.push_back(
          onnx::encode_tensor({.name = name,
                               .type = dtype,
                               .dims = dims,
                               .data = Blob::copy_of(std::span<const char>(bytes)),
                               .location = {},
                               .offset = 0}));
    }
    names_.push_back(name);
  }

  std::string operand() {
    if (names_.empty() || random_.chance(40)) add_tensor();
    return random_.chance(60) ? names_.back() : random_.one_of(names_);
  }

  void add_attribute(const AttributeName& attribute, onnx::AttributeList& list) {
    static const std::vector<std::string> kTexts = {"",
                                                    "SAME_UPPER",
                                                    "SAME_LOWER",
                                                    "VALID",
                                                    "NOTSET",
                                                    "linear",
                                                    "cubic",
                                                    "nearest",
                                                    "reflect",
                                                    "edge",
                                                    "constant",
                                                    "wrap",
                                                    "forward",
                                                    "bidirectional",
                                                    "reverse",
                                                    "ij,jk->ik",
                                                    "...i->...",
                                                    "mul",
                                                    "add",
                                                    "max",
                                                    "min",
                                                    "none",
                                                    "align_corners",
                                                    "half_pixel",
                                                    "asymmetric",
                                                    "tf_crop_and_resize",
                                                    "DCR",
                                                    "CRD",
                                                    "zeros",
                                                    "border",
                                                    "sum",
                                                    "mean",
                                                    "LEFT",
                                                    "RIGHT",
                                                    "not_larger",
                                                    "not_smaller",
                                                    "tanh",
                                                    "avg",
                                                    "nosuch"};
    const std::string_view kind = attribute.kind;
    const auto length = random_.index(6);
    // Of another kind than the converter expects, at times.
    if (random_.chance(4)) return list.add(attribute.name, real());
    if (kind == "int" || kind == "bool" || kind == "dtype")
      return list.add(attribute.name, number());
    if (kind == "float") return list.add(attribute.name, real());
    if (kind == "string" || kind == "enum" || kind == "choice")
      return list.add(attribute.name, std::string_view(random_.one_of(kTexts)));
    if (kind == "floats") {
      std::vector<float> values;
      for (size_t i = 0; i < length; ++i) values.push_back(real());
      return list.add(attribute.name, std::span<const float>(values));
    }
    if (kind == "strings") {
      std::vector<std::string> values;
      for (size_t i = 0; i < length; ++i) values.push_back(random_.one_of(kTexts));
      return list.add(attribute.name, std::span<const std::string>(values));
    }
    if (kind == "message") return list.add_graph(attribute.name, body());
    std::vector<int64_t> values;
    for (size_t i = 0; i < length; ++i) values.push_back(number());
    list.add(attribute.name, std::span<const int64_t>(values));
  }

  // A nested graph of a node or two; it sees the names around it.
  std::string body() {
    if (depth_ >= 2) return {};
    ++depth_;
    std::vector<std::string> outer_nodes = std::move(nodes_), outer_inputs = std::move(inputs_);
    std::vector<onnx::Pieces> outer_initializers = std::move(initializers_);
    nodes_.clear();
    inputs_.clear();
    initializers_.clear();
    const std::vector<std::string> outer_results = results_;
    for (int64_t i = random_.pick(0, 3); i > 0; --i) add_tensor();
    for (int64_t i = random_.pick(1, 2); i > 0; --i) add_node(random_.one_of(operators()));
    onnx::GraphSource graph;
    graph.name = "b";
    graph.nodes = std::move(nodes_);
    graph.inputs = std::move(inputs_);
    graph.initializers = std::move(initializers_);
    for (int64_t i = random_.pick(1, 3); i > 0; --i)
      graph.outputs.push_back(onnx::encode_value({.name = random_.one_of(names_),
                                                  .type = onnx::DataType::Undefined,
                                                  .has_shape = false,
                                                  .dims = {}}));
    nodes_ = std::move(outer_nodes);
    inputs_ = std::move(outer_inputs);
    initializers_ = std::move(outer_initializers);
    results_ = outer_results;
    --depth_;
    return onnx::encode_graph(std::move(graph)).joined();
  }

  void add_node(const Operator& op) {
    onnx::NodeSource node;
    node.name = "n" + std::to_string(names_.size());
    node.op_type = std::string(op.row->name);
    node.domain = std::string(op.domain);
    const auto pick_count = [&](const Arity& arity) {
      if (random_.chance(4)) return random_.pick(0, 5);
      return random_.pick(arity.min, arity.max < 0 ? arity.min + 3 : arity.max);
    };
    for (int64_t i = pick_count(op.row->inputs); i > 0; --i)
      node.inputs.push_back(random_.chance(6) ? "" : operand());
    for (const AttributeName* attribute : op.attributes)
      if (random_.chance(attribute->kind == "message" ? 80 : 35))
        add_attribute(*attribute, node.attributes);
    for (int64_t i = std::max<int64_t>(pick_count(op.row->outputs), 1); i > 0; --i) {
      std::string name = "t" + std::to_string(names_.size());
      names_.push_back(name);
      results_.push_back(name);
      node.outputs.push_back(std::move(name));
    }
    nodes_.push_back(onnx::encode_node(node));
  }

  RandomSource& random_;
  std::vector<std::string> names_, results_, nodes_, inputs_;
  std::vector<onnx::Pieces> initializers_;
  int depth_ = 0;
};

}  // namespace

void generate_onnx_file(RandomSource& random, Model& model) {
  const Operator& subject = random.one_of(operators());
  model.file_subject = std::string(subject.row->name);
  model.files = {{"", FileGenerator(random).generate(subject)}};
}

}  // namespace ec::fuzz
