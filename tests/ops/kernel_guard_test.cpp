// Kernels called with operands that do not fit the planned result, as could happen when a shape was
// still open at planning time: they must refuse, not read beyond their operands.
#include <gtest/gtest.h>

#include "ops/kernel.h"
#include "ops/op_case.h"

namespace ec::test {
namespace {

// A context whose views the test chooses freely; inference is not asked.
class FixedContext : public KernelContext {
 public:
  FixedContext(const Operation& op, const std::vector<Operand>& inputs, const Value& output)
      : KernelContext(op), shape_(output.shape), buffer_(Buffer::allocate(output.data.size())) {
    for (const Operand& input : inputs) {
      inputs_.emplace_back();
      if (input) inputs_.back() = input->view();
    }
    outputs_.emplace_back(MutableView{output.dtype, shape_, buffer_.data(), nullptr});
  }
  Status allocate(size_t, DType, std::vector<int64_t>) override { return fail("no allocation"); }
  Status set_output(size_t, Value) override { return fail("no values"); }
  Result<std::vector<Value>> run_body(size_t, std::vector<Value>) override {
    return fail("no bodies");
  }
  Value input_value(size_t) const override { return {}; }

 private:
  Sizes shape_;
  Buffer buffer_;
};

// Runs the kernel of an op with operands of other shapes than those it was planned for.
void expect_refusal(OpKind kind, const std::vector<Operand>& planned,
                    const std::vector<Operand>& given, const Value& output, Attrs attrs = {}) {
  SCOPED_TRACE(op_name(kind));
  Graph graph;
  std::vector<Tensor*> tensors;
  for (const Operand& input : planned)
    tensors.push_back(input ? graph.add_input("", input->type()) : nullptr);
  OpSpec spec;
  spec.attrs = std::move(attrs);
  const auto op = graph.add(kind, tensors, std::move(spec));
  ASSERT_TRUE(op.ok()) << op.error().message();
  FixedContext good(**op, planned, output);
  const Status works = (*op)->def().reference(good);
  EXPECT_TRUE(works.ok());
  FixedContext bad(**op, given, output);
  EXPECT_FALSE((*op)->def().reference(bad).ok());
}

class KernelGuards : public testing::Test {
 protected:
  const Value row_ = ramp(DType::F32, {2, 4}, 1);
  const Value fitting_ = ramp(DType::F32, {4}, 1);
  const Value short_ = ramp(DType::F32, {3}, 1);
};

TEST_F(KernelGuards, Broadcasting) {
  for (const OpKind kind :
       {OpKind::Add, OpKind::Div, OpKind::Max, OpKind::Pow, OpKind::Prelu, OpKind::Mod})
    expect_refusal(kind, {row_, fitting_}, {row_, short_}, row_);
  const Value flags = boolean({2, 4}, std::vector<double>(8, 1.0));
  for (const OpKind kind : {OpKind::Less, OpKind::Equal})
    expect_refusal(kind, {row_, fitting_}, {row_, short_}, flags);
  expect_refusal(OpKind::And, {flags, flags}, {flags, boolean({3}, {1, 1, 1})}, flags);
  expect_refusal(OpKind::Where, {flags, row_, fitting_}, {flags, row_, short_}, row_);
  expect_refusal(OpKind::Clip, {row_, f32({}, {1})}, {row_, f32({0}, {})}, row_);
}

TEST_F(KernelGuards, Parameters) {
  expect_refusal(OpKind::BatchNorm, {row_, fitting_, fitting_, fitting_, fitting_},
                 {row_, fitting_, fitting_, short_, fitting_}, row_);
  expect_refusal(OpKind::GroupNorm, {row_, fitting_, fitting_}, {row_, short_, fitting_}, row_);
  expect_refusal(OpKind::InstanceNorm, {row_, fitting_, fitting_}, {row_, fitting_, short_}, row_);
  expect_refusal(OpKind::LayerNorm, {row_, fitting_}, {row_, short_}, row_);
  const Value bytes = u8({2, 4}, std::vector<double>(8, 1.0));
  expect_refusal(OpKind::Quantize, {row_, fitting_}, {row_, short_}, bytes, QuantizeAttrs{});
  expect_refusal(OpKind::Dequantize, {bytes, fitting_, u8({4}, {1, 1, 1, 1})},
                 {bytes, fitting_, u8({3}, {1, 1, 1})}, row_, DequantizeAttrs{});
  expect_refusal(OpKind::Dequantize, {bytes, f32({2, 2}, {1, 1, 1, 1})},
                 {bytes, f32({2, 1}, {1, 1})}, row_, DequantizeAttrs{.axis = 1, .block_size = 2});
}

TEST_F(KernelGuards, AxesFromOperands) {
  expect_refusal(OpKind::CumSum, {row_, i64({}, {1})}, {row_, i64({}, {-3})}, row_);
  expect_refusal(OpKind::ReduceSum, {row_, i64({1}, {0})}, {row_, i64({1}, {1})},
                 ramp(DType::F32, {1, 4}));
}

}  // namespace
}  // namespace ec::test
