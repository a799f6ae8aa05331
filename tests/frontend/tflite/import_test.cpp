// Files to graphs: names, shapes, quantisation, control flow, variables; results by interpretation.
#include <gtest/gtest.h>

#include "frontend/tflite/import_harness.h"
#include "ops/attrs.h"
#include "ops/op_def.h"

namespace ec::tflite::testing {
namespace {

// Names of the operations in order.
std::string kinds(const ec::Graph& graph) {
  std::string names;
  for (const Operation* op : graph.topological())
    names += (names.empty() ? "" : " ") + std::string(op->def().name);
  return names;
}

TEST(TfliteImport, AddWithFusedActivation) {
  const auto imported = import(add_model());
  ASSERT_NE(imported->graph, nullptr);
  const ec::Graph& graph = *imported->graph;
  EXPECT_EQ(graph.inputs()[0]->name(), "x");
  EXPECT_EQ(graph.inputs()[0]->type().text(), "f32[x_dim0,4]");
  EXPECT_EQ(graph.output_names(), std::vector<std::string>{"y"});
  EXPECT_NE(graph.find_tensor("c"), nullptr);
  EXPECT_NE(graph.find_tensor("y"), nullptr);
  EXPECT_EQ(run(graph, {floats({1, 4}, {1, 1, 1, 1})}), (Floats{2, 0, 4, 0}));
}

TEST(TfliteImport, OpenSizesAreFixedByOptions) {
  ImportOptions options;
  options.dims["x_dim0"] = 3;
  const auto imported = import(add_model(), options);
  ASSERT_NE(imported->graph, nullptr);
  EXPECT_EQ(imported->graph->outputs()[0]->type().text(), "f32[3,4]");
  options.dims = {{"nothing", 3}};
  EXPECT_EQ(import(add_model(), options)->graph, nullptr);
}

TEST(TfliteImport, SignatureNamesTheInterface) {
  ModelSpec spec = add_model();
  spec.signatures = {{"serve", {{"image", 0}}, {{"scores", 2}}}};
  const auto imported = import(spec);
  ASSERT_NE(imported->graph, nullptr);
  EXPECT_EQ(imported->graph->inputs()[0]->name(), "image");
  EXPECT_EQ(imported->graph->output_names()[0], "scores");
  EXPECT_EQ(imported->graph->outputs()[0]->name(), "y");  // tensors keep the file's names
}

// Depthwise weights are turned; biases of early files carry their weights' axis.
ModelSpec depthwise_model() {
  SubgraphSpec graph;
  graph.tensors = {{.name = "x",
                    .shape = {1, 2, 2, 2},
                    .type = TensorType::INT8,
                    .scales = {0.5f},
                    .zero_points = {3}},
                   {.name = "w",
                    .shape = {1, 1, 2, 2},
                    .type = TensorType::INT8,
                    .data = {1, 2, 3, 4},
                    .scales = {0.25f, 0.125f},
                    .zero_points = {0, 0},
                    .axis = 3},
                   {.name = "b",
                    .shape = {2},
                    .type = TensorType::INT32,
                    .data = bytes_of<int32_t>({8, 16}),
                    .scales = {0.125f, 0.0625f},
                    .zero_points = {0, 0},
                    .axis = 3},
                   {.name = "y",
                    .shape = {1, 2, 2, 2},
                    .type = TensorType::INT8,
                    .scales = {1.0f},
                    .zero_points = {-1}}};
  graph.inputs = {0};
  graph.outputs = {3};
  graph.operators = {{BuiltinOperator::DEPTHWISE_CONV_2D,
                      {0, 1, 2},
                      {3},
                      BuiltinOptions::DepthwiseConv2DOptions,
                      options([](Fbb& fbb) {
                        return CreateDepthwiseConv2DOptions(fbb, Padding::SAME, 1, 1, 1,
                                                            ActivationFunctionType::RELU6);
                      })}};
  return {.subgraphs = {graph}};
}

TEST(TfliteImport, DepthwiseConvolutionKeepsItsParameters) {
  const auto imported = import(depthwise_model());
  ASSERT_NE(imported->graph, nullptr) << imported->sink.first_error().message();
  const Operation* conv = imported->graph->outputs()[0]->producer();
  ASSERT_EQ(conv->kind(), OpKind::Conv);
  const auto& attrs = conv->attrs_as<ConvAttrs>();
  EXPECT_EQ(attrs.groups, 2);
  EXPECT_EQ(attrs.activation, Activation::Relu6);
  EXPECT_EQ(attrs.pads, (std::vector<int64_t>{0, 0, 0, 1}));  // the odd pixel at the end
  const ec::Tensor* w = conv->input(1);
  EXPECT_EQ(w->name(), "w");
  EXPECT_EQ(w->shape()->text(), "[2,1,2,1]");
  EXPECT_EQ(w->type().quant->axis, 0);
  EXPECT_EQ(w->type().quant->scales, (Floats{0.25f, 0.125f}));
  const auto values = w->values<int8_t>();
  EXPECT_EQ(std::vector<int8_t>(values.begin(), values.end()), (std::vector<int8_t>{1, 3, 2, 4}));
  EXPECT_EQ(conv->input(2)->type().quant->axis, 0);
  EXPECT_EQ(conv->output()->type().quant->zero_points, std::vector<int32_t>{-1});
}

TEST(TfliteImport, FullyConnectedFlattensItsInput) {
  SubgraphSpec graph;
  graph.tensors = {
      {.name = "x", .shape = {1, 1, 2, 2}},
      {.name = "w", .shape = {2, 4}, .data = bytes_of<float>({1, 2, 3, 4, 1, 1, 1, 1})},
      {.name = "y", .shape = {1, 2}}};
  graph.inputs = {0};
  graph.outputs = {2};
  graph.operators = {{BuiltinOperator::FULLY_CONNECTED, {0, 1, -1}, {2}}};
  const auto imported = import({.subgraphs = {graph}});
  ASSERT_NE(imported->graph, nullptr);
  EXPECT_EQ(run(*imported->graph, {floats({1, 1, 2, 2}, {1, 1, 1, 1})}), (Floats{10, 4}));
}

TEST(TfliteImport, FourBitConstantsAreUnpacked) {
  SubgraphSpec graph;
  graph.tensors = {{.name = "w",
                    .shape = {3},
                    .type = TensorType::INT4,
                    .data = {0x2f, 0x08},  // -1, 2, -8
                    .scales = {0.5f},
                    .zero_points = {0}}};
  graph.outputs = {0};
  const auto imported = import({.subgraphs = {graph}});
  ASSERT_NE(imported->graph, nullptr);
  const auto bytes = imported->graph->outputs()[0]->data().bytes();
  EXPECT_EQ(static_cast<int8_t>(bytes[0]), -1);
  EXPECT_EQ(static_cast<int8_t>(bytes[1]), 2);
  EXPECT_EQ(static_cast<int8_t>(bytes[2]), -8);
}

// --- slices -------------------------------------------------------------------------------------

struct Masks {
  int32_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
};

// Of x = 0..11 in [3,4].
Floats strided_slice(const std::vector<int32_t>& begin, const std::vector<int32_t>& end,
                     const std::vector<int32_t>& strides, Masks m, std::string& shape) {
  const auto list = [](std::string name, const std::vector<int32_t>& values) {
    return TensorSpec{.name = std::move(name),
                      .shape = {static_cast<int32_t>(values.size())},
                      .type = TensorType::INT32,
                      .data = bytes_of(values)};
  };
  SubgraphSpec graph;
  graph.tensors = {{.name = "x", .shape = {3, 4}},
                   list("b", begin),
                   list("e", end),
                   list("s", strides),
                   {.name = "y", .shape = {1}}};
  graph.inputs = {0};
  graph.outputs = {4};
  graph.operators = {{BuiltinOperator::STRIDED_SLICE,
                      {0, 1, 2, 3},
                      {4},
                      BuiltinOptions::StridedSliceOptions,
                      options([=](Fbb& fbb) {
                        return CreateStridedSliceOptions(fbb, m.begin, m.end, m.ellipsis,
                                                         m.new_axis, m.shrink);
                      })}};
  const auto imported = import({.subgraphs = {graph}});
  if (imported->graph == nullptr) {
    ADD_FAILURE() << imported->sink.first_error().message();
    return {};
  }
  shape = imported->graph->outputs()[0]->shape()->text();
  Floats x(12);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  return run(*imported->graph, {floats({3, 4}, x)});
}

TEST(TfliteImport, StridedSlices) {
  std::string shape;
  EXPECT_EQ(strided_slice({1, 0}, {3, 4}, {1, 2}, {}, shape), (Floats{4, 6, 8, 10}));
  EXPECT_EQ(strided_slice({0, 0}, {0, 0}, {1, -1}, {.begin = 3, .end = 3}, shape),
            (Floats{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8}));
  EXPECT_EQ(strided_slice({-1, 0}, {0, 2}, {1, 1}, {.shrink = 1}, shape), (Floats{8, 9}));
  EXPECT_EQ(shape, "[2]");
  EXPECT_EQ(strided_slice({0, 1}, {0, 2}, {1, 1}, {.ellipsis = 1, .shrink = 2}, shape),
            (Floats{1, 5, 9}));
  EXPECT_EQ(shape, "[3]");
  EXPECT_EQ(strided_slice({0, 1, 0}, {0, 2, 4}, {1, 1, 1}, {.new_axis = 1}, shape),
            (Floats{4, 5, 6, 7}));
  EXPECT_EQ(shape, "[1,1,4]");
}

// --- control flow and variables -----------------------------------------------------------------

SubgraphSpec unary(BuiltinOperator code) {
  SubgraphSpec graph;
  graph.tensors = {{.name = "a", .shape = {2}}, {.name = "b", .shape = {2}}};
  graph.inputs = {0};
  graph.outputs = {1};
  graph.operators = {{code, {0}, {1}}};
  return graph;
}

TEST(TfliteImport, If) {
  SubgraphSpec graph;
  graph.tensors = {{.name = "c", .shape = {}, .type = TensorType::BOOL},
                   {.name = "x", .shape = {2}},
                   {.name = "y", .shape = {2}}};
  graph.inputs = {0, 1};
  graph.outputs = {2};
  graph.operators = {
      {BuiltinOperator::IF, {0, 1}, {2}, BuiltinOptions::IfOptions, options([](Fbb& fbb) {
         return CreateIfOptions(fbb, 1, 2);
       })}};
  const auto imported =
      import({.subgraphs = {graph, unary(BuiltinOperator::NEG), unary(BuiltinOperator::ABS)}});
  ASSERT_NE(imported->graph, nullptr) << imported->sink.first_error().message();
  const Value x = floats({2}, {1, -2});
  for (const bool condition : {true, false}) {
    const Value c = Value::of<bool>({}, std::span<const bool>(&condition, 1));
    EXPECT_EQ(run(*imported->graph, {c, x}), condition ? (Floats{-1, 2}) : (Floats{1, 2}));
  }
}

// x doubles while it is below 10.
TEST(TfliteImport, While) {
  SubgraphSpec main;
  main.tensors = {{.name = "x", .shape = {}}, {.name = "y", .shape = {}}};
  main.inputs = {0};
  main.outputs = {1};
  main.operators = {
      {BuiltinOperator::WHILE, {0}, {1}, BuiltinOptions::WhileOptions, options([](Fbb& fbb) {
         return CreateWhileOptions(fbb, 1, 2);
       })}};
  SubgraphSpec condition;
  condition.tensors = {{.name = "v", .shape = {}},
                       {.name = "limit", .shape = {}, .data = bytes_of<float>({10})},
                       {.name = "more", .shape = {}, .type = TensorType::BOOL}};
  condition.inputs = {0};
  condition.outputs = {2};
  condition.operators = {{BuiltinOperator::LESS, {0, 1}, {2}}};
  SubgraphSpec body;
  body.tensors = {{.name = "v", .shape = {}}, {.name = "twice", .shape = {}}};
  body.inputs = {0};
  body.outputs = {1};
  body.operators = {{BuiltinOperator::ADD, {0, 0}, {1}}};
  const auto imported = import({.subgraphs = {main, condition, body}});
  ASSERT_NE(imported->graph, nullptr) << imported->sink.first_error().message();
  EXPECT_EQ(run(*imported->graph, {floats({}, {3})}), Floats{12});
  EXPECT_EQ(run(*imported->graph, {floats({}, {50})}), Floats{50});
}

TEST(TfliteImport, VariablesHoldWhatCallOnceAssigns) {
  const auto handle = [](int32_t out) {
    return OperatorSpec{
        BuiltinOperator::VAR_HANDLE,
        {},
        {out},
        BuiltinOptions::VarHandleOptions,
        options([](Fbb& fbb) { return CreateVarHandleOptions(fbb, 0, fbb.CreateString("v")); })};
  };
  SubgraphSpec main;
  main.tensors = {{.name = "x", .shape = {2}},
                  {.name = "h", .shape = {}, .type = TensorType::RESOURCE},
                  {.name = "v", .shape = {2}},
                  {.name = "y", .shape = {2}}};
  main.inputs = {0};
  main.outputs = {3};
  main.operators = {
      {BuiltinOperator::CALL_ONCE, {}, {}, BuiltinOptions::CallOnceOptions, options([](Fbb& fbb) {
         return CreateCallOnceOptions(fbb, 1);
       })},
      handle(1),
      {BuiltinOperator::READ_VARIABLE, {1}, {2}},
      {BuiltinOperator::MUL, {0, 2}, {3}}};
  SubgraphSpec init;
  init.tensors = {{.name = "h", .shape = {}, .type = TensorType::RESOURCE},
                  {.name = "first", .shape = {2}, .data = bytes_of<float>({3, 5})}};
  init.operators = {handle(0), {BuiltinOperator::ASSIGN_VARIABLE, {0, 1}, {}}};
  const auto imported = import({.subgraphs = {main, init}});
  ASSERT_NE(imported->graph, nullptr) << imported->sink.first_error().message();
  EXPECT_EQ(run(*imported->graph, {floats({2}, {1, 2})}), (Floats{3, 10}));
}

// A variable that counts: v = v + x, y = v.
TEST(TfliteImport, VariablesOutliveARun) {
  const auto handle = [](int32_t out) {
    return OperatorSpec{
        BuiltinOperator::VAR_HANDLE,
        {},
        {out},
        BuiltinOptions::VarHandleOptions,
        options([](Fbb& fbb) { return CreateVarHandleOptions(fbb, 0, fbb.CreateString("v")); })};
  };
  SubgraphSpec main;
  main.tensors = {{.name = "x", .shape = {2}},
                  {.name = "h", .shape = {}, .type = TensorType::RESOURCE},
                  {.name = "v", .shape = {2}},
                  {.name = "y", .shape = {2}}};
  main.inputs = {0};
  main.outputs = {3};
  main.operators = {
      {BuiltinOperator::CALL_ONCE, {}, {}, BuiltinOptions::CallOnceOptions, options([](Fbb& fbb) {
         return CreateCallOnceOptions(fbb, 1);
       })},
      handle(1),
      {BuiltinOperator::READ_VARIABLE, {1}, {2}},
      {BuiltinOperator::ADD, {0, 2}, {3}},
      {BuiltinOperator::ASSIGN_VARIABLE, {1, 3}, {}}};
  SubgraphSpec init;
  init.tensors = {{.name = "h", .shape = {}, .type = TensorType::RESOURCE},
                  {.name = "first", .shape = {2}, .data = bytes_of<float>({3, 5})}};
  init.operators = {handle(0), {BuiltinOperator::ASSIGN_VARIABLE, {0, 1}, {}}};
  const auto imported = import({.subgraphs = {main, init}});
  ASSERT_NE(imported->graph, nullptr) << imported->sink.first_error().message();
  EXPECT_TRUE(imported->sink.diagnostics().empty());
  EXPECT_EQ(kinds(*imported->graph), "read_state add write_state");
  EXPECT_EQ(imported->graph->topological()[0]->attrs_as<StateAttrs>().name, "v");
  EXPECT_EQ(run(*imported->graph, {floats({2}, {1, 2})}), (Floats{4, 7}));
}

TEST(TfliteImport, VariableTensorsOutliveARun) {
  SubgraphSpec main;
  main.tensors = {{.name = "x", .shape = {1, 2}},
                  {.name = "feature", .shape = {3, 2}, .data = bytes_of<float>({1, 0, 0, 1, 1, 1})},
                  {.name = "time", .shape = {3, 2}, .data = bytes_of<float>({1, 1, 1, 1, 1, 1})},
                  {.name = "state", .shape = {1, 6}, .is_variable = true},
                  {.name = "y", .shape = {1, 3}}};
  main.inputs = {0};
  main.outputs = {4};
  main.operators = {{BuiltinOperator::SVDF,
                     {0, 1, 2, -1, 3},
                     {4},
                     BuiltinOptions::SVDFOptions,
                     options([](Fbb& fbb) { return CreateSVDFOptions(fbb, 1); })}};
  const auto imported = import({.subgraphs = {main}});
  ASSERT_NE(imported->graph, nullptr) << imported->sink.first_error().message();
  EXPECT_TRUE(imported->sink.diagnostics().empty());
  EXPECT_EQ(kinds(*imported->graph), "read_state svdf write_state");
}

TEST(TfliteImport, TheFilesOwnShapeIsTheDefault) {
  const auto imported = import(add_model());
  ASSERT_NE(imported->graph, nullptr);
  EXPECT_EQ(imported->graph->inputs()[0]->type().text(), "f32[x_dim0,4]");
  EXPECT_EQ(imported->graph->metadata().at("default_shape.x"), "1x4");
  ImportOptions options;
  options.input_shapes["x"] = {5, 4};
  EXPECT_FALSE(import(add_model(), options)->graph->metadata().contains("default_shape.x"));
}

// --- what cannot be imported --------------------------------------------------------------------

TEST(TfliteImport, AllUnknownOperatorsInOneRun) {
  ModelSpec spec = add_model();
  SubgraphSpec& graph = spec.subgraphs[0];
  graph.tensors.push_back({.name = "z", .shape = {1, 4}});
  graph.tensors.push_back({.name = "u", .shape = {1, 4}});
  graph.operators.push_back({BuiltinOperator::SKIP_GRAM, {2}, {3}});
  graph.operators.push_back({BuiltinOperator::LSH_PROJECTION, {2}, {4}});
  graph.outputs = {3, 4};
  const auto imported = import(spec);
  EXPECT_EQ(imported->graph, nullptr);
  EXPECT_EQ(imported->sink.error_count(), 2u);
  EXPECT_EQ(error_of(spec), Code::UnsupportedOp);
}

TEST(TfliteImport, CustomOperatorsAreKept) {
  ModelSpec spec = add_model();
  OperatorSpec& op = spec.subgraphs[0].operators[0];
  op = {BuiltinOperator::CUSTOM, {0, 1}, {2}};
  op.custom_code = "my-op";
  op.custom_options = {1, 2, 3};
  const auto imported = import(spec);
  ASSERT_NE(imported->graph, nullptr) << imported->sink.first_error().message();
  const Operation* custom = imported->graph->outputs()[0]->producer();
  ASSERT_EQ(custom->kind(), OpKind::Custom);
  EXPECT_EQ(custom->attrs_as<CustomAttrs>().code, "my-op");
  EXPECT_EQ(custom->attrs_as<CustomAttrs>().options, "AQID");
  EXPECT_FALSE(interpret(*imported->graph, std::vector{floats({1, 4}, {1, 2, 3, 4})}).ok());
}

TEST(TfliteImport, WrongNumbersAndTypes) {
  ModelSpec spec = add_model();
  spec.subgraphs[0].operators[0].inputs = {0};
  EXPECT_EQ(error_of(spec), Code::BadArity);
  spec = add_model();
  spec.subgraphs[0].tensors[2].type = TensorType::INT32;
  EXPECT_EQ(error_of(spec), Code::TypeMismatch);
  spec = add_model();
  spec.subgraphs[0].tensors[0].type = TensorType::STRING;
  EXPECT_EQ(error_of(spec), Code::UnsupportedType);
}

}  // namespace
}  // namespace ec::tflite::testing
