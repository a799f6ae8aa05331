// One-op test cases for the op table. A case gives operands, attributes and the expected results;
// expect_case() checks the reference kernel and that inference agrees with what the kernel made:
// with all shapes known, with every dimension open, without ranks, and with constant operands.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/attrs.h"
#include "ops/value.h"

namespace ec::test {

using Sizes = std::vector<int64_t>;
using Operand = std::optional<Value>;  // empty: an absent optional operand
inline constexpr std::nullopt_t kAbsent = std::nullopt;

// Elements are converted to the element type as a cast does.
Value tensor(DType dtype, Sizes shape, const std::vector<double>& elements);
inline Value f32(Sizes shape, const std::vector<double>& elements) {
  return tensor(DType::F32, std::move(shape), elements);
}
inline Value i32(Sizes shape, const std::vector<double>& elements) {
  return tensor(DType::I32, std::move(shape), elements);
}
inline Value i64(Sizes shape, const std::vector<double>& elements) {
  return tensor(DType::I64, std::move(shape), elements);
}
inline Value u8(Sizes shape, const std::vector<double>& elements) {
  return tensor(DType::U8, std::move(shape), elements);
}
inline Value i8(Sizes shape, const std::vector<double>& elements) {
  return tensor(DType::I8, std::move(shape), elements);
}
inline Value boolean(Sizes shape, const std::vector<double>& elements) {
  return tensor(DType::Bool, std::move(shape), elements);
}
inline Value scalar(DType dtype, double value) { return tensor(dtype, {}, {value}); }
// 0, step, 2 step, ... for operands whose values only need to differ.
Value ramp(DType dtype, Sizes shape, double first = 0.0, double step = 1.0);

struct OpCase {
  OpKind kind;
  std::vector<Operand> inputs;
  std::vector<Value> expected;  // one per result; types and shapes are compared as well
  Attrs attrs = {};
  double tolerance = 1e-6;  // of floats: |got - expected| <= tolerance * (1 + |expected|)
};

void expect_case(const OpCase& op_case);
// The operations that cases ran without an error, in this run of the program.
const std::set<OpKind>& ops_that_ran();
// For tests that run graphs of their own: counts every operation, those of bodies included.
void count_as_run(const Graph& graph);
// Compares type, shape and elements; NaN equals NaN.
void expect_equal(const Value& got, const Value& expected, double tolerance = 1e-6);

// Runs the reference kernel of one operation through a graph of its own.
Result<std::vector<Value>> run_op(OpKind kind, const std::vector<Operand>& inputs, Attrs attrs = {},
                                  size_t num_outputs = 1);
void expect_run_error(OpKind kind, const std::vector<Operand>& inputs, Attrs attrs,
                      std::string_view text, size_t num_outputs = 1);

// --- inference
// ------------------------------------------------------------------------------------ An operand
// of which inference knows the type, perhaps also the value or its elements as sizes.
struct Known {
  std::optional<TensorType> type;  // empty: absent
  std::optional<Value> value;
  std::optional<std::vector<Dim>> dims;

  Known(std::nullopt_t) {}                             // NOLINT
  Known(TensorType t) : type(std::move(t)) {}          // NOLINT
  Known(const Value& v) : type(v.type()), value(v) {}  // NOLINT
  Known(DType dtype, Shape shape) : type(TensorType(dtype, std::move(shape))) {}
  // A shape tensor: i64, rank 1, its elements known as dimensions.
  static Known shape_tensor(std::vector<Dim> elements);
  // A scalar i64 known as a dimension.
  static Known dim_scalar(Dim element);
};
inline Known typed(DType dtype, Shape shape) { return Known(dtype, std::move(shape)); }
inline Known unranked(DType dtype) { return TensorType(dtype); }
inline Dim sym(std::string_view name) { return Dim::symbol(name); }

struct Inferred {
  std::vector<TensorType> types;
  std::vector<std::optional<std::vector<Dim>>> dims;
};
Result<Inferred> infer_op(OpKind kind, const std::vector<Known>& inputs, Attrs attrs = {},
                          size_t num_outputs = 1);
// Expects the types' texts: {"f32[N,3]", "i64[*]"}.
void expect_types(OpKind kind, const std::vector<Known>& inputs, Attrs attrs,
                  std::initializer_list<std::string_view> texts);
// Expects the elements of result 0 as dimensions: "[N,3,?]"; "none" when nothing may be known.
void expect_dims(OpKind kind, const std::vector<Known>& inputs, Attrs attrs, std::string_view text);
// Expects a failure with this code whose message contains the text.
void expect_infer_error(OpKind kind, const std::vector<Known>& inputs, Attrs attrs, Code code,
                        std::string_view text, size_t num_outputs = 1);

}  // namespace ec::test
