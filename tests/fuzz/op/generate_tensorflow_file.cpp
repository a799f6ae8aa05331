// TensorFlow graphs whose nodes are made from the importer's own table: names of operators and
// attributes are right, operands are mostly what an operator wants, and then nothing is sure.
// Frozen graphs, and SavedModel folders with variables.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "formats/tensorflow/model.h"
#include "frontend/tensorflow/graph_writer.h"
#include "frontend/tensorflow/table.h"
#include "fuzz/op/generate.h"
#include "fuzz/op/tensorflow_numbers.h"
#include "fuzz/op/tensorflow_operands.h"
#include "support/strings.h"

namespace ec::fuzz {
namespace {

using tf::DataType;
using tf::testing::Attr;
using tf::testing::field;

struct AttributeName {
  std::string_view op, kind, name;
};
// Written when the build is configured: the attributes that each file of converters asks for, once
// for every operator of that file.
constexpr AttributeName kAttributeNames[] = {
#include "tensorflow_attribute_names.inc"
};

struct Operator {
  const tf::OpRow* row;
  std::vector<const AttributeName*> attributes;
};

const std::vector<Operator>& operators() {
  static const std::vector<Operator> kOperators = [] {
    std::multimap<std::string_view, const AttributeName*> names;
    for (const AttributeName& name : kAttributeNames) names.emplace(name.op, &name);
    std::vector<Operator> list;
    for (const std::span<const tf::OpRow> family : tf::all_rows())
      for (const tf::OpRow& row : family) {
        Operator op{&row, {}};
        const auto [first, last] = names.equal_range(row.op);
        for (auto it = first; it != last; ++it) op.attributes.push_back(it->second);
        list.push_back(std::move(op));
      }
    return list;
  }();
  return kOperators;
}

// What is refused whatever it reads is rarely worth a node.
const Operator& any_operator(RandomSource& random) {
  for (;;) {
    const Operator& op = random.one_of(operators());
    const bool refused = std::ranges::any_of(
        tf::kRefusedRows, [&](const tf::OpRow& row) { return row.op == op.row->op; });
    if (!refused || random.chance(10)) return op;
  }
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, text) != list.end();
}
bool is_call(std::string_view op) {
  return is_one_of(op, {"PartitionedCall", "StatefulPartitionedCall"});
}
bool is_branch(std::string_view op) {
  return is_one_of(op, {"If", "StatelessIf", "Case", "StatelessCase"});
}
bool is_loop(std::string_view op) { return is_one_of(op, {"While", "StatelessWhile"}); }

// Values of attributes that are words.
std::vector<std::string> words_of(std::string_view attribute) {
  if (attribute == "padding") return {"SAME", "VALID", "SAME", "VALID", "EXPLICIT"};
  if (attribute == "data_format") return {"NHWC", "NHWC", "NCHW", "NDHWC", "NCDHW", "NWC"};
  if (attribute == "mode") return {"REFLECT", "SYMMETRIC"};
  if (attribute == "method") return {"bilinear", "nearest"};
  if (attribute == "kernel_type")
    return {"lanczos1", "lanczos3", "lanczos5",  "gaussian",
            "box",      "triangle", "keyscubic", "mitchellcubic"};
  if (attribute == "equation") return {"ij,jk->ik", "ab->ba", "", "->"};
  return {"", "w0", "w1"};
}

struct Value {
  std::string name;
  DataType type = DataType::Float;
  std::optional<Dims> dims;  // as far as it was said
  char kind = 't';           // tensor, 'L' list, 'V' variable
};

// A graph or function that is being made.
struct Scope {
  std::vector<Value> values;
  std::vector<std::string> nodes;
  bool is_function = false;
};

class FileGenerator : TensorflowNumbers {
 public:
  using TensorflowNumbers::TensorflowNumbers;

  void generate(const Operator& subject, Model& model) {
    const bool folder = random_.chance(20);
    has_checkpoint_ = folder && random_.chance(80);
    for (int64_t i = random_.pick(1, 3); i > 0; --i) add_tensor();
    if (random_.chance(40)) add_node(any_operator(random_));
    add_node(subject);
    for (int64_t i = random_.pick(0, 3); i > 0; --i) add_node(any_operator(random_));
    read_handles();
    std::string graph;
    for (const std::string& node : scope_.nodes) graph += field(1, node);
    for (const tf::testing::FunctionSource& function : functions_)
      graph += field(2, field(1, tf::testing::encode_function(function)));
    model.file_subject = std::string(subject.row->op);
    if (!folder) {
      model.file_name = "fuzz.pb";
      model.files = {{"", std::move(graph)}};
      return;
    }
    model.file_name = "fuzz";
    model.files = {{"saved_model.pb", saved_model(graph)}};
    if (has_checkpoint_) add_checkpoint(*this, model);
  }

