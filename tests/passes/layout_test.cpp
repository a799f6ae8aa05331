// The layout transform.
#include "ops/attrs.h"
#include "passes/harness.h"
#include "passes/layout/min_cut.h"

namespace ec {
namespace {

using test::expect_kinds;
using test::optimise;

TEST(MinCut, CutsTheCheapestEdges) {
  MinCut cut;
  const int a = cut.add_node(), b = cut.add_node(), c = cut.add_node(), alone = cut.add_node();
  cut.add_edge(cut.source(), a, MinCut::kInfinite);
  cut.add_edge(a, b, 5);
  cut.add_edge(b, c, 3);
  cut.add_edge(c, cut.sink(), 5);
  const std::vector<bool> side = cut.solve();
  EXPECT_TRUE(side[static_cast<size_t>(a)]);
  EXPECT_TRUE(side[static_cast<size_t>(b)]);
  EXPECT_FALSE(side[static_cast<size_t>(c)]);
  EXPECT_FALSE(side[static_cast<size_t>(alone)]);
}

TEST(MinCut, TiesStayWithTheSource) {
  MinCut cut;
  const int a = cut.add_node(), b = cut.add_node();
  cut.add_edge(cut.source(), a, MinCut::kInfinite);
  cut.add_edge(a, b, 3);
  cut.add_edge(b, cut.sink(), 3);
  EXPECT_TRUE(cut.solve()[static_cast<size_t>(b)]);
}

constexpr std::string_view kLayout = "layout{to=nhwc},canonicalise";

TEST(Layout, PureConvolutionalNetworkKeepsTransposesAtTheEnds) {
  const auto out = optimise(R"(graph @g(%x: f32[2,3,8,8]) -> (y = %y) {
    %w0 = const f32[4,3,3,3] splat(0) %w1 = const f32[4,1,3,3] splat(0)
    %w2 = const f32[8,4,1,1] splat(0) %wb = const f32[4] splat(0) %ws = const f32[4,1,1] splat(0)
    %v = const f32[4] splat(2)
    %a = conv(%x, %w0, %wb) {pads=[1,1,1,1]}
    %b = relu(%a)
    %c = conv(%b, %w1) {groups=4, pads=[1,1,1,1]}
    %d = mul(%c, %ws)
    %e = batch_norm(%d, %wb, %wb, %wb, %v)
    %f = add(%e, %b)
    %g = max_pool(%f) {kernel=[2,2], strides=[2,2]}
    %h = concat(%g, %g) {axis=1}
    %i, %j = split(%h) {axis=1}
    %k = add(%i, %j)
    %y = conv(%k, %w2)
  })",
                            kLayout);
  EXPECT_EQ(out.count(OpKind::Transpose), 2) << out.text();
  for (const Operation* op : out.after->topological()) {
    if (op->kind() != OpKind::Conv) continue;
    EXPECT_EQ(op->attrs_as<ConvAttrs>().layout, Layout::ChannelsLast);
  }
  EXPECT_EQ(out.only(OpKind::Concat).attrs_as<AxisAttrs>().axis, 3);
  EXPECT_EQ(out.report.find("layout")->stats.notes.size(), 2u);
}

TEST(Layout, ClassifierNeedsNoTransposeBehindThePool) {
  const auto out = optimise(R"(graph @g(%x: f32[N,3,8,8]) -> (y = %y) {
    %w0 = const f32[4,3,3,3] splat(0) %wm = const f32[4,5] splat(0)
    %a = conv(%x, %w0)
    %b = relu(%a)
    %p = global_avg_pool(%b)
    %f = flatten(%p)
    %y = matmul(%f, %wm)
  })",
                            kLayout);
  EXPECT_EQ(out.count(OpKind::Transpose), 1) << out.text();
}

TEST(Layout, OneChannelInputsAreReshaped) {
  const auto out = optimise(R"(graph @g(%x: f32[1,1,8,8]) -> (y = %f) {
    %w0 = const f32[4,1,3,3] splat(0)
    %a = conv(%x, %w0)
    %p = global_avg_pool(%a)
    %f = flatten(%p)
  })",
                            kLayout);
  EXPECT_EQ(out.count(OpKind::Transpose), 0) << out.text();
}

