// Graphs that are well formed and mean nothing, or too much: a coded error, or a model that holds.
#include <gtest/gtest.h>

#include <cmath>

#include "frontend/known_values.h"
#include "frontend/tensorflow/graph_writer.h"
#include "frontend/tensorflow/tensorflow.h"
#include "ir/graph.h"

namespace ec {
namespace {

using namespace tf::testing;

// The code of the first error; nothing: the graph was read, and the verifier accepts it.
std::optional<Code> refusal(const GraphWriter& writer) {
  DiagnosticSink sink;
  const auto graph = import_graph_def(writer.blob(), "made.pb", {}, sink);
  if (!graph.ok()) return sink.diagnostics().front().code;
  EXPECT_TRUE(verify(**graph).empty());
  return std::nullopt;
}

Attr floats_of(int32_t type) { return type_attr("T", type); }

// One side that is refused is not an image for the other side.
TEST(TensorflowHostile, ResizingStopsAtTheFirstSide) {
  GraphWriter writer;
  writer.input("x", {1, 4, 4, 2}).integers("size", {2}, {8, 8});
  writer.constant("scale", {2}, {-1, 2}).constant("move", {2}, {0, 0});
  writer.node("y", "ScaleAndTranslate", {"x", "size", "scale", "move"});
  EXPECT_EQ(refusal(writer), Code::BadValue);
}

TEST(TensorflowHostile, BatchesOfTrainingHaveChannels) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {3}, {2, 3}}) {
    GraphWriter writer;
    writer.input("x", shape).constant("one", {1}, {1});
    writer.node("y", "FusedBatchNormV3", {"x", "one", "one", "one", "one"},
                {text_attr("data_format", "NCHW")});
    EXPECT_EQ(refusal(writer), Code::ShapeMismatch) << shape.size();
  }
}

TEST(TensorflowHostile, PatchesHaveChannels) {
  GraphWriter writer;
  writer.input("x", {1, 4, 4, 0});
  writer.node("y", "ExtractImagePatches", {"x"},
              {int_list_attr("ksizes", {1, 2, 2, 1}), text_attr("padding", "VALID")});
  EXPECT_EQ(refusal(writer), Code::ShapeMismatch);
}

// The name of an open size stands in the shapes of all layers.
TEST(TensorflowHostile, LongNamesDoNotNameSizes) {
  GraphWriter writer;
  const std::string name(1000, 'n');
  writer.input(name, {2, -1}).node("y", "Neg", {name});
  DiagnosticSink sink;
  const auto graph = import_graph_def(writer.blob(), "made.pb", {}, sink);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)->inputs()[0]->name(), name);
  EXPECT_EQ((*graph)->outputs()[0]->type().text(), "f32[2,input0_dim1]");
}

TEST(TensorflowHostile, RangesNeedAStep) {
  const std::pair<float, float> kRanges[] = {{-3e38f, 3e38f}, {0.0f, 1e-45f}, {0.0f, NAN}};
  for (const auto& [min, max] : kRanges) {
    GraphWriter writer;
    writer.input("x", {2}).constant("min", {}, {min}).constant("max", {}, {max});
    writer.node("y", "FakeQuantWithMinMaxVars", {"x", "min", "max"});
    EXPECT_EQ(refusal(writer), Code::BadQuantParams) << min << " " << max;
  }
}

TEST(TensorflowHostile, StepsAreOfFloats) {
  GraphWriter writer;
  writer.input("x", {2}).node("whole", "Cast", {"x"}, {type_attr("DstT", 3)});
  writer.node("y", "FakeQuantWithMinMaxArgs", {"whole"});
  EXPECT_EQ(refusal(writer), Code::TypeMismatch);
}

TEST(TensorflowHostile, AxesDoNotTakeComplexNumbersApart) {
  GraphWriter writer;
  writer.input("re", {3}).input("im", {3}).node("c", "Complex", {"re", "im"}, {floats_of(1)});
  writer.integers("axis", {}, {2}).node("wider", "ExpandDims", {"c", "axis"});
  writer.node("y", "Real", {"wider"});
  EXPECT_EQ(refusal(writer), Code::ShapeMismatch);
  GraphWriter sliced;
  sliced.input("re", {3}).input("im", {3}).node("c", "Complex", {"re", "im"}, {floats_of(1)});
  sliced.integers("at", {2}, {0, 0}).integers("end", {2}, {1, 1}).integers("step", {2}, {1, 1});
  sliced.node("part", "StridedSlice", {"c", "at", "end", "step"},
              {int_attr("shrink_axis_mask", 3)});
  sliced.node("y", "Rank", {"part"});
  EXPECT_EQ(refusal(sliced), Code::ShapeMismatch);
}