 private:
  // --- constants and inputs ---------------------------------------------------------------------

  static std::string shape_of(const Dims& dims) { return tf::testing::shape(dims); }

  // A TensorProto. Its values are bytes, or listed; the last listed one stands for all that follow.
  std::string tensor(DataType type, const Dims& dims, const std::vector<int64_t>& integers,
                     const std::vector<float>& reals) {
    std::string message;
    protozero::pbf_writer writer(message);
    writer.add_int32(1, static_cast<int32_t>(type));
    writer.add_bytes(2, shape_of(dims));
    const bool is_real = type == DataType::Float;
    const size_t count = is_real ? reals.size() : integers.size();
    if (random_.chance(70) || !(is_real || is_one_of_types(type))) {
      std::string bytes;
      for (size_t i = 0; i < count; ++i)
        bytes += element(type, is_real ? 0 : integers[i],
                         is_real ? reals[i] : static_cast<float>(integers[i]) / 4);
      if (random_.chance(1)) bytes += '\0';
      writer.add_bytes(4, bytes);
      return message;
    }
    const size_t listed = random_.chance(70) ? count : random_.index(count + 2);
    for (size_t i = 0; i < std::min(listed, count); ++i) {
      if (is_real)
        writer.add_float(5, reals[i]);
      else if (type == DataType::Int64)
        writer.add_int64(10, integers[i]);
      else
        writer.add_int32(type == DataType::Bool ? 11 : 7, static_cast<int32_t>(integers[i]));
    }
    return message;
  }
  static bool is_one_of_types(DataType type) {
    using enum DataType;
    return type == Int32 || type == Int64 || type == Bool || type == Int8 || type == Uint8;
  }

  std::string next_name() { return "n" + std::to_string(next_++); }
  // How nodes of this graph or function name an output.
  std::string reference(const std::string& node, size_t output) const {
    if (scope_.is_function) return node + ":output:" + std::to_string(output);
    return output == 0 ? node : node + ":" + std::to_string(output);
  }
  void write(const std::string& name, const std::string& op, std::vector<std::string> inputs,
             const std::vector<Attr>& attrs) {
    if (random_.chance(5)) inputs.push_back("^" + some_node());
    scope_.nodes.push_back(tf::testing::encode_node(name, op, inputs, attrs));
  }
  // A node that is there, that comes later, or that is nowhere.
  std::string some_node() {
    return random_.chance(3) ? "nowhere" : "n" + std::to_string(random_.pick(0, next_ + 1));
  }
  const Value& keep(Value value) {
    scope_.values.push_back(std::move(value));
    return scope_.values.back();
  }