TEST(Layout, FlattenedImagesPermuteTheWeightsBehind) {
  for (const char* product : {"%wm = const f32[64,5] splat(0) %y = matmul(%f, %wm)",
                              "%wm = const f32[5,64] splat(0) %y = matmul(%f, %wm) "
                              "{transpose_b=true}"}) {
    const auto out = optimise(
        "graph @g(%x: f32[N,3,6,6]) -> (y = %y) {\n"
        "  %w0 = const f32[4,3,3,3] splat(0)\n"
        "  %a = conv(%x, %w0) %b = relu(%a) %f = flatten(%b)\n" +
            std::string(product) + "\n}",
        kLayout);
    EXPECT_EQ(out.count(OpKind::Transpose), 1) << out.text();
  }
}

TEST(Layout, ChannelShuffleStaysWithinTheWantedOrder) {
  const auto out = optimise(R"(graph @g(%x: f32[N,4,6,6]) -> (y = %y) {
    %w0 = const f32[6,4,3,3] splat(0) %w1 = const f32[6,6,1,1] splat(0)
    %s = const i64[5] dense[0,2,3,4,4] %j = const i64[4] dense[0,6,4,4]
    %a = conv(%x, %w0)
    %b = reshape(%a, %s)
    %c = transpose(%b) {perm=[0,2,1,3,4]}
    %d = reshape(%c, %j)
    %y = conv(%d, %w1)
  })",
                            kLayout);
  EXPECT_EQ(out.count(OpKind::Transpose), 3) << out.text();  // input, shuffle, output
}

TEST(Layout, FollowsThroughOperationsWithAxes) {
  const auto out = optimise(R"(graph @g(%x: f32[2,4,6,6], %u: f32[4]) -> (y = %y) {
    %w0 = const f32[4,4,3,3] splat(0)
    %p = const i64[8] dense[0,1,0,2,0,0,1,0]
    %s = const i64[1] splat(1) %e = const i64[1] splat(5) %ax = const i64[1] dense[1]
    %r = const i64[1] dense[1] %sc = const f32[4] dense[1,1,2,2] %u1 = const i64[2] dense[1,2]
    %a = conv(%x, %w0)
    %b = pad(%a, %p)
    %c = slice(%b, %s, %e, %ax)
    %d = softmax(%c) {axis=1}
    %f = reduce_mean(%c, %r)
    %g = mul(%d, %f)
    %h = resize(%g, _, %sc)
    %v = unsqueeze(%u, %u1)
    %i = add(%h, %v)
    %k = leaky_relu(%i)
    %y = conv(%k, %w0)
  })",
                            kLayout);
  EXPECT_EQ(out.count(OpKind::Transpose), 2) << out.text();
}

TEST(Layout, TransposesOfTheModelMeetThoseOfTheLayout) {
  // ConvNeXt: the model goes to channels last for layer_norm and back.
  const auto out = optimise(R"(graph @g(%x: f32[2,4,6,6]) -> (y = %y) {
    %w0 = const f32[4,1,3,3] splat(0) %wg = const f32[4] splat(0) %wm = const f32[4,4] splat(0)
    %a = conv(%x, %w0) {groups=4, pads=[1,1,1,1]}
    %b = transpose(%a) {perm=[0,2,3,1]}
    %c = layer_norm(%b, %wg, %wg) {axis=-1}
    %d = matmul(%c, %wm)
    %e = transpose(%d) {perm=[0,3,1,2]}
    %f = add(%e, %x)
    %y = conv(%f, %w0) {groups=4, pads=[1,1,1,1]}
  })",
                            kLayout);
  EXPECT_EQ(out.count(OpKind::Transpose), 2) << out.text();
}

TEST(Layout, OtherTransposesReadTheNewOrder) {
  const auto out = optimise(R"(graph @g(%x: f32[2,4,6,6]) -> (y = %y) {
    %w0 = const f32[4,4,3,3] splat(0)
    %a = conv(%x, %w0)
    %b = transpose(%a) {perm=[0,3,2,1]}
    %y = relu(%b)
  })",
                            kLayout);
  EXPECT_EQ(out.count(OpKind::Transpose), 2) << out.text();
}

