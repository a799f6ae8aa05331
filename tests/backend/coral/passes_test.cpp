// legalise-coral: every rewrite on integers gives the same bits, every one on floats the same
// numbers.
#include "ops/attrs.h"
#include "passes/harness.h"

namespace ec {
namespace {

using test::expect_kinds;
using test::optimise;

constexpr std::string_view kPass = "legalise-coral";

// --- convolutions --------------------------------------------------------------------------------

TEST(CoralDilation, UnequalOnesBecomeFiltersWithZeros) {
  const auto out = expect_kinds(R"(graph @g(%x: i8[1,9,9,2] q(0.5:3)) -> (y = %y) {
    %w = const i8[1,2,2,2] q(0.25:0) dense[1,2,3,4,5,6,-7,8]
    %b = const i32[1] q(0.125:0) dense[5]
    %y = conv(%x, %w, %b) {layout=nhwc, dilations=[1,3], activation=relu} : i8[1,8,6,1] q(2:-128)
  })",
                                kPass, "conv");
  const auto& attrs = out.only(OpKind::Conv).attrs_as<ConvAttrs>();
  EXPECT_EQ(attrs.dilations, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(out.only(OpKind::Conv).input(1)->shape()->sizes(), (std::vector<int64_t>{1, 2, 4, 2}));
}

TEST(CoralDilation, WeightsWithAZeroPointAreFilledWithIt) {
  expect_kinds(R"(graph @g(%x: u8[1,9,9,2] q(0.5:128)) -> (y = %y) {
    %w = const u8[1,2,2,2] q(0.25:100) dense[101,102,103,4,5,206,117,8]
    %y = conv(%x, %w) {layout=nhwc, dilations=[2,4]} : u8[1,7,5,1] q(20:128)
  })",
               kPass, "conv");
}

TEST(CoralDilation, DepthwiseAndSingleRows) {
  const auto out = expect_kinds(R"(graph @g(%x: f32[1,9,9,3]) -> (y = %y, z = %z) {
    %w = const f32[3,3,3,1] splat(0)
    %y = conv(%x, %w) {layout=nhwc, groups=3, dilations=[2,1]}
    %w1 = const f32[3,1,3,1] splat(0)
    %z = conv(%x, %w1) {layout=nhwc, groups=3, dilations=[1,3]}
  })",
                                kPass, "conv conv");
  for (const Operation* op : out.after->topological()) {
    const auto& dilations = op->attrs_as<ConvAttrs>().dilations;
    EXPECT_EQ(dilations[0], dilations[1]);
  }
}

// --- layers --------------------------------------------------------------------------------------

TEST(CoralLinear, FloatsOnSeveralRowsBecomeConvolutions) {
  expect_kinds(R"(graph @g(%x: f32[1,5,8]) -> (y = %y) {
    %w = const f32[4,8] splat(0)
    %b = const f32[4] dense[1,2,3,4]
    %y = matmul(%x, %w, %b) {transpose_b=true, activation=relu}
  })",
               kPass, "reshape conv reshape");
}

TEST(CoralLinear, IntegersBecomeOneLayerPerRow) {
  const auto out = optimise(R"(graph @g(%x: i8[3,4] q(0.31:7)) -> (y = %y) {
    %w = const i8[2,4] q(0.017:0) dense[1,-2,3,127,-5,6,-7,8]
    %b = const i32[2] q(0.00527:0) dense[100,-30]
    %y = gemm(%x, %w, %b) {transpose_b=true} : i8[3,2] q(0.043:-3)
  })",
                            kPass);
  EXPECT_EQ(out.count(OpKind::Gemm), 3);
  EXPECT_EQ(out.count(OpKind::Concat), 1);
}

TEST(CoralLinear, OneRowStays) {
  expect_kinds(R"(graph @g(%x: f32[1,8]) -> (y = %y) {
    %w = const f32[4,8] splat(0)
    %y = matmul(%x, %w) {transpose_b=true}
  })",
               kPass, "matmul");
}

// --- concatenations and pads ---------------------------------------------------------------------

