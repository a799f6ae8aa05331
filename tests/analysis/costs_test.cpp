#include "analysis/costs.h"

#include <gtest/gtest.h>

#include "ops/attrs.h"

namespace ec {
namespace {

class Macs : public ::testing::Test {
 protected:
  Tensor* input(Shape shape) {
    return graph_.add_input("x", TensorType(DType::F32, std::move(shape)));
  }
  std::optional<int64_t> count(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs = {},
                               size_t outputs = 1) {
    OpSpec spec;
    spec.attrs = std::move(attrs);
    spec.num_outputs = outputs;
    const auto op = graph_.add(kind, std::move(inputs), std::move(spec));
    EXPECT_TRUE(op.ok()) << op.error().message();
    return op.ok() ? count_macs(**op) : std::nullopt;
  }

  Graph graph_;
};

ConvAttrs padded(int64_t groups, Layout layout = Layout::ChannelsFirst) {
  ConvAttrs attrs;
  attrs.pads = {1, 1, 1, 1};
  attrs.groups = groups;
  attrs.layout = layout;
  return attrs;
}

TEST_F(Macs, Convolutions) {
  EXPECT_EQ(count(OpKind::Conv, {input({2, 3, 8, 8}), input({16, 3, 3, 3})}, padded(1)),
            2 * 16 * 8 * 8 * 27);
  EXPECT_EQ(count(OpKind::Conv, {input({1, 16, 8, 8}), input({16, 1, 3, 3})}, padded(16)),
            16 * 8 * 8 * 9);
  EXPECT_EQ(count(OpKind::Conv, {input({1, 8, 8, 3}), input({16, 3, 3, 3})},
                  padded(1, Layout::ChannelsLast)),
            16 * 8 * 8 * 27);
  EXPECT_EQ(count(OpKind::ConvTranspose, {input({1, 4, 5, 5}), input({4, 6, 2, 2})},
                  ConvTransposeAttrs{}),
            4 * 5 * 5 * 6 * 4);
}

TEST_F(Macs, MatrixProducts) {
  EXPECT_EQ(count(OpKind::MatMul, {input({5, 2, 3}), input({3, 4})}, MatMulAttrs{}), 5 * 2 * 4 * 3);
  EXPECT_EQ(count(OpKind::MatMul, {input({3}), input({3, 4})}, MatMulAttrs{}), 4 * 3);
  GemmAttrs gemm;
  gemm.transpose_a = true;
  EXPECT_EQ(count(OpKind::Gemm, {input({3, 2}), input({3, 4})}, gemm), 2 * 4 * 3);
  EXPECT_EQ(count(OpKind::Einsum, {input({2, 3}), input({3, 5})}, EinsumAttrs{"ij,jk->ik"}),
            2 * 3 * 5);
}

TEST_F(Macs, Recurrent) {
  RecurrentAttrs attrs;
  attrs.hidden_size = 7;
  // 4 gates: steps x batch x 4 x hidden x (input + hidden).
  EXPECT_EQ(
      count(OpKind::Lstm, {input({10, 2, 5}), input({1, 28, 5}), input({1, 28, 7})}, attrs, 3),
      10 * 2 * 28 * (5 + 7));
}

TEST_F(Macs, ElementwiseCountsNoneAndOpenSizesAreUnknown) {
  EXPECT_EQ(count(OpKind::Relu, {input({4, 4})}), 0);
  EXPECT_EQ(count(OpKind::MatMul, {input({Dim::symbol("n"), 3}), input({3, 4})}, MatMulAttrs{}),
            std::nullopt);
  constexpr int64_t kBig = int64_t{1} << 22;
  EXPECT_EQ(count(OpKind::MatMul, {input({kBig, kBig}), input({kBig, kBig})}, MatMulAttrs{}),
            std::nullopt);  // beyond 63 bits
}

}  // namespace
}  // namespace ec