  Value constant(DataType type, const Dims& dims, const std::vector<int64_t>& integers,
                 const std::vector<float>& reals = {}) {
    const std::string name = next_name();
    write(name, "Const", {},
          {tf::testing::type_attr("dtype", static_cast<int32_t>(type)),
           tf::testing::tensor_attr("value", tensor(type, dims, integers, reals))});
    return {reference(name, 0), type, dims};
  }
  // Integers that an operator reads when the model is compiled.
  Value integers(std::vector<int64_t> values, Dims dims) {
    if (random_.chance(4) && !values.empty()) values[random_.index(values.size())] = number();
    if (random_.chance(2)) values.push_back(number());
    if (random_.chance(2)) values.push_back(number()), dims = {static_cast<int64_t>(values.size())};
    const DataType type = random_.chance(75) ? DataType::Int32 : DataType::Int64;
    if (random_.chance(5)) return input(type, dims);
    return constant(type, dims, values);
  }
  Value list(const std::vector<int64_t>& values) {
    return integers(values, {static_cast<int64_t>(values.size())});
  }
  Value scalar(int64_t value) { return integers({value}, {}); }
  Value reals(const Dims& dims) {
    std::vector<float> values(static_cast<size_t>(count_of(dims)));
    for (float& value : values) value = real();
    return constant(DataType::Float, dims, {}, values);
  }
  Value input(DataType type, Dims dims) {
    if (scope_.is_function) {  // has arguments, but no placeholders
      const std::vector<int64_t> ones(static_cast<size_t>(count_of(dims)), 1);
      return constant(type, dims, ones, std::vector<float>(ones.size(), 0.5f));
    }
    const std::string name = next_name();
    std::vector<Attr> attrs = {tf::testing::type_attr("dtype", static_cast<int32_t>(type))};
    const Dims known = dims;
    for (int64_t& dim : dims) {
      if (random_.chance(10)) dim = -1;
      if (random_.chance(1)) dim = number();
    }
    if (random_.chance(2)) {  // unknown_rank
      std::string unknown;
      protozero::pbf_writer(unknown).add_bool(3, true);
      attrs.emplace_back("shape", field(7, unknown));
    } else if (!random_.chance(2)) {
      attrs.push_back(tf::testing::shape_attr("shape", dims));
    }
    write(name, "Placeholder", {}, attrs);
    inputs_.push_back({name, type, dims});
    return {reference(name, 0), type, known};
  }
  Value made(DataType type, const Dims& dims) {
    if (random_.chance(70)) return input(type, dims);
    if (type == DataType::Float) return reals(dims);
    std::vector<int64_t> values(static_cast<size_t>(count_of(dims)));
    for (int64_t& value : values) value = random_.pick(0, 3);
    return constant(type, dims, values);
  }
  // Choices of one statement would come in an order that compilers choose.
  const Value& add_tensor() {
    const DataType type = any_type();
    return keep(made(type, any_dims()));
  }

  // --- operands ---------------------------------------------------------------------------------

  // What was made before and is right, else something new.
  template <class F>
  Value tensor_where(F&& is_right, DataType type, const Dims& dims) {
    std::vector<const Value*> found;
    for (const Value& value : scope_.values)
      if (value.kind == 't' && is_right(value)) found.push_back(&value);
    if (!found.empty() && random_.chance(75)) return *random_.one_of(found);
    return keep(made(type, dims));
  }
  Value any_tensor() {
    const DataType type = any_type();
    return tensor_where([](const Value&) { return true; }, type, any_dims());
  }
  Value of_rank(size_t rank) {
    Dims dims;
    for (size_t d = 0; d < rank; ++d)
      dims.push_back(random_.chance(2) ? 0 : random_.pick(1, d == 0 ? 2 : 6));
    return tensor_where(
        [&](const Value& v) {
          return v.type == DataType::Float && v.dims && v.dims->size() == rank;
        },
        DataType::Float, dims);
  }
  Value of_type(DataType type) {
    return tensor_where([&](const Value& v) { return v.type == type; }, type, any_dims());
  }
  Value anything() {
    if (scope_.values.empty() || random_.chance(30)) return add_tensor();
    return random_.chance(60) ? scope_.values.back() : random_.one_of(scope_.values);
  }

  Value weights(const Dims& of, bool depthwise) {
    const size_t spatial = of.size() >= 3 ? of.size() - 2 : 2;
    Dims dims;
    for (size_t i = 0; i < spatial; ++i) dims.push_back(random_.pick(1, 3));
    dims.push_back(of.empty() ? 2 : of.back());
    dims.push_back(random_.pick(1, depthwise ? 2 : 4));
    return random_.chance(90) ? reals(dims) : input(DataType::Float, dims);
  }