TEST(CoralConcat, ZerosBecomePads) {
  expect_kinds(R"(graph @g(%x: i8[1,2,2,3] q(0.5:3), %z: i8[1,2,2,2] q(0.5:3)) -> (y = %y) {
    %c = const i8[1,2,2,1] q(0.5:3) splat(3)
    %y = concat(%c, %x, %z, %c) {axis=3} : i8[1,2,2,7] q(0.5:3)
  })",
               kPass, "concat pad");
}

TEST(CoralConcat, OtherConstantsAreAdded) {
  expect_kinds(R"(graph @g(%x: i8[1,2,2,1] q(0.37:3), %z: i8[1,2,2,2] q(0.37:3)) -> (y = %y) {
    %c = const i8[1,2,2,1] q(0.37:3) dense[-128,1,127,5]
    %y = concat(%x, %c, %z) {axis=-1} : i8[1,2,2,4] q(0.37:3)
  })",
               kPass, "pad concat add");
  expect_kinds(R"(graph @g(%x: f32[1,2,2,1]) -> (y = %y) {
    %c = const f32[1,2,2,1] dense[1,2,3,4]
    %y = concat(%x, %c) {axis=3}
  })",
               kPass, "pad add");
}

TEST(CoralConcat, WhatTheDeviceTakesStays) {
  expect_kinds(R"(graph @g(%x: i8[1,2,2,1] q(0.5:3)) -> (y = %y) {
    %c = const i8[1,2,2,1] q(0.5:3) splat(3)
    %y = concat(%x, %c) {axis=3} : i8[1,2,2,2] q(0.5:3)
  })",
               kPass, "concat");
}

TEST(CoralPads, MirrorsAreSliced) {
  const auto out = optimise(R"(graph @g(%x: i8[1,4,5,2] q(0.5:3)) -> (y = %y) {
    %p = const i64[8] dense[0,2,1,0,0,1,0,0]
    %y = pad(%x, %p) {mode=reflect} : i8[1,7,6,2] q(0.5:3)
  })",
                            kPass);
  EXPECT_EQ(out.count(OpKind::Pad), 0);
  EXPECT_EQ(out.count(OpKind::Slice), 4);
  EXPECT_EQ(out.count(OpKind::Concat), 2);
}

// --- slices and gathers --------------------------------------------------------------------------

TEST(CoralSlices, StepsBecomeAPool) {
  expect_kinds(R"(graph @g(%x: i8[1,7,8,3] q(0.5:3)) -> (y = %y) {
    %b = const i64[2] dense[1,0]
    %e = const i64[2] dense[7,8]
    %a = const i64[2] dense[1,2]
    %s = const i64[2] dense[2,3]
    %y = slice(%x, %b, %e, %a, %s) : i8[1,3,3,3] q(0.5:3)
  })",
               kPass, "slice max_pool");
  expect_kinds(R"(graph @g(%x: f32[6,4]) -> (y = %y) {
    %b = const i64[1] dense[0]
    %e = const i64[1] dense[6]
    %a = const i64[1] dense[0]
    %s = const i64[1] dense[2]
    %y = slice(%x, %b, %e, %a, %s)
  })",
               kPass, "reshape max_pool reshape");
}

TEST(CoralSlices, GathersBecomeSlicesOrPickingFilters) {
  expect_kinds(R"(graph @g(%x: i8[1,2,2,6] q(0.5:3)) -> (y = %y) {
    %i = const i64[4] dense[3,4,0,-1]
    %y = gather(%x, %i) {axis=3} : i8[1,2,2,4] q(0.5:3)
  })",
               kPass, "slice slice slice concat");
  std::string places;
  for (int i = 0; i < 24; ++i) places += (i > 0 ? "," : "") + std::to_string(i % 2 * 12 + i / 2);
  expect_kinds(
      "graph @g(%x: i8[1,2,2,24] q(0.3137:3)) -> (y = %y) {\n"
      "  %i = const i64[24] dense[" +
          places +
          "]\n"
          "  %y = gather(%x, %i) {axis=3} : i8[1,2,2,24] q(0.3137:3)\n}",
      kPass, "conv");
  expect_kinds(
      "graph @g(%x: f32[3,24]) -> (y = %y) {\n"
      "  %i = const i64[24] dense[" +
          places +
          "]\n"
          "  %y = gather(%x, %i) {axis=1}\n}",
      kPass, "reshape conv reshape");
}

