#include "ir/copier.h"

#include <gtest/gtest.h>

#include "ops/attrs.h"

namespace ec {
namespace {

const TensorType kOpen(DType::F32, Shape({Dim::symbol("N"), Dim(4)}));

// shape(x) -> s, whose elements are known as [N, 4]; relu(x) quantised -> y.
struct Source {
  Graph graph;
  Tensor *x, *s, *y, *w, *sum;

  Source() {
    x = graph.add_input("x", kOpen);
    OpSpec spec;
    spec.location = Location("shape_1", "Shape");
    spec.output_names = {"s"};
    s = graph.add(OpKind::Shape, {x}, std::move(spec)).value()->output();
    OpSpec relu;
    relu.location = Location("relu_1", "Relu");
    relu.output_names = {"y"};
    y = graph.add(OpKind::Relu, {x}, std::move(relu)).value()->output();
    QuantParams params;
    params.scales = {0.5F};
    params.zero_points = {3};
    graph.set_quant(y, params);
    w = graph.add_scalar("w", DType::F32, 2.0);
    sum = graph.add_single(OpKind::Add, {y, w}).value();
    graph.add_output("sum", sum);
    graph.add_output("size", s);
  }
};

TEST(GraphCopier, KeepsNamesLocationsQuantisationAndDimValues) {
  Source source;
  ASSERT_TRUE(source.s->dim_values());
  Graph copy;
  GraphCopier copier(copy);
  copier.add_input(source.x);
  for (const Operation* op : source.graph.topological()) ASSERT_TRUE(copier.copy(*op).ok());
  for (const Tensor* tensor : {source.x, source.s, source.y, source.w, source.sum}) {
    const Tensor* mine = copier.find(tensor);
    ASSERT_NE(mine, nullptr) << tensor->name();
    EXPECT_EQ(mine->name(), tensor->name());
    EXPECT_EQ(mine->type(), tensor->type());
    EXPECT_EQ(mine->dim_values(), tensor->dim_values());
    EXPECT_EQ(&mine->type(), &copy.find_tensor(tensor->name())->type());
  }
  EXPECT_EQ(copier.find(source.y)->producer()->location(), source.y->producer()->location());
  EXPECT_EQ(copier.find(source.w)->raw_data(), source.w->raw_data());
}

TEST(GraphCopier, CopiesConstantsOnceAndNestedBodies) {
  Graph graph;
  Tensor* condition = graph.add_input("c", TensorType(DType::Bool, Shape{}));
  Tensor* w = graph.add_scalar("w", DType::F32, 2.0);
  OpSpec spec;
  for (const char* name : {"then", "else"}) {
    auto body = std::make_unique<Graph>(name);
    Tensor* x = body->add_input("x", w->type());
    body->add_output("y", body->add_single(OpKind::Relu, {x}).value());
    spec.bodies.push_back(std::move(body));
  }
  Operation* op = graph.add(OpKind::If, {condition, w}, std::move(spec)).value();
  Operation* add = graph.add(OpKind::Add, {op->output(), w}).value();

  Graph copy;
  GraphCopier copier(copy);
  copier.add_input(condition);
  const Operation* first = copier.copy(*op).value();
  const Operation* second = copier.copy(*add).value();
  EXPECT_EQ(first->input(1), second->input(1));
  ASSERT_EQ(first->bodies().size(), 2U);
  EXPECT_TRUE(*first->bodies()[0] == *op->bodies()[0]);
  EXPECT_NE(first->bodies()[0].get(), op->bodies()[0].get());
  EXPECT_TRUE(verify(copy).empty());
}

TEST(GraphCopier, RefusesOperandsWithoutACopy) {
  Source source;
  Graph copy;
  GraphCopier copier(copy);
  const auto copied = copier.copy(*source.y->producer());
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code(), Code::Internal);
  EXPECT_EQ(copy.num_operations(), 0U);
}

TEST(CopyOperation, TakesOtherTypesAndDropsDimValuesOfAnotherElementType) {
  Source source;
  Graph copy;
  Tensor* x = copy.add_input("x", kOpen);
  const Operation& shape = *source.s->producer();
  EXPECT_TRUE(copy_operation(copy, shape, {x}, {source.s->type()}).value()->output()->dim_values());
  const TensorType narrow(DType::I32, *source.s->shape());
  EXPECT_FALSE(copy_operation(copy, shape, {x}, {narrow}).value()->output()->dim_values());
}

TEST(Clone, KeepsDimValuesAndInventedNames) {
  Source source;
  const auto clone = source.graph.clone();
  EXPECT_TRUE(*clone == source.graph);
  EXPECT_EQ(clone->find_tensor("s")->dim_values(), source.s->dim_values());
  // The name of the sum was invented: it gives way when the tensor is replaced by a named one.
  Tensor* mine = clone->find_tensor(source.sum->name());
  Tensor* other = clone->add_single(OpKind::Neg, {clone->find_tensor("y")}).value();
  const std::string name = other->name();
  clone->replace_all_uses(mine, other);
  EXPECT_EQ(other->name(), name);
}

}  // namespace
}  // namespace ec
