#include "ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/convert.h"
#include "ops/infer.h"
#include "ops/kernel.h"

namespace ec::test {
namespace {

std::set<OpKind>& counted_ops() {
  static std::set<OpKind> kinds;
  return kinds;
}

Tensor* add_known(Graph& graph, const Known& known) {
  if (!known.type) return nullptr;
  if (known.value) return graph.add_constant("", *known.type, known.value->data);
  Tensor* tensor = graph.add_input("", *known.type);
  if (known.dims) graph.set_dim_values(tensor, known.dims);
  return tensor;
}

Result<Operation*> add_op(Graph& graph, OpKind kind, const std::vector<Known>& inputs, Attrs attrs,
                          size_t num_outputs) {
  std::vector<Tensor*> operands;
  for (const Known& known : inputs) operands.push_back(add_known(graph, known));
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.num_outputs = num_outputs;
  EC_TRY(Operation * op, graph.add(kind, std::move(operands), std::move(spec)));
  for (Tensor* tensor : op->outputs()) graph.add_output(tensor->name(), tensor);
  return op;
}

enum class Detail { Constants, Shapes, OpenDims, NoRank };

std::vector<Known> as_known(const std::vector<Operand>& inputs, Detail detail) {
  std::vector<Known> known;
  for (const Operand& input : inputs) {
    if (!input) {
      known.emplace_back(std::nullopt);
    } else if (detail == Detail::Constants) {
      known.emplace_back(*input);
    } else if (detail == Detail::Shapes) {
      known.emplace_back(input->type());
    } else if (detail == Detail::OpenDims) {
      known.emplace_back(input->dtype,
                         Shape(std::vector<Dim>(input->shape.size(), Dim::unknown())));
    } else {
      known.emplace_back(TensorType(input->dtype));
    }
  }
  return known;
}

Result<std::vector<Value>> run_known(OpKind kind, const std::vector<Operand>& inputs, Attrs attrs,
                                     size_t num_outputs, Detail detail) {
  Graph graph;
  EC_TRY(Operation * op,
         add_op(graph, kind, as_known(inputs, detail), std::move(attrs), num_outputs));
  (void)op;
  std::vector<Value> values;
  if (detail != Detail::Constants)
    for (const Operand& input : inputs)
      if (input) values.push_back(*input);
  auto results = interpret(graph, values);
  if (results.ok()) count_as_run(graph);
  return results;
}

// Whether what inference said can be the value's type.
bool is_consistent(const TensorType& type, const Value& value) {
  if (type.dtype != value.dtype) return false;
  if (!type.shape) return true;
  if (type.shape->rank() != value.shape.size()) return false;
  for (size_t i = 0; i < value.shape.size(); ++i) {
    const Dim& dim = (*type.shape)[i];
    if (dim.is_static() && dim.size() != value.shape[i]) return false;
  }
  return true;
}

void expect_consistent(const OpCase& c, Detail detail, std::string_view what) {
  const auto inferred = infer_op(c.kind, as_known(c.inputs, detail), c.attrs, c.expected.size());
  if (!inferred.ok()) {
    ADD_FAILURE() << "inference " << what << ": " << inferred.error().message();
    return;
  }
  for (size_t i = 0; i < c.expected.size(); ++i)
    EXPECT_TRUE(is_consistent(inferred->types[i], c.expected[i]))
        << "inference " << what << " said " << inferred->types[i].text() << " for "
        << c.expected[i].type().text();
}

std::vector<double> as_doubles(const Value& value) {
  std::vector<double> out(static_cast<size_t>(count_elements(value.shape)));
  load<double>(value.view(), out);
  return out;
}

bool is_close(double got, double expected, double tolerance) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::fabs(got - expected) <= tolerance * (1.0 + std::fabs(expected));
}

std::string dims_text(const std::optional<std::vector<Dim>>& dims) {
  return dims ? Shape(*dims).text() : "none";
}

}  // namespace

Value tensor(DType dtype, Sizes shape, const std::vector<double>& elements) {
  EXPECT_EQ(count_elements(shape), static_cast<int64_t>(elements.size()));
  Buffer buffer = Buffer::allocate(elements.size() * element_size(dtype));
  store<double>(MutableView{dtype, shape, buffer.data(), nullptr}, elements);
  return Value(dtype, std::move(shape), std::move(buffer).to_blob());
}

Value ramp(DType dtype, Sizes shape, double first, double step) {
  std::vector<double> elements(static_cast<size_t>(count_elements(shape)));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = first + step * static_cast<double>(i);
  return tensor(dtype, std::move(shape), elements);
}

Known Known::shape_tensor(std::vector<Dim> elements) {
  Known known(DType::I64, Shape{static_cast<int64_t>(elements.size())});
  known.dims = std::move(elements);
  return known;
}

Known Known::dim_scalar(Dim element) {
  Known known(DType::I64, Shape{});
  known.dims = std::vector<Dim>{element};
  return known;
}

