// Branches, loops, lists and state.
#include "frontend/coreml/program_builder.h"

namespace ec::mil::testing {
namespace {

coreml::NamedType f32(std::string name, std::vector<int64_t> dims) {
  return {std::move(name), ValueType::tensor(DataType::Float32, std::move(dims))};
}
coreml::NamedType boolean(std::string name) {
  return {std::move(name), ValueType::tensor(DataType::Bool)};
}

coreml::Block block(std::vector<coreml::NamedType> inputs,
                    std::vector<coreml::Operation> operations, std::vector<std::string> outputs) {
  coreml::Block made;
  made.inputs = std::move(inputs);
  made.operations = std::move(operations);
  made.outputs = std::move(outputs);
  return made;
}

coreml::Model branch(const Parameter& pred) {
  coreml::Operation cond = operation("cond", {{"pred", pred}}, {f32("y", {2})});
  cond.blocks.push_back(
      block({}, {operation("add", {{"x", "x"}, {"y", number(1)}}, {f32("a", {2})})}, {"a"}));
  cond.blocks.push_back(block({}, {}, {"x"}));
  return ProgramBuilder()
      .input("x", {2})
      .op("reduce_sum", {{"x", "x"}}, "sum", {})
      .op("greater", {{"x", "sum"}, {"y", number(0)}}, "positive", {}, DataType::Bool)
      .op(std::move(cond))
      .finish({"y"});
}

TEST(CoremlControl, BranchesReadWhatIsAround) {
  const auto model = branch("positive");
  expect_floats(run(model, {value({1, 2}, {2})}), {2, 3});
  expect_floats(run(model, {value({-1, -2}, {2})}), {-1, -2});
}

TEST(CoremlControl, AKnownBranchIsTheOnlyOne) {
  const auto graph = import(branch(flag(false)));
  ASSERT_NE(graph, nullptr);
  for (const Operation* op : graph->topological()) EXPECT_NE(op->kind(), OpKind::If);
}

// y = x; while sum(y) < 10: y = y + step, where step is from outside.
TEST(CoremlControl, LoopsCarryValues) {
  coreml::Operation loop =
      operation("while_loop", {{"loop_vars", std::vector<std::string>{"x"}}}, {f32("y", {2})});
  loop.blocks.push_back(
      block({f32("v", {2})},
            {operation("reduce_sum", {{"x", "v"}}, {f32("sum", {})}),
             operation("less", {{"x", "sum"}, {"y", number(10)}}, {boolean("more")})},
            {"more"}));
  loop.blocks.push_back(block({f32("w", {2})},
                              {operation("add", {{"x", "w"}, {"y", "step"}}, {f32("next", {2})})},
                              {"next"}));
  const auto model =
      ProgramBuilder().input("x", {2}).input("step", {2}).op(std::move(loop)).finish({"y"});
  expect_floats(run(model, {value({1, 2}, {2}), value({2, 1}, {2})}), {7, 5});
  // A condition that fails at once leaves the values as they are.
  expect_floats(run(model, {value({10, 2}, {2}), value({2, 1}, {2})}), {10, 2});
}

TEST(CoremlControl, ListsAreReadAndWritten) {
  coreml::NamedType list{"made", {}};
  list.type.kind = ValueType::Kind::List;
  coreml::NamedType written = list;
  written.name = "written";
  const auto model =
      ProgramBuilder()
          .input("x", {2})
          .op(operation("make_list",
                        {{"init_length", integer(3)},
                         {"dynamic_length", flag(false)},
                         {"elem_shape", ints({2})}},
                        {list}))
          .op(operation("list_write", {{"ls", "made"}, {"index", integer(1)}, {"value", "x"}},
                        {written}))
          .op("list_read", {{"ls", "written"}, {"index", integer(1)}}, "one", {2})
          .op("list_gather", {{"ls", "written"}, {"indices", ints({1, 0})}}, "two", {2, 2})
          .op("list_length", {{"ls", "written"}}, "n", {}, DataType::Int32)
          .op("cast", {{"x", "n"}, {"dtype", text("fp32")}}, "length", {})
          .finish({"one", "two", "length"});
  const auto outputs = run(model, {value({5, 6}, {2})});
  expect_floats(outputs, {5, 6}, 0);
  expect_floats(outputs, {5, 6, 0, 0}, 1);
  expect_floats(outputs, {3}, 2);
}

TEST(CoremlControl, StateIsReadBehindItsWrite) {
  coreml::Model model;
  model.specification_version = 9;
  coreml::Function function;
  function.opset = "CoreML8";
  coreml::NamedType state{"total", {}};
  state.type.kind = ValueType::Kind::State;
  state.type.nested.push_back(ValueType::tensor(DataType::Float32, {2}));
  function.inputs = {f32("x", {2}), state};
  function.block.operations = {
      operation("read_state", {{"input", "total"}}, {f32("before", {2})}),
      operation("add", {{"x", "before"}, {"y", "x"}}, {f32("sum", {2})}),
      operation("write_state", {{"input", "total"}, {"data", "sum"}}, {}),
      operation("read_state", {{"input", "total"}}, {f32("after", {2})}),
  };
  function.block.outputs = {"before", "after"};
  model.program.emplace();
  model.program->functions["main"] = std::move(function);
  const auto outputs = run(model, {value({1, 2}, {2})});
  expect_floats(outputs, {0, 0}, 0);
  expect_floats(outputs, {1, 2}, 1);
}

TEST(CoremlControl, RefusesAFunctionOfAnUnknownOperatorSet) {
  coreml::Model model =
      ProgramBuilder().input("x", {1}).op("relu", {{"x", "x"}}, "y", {1}).finish({"y"});
  model.program->functions["main"].opset = "Metal3";
  EXPECT_EQ(refusal(model).code, Code::UnsupportedOpset);
}

}  // namespace
}  // namespace ec::mil::testing