// A table that no file holds has to be justified by the file's size.
TEST(TensorflowHostile, ManyTablesAreTooLarge) {
  GraphWriter diagonals, boxes;
  diagonals.input("x", {4096});
  boxes.input("x", {1, 4, 4, 1}).input("boxes", {1, 4});
  boxes.integers("which", {1}, {0}).integers("size", {2}, {1 << 20, 1 << 20});
  for (int i = 0; i < 12; ++i) {
    diagonals.node("y" + std::to_string(i), "MatrixDiag", {"x"});
    boxes.node("y" + std::to_string(i), "CropAndResize", {"x", "boxes", "which", "size"});
  }
  EXPECT_EQ(refusal(diagonals), Code::TooLarge);
  EXPECT_EQ(refusal(boxes), Code::TooLarge);
}

// A few bytes name parts, each of which becomes an operation.
TEST(TensorflowHostile, ManyPartsAreTooLarge) {
  GraphWriter unpack, many, split;
  many.input("x", {1 << 16});
  many.node("u", "Unpack", {"x"}, {int_attr("num", 1 << 16)}).node("y", "Neg", {"u"});
  EXPECT_EQ(refusal(many), Code::BadAttribute);
  unpack.input("x", {1 << 14});
  split.input("x", {1 << 14}).integers("axis", {}, {0});
  for (int i = 0; i < 12; ++i) {
    const std::string number = std::to_string(i);
    unpack.node("u" + number, "Unpack", {"x"}, {int_attr("num", 1 << 14)});
    unpack.node("y" + number, "Neg", {"u" + number});
    split.node("u" + number, "Split", {"axis", "x"}, {int_attr("num_split", 1 << 14)});
    split.node("y" + number, "Neg", {"u" + number});
  }
  EXPECT_EQ(refusal(unpack), Code::TooLarge);
  EXPECT_EQ(refusal(split), Code::TooLarge);
}

// One number that a file repeats a million times is no list of axes.
TEST(TensorflowHostile, LongListsAreTooLarge) {
  const std::pair<const char*, std::vector<std::string>> kNodes[] = {
      {"InvertPermutation", {"list"}},
      {"ReverseV2", {"x", "list"}},
      {"FakeQuantWithMinMaxVarsPerChannel", {"x", "range", "range"}}};
  std::string range;
  protozero::pbf_writer writer(range);
  writer.add_int32(1, 1);
  writer.add_bytes(2, shape({1 << 20}));
  for (const auto& [op, inputs] : kNodes) {
    GraphWriter graph;
    graph.input("x", {3}).integers("list", {1 << 20}, {0}).node("y", op, inputs);
    graph.node("range", "Const", {}, {type_attr("dtype", 1), tensor_attr("value", range)});
    EXPECT_EQ(refusal(graph), Code::TooLarge) << op;
  }
}

// TensorFlow has a byte for each number of 4 bits; what is above them in the file says nothing.
TEST(TensorflowHostile, NumbersOfFourBitsHaveNoOthers) {
  const std::pair<int32_t, uint8_t> kTypes[] = {{29, 0xFD}, {30, 0x0D}};
  for (const auto& [type, wanted] : kTypes) {
    std::string tensor;
    protozero::pbf_writer writer(tensor);
    writer.add_int32(1, type);
    writer.add_bytes(2, shape({2}));
    writer.add_bytes(4, "\x5D\x01");
    GraphWriter graph;
    graph.node("w", "Const", {}, {type_attr("dtype", type), tensor_attr("value", tensor)});
    graph.node("y", "Identity", {"w"});
    DiagnosticSink sink;
    const auto made = import_graph_def(graph.blob(), "made.pb", {}, sink);
    ASSERT_TRUE(made.ok());
    const auto bytes = (*made)->outputs()[0]->data().bytes();
    EXPECT_EQ(bytes[0], std::byte{wanted});
    EXPECT_EQ(bytes[1], std::byte{1});
  }
}

TEST(TensorflowHostile, LargeNumbersDoNotOverflow) {
  constexpr int64_t kHuge = INT64_MAX - 1;
  GraphWriter roll;
  roll.input("x", {kHuge}).integers("shift", {1}, {kHuge - 1}).integers("axis", {1}, {0});
  roll.node("y", "Roll", {"x", "shift", "axis"});
  refusal(roll);
  GraphWriter random;
  random.integers("size", {1}, {4});
  random.node("y", "RandomUniform", {"size"},
              {type_attr("dtype", 1), int_attr("seed", INT64_MAX), int_attr("seed2", INT64_MAX)});
  EXPECT_EQ(refusal(random), std::nullopt);
  const Attr strides = int_list_attr("strides", {1, 2, 2, 1}), same = text_attr("padding", "SAME");
  GraphWriter conv;
  conv.input("x", {1, kHuge, kHuge, 1}).constant("w", {1, 1, 1, 1}, {1});
  conv.node("y", "Conv2D", {"x", "w"}, {strides, same});
  EXPECT_TRUE(refusal(conv));
  GraphWriter transposed;
  transposed.input("x", {1, kHuge, kHuge, 1}).constant("w", {1, 1, 1, 1}, {1});
  transposed.integers("sizes", {4}, {1, 4, 4, 1});
  transposed.node("y", "Conv2DBackpropInput", {"sizes", "w", "x"}, {strides, same});
  EXPECT_EQ(refusal(transposed), Code::TooLarge);
  GraphWriter complex;
  complex.input("re", {3}).node("c", "Complex", {"re", "re"}, {floats_of(1)});
  complex.integers("axis", {}, {INT64_MIN}).node("y", "ExpandDims", {"c", "axis"});
  EXPECT_TRUE(refusal(complex));
}

