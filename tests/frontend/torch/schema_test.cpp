// Signatures, choice of overloads, promotion of types.
#include <gtest/gtest.h>

#include "frontend/torch/aten/promotion.h"
#include "frontend/torch/aten/resolve.h"
#include "frontend/torch/aten/schema.h"

namespace ec::torch {
namespace {

TEST(TorchSchema, ReadsEveryPart) {
  const auto schema = parse_schema(
      "aten::f.over(Tensor(a!) self, Tensor?[] indices, int[2] stride=1, float? eps=None, *, "
      "str mode=\"same\", bool[] flags=[True, False], Scalar alpha=-1.5e-3) -> (Tensor, Tensor[])");
  ASSERT_TRUE(schema.ok()) << schema.error().message();
  EXPECT_EQ(schema->name, "aten::f");
  EXPECT_EQ(schema->overload, "over");
  EXPECT_EQ(schema->num_results, 2u);
  EXPECT_EQ(schema->num_positional(), 4u);
  ASSERT_EQ(schema->args.size(), 7u);
  EXPECT_EQ(schema->args[0].type.base, ArgType::Base::Tensor);
  EXPECT_TRUE(schema->args[1].type.list && schema->args[1].type.optional_items);
  EXPECT_FALSE(schema->args[1].type.optional);
  EXPECT_EQ(schema->args[2].type.list_size, 2);
  EXPECT_EQ(schema->args[2].fallback->get<int64_t>(), 1);
  EXPECT_TRUE(schema->args[3].type.optional && schema->args[3].fallback->is_none());
  EXPECT_TRUE(schema->args[4].keyword_only);
  EXPECT_EQ(schema->args[4].fallback->get<std::string>(), "same");
  EXPECT_EQ(schema->args[5].fallback->items()->size(), 2u);
  EXPECT_DOUBLE_EQ(schema->args[6].fallback->get<double>(), -1.5e-3);
}

TEST(TorchSchema, RefusesWhatIsNoSignature) {
  for (const char* text :
       {"", "aten::f", "f(Tensor x) -> Tensor", "aten::f(Tensor x)", "aten::f(Tensr x) -> Tensor",
        "aten::f(Tensor) -> Tensor", "aten::f(Tensor x -> Tensor", "aten::f(int x=y) -> Tensor",
        "aten::f(str x=\"a) -> Tensor", "aten::f(int[2 x) -> Tensor",
        "aten::f(Tensor x) -> Tensor y z"})
    EXPECT_FALSE(parse_schema(text).ok()) << text;
}

class Resolving : public testing::Test {
 protected:
  // The overload that a call finds, or the code of the error.
  std::string find(const std::string& name, std::vector<TorchValue> args, NamedValues kwargs = {}) {
    const auto found = resolve(name, find_operators(name), "", false, args, kwargs);
    return found.ok() ? found->op->schema.overload : code_id(found.error().code());
  }
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{2, 3}));
  Tensor* s = graph.add_input("s", TensorType(DType::I64, Shape{}));
};

TEST_F(Resolving, GoesByTypes) {
  EXPECT_EQ(find("aten::add", {x, x}), "Tensor");
  EXPECT_EQ(find("aten::add", {x, 2}), "Scalar");
  EXPECT_EQ(find("aten::add", {1, 2}), "");
  EXPECT_EQ(find("aten::add", {s, s}), "Tensor");
  EXPECT_EQ(find("aten::div", {x, 2}, {{"rounding_mode", "floor"}}), "Scalar_mode");
  EXPECT_EQ(find("aten::split", {x, 2, 1}), "Tensor");
  EXPECT_EQ(find("aten::split", {x, TorchValue::ints({1, 2}), 1}), "sizes");
  EXPECT_EQ(find("aten::conv2d", {x, x, TorchValue(), TorchValue::ints({1, 1}), "same"}),
            "padding");
}

TEST_F(Resolving, GoesByArityAndNames) {
  EXPECT_EQ(find("aten::max", {x}), "");
  EXPECT_EQ(find("aten::max", {x, 1}), "dim");
  EXPECT_EQ(find("aten::max", {x, x}), "other");
  EXPECT_EQ(find("aten::to", {x, 6}), "dtype");
  EXPECT_EQ(find("aten::to", {x, x}), "other");
  EXPECT_EQ(find("aten::to", {x, "cpu", 6, false, false}), "device");
  EXPECT_EQ(find("aten::arange", {5}, {{"dtype", 4}}), "");
  EXPECT_EQ(find("aten::arange", {1, 5}), "start");
}

TEST_F(Resolving, SaysWhatDoesNotFit) {
  EXPECT_EQ(find("aten::relu", {}), "EC1019");
  EXPECT_EQ(find("aten::relu", {x, x}), "EC1019");
  EXPECT_EQ(find("aten::relu", {x}, {{"inplace", true}}), "EC1019");
  EXPECT_EQ(find("aten::relu", {"text"}), "EC2002");
  EXPECT_EQ(find("aten::softmax", {x, x}), "EC2002");  // six elements are no dimension
}

TEST(TorchPromotion, StrongerOperandsDecide) {
  Graph graph;
  const auto with_dims = [&](DType dtype) {
    return TensorRef{graph.add_input("a", TensorType(dtype, Shape{2})), false, {}, {}};
  };
  const auto zero_dim = [&](DType dtype) {
    return TensorRef{graph.add_input("a", TensorType(dtype, Shape{})), false, {}, {}};
  };
  const auto number = [&](DType dtype) {
    TensorRef ref = zero_dim(dtype);
    ref.python_number = true;
    return ref;
  };
  const auto type = [](std::vector<TensorRef> refs) { return result_type(refs); };
  EXPECT_EQ(type({with_dims(DType::I32), number(DType::F64)}), DType::F32);
  EXPECT_EQ(type({with_dims(DType::I32), zero_dim(DType::F64)}), DType::F64);
  EXPECT_EQ(type({with_dims(DType::I8), zero_dim(DType::I64)}), DType::I8);
  EXPECT_EQ(type({with_dims(DType::F16), zero_dim(DType::F64)}), DType::F16);
  EXPECT_EQ(type({with_dims(DType::F16), number(DType::F64)}), DType::F16);
  EXPECT_EQ(type({with_dims(DType::Bool), number(DType::I64)}), DType::I64);
  EXPECT_EQ(type({with_dims(DType::U8), with_dims(DType::I8)}), DType::I16);
  EXPECT_EQ(type({with_dims(DType::F16), with_dims(DType::BF16)}), DType::F32);
  EXPECT_EQ(type({zero_dim(DType::I64), number(DType::F64)}), DType::F32);
  EXPECT_EQ(type({number(DType::I64), number(DType::F64)}), DType::F32);
}

}  // namespace
}  // namespace ec::torch