void expect_equal(const Value& got, const Value& expected, double tolerance) {
  ASSERT_EQ(got.type().text(), expected.type().text());
  if (is_integer(got.dtype) || got.dtype == DType::Bool) {
    // Doubles cannot tell large 64-bit integers apart; bytes can.
    if (got.data == expected.data) return;
    tolerance = 0.0;
  }
  const std::vector<double> a = as_doubles(got), b = as_doubles(expected);
  size_t shown = 0;
  for (size_t i = 0; i < a.size() && shown < 8; ++i) {
    if (is_close(a[i], b[i], tolerance)) continue;
    ++shown;
    ADD_FAILURE() << "element " << i << ": got " << a[i] << ", expected " << b[i];
  }
  if (tolerance == 0.0 && shown == 0 && is_integer(got.dtype))
    ADD_FAILURE() << "elements differ beyond the precision of double";
}

Result<std::vector<Value>> run_op(OpKind kind, const std::vector<Operand>& inputs, Attrs attrs,
                                  size_t num_outputs) {
  return run_known(kind, inputs, std::move(attrs), num_outputs, Detail::Shapes);
}

const std::set<OpKind>& ops_that_ran() { return counted_ops(); }

void count_as_run(const Graph& graph) {
  for (const Operation* op : graph.topological()) {
    counted_ops().insert(op->kind());
    for (const auto& body : op->bodies()) count_as_run(*body);
  }
}

void expect_case(const OpCase& c) {
  SCOPED_TRACE(op_name(c.kind));
  for (const Detail detail : {Detail::Shapes, Detail::Constants}) {
    SCOPED_TRACE(detail == Detail::Shapes ? "operands as inputs" : "operands as constants");
    const auto results = run_known(c.kind, c.inputs, c.attrs, c.expected.size(), detail);
    if (!results.ok()) {
      ADD_FAILURE() << format_diagnostic(results.error().diagnostic());
      return;
    }
    ASSERT_EQ(results->size(), c.expected.size());
    for (size_t i = 0; i < c.expected.size(); ++i) {
      SCOPED_TRACE("result " + std::to_string(i));
      expect_equal((*results)[i], c.expected[i], c.tolerance);
    }
  }
  expect_consistent(c, Detail::Constants, "with constants");
  expect_consistent(c, Detail::Shapes, "with known shapes");
  expect_consistent(c, Detail::OpenDims, "with open dimensions");
  expect_consistent(c, Detail::NoRank, "without ranks");
}

void expect_run_error(OpKind kind, const std::vector<Operand>& inputs, Attrs attrs,
                      std::string_view text, size_t num_outputs) {
  SCOPED_TRACE(op_name(kind));
  const auto results = run_op(kind, inputs, std::move(attrs), num_outputs);
  ASSERT_FALSE(results.ok()) << "ran without an error";
  EXPECT_NE(results.error().message().find(text), std::string::npos) << results.error().message();
}

Result<Inferred> infer_op(OpKind kind, const std::vector<Known>& inputs, Attrs attrs,
                          size_t num_outputs) {
  Graph graph;
  EC_TRY(Operation * op, add_op(graph, kind, inputs, std::move(attrs), num_outputs));
  Inferred inferred;
  for (const Tensor* tensor : op->outputs()) {
    inferred.types.push_back(tensor->type());
    inferred.dims.push_back(tensor->dim_values());
  }
  return inferred;
}

void expect_types(OpKind kind, const std::vector<Known>& inputs, Attrs attrs,
                  std::initializer_list<std::string_view> texts) {
  SCOPED_TRACE(op_name(kind));
  const auto inferred = infer_op(kind, inputs, std::move(attrs), texts.size());
  ASSERT_TRUE(inferred.ok()) << format_diagnostic(inferred.error().diagnostic());
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(inferred->types[i].text(), texts.begin()[i]) << "result " << i;
}

void expect_dims(OpKind kind, const std::vector<Known>& inputs, Attrs attrs,
                 std::string_view text) {
  SCOPED_TRACE(op_name(kind));
  const auto inferred = infer_op(kind, inputs, std::move(attrs));
  ASSERT_TRUE(inferred.ok()) << format_diagnostic(inferred.error().diagnostic());
  EXPECT_EQ(dims_text(inferred->dims[0]), text);
}

void expect_infer_error(OpKind kind, const std::vector<Known>& inputs, Attrs attrs, Code code,
                        std::string_view text, size_t num_outputs) {
  SCOPED_TRACE(op_name(kind));
  const auto inferred = infer_op(kind, inputs, std::move(attrs), num_outputs);
  ASSERT_FALSE(inferred.ok()) << "inferred " << inferred->types[0].text();
  EXPECT_EQ(code_id(inferred.error().code()), code_id(code)) << inferred.error().message();
  EXPECT_NE(inferred.error().message().find(text), std::string::npos) << inferred.error().message();
}

}  // namespace ec::test