TEST(Layout, NothingToDoWithoutImages) {
  const auto out = expect_kinds(R"(graph @g(%x: f32[2,4,6,6]) -> (y = %y) {
    %a = relu(%x)
    %y = softmax(%a) {axis=1}
  })",
                                "layout{to=nhwc}", "relu softmax");
  EXPECT_EQ(out.report.changes(), 0);
}

TEST(Layout, KeepsWhatReadsMemoryInOrder) {
  const auto out = optimise(R"(graph @g(%x: f32[2,4,6,6]) -> (y = %y, i = %i) {
    %w0 = const f32[4,4,3,3] splat(0)
    %a = conv(%x, %w0)
    %y, %i = max_pool(%a) {kernel=[2,2]}
  })",
                            kLayout);
  EXPECT_EQ(out.only(OpKind::MaxPool).attrs_as<PoolAttrs>().layout, Layout::ChannelsFirst);
}

TEST(Layout, ConvolutionsOfOneAndThreeDimensions) {
  const auto line = optimise(R"(graph @g(%x: f32[2,4,9]) -> (y = %y) {
    %w0 = const f32[6,4,3] splat(0) %w1 = const f32[2,6,3] splat(0)
    %a = conv(%x, %w0) %b = relu(%a) %y = conv(%b, %w1)
  })",
                             kLayout);
  EXPECT_EQ(line.count(OpKind::Transpose), 2) << line.text();
  const auto volume = optimise(R"(graph @g(%x: f32[1,2,5,5,5]) -> (y = %y) {
    %w0 = const f32[3,2,3,3,3] splat(0) %wt = const f32[3,2,2,2,2] splat(0)
    %a = conv(%x, %w0) %b = relu(%a) %y = conv_transpose(%b, %wt) {strides=[2,2,2]}
  })",
                               kLayout);
  EXPECT_EQ(volume.count(OpKind::Transpose), 2) << volume.text();
}

TEST(Layout, TransformerBlockWithOneSpatialDimension) {
  // The same transpose leads to the tokens and back to the images.
  const auto out = optimise(R"(graph @g(%x: f32[2,4,9]) -> (y = %y) {
    %w0 = const f32[4,4,3] splat(0) %wm = const f32[4,4] splat(0)
    %a = conv(%x, %w0) {pads=[1,1]}
    %b = transpose(%a) {perm=[0,2,1]}
    %c = matmul(%b, %wm)
    %d = transpose(%c) {perm=[0,2,1]}
    %y = conv(%d, %w0) {pads=[1,1]}
  })",
                            kLayout);
  EXPECT_EQ(out.count(OpKind::Transpose), 2) << out.text();
}

TEST(Layout, BackToChannelsFirst) {
  const auto out = optimise(R"(graph @g(%x: f32[2,6,6,4]) -> (y = %y) {
    %w0 = const f32[4,3,3,4] splat(0) %wb = const f32[4] splat(0) %wm = const f32[16,5] splat(0)
    %a = conv(%x, %w0, %wb) {layout=nhwc}
    %b = add(%a, %wb)
    %c = avg_pool(%b) {kernel=[2,2], strides=[2,2], layout=nhwc}
    %f = flatten(%c)
    %y = matmul(%f, %wm)
  })",
                            "layout{to=nchw},canonicalise");
  EXPECT_EQ(out.count(OpKind::Transpose), 1) << out.text();
  EXPECT_EQ(out.only(OpKind::Conv).attrs_as<ConvAttrs>().layout, Layout::ChannelsFirst);
}

TEST(Layout, ThereAndBackIsTheSameNetwork) {
  const auto out = optimise(R"(graph @g(%x: f32[2,3,8,8]) -> (y = %y) {
    %w0 = const f32[4,3,3,3] splat(0) %w1 = const f32[4,4,3,3] splat(0)
    %a = conv(%x, %w0) %b = relu(%a) %y = conv(%b, %w1)
  })",
                            "layout{to=nhwc},layout{to=nchw},canonicalise");
  EXPECT_EQ(out.kinds(), "conv relu conv") << out.text();
}