  // `first`: the first tensor among the operands.
  Value operand(char letter, const Value& first) {
    const Dims dims = first.dims.value_or(Dims{2, 3});
    const auto rank = static_cast<int64_t>(dims.size());
    const auto axis = [&] { return rank == 0 ? 0 : random_.pick(-rank, rank - 1); };
    std::vector<int64_t> all;
    switch (letter) {
      case 'x':
        return any_tensor();
      case '=':
        return tensor_where(
            [&](const Value& v) { return v.type == first.type && v.dims == first.dims; },
            first.type, dims);
      case 'f':
        return of_type(DataType::Float);
      case 'b':
        return of_type(DataType::Bool);
      case 'c':
        return of_type(DataType::Complex64);
      case 'i':
        return random_.chance(50) ? of_type(DataType::Int32)
                                  : list({random_.pick(0, 2), random_.pick(0, 2)});
      case 'I':
        return integers({0, random_.pick(0, 1)}, {2, 1});
      case '0':
      case '1':
      case '2':
      case '3':
      case '4':
      case '5':
        return of_rank(static_cast<size_t>(letter - '0'));
      case 'a':
        return scalar(axis());
      case 'A':
        for (int64_t d = 0; d < rank; ++d)
          if (random_.chance(50)) all.push_back(random_.chance(80) ? d : d - rank);
        if (random_.chance(5)) all.push_back(axis());
        return all.size() == 1 && random_.chance(50) ? scalar(all[0]) : list(all);
      case 'p':
        all.resize(dims.size());
        std::iota(all.begin(), all.end(), 0);
        for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random_.index(i)]);
        return list(all);
      case 's':
        all = dims;
        if (random_.chance(30)) std::reverse(all.begin(), all.end());
        if (random_.chance(20)) all = {-1};
        if (random_.chance(20)) all.push_back(1);
        if (random_.chance(20) && !all.empty()) all[random_.index(all.size())] = -1;
        return list(all);
      case 'P': {
        const bool blocks = first.kind == 'k';
        for (int64_t d = 0; d < 2 * (blocks ? 2 : rank); ++d) all.push_back(random_.pick(0, 2));
        return integers(all, {static_cast<int64_t>(all.size()) / 2, 2});
      }
      case 'B':
        for (int64_t d = 0; d < rank; ++d) all.push_back(random_.pick(0, 1));
        return list(all);
      case 'g':
        for (int64_t d = 0; d < rank; ++d) all.push_back(random_.one_of<int64_t>({-1, 1, 1, 1, 2}));
        return list(all);
      case 'k':
        return list({random_.pick(1, 2), random_.pick(1, 2)});
      case 'w':
        return weights(dims, false);
      case 'd':
        return weights(dims, true);
      case 'v':
        return reals({dims.empty() ? 1 : dims.back()});
      case 'S':
        return list({random_.pick(1, 8), random_.pick(1, 8)});
      case 'n':
        return random_.chance(80) ? scalar(random_.pick(0, 4)) : list({random_.pick(0, 4)});
      case 'F':
        return reals({});
      case 'G':
        return reals({2});
      case 'h':
        return scalar(random_.chance(90) ? 0 : number());
      case 'X':
        return made(DataType::Float, {3, 4});
      case 'Y':
        return made(DataType::Float, {3});
      case 'C':
        return made(DataType::Float, {1, 3, 1, 4});
      case 'D':
        return made(DataType::Float, {1, 3, random_.pick(1, 3)});
      case 'u':
        all = dims;
        all.empty() ? all.push_back(2) : void(all[0] = 2);
        return made(DataType::Float, all);
      case 'm':
        return made(DataType::Float, {2, 3});
      case 'L':
        return tensor_list();
      case 'V':
        return variable();
      case 'z':
        return random_.chance(30) ? constant(DataType::Bool, {}, {random_.pick(0, 1)})
                                  : input(DataType::Bool, {});
      default:
        return anything();
    }
  }

  Value tensor_list() {
    for (const Value& value : scope_.values)
      if (value.kind == 'L' && random_.chance(60)) return value;
    const Dims dims = any_dims();
    const std::string name = next_name();
    const Attr type = tf::testing::type_attr("element_dtype", 1);
    const int64_t how = random_.pick(0, 2);
    if (how == 0) {
      write(name, "TensorListFromTensor", {made(DataType::Float, dims).name, list(dims).name},
            {type});
    } else {
      const std::string shape = (random_.chance(80) ? list(dims) : scalar(-1)).name;
      write(name, how == 1 ? "TensorListReserve" : "EmptyTensorList",
            {shape, scalar(random_.pick(0, 3)).name}, {type});
    }
    return keep({reference(name, 0), DataType::Variant, dims, 'L'});
  }
  Value variable() {
    const std::string name = random_.chance(90) ? "w" + std::to_string(random_.pick(0, 2)) : "w9";
    for (const Value& value : scope_.values)
      if (value.kind == 'V' && value.name == reference(name, 0)) return value;
    write(name, "VarHandleOp", {}, {tf::testing::text_attr("shared_name", name)});
    return keep({reference(name, 0), DataType::Resource, Dims{2, 3}, 'V'});
  }

  // Results of a graph are tensors: reads what else would be one.
  void read_handles() {
    const std::vector<Value> values = scope_.values;
    for (const Value& value : values) {
      if (value.kind == 't' || random_.chance(10)) continue;
      const std::string name = next_name();
      if (value.kind == 'L')
        write(name, "TensorListStack", {value.name, list(value.dims.value_or(Dims{})).name}, {});
      else
        write(name, "ReadVariableOp", {value.name}, {});
      keep({reference(name, 0), DataType::Float, std::nullopt});
    }
  }

  // --- functions --------------------------------------------------------------------------------

  // Makes a function; its nodes see the arguments alone.
  template <class F>
  std::string function(const std::vector<Value>& arguments, F&& fill) {
    const std::string name = "f" + std::to_string(functions_made_++);
    if (depth_ >= 2) return random_.chance(80) ? "f0" : name;  // calls itself, or is nowhere
    ++depth_;
    Scope outer = std::exchange(scope_, {});
    scope_.is_function = true;
    tf::testing::FunctionSource source;
    source.name = name;
    for (size_t i = 0; i < arguments.size(); ++i) {
      Value argument = arguments[i];
      argument.name = "a" + std::to_string(i);
      source.inputs.emplace_back(argument.name, static_cast<int32_t>(argument.type));
      scope_.values.push_back(std::move(argument));
    }
    if (random_.chance(3)) source.inputs.emplace_back("more", 1);
    const std::vector<std::string> results = fill();
    for (size_t i = 0; i < results.size(); ++i) {
      source.outputs.emplace_back("r" + std::to_string(i), 1);
      if (!random_.chance(1)) source.results.emplace_back("r" + std::to_string(i), results[i]);
    }
    if (random_.chance(20)) source.control_results.emplace_back("c0", some_node());
    source.nodes = std::move(scope_.nodes);
    functions_.push_back(std::move(source));
    scope_ = std::move(outer);
    --depth_;
    return name;
  }
  std::string any_function(const std::vector<Value>& arguments, size_t results) {
    return function(arguments, [&] {
      for (int64_t i = random_.pick(0, 2); i > 0; --i) add_node(any_operator(random_));
      std::vector<std::string> names;
      for (size_t i = 0; i < results; ++i) names.push_back(anything().name);
      return names;
    });
  }
  std::vector<Value> arguments_of(int64_t count) {
    std::vector<Value> arguments;
    for (int64_t i = 0; i < count; ++i)
      arguments.push_back(random_.chance(10)   ? tensor_list()
                          : random_.chance(10) ? variable()
                                               : operand('x', {}));
    return arguments;
  }
  static std::vector<std::string> names_of(const std::vector<Value>& values) {
    std::vector<std::string> names;
    for (const Value& value : values) names.push_back(value.name);
    return names;
  }
  void keep_results(const std::string& name, const std::vector<Value>& like) {
    for (size_t i = 0; i < like.size(); ++i)
      keep({reference(name, i), like[i].type, std::nullopt, like[i].kind});
  }

  void add_call(const std::string& op) {
    const std::vector<Value> arguments = arguments_of(random_.pick(0, 3));
    const std::string called = any_function(arguments, random_.index(3)), name = next_name();
    const bool by_name = random_.chance(10);
    write(name, by_name ? called : op, names_of(arguments),
          {tf::testing::function_attr("f", called)});
    keep_results(name, {Value{}});
  }
  void add_branch(const std::string& op) {
    std::vector<Value> operands = {operand('z', {})};
    const std::vector<Value> arguments = arguments_of(random_.pick(0, 3));
    operands.insert(operands.end(), arguments.begin(), arguments.end());
    const size_t results = 1 + random_.index(2), other = random_.chance(5) ? 3 : results;
    const std::string yes = any_function(arguments, results), no = any_function(arguments, other);
    const std::string name = next_name();
    std::vector<Attr> attrs = {tf::testing::function_attr("then_branch", yes),
                               tf::testing::function_attr("else_branch", no)};
    if (op.ends_with("Case")) attrs = {tf::testing::function_list_attr("branches", {yes, no})};
    write(name, op, names_of(operands), attrs);
    keep_results(name, std::vector<Value>(results));
  }
  // A counted loop, or one whose functions are anything.
  void add_loop(const std::string& op) {
    const bool counts = random_.chance(60);
    std::vector<Value> values = {constant(DataType::Int32, {}, {random_.pick(0, 1)})};
    for (const Value& value : arguments_of(random_.pick(0, 3))) values.push_back(value);
    const std::string condition =
        counts ? function(values,
                          [&] {
                            const std::string limit =
                                constant(DataType::Int32, {}, {random_.pick(0, 4)}).name;
                            const std::string less = next_name();
                            write(less, "Less", {"a0", limit}, {});
                            return std::vector<std::string>{reference(less, 0)};
                          })
               : any_function(values, 1);
    const std::string body =
        counts ? function(values,
                          [&] {
                            const std::string one = constant(DataType::Int32, {}, {1}).name,
                                              next = next_name();
                            write(next, "AddV2", {"a0", one}, {});
                            std::vector<std::string> results = {reference(next, 0)};
                            for (size_t i = 1; i < values.size(); ++i)
                              results.push_back(next_value(i, values[i]));
                            return results;
                          })
               : any_function(values, values.size());
    const std::string name = next_name();
    write(
        name, op, names_of(values),
        {tf::testing::function_attr("cond", condition), tf::testing::function_attr("body", body)});
    keep_results(name, values);
  }
  // What a body makes of one of its values.
  std::string next_value(size_t i, const Value& value) {
    const std::string argument = "a" + std::to_string(i);
    if (random_.chance(30)) return argument;
    if (random_.chance(10)) return anything().name;
    const std::string name = next_name();
    if (value.kind == 'L')
      write(name, "TensorListSetItem", {argument, "a0", made(DataType::Float, any_dims()).name},
            {});
    else if (value.kind == 't')
      write(name, random_.one_of({"Tanh", "Neg", "Square"}), {argument}, {});
    else
      return argument;
    return reference(name, 0);
  }

  // conv_backprop(sizes, weights, x): weights [k..., O, I].
  void add_transposed_conv(const Operator& op, size_t rank) {
    const Value x = of_rank(rank);
    Dims sizes = x.dims.value_or(Dims{1, 4, 4, 2}), weights(rank - 2, random_.pick(1, 3));
    weights.push_back(random_.pick(1, 3));
    weights.push_back(sizes.back());
    sizes.back() = weights[rank - 2];
    const std::string name = next_name();
    const std::string shape = list(sizes).name, kernel = reals(weights).name;
    write(name, std::string(op.row->op), {shape, kernel, x.name}, attributes_of(op, x));
    keep({reference(name, 0), DataType::Float, sizes});
  }
  void add_einsum() {
    static const std::vector<std::pair<std::string, std::string>> kForms = {
        {"ij,jk->ik", "22"},    {"...ij->...ji", "3"}, {"i,i->", "1="},       {"ij,ij->j", "2="},
        {"bij,bkj->bik", "3="}, {"ii->i", "2"},        {"ij->", "2"},         {"a,b->ab", "11"},
        {"...,...->...", "x="}, {"ab->ba", "2"},       {",->", "00"},         {"ij,ij", "2="},
        {"abc,cd->abd", "32"},  {"i->ii", "1"},        {"a->aaaaaaaaa", "1"}, {"->", "0"}};
    const auto& [equation, letters] = random_.one_of(kForms);
    Value first;
    std::vector<std::string> names;
    for (const char letter : letters) {
      const Value value = random_.chance(5) ? anything() : operand(letter, first);
      if (names.empty()) first = value;
      names.push_back(value.name);
    }
    const std::string name = next_name();
    write(name, "Einsum", names, {tf::testing::text_attr("equation", equation)});
    keep({reference(name, 0), first.type, std::nullopt});
  }
  // switch(x, condition), and a merge of both ways.
  void add_switch(const std::string& op) {
    const Value x = operand('x', {});
    const std::string condition = operand('z', {}).name, name = next_name();
    write(name, op, {x.name, condition}, {});
    std::vector<std::string> ways = {reference(name, 0), reference(name, 1)};
    if (random_.chance(10)) ways.pop_back();
    for (std::string& way : ways)
      if (random_.chance(60)) {
        const std::string next = next_name();
        write(next, random_.one_of({"Identity", "Neg", "Tanh"}), {way}, {});
        way = reference(next, 0);
      }
    const std::string merged = next_name();
    write(merged, "Merge", ways, {});
    keep({reference(merged, 0), x.type, x.dims});
    if (random_.chance(30)) keep({reference(merged, 1), DataType::Int32, Dims{}});
  }

  // --- nodes ------------------------------------------------------------------------------------

  std::vector<int64_t> numbers() {
    std::vector<int64_t> values(random_.index(6));
    for (int64_t& value : values) value = number();
    return values;
  }
  Attr attribute(const AttributeName& name, const Value& first) {
    const std::string key(name.name);
    const std::string_view kind = name.kind;
    const size_t rank = first.dims ? first.dims->size() : 4;
    if (random_.chance(2)) return tf::testing::float_attr(key, real());  // of another kind
    if (kind == "number_of_parts") {
      const bool fits = first.dims && !first.dims->empty() && random_.chance(60);
      return tf::testing::int_attr(key, fits ? first.dims->front() : number());
    }
    if (is_one_of(key, {"strides", "dilations", "ksize", "ksizes", "rates"}) &&
        random_.chance(90)) {
      std::vector<int64_t> values(rank, 1);
      for (size_t i = 1; i + 1 < rank; ++i)
        values[i] = random_.chance(95) ? random_.pick(1, 3) : number();
      return tf::testing::int_list_attr(key, values);
    }
    if (key == "explicit_paddings" && random_.chance(80)) {
      std::vector<int64_t> values(2 * rank, 0);
      for (size_t i = 2; i + 2 < values.size(); ++i) values[i] = random_.pick(0, 2);
      return tf::testing::int_list_attr(key, values);
    }
    if (key == "block_size" && random_.chance(80))
      return tf::testing::int_attr(key, random_.pick(1, 3));
    if (kind == "int") return tf::testing::int_attr(key, number());
    if (kind == "float") return tf::testing::float_attr(key, real());
    if (kind == "bool" || kind == "product") return tf::testing::bool_attr(key, random_.chance(50));
    if (kind == "text")
      return tf::testing::text_attr(
          key, random_.chance(3) ? "nosuch" : random_.one_of(words_of(name.name)));
    if (kind == "type" || kind == "dtype")
      return tf::testing::type_attr(key, static_cast<int32_t>(any_type()));
    if (kind == "floats") {
      std::vector<float> values(random_.index(5));
      for (float& value : values) value = real();
      return tf::testing::float_list_attr(key, values);
    }
    if (kind == "shape") {
      Dims dims = first.dims.value_or(any_dims());
      for (int64_t& dim : dims)
        if (random_.chance(20)) dim = random_.chance(50) ? -1 : number();
      return tf::testing::shape_attr(key, dims);
    }
    if (kind == "functions") return tf::testing::function_attr(key, "f0");
    if (kind == "tensor") {
      const DataType type = any_type();
      const Dims dims = any_dims();
      return tf::testing::tensor_attr(key, tensor(type, dims, numbers(), {1.0f}));
    }
    return tf::testing::int_list_attr(key, numbers());
  }

  std::vector<Attr> attributes_of(const Operator& op, const Value& first) {
    std::vector<Attr> attrs;
    for (const AttributeName* name : op.attributes) {
      const bool needed =
          is_one_of(name->name, {"padding", "num_split", "num", "DstT", "strides", "type", "dtype",
                                 "element_dtype", "block_size", "ksize", "ksizes"});
      if (random_.chance(needed ? 96 : 30)) attrs.push_back(attribute(*name, first));
    }
    return attrs;
  }

  void add_node(const Operator& op) {
    const std::string kind(op.row->op);
    if (is_call(kind)) return add_call(kind);
    if (is_branch(kind)) return add_branch(kind);
    if (is_loop(kind)) return add_loop(kind);
    if (kind.starts_with("Conv2DBackprop")) return add_transposed_conv(op, 4);
    if (kind.starts_with("Conv3DBackprop")) return add_transposed_conv(op, 5);
    if (kind == "Einsum") return add_einsum();
    if (kind.ends_with("Switch")) return add_switch(kind);
    if (kind == "Const" || kind == "Placeholder") return void(add_tensor());
    const Arity& arity = op.row->inputs;
    const std::string_view letters = operands_of(kind);
    int64_t count =
        arity.max < 0 ? arity.min + random_.pick(0, 3) : random_.pick(arity.min, arity.max);
    if (arity.max < 0) count = std::max<int64_t>(count, 1);
    if (random_.chance(2)) count = random_.pick(0, 5);
    std::vector<Value> operands;
    Value first;
    bool has_first = false;
    for (int64_t i = 0; i < count; ++i) {
      // The letters between the first and the last one stand once; the second to last repeats
      // where the last one is an axis.
      size_t at = std::min(static_cast<size_t>(i), letters.size() - 1);
      if (kind == "ConcatV2") at = i + 1 == count ? 2 : i == 0 ? 0 : 1;
      Value value = random_.chance(4) ? anything() : operand(letters[at], first);
      if (!has_first && value.dims &&
          std::string_view("xf012345bciL=").find(letters[at]) != std::string_view::npos) {
        first = value;
        has_first = true;
      }
      if (letters[at] == 'k') first.kind = 'k';
      operands.push_back(std::move(value));
    }
    first.kind = 't';
    // An axis or a number of sizes may come before the tensor that it is about.
    if (letters.size() > 1 && std::string_view("as").find(letters[0]) != std::string_view::npos &&
        has_first && random_.chance(80) && !operands.empty())
      operands[0] = operand(letters[0], first);
    const std::vector<Attr> attrs = attributes_of(op, first);
    const std::string name = is_one_of(kind, {"VarHandleOp", "VariableV2", "Variable"})
                                 ? "w" + std::to_string(random_.pick(0, 2))
                                 : next_name();
    std::vector<std::string> names = names_of(operands);
    for (std::string& operand : names) {
      if (random_.chance(1)) operand = some_node();
      if (random_.chance(1)) operand += random_.one_of({":1", ":7", ":4294967295", ":x", ":"});
    }
    write(name, kind, names, attrs);
    const size_t outputs = is_one_of(kind, {"Split", "SplitV", "Unpack", "ShapeN", "IdentityN"})
                               ? 1 + random_.index(3)
                               : 1 + static_cast<size_t>(std::ranges::count(op.row->outputs, ','));
    const bool same = letters == "x=" || letters == "f" || letters == "c";
    for (size_t i = 0; i < outputs; ++i)
      keep({reference(name, i), first.type, same && has_first ? first.dims : std::nullopt,
            kind == "VarHandleOp" ? 'V'
            : makes_list(kind)    ? 'L'
                                  : 't'});
  }
  static bool makes_list(std::string_view op) {
    return is_one_of(op, {"TensorListFromTensor", "TensorListReserve", "EmptyTensorList",
                          "TensorListSetItem", "TensorListPushBack"});
  }

  // --- SavedModel -------------------------------------------------------------------------------

  static std::string tensor_info(const Value& value) {
    std::string message;
    protozero::pbf_writer writer(message);
    writer.add_string(1,
                      value.name.find(':') == std::string::npos ? value.name + ":0" : value.name);
    writer.add_int32(2, static_cast<int32_t>(value.type));
    if (value.dims) writer.add_bytes(3, shape_of(*value.dims));
    return message;
  }
  std::string saved_model(const std::string& graph) {
    std::string signature;
    for (const Value& input : inputs_)
      if (random_.chance(95))
        signature += field(1, tf::testing::map_entry(input.name + "_in", tensor_info(input)));
    std::vector<Value> outputs = {scope_.values.back()};
    for (const Value& value : scope_.values)
      if (random_.chance(30)) outputs.push_back(value);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string key = "y" + std::to_string(random_.chance(3) ? 0 : i);
      signature += field(2, tf::testing::map_entry(key, tensor_info(outputs[i])));
    }
    const std::string meta = field(1, field(4, "serve")) + field(2, graph) +
                             field(5, tf::testing::map_entry("serving_default", signature));
    return field(2, meta);
  }

  Scope scope_;
  std::vector<tf::testing::FunctionSource> functions_;
  std::vector<Value> inputs_;
  int64_t next_ = 0;
  int functions_made_ = 0, depth_ = 0;
  bool has_checkpoint_ = false;
};

}  // namespace

void generate_tensorflow_file(RandomSource& random, Model& model) {
  const Operator& subject = any_operator(random);
  FileGenerator(random).generate(subject, model);
}

}  // namespace ec::fuzz