TEST(CoralSlices, UnevenSplitsBecomeSlices) {
  expect_kinds(R"(graph @g(%x: i8[1,6] q(0.5:3)) -> (y = %y, z = %z) {
    %s = const i64[2] dense[2,4]
    %y, %z = split(%x, %s) {axis=1} : i8[1,2] q(0.5:3), i8[1,4] q(0.5:3)
  })",
               kPass, "slice slice");
}

// --- functions -----------------------------------------------------------------------------------

TEST(CoralActivations, LeakyReluIsPreluBitForBit) {
  for (const std::string_view type : {"i8", "u8"}) {
    const std::string zero = type == "u8" ? "120" : "-20";
    expect_kinds("graph @g(%x: " + std::string(type) + "[1,16,16,4] q(0.0371:" + zero +
                     ")) -> (y = %y) {\n  %y = leaky_relu(%x) {alpha=0.1} : " + std::string(type) +
                     "[1,16,16,4] q(0.0291:" + zero + ")\n}",
                 kPass, "prelu");
  }
  expect_kinds(R"(graph @g(%x: f32[1,4,4,3]) -> (y = %y) { %y = leaky_relu(%x) {alpha=0.2} })",
               kPass, "prelu");
  // A file of some bytes may name any number of channels; slopes for all of them would be stored.
  expect_kinds("graph @g(%x: f32[2147483647]) -> (y = %y) { %y = leaky_relu(%x) {alpha=0.2} }",
               kPass, "leaky_relu", {.compare = false});
}

TEST(CoralActivations, FloatsAsFormulas) {
  expect_kinds(R"(graph @g(%x: f32[1,4,4,3]) -> (y = %y) { %y = hard_swish(%x) })", kPass,
               "add clip mul mul");
  expect_kinds(R"(graph @g(%x: f32[2,3]) -> (y = %y) { %y = abs(%x) })", kPass, "mul max");
  expect_kinds(R"(graph @g(%x: f32[2,3]) -> (y = %y) { %y = neg(%x) })", kPass, "mul");
  expect_kinds(R"(graph @g(%x: f32[2,3]) -> (y = %y) {
    %c = const f32[3] dense[3,0.5,7]
    %y = div(%x, %c)
  })",
               kPass, "mul");
  expect_kinds(R"(graph @g(%x: f32[2,3]) -> (y = %y) {
    %l = const f32[] dense[0]
    %h = const f32[] dense[1]
    %y = clip(%x, %l, %h)
  })",
               kPass, "relu min");
  expect_kinds(R"(graph @g(%x: f32[1,2,2,3]) -> (y = %y) {
    %w = const f32[2,2,3] splat(0)
    %y = prelu(%x, %w)
  })",
               kPass, "min mul relu add");
}

TEST(CoralActivations, IntegersWithoutAnEqualFormStay) {
  expect_kinds(R"(graph @g(%x: i8[4] q(0.05:0)) -> (y = %y) {
    %y = hard_swish(%x) : i8[4] q(0.05:-100)
  })",
               kPass, "hard_swish");
}

// --- images --------------------------------------------------------------------------------------

TEST(CoralPictures, DepthToSpaceIsPicked) {
  expect_kinds(R"(graph @g(%x: i8[1,3,4,8] q(0.2917:-9)) -> (y = %y) {
    %y = depth_to_space(%x) {block=2, layout=nhwc} : i8[1,6,8,2] q(0.2917:-9)
  })",
               kPass, "conv_transpose");
  expect_kinds(R"(graph @g(%x: u8[1,2,2,9] q(0.1:128)) -> (y = %y) {
    %y = depth_to_space(%x) {block=3, layout=nhwc} : u8[1,6,6,1] q(0.1:128)
  })",
               kPass, "conv_transpose");
}

TEST(CoralPictures, BroadcastsAreTiled) {
  expect_kinds(R"(graph @g(%x: i8[3] q(0.5:3)) -> (y = %y) {
    %s = const i64[4] dense[1,2,5,3]
    %y = expand(%x, %s) : i8[1,2,5,3] q(0.5:3)
  })",
               kPass, "reshape tile");
}