TEST(Layout, ComputedWeightsAreTransposedWhenRun) {
  const auto out = optimise(R"(graph @g(%x: f32[2,3,8,8], %k: f32[4,3,3,3]) -> (y = %y) {
    %y = conv(%x, %k)
  })",
                            kLayout);
  EXPECT_EQ(out.count(OpKind::Transpose), 3) << out.text();
}

TEST(Layout, StoredWeightsAreTurnedBeforeTheyAreDequantised) {
  // A filter of one tap would be a reshape, others a transpose; both behind what readers look for.
  for (const char* taps : {"1", "3"}) {
    const std::string t = taps;
    const auto out = optimise(
        "graph @g(%x: f32[1,8,8,2]) -> (y = %y) {\n"
        "  %w = const i8[3," +
            t + "," + t +
            ",2] splat(7)\n"
            "  %s = const f32[3] dense[0.5,0.25,2]\n"
            "  %d = dequantize(%w, %s) {axis=0}\n"
            "  %y = conv(%x, %d) {layout=nhwc}\n}",
        "onnx-qdq");
    const Operation& conv = out.only(OpKind::Conv);
    EXPECT_EQ(conv.input(1)->producer()->kind(), OpKind::Dequantize);
    EXPECT_TRUE(conv.input(1)->producer()->input(0)->is_constant());
    EXPECT_EQ(conv.attrs_as<ConvAttrs>().layout, Layout::ChannelsFirst);
  }
}

TEST(Layout, OutputNamesAndLocationsStay) {
  const auto out = optimise(R"(graph @g(%x: f32[2,3,8,8]) -> (result = %y) {
    %w0 = const f32[4,3,3,3] splat(0)
    %y = conv(%x, %w0) loc("layer/conv" : "Conv")
  })",
                            kLayout);
  EXPECT_EQ(out.only(OpKind::Conv).location().name(), "layer/conv");
  EXPECT_EQ(out.after->outputs()[0]->name(), "y");
  EXPECT_EQ(out.after->output_names()[0], "result");
}

TEST(Scaling, LayoutOfALongNetwork) {
  Graph graph;
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{1, 4, 8, 8}));
  const std::vector<float> weights(16, 0.1f);
  Tensor* w = graph.add_constant<float>("w", Shape{4, 4, 1, 1}, weights);
  for (int i = 0; i < 2500; ++i) {
    Tensor* a = graph.add_single(OpKind::Conv, {x, w}, ConvAttrs{}).value();
    Tensor* b = graph.add_single(OpKind::Relu, {a}).value();
    Tensor* c = graph.add_single(OpKind::Sigmoid, {b}).value();
    x = graph.add_single(OpKind::Add, {x, c}).value();
  }
  graph.add_output("y", x);
  PassContext context;
  auto report = PassManager().run(graph, "layout{to=nhwc}", context);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(test::count_kind(graph, OpKind::Transpose), 2);
  EXPECT_EQ(graph.num_operations(), 10002u);
}

TEST(Layout, ViewsOfSpatialDimensionsFollow) {
  // What detectors end with: maps as lists of places, joined, channels last.
  const auto out = optimise(R"(graph @g(%x: f32[1,8,8,3]) -> (y = %y) {
    %i = transpose(%x) {perm=[0,3,1,2]}
    %w0 = const f32[4,3,3,3] splat(0) %w1 = const f32[4,4,2,2] splat(0)
    %a = conv(%i, %w0) {pads=[1,1,1,1]}
    %b = conv(%a, %w1) {strides=[2,2]}
    %s = const i64[3] dense[1,4,-1]
    %p = reshape(%a, %s) %q = reshape(%b, %s)
    %c = concat(%p, %q) {axis=2}
    %y = transpose(%c) {perm=[0,2,1]}
  })",
                            kLayout);
  EXPECT_EQ(out.count(OpKind::Transpose), 0) << out.text();
}

}  // namespace
}  // namespace ec