TEST(TensorflowHostile, CropsOfBlocksDoNotOverflow) {
  GraphWriter writer;
  writer.input("x", {1, 4, 4, 1}).constant("w", {1, 1, 1, 1}, {1});
  writer.integers("block", {2}, {2, 2}).integers("pads", {2, 2}, {0, 0, 0, 0});
  writer.integers("crops", {2, 2}, {0, INT64_MIN, 0, INT64_MIN});
  writer.node("in", "SpaceToBatchND", {"x", "block", "pads"});
  writer.node("conv", "Conv2D", {"in", "w"}, {text_attr("padding", "VALID")});
  writer.node("y", "BatchToSpaceND", {"conv", "block", "crops"});
  EXPECT_TRUE(refusal(writer));
}

// --- functions ----------------------------------------------------------------------------------

// while counter < limit: counter + 1, body(x)
GraphWriter loop_of(int64_t start, int64_t limit, const std::string& x, const std::string& body) {
  const auto number = [](const std::string& name, int64_t value) {
    return encode_node(name, "Const", {},
                       {type_attr("dtype", 9), tensor_attr("value", int_tensor({}, {value}))});
  };
  const std::vector<std::pair<std::string, int32_t>> values = {{"i", 9}, {"x", 1}};
  FunctionSource condition{"condition", values, {{"go", 10}}, {}, {{"go", "less:z:0"}}, {}};
  condition.nodes = {number("limit", limit), encode_node("less", "Less", {"i", "limit:y:0"}, {})};
  FunctionSource step{"step", values, values, {}, {{"i", "next:z:0"}, {"x", "made:y:0"}}, {}};
  step.nodes = {number("one", 1), encode_node("next", "AddV2", {"i", "one:y:0"}, {}),
                encode_node("made", body, {"x"}, {})};
  GraphWriter writer;
  writer.input("re", {3}).node("c", "Complex", {"re", "re"}, {floats_of(1)});
  writer.integers("start", {}, {start});
  writer.node("loop", "While", {"start", x},
              {function_attr("cond", "condition"), function_attr("body", "step")});
  writer.node("y", "Identity", {"loop:1"}).function(condition).function(step);
  return writer;
}

TEST(TensorflowHostile, ValuesOfLoopsStayWhatTheyAre) {
  EXPECT_EQ(refusal(loop_of(0, 4, "re", "Tanh")), std::nullopt);
  EXPECT_EQ(refusal(loop_of(0, 4, "c", "Conj")), std::nullopt);
  EXPECT_EQ(refusal(loop_of(0, 4, "c", "ComplexAbs")), Code::TypeMismatch);
}

// Doubles hold every second number here.
TEST(TensorflowHostile, LoopsCountLargeNumbers) {
  constexpr int64_t kStart = (int64_t{1} << 53) + 1;
  DiagnosticSink sink;
  const auto graph =
      import_graph_def(loop_of(kStart, kStart + 3, "re", "Tanh").blob(), "made.pb", {}, sink);
  ASSERT_TRUE(graph.ok());
  for (const Operation* op : (*graph)->topological()) {
    if (op->kind() != OpKind::Loop) continue;
    EXPECT_EQ(known_ints(op->input(0)), std::vector<int64_t>{3});
    return;
  }
  FAIL() << "the loop is gone";
}

// Every node looks at what control edges lead to, which all nodes share: not once for each.
TEST(TensorflowHostile, ControlEdgesAreFollowedOnce) {
  constexpr int kNodes = 20'000;
  GraphWriter writer;
  writer.input("x", {2});
  std::vector<std::string> before;
  for (int i = 0; i < kNodes; ++i) {
    const std::string number = std::to_string(i);
    writer.node("a" + number, "NoOp");
    before.push_back("^a" + number);
  }
  writer.node("hub", "NoOp", before);
  std::string last = "x";
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = "b" + std::to_string(i);
    writer.node(name, "Identity", {last, "^hub"});
    last = name;
  }
  // Nobody assigns it, but the graph might.
  writer.node("w", "VarHandleOp").node("write", "AssignVariableOp", {"w", "x"});
  EXPECT_EQ(refusal(writer), std::nullopt);
}

}  // namespace
}  // namespace ec