TEST(CoralResize, FromOnePixelIsATile) {
  expect_kinds(R"(graph @g(%x: u8[1,1,1,3] q(0.5:3)) -> (y = %y) {
    %s = const i64[4] dense[1,33,33,3]
    %y = resize(%x, _, _, %s) {mode=linear, coordinates=align_corners} : u8[1,33,33,3] q(0.5:3)
  })",
               kPass, "tile");
}

TEST(CoralResize, LargeOnesInSteps) {
  expect_kinds(R"(graph @g(%x: i8[1,2,3,2] q(0.5:3)) -> (y = %y) {
    %s = const i64[4] dense[1,16,18,2]
    %y = resize(%x, _, _, %s) {mode=nearest, coordinates=asymmetric, nearest=floor} : i8[1,16,18,2] q(0.5:3)
  })",
               kPass, "resize resize");
  expect_kinds(R"(graph @g(%x: f32[1,3,3,2]) -> (y = %y) {
    %s = const i64[4] dense[1,33,17,2]
    %y = resize(%x, _, _, %s) {mode=linear, coordinates=align_corners}
  })",
               kPass, "resize resize");
  // Steps would round integers between them, and half-pixel points are not on the same lines.
  expect_kinds(R"(graph @g(%x: i8[1,3,3,2] q(0.5:3)) -> (y = %y) {
    %s = const i64[4] dense[1,33,33,2]
    %y = resize(%x, _, _, %s) {mode=linear, coordinates=align_corners} : i8[1,33,33,2] q(0.5:3)
  })",
               kPass, "resize");
  expect_kinds(R"(graph @g(%x: f32[1,3,3,2]) -> (y = %y) {
    %s = const i64[4] dense[1,24,24,2]
    %y = resize(%x, _, _, %s) {mode=linear, coordinates=half_pixel}
  })",
               kPass, "resize");
}

// --- reductions, softmax, ranks ------------------------------------------------------------------

TEST(CoralReductions, MeansInTheDevicesForms) {
  expect_kinds(R"(graph @g(%x: f32[1,4,4,6]) -> (y = %y) {
    %a = const i64[1] dense[3]
    %y = reduce_mean(%x, %a) {keep_dims=false}
  })",
               kPass, "conv reshape");
  expect_kinds(R"(graph @g(%x: f32[1,64,60,3]) -> (y = %y) {
    %a = const i64[2] dense[1,2]
    %y = reduce_mean(%x, %a)
  })",
               kPass, "avg_pool reduce_mean");
  expect_kinds(R"(graph @g(%x: f32[1,7,7,8]) -> (y = %y) {
    %a = const i64[2] dense[1,2]
    %y = reduce_mean(%x, %a)
  })",
               kPass, "reduce_mean");
}

TEST(CoralSoftmax, AFewRowsOneByOne) {
  const auto out = optimise(R"(graph @g(%x: i8[1,3,10] q(0.1:3)) -> (y = %y) {
    %y = softmax(%x) {axis=-1} : i8[1,3,10] q(0.00390625:-128)
  })",
                            kPass);
  EXPECT_EQ(out.count(OpKind::Softmax), 3);
}

TEST(CoralRanks, NeighboursAreJoined) {
  expect_kinds(R"(graph @g(%x: i8[1,4,5,2,3] q(0.5:3)) -> (y = %y) {
    %y = transpose(%x) {perm=[0,1,2,4,3]} : i8[1,4,5,3,2] q(0.5:3)
  })",
               kPass, "reshape transpose reshape");
  // Four that all move are more than the device has.
  expect_kinds(R"(graph @g(%x: i8[2,4,5,3] q(0.5:3)) -> (y = %y) {
    %y = transpose(%x) {perm=[3,2,1,0]} : i8[3,5,4,2] q(0.5:3)
  })",
               kPass, "transpose");
}

TEST(Coral, SaysWhatItRewrote) {
  const auto out = optimise(R"(graph @g(%x: f32[1,4,4,3]) -> (y = %y) {
    %y = leaky_relu(%x) {alpha=0.2} loc("act" : "LeakyRelu")
  })",
                            kPass);
  ASSERT_EQ(out.report.passes[0].stats.notes.size(), 1u);
  EXPECT_EQ(out.report.passes[0].stats.notes[0],
            "LeakyRelu 'act' as PRELU with one slope per channel");
}

}  // namespace
}  // namespace ec
