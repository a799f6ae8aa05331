// The forms that TFLite has: what the legalisation makes of each operation, and that results stay.
#include "ops/attrs.h"
#include "passes/harness.h"
#include "passes/match.h"

namespace ec {
namespace {

using test::expect_kinds;
using test::optimise;

constexpr std::string_view kLegal = "legalise-tflite,fold-known,eliminate-dead-code";

TEST(LegaliseTflite, Activations) {
  const auto formula = [](std::string_view op, size_t operations) {
    const auto out =
        optimise("graph @g(%x: f32[2,3,4]) -> (y = %y) { %y = " + std::string(op) + " }", kLegal);
    EXPECT_EQ(out.num_operations(), operations) << out.text();
  };
  formula("silu(%x)", 2);
  formula("mish(%x)", 9);
  formula("softsign(%x)", 3);
  formula("hard_sigmoid(%x) {alpha=0.166666667, beta=0.5}", 3);
  formula("hard_sigmoid(%x) {alpha=0.2, beta=0.5}", 4);
  formula("elu(%x) {alpha=1}", 1);
  formula("elu(%x) {alpha=0.5}", 5);
  formula("celu(%x) {alpha=0.5}", 6);
  formula("selu(%x)", 6);
  formula("thresholded_relu(%x) {alpha=0.3}", 2);
}

TEST(LegaliseTflite, StoredWeightsBecomeReal) {
  const auto out = expect_kinds(R"(graph @g(%x: f32[1,4]) -> (y = %y) {
    %q = const i8[4,4] splat(3) %s = const f32[4] splat(0.5)
    %w = dequantize(%q, %s) {axis=0}
    %y = matmul(%x, %w)
  })",
                                "real-weights", "matmul");
  EXPECT_EQ(out.only(OpKind::MatMul).input(1)->dtype(), DType::F32);
  // Activations keep their pairs.
  expect_kinds(R"(graph @g(%x: f32[1,4]) -> (y = %y) {
    %s = const f32[] splat(0.5) %q = quantize(%x, %s) {dtype=i8} %y = dequantize(%q, %s)
  })",
               "real-weights", "quantize dequantize");
}

TEST(LegaliseTflite, Functions) {
  for (const std::string_view op :
       {"erf", "atan", "tan", "sinh", "cosh", "asinh", "reciprocal", "asin", "acos", "atanh"}) {
    const auto out = optimise(
        "graph @g(%x: f32[40]) -> (y = %y) { %h = const f32[] splat(0.4) "
        "%s = mul(%x, %h) %y = " +
            std::string(op) + "(%s) }",
        kLegal, {.tolerance = 2e-6});
    EXPECT_GT(out.num_operations(), 1u) << op;
  }
}

TEST(LegaliseTflite, Normalisations) {
  expect_kinds(R"(graph @g(%x: f32[2,5,6]) -> (y = %y) {
    %wg = const f32[6] splat(0) %wb = const f32[6] splat(0)
    %y = layer_norm(%x, %wg, %wb) {axis=2}
  })",
               kLegal, "reduce_mean sub mul reduce_mean add rsqrt mul mul add");
  expect_kinds(R"(graph @g(%x: f32[2,5,6]) -> (y = %y) {
    %wg = const f32[6] splat(0)
    %y = rms_norm(%x, %wg) {axis=2}
  })",
               kLegal, "mul reduce_mean add rsqrt mul mul");
  for (const std::string_view layout : {"nhwc", "nchw"})
    optimise(R"(graph @g(%x: f32[2,4,4,4]) -> (y = %y, z = %z, a = %a) {
      %wg = const f32[4] splat(0) %wb = const f32[4] splat(0) %v = const f32[4] splat(2)
      %y = group_norm(%x, %wg, %wb) {groups=2, layout=)" +
                 std::string(layout) + R"(}
      %z = instance_norm(%x, %wg, %wb) {layout=)" +
                 std::string(layout) + R"(}
      %a = batch_norm(%x, %wg, %wb, %wg, %v) {layout=)" +
                 std::string(layout) + R"(}
    })",
             kLegal);
}

TEST(LegaliseTflite, PadsBecomeSameValidOrExplicit) {
  expect_kinds(R"(graph @g(%x: f32[1,8,8,3]) -> (y = %y) {
    %w = const f32[4,3,3,3] splat(0)
    %y = conv(%x, %w) {layout=nhwc, pads=[1,1,1,1]}
  })",
               kLegal, "conv");
  const auto out = expect_kinds(R"(graph @g(%x: f32[1,8,8,3]) -> (y = %y) {
    %w = const f32[4,3,3,3] splat(0)
    %y = conv(%x, %w) {layout=nhwc, pads=[1,1,1,1], strides=[2,2]}
  })",
                                kLegal, "pad conv");
  EXPECT_TRUE(out.only(OpKind::Conv).attrs_as<ConvAttrs>().pads.empty());
  // One row of padding at the end is never read.
  EXPECT_EQ((*out.only(OpKind::Pad).output()->shape())[1], Dim(9));
}

TEST(LegaliseTflite, PadsAlongOpenSizesAreThoseThatTheModelStates) {
  const auto out = expect_kinds(R"(graph @g(%x: f32[N,H,W,3]) -> (y = %y) {
    %w = const f32[4,3,3,3] splat(0)
    %c = conv(%x, %w) {layout=nhwc, pads=[1,2,1,0], strides=[2,2]}
    %y = max_pool(%c) {layout=nhwc, kernel=[3,3], strides=[2,2], pads=[1,1,1,1]}
  })",
                                kLegal, "pad conv pad max_pool", {.compare = false});
  EXPECT_TRUE(out.only(OpKind::Conv).attrs_as<ConvAttrs>().pads.empty());
  EXPECT_TRUE(out.only(OpKind::MaxPool).attrs_as<PoolAttrs>().pads.empty());
  EXPECT_EQ(int_values(out.only(OpKind::Conv).input(0)->producer()->input(1)),
            (std::vector<int64_t>{0, 1, 2, 0, 0, 1, 0, 0}));
  // SAME for every size.
  expect_kinds(R"(graph @g(%x: f32[N,H,W,3]) -> (y = %y) {
    %w = const f32[4,3,3,3] splat(0)
    %y = conv(%x, %w) {layout=nhwc, pads=[1,1,1,1]}
  })",
               kLegal, "conv", {.compare = false});
}

TEST(LegaliseTflite, Pools) {
  expect_kinds(R"(graph @g(%x: f32[1,7,7,2]) -> (y = %y) {
    %y = max_pool(%x) {layout=nhwc, kernel=[3,3], strides=[2,2], pads=[1,0,0,1], ceil_mode=true}
  })",
               kLegal, "pad max_pool");
  expect_kinds(R"(graph @g(%x: f32[1,7,7,2]) -> (y = %y) {
    %y = avg_pool(%x) {layout=nhwc, kernel=[3,3], strides=[2,2], pads=[1,1,1,1], count_include_pad=true}
  })",
               kLegal, "pad avg_pool");
  for (const std::string_view more : {"", ", count_include_pad=true", ", ceil_mode=true",
                                      ", ceil_mode=true, count_include_pad=true"})
    optimise(R"(graph @g(%x: f32[1,8,7,2]) -> (y = %y) {
      %y = avg_pool(%x) {layout=nhwc, kernel=[3,2], strides=[2,2], pads=[1,0,1,1])" +
                 std::string(more) + "} }",
             kLegal);
  expect_kinds(R"(graph @g(%x: f32[1,6,6,6,2]) -> (y = %y) {
    %y = max_pool(%x) {layout=nhwc, kernel=[2,2,2], strides=[2,2,2]}
  })",
               kLegal, "reshape max_pool reshape max_pool reshape");
  expect_kinds(
      R"(graph @g(%x: f32[1,6,6,2]) -> (y = %y) { %y = global_avg_pool(%x) {layout=nhwc} })",
      kLegal, "reduce_mean");
}

TEST(LegaliseTflite, OneDimensionIsAnImageOfHeightOne) {
  expect_kinds(R"(graph @g(%x: f32[2,9,3]) -> (y = %y) {
    %w = const f32[4,3,3] splat(0) %wb = const f32[4] splat(0)
    %y = conv(%x, %w, %wb) {layout=nhwc, pads=[2,0], dilations=[1], strides=[2]}
  })",
               "legalise-tflite,canonicalise", "reshape pad conv reshape");
}

constexpr std::string_view kImages = "legalise-tflite,keep-height-one,canonicalise";

TEST(KeepHeightOne, LinesBetweenConvolutionsStayImages) {
  expect_kinds(R"(graph @g(%x: f32[2,9,3]) -> (y = %y) {
    %w = const f32[3,1,3] splat(1) %s = const f32[3] splat(2) %line = const f32[1,9,1] splat(3)
    %a = conv(%x, %w) {layout=nhwc} %r = relu(%a) %m = mul(%r, %s) %n = add(%m, %line)
    %b = conv(%n, %w) {layout=nhwc} %c = add(%b, %a) %d = concat(%c, %x) {axis=-1}
    %v = const f32[3,1,6] splat(1) %y = conv(%d, %v) {layout=nhwc}
  })",
               kImages, "reshape conv relu mul add conv add concat conv reshape");
}

TEST(KeepHeightOne, OpenSizesStayOpen) {
  expect_kinds(R"(graph @g(%x: f32[n,l,3]) -> (y = %y) {
    %w = const f32[3,1,3] splat(1) %a = conv(%x, %w) {layout=nhwc} %r = relu(%a)
    %y = conv(%r, %w) {layout=nhwc}
  })",
               kImages, "unsqueeze conv relu conv squeeze");
}

TEST(KeepHeightOne, AnActivationBecomesPartOfItsConvolution) {
  expect_kinds(R"(graph @g(%x: f32[2,9,3]) -> (y = %y) {
    %w = const f32[3,1,3] splat(1) %a = conv(%x, %w) {layout=nhwc} %y = relu(%a)
  })",
               kImages, "reshape conv relu reshape");
}

TEST(KeepHeightOne, NothingMovesWhereThatSavesNothing) {
  expect_kinds(R"(graph @g(%x: f32[2,9,3], %z: f32[2,9,3]) -> (y = %y, a = %a) {
    %w = const f32[3,1,3] splat(1) %a = conv(%x, %w) {layout=nhwc} %y = add(%a, %z)
  })",
               kImages, "reshape conv reshape add");
  expect_kinds(R"(graph @g(%x: f32[2,9,3]) -> (y = %y) {
    %w = const f32[3,1,3] splat(1) %a = conv(%x, %w) {layout=nhwc} %s = softmax(%a) {axis=1}
    %y = conv(%s, %w) {layout=nhwc}
  })",
               kImages, "reshape conv reshape softmax reshape conv reshape");
}

TEST(LegaliseTflite, TransposedConvolutions) {
  for (const std::string_view attrs :
       {"strides=[2,2]", "strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]",
        "strides=[2,2], pads=[0,1,1,0]", "dilations=[2,2]", "strides=[3,3], pads=[1,1,1,1]"})
    optimise(R"(graph @g(%x: f32[1,5,5,4]) -> (y = %y) {
      %w = const f32[4,3,3,2] splat(0) %wb = const f32[2] splat(0)
      %y = conv_transpose(%x, %w, %wb) {layout=nhwc, )" +
                 std::string(attrs) + "} }",
             kLegal);
  const auto out = optimise(R"(graph @g(%x: f32[1,5,5,4]) -> (y = %y) {
    %w = const f32[4,3,3,1] splat(0)
    %y = conv_transpose(%x, %w) {layout=nhwc, groups=4, strides=[2,2]}
  })",
                            kLegal);
  EXPECT_EQ(out.only(OpKind::ConvTranspose).attrs_as<ConvTransposeAttrs>().groups, 1);
}

TEST(LegaliseTflite, Resizes) {
  for (const std::string_view mode : {"nearest", "linear", "cubic"})
    for (const std::string_view coordinates : {"half_pixel", "pytorch_half_pixel", "align_corners",
                                               "asymmetric", "half_pixel_symmetric"})
      for (const std::string_view size : {"1,10,10,2", "1,7,11,2", "1,3,2,2"}) {
        const auto out = optimise(
            "graph @g(%x: f32[1,5,5,2]) -> (y = %y) { %s = const i64[4] dense[" +
                std::string(size) + "] %y = resize(%x, _, _, %s) {mode=" + std::string(mode) +
                ", coordinates=" + std::string(coordinates) + "} }",
            kLegal);
        EXPECT_LE(out.count(OpKind::Resize), mode == "cubic" ? 0 : 1);
      }
}

TEST(LegaliseTflite, LinearLayers) {
  const auto out = expect_kinds(R"(graph @g(%x: f32[2,5,3]) -> (y = %y) {
    %w = const f32[3,4] splat(0) %wb = const f32[4] splat(0)
    %y = matmul(%x, %w, %wb) {alpha=0.5}
  })",
                                kLegal, "matmul");
  EXPECT_TRUE(out.only(OpKind::MatMul).attrs_as<MatMulAttrs>().transpose_b);
  expect_kinds(R"(graph @g(%a: f32[2,5,3], %b: f32[2,3,4], %c: f32[4]) -> (y = %y) {
    %y = matmul(%a, %b, %c) {activation=relu}
  })",
               kLegal, "matmul add relu");
  expect_kinds(R"(graph @g(%a: f32[3,5], %b: f32[3,4], %c: f32[5,4]) -> (y = %y) {
    %y = gemm(%a, %b, %c) {transpose_a=true, alpha=2, beta=0.5}
  })",
               kLegal, "mul mul matmul add");
}

TEST(LegaliseTflite, Einsums) {
  for (const std::string_view equation :
       {"bhqd,bhkd->bhqk", "bqhd,bkhd->bhqk", "ij,jk->ki", "ij->ji", "bij->b"}) {
    const bool two = equation.find(',') != std::string_view::npos;
    const std::string shape = equation.size() > 12 ? "[2,3,3,4]"
                              : equation[2] == 'j' ? "[2,3,3]"
                                                   : "[3,3]";
    const auto out = optimise("graph @g(%a: f32" + shape + ", %b: f32" + shape +
                                  ") -> (y = %y) { %y = einsum(%a" + (two ? ", %b" : "") +
                                  ") {equation=\"" + std::string(equation) + "\"} }",
                              kLegal);
    EXPECT_EQ(out.count(OpKind::Einsum), 0) << equation;
  }
}

TEST(LegaliseTflite, RecurrentLayersAreUnrolled) {
  for (const std::string_view direction : {"forward", "reverse", "bidirectional"}) {
    const std::string d = direction == "bidirectional" ? "2" : "1";
    const std::string tail = ", direction=" + std::string(direction) + "}";
    optimise(
        "graph @g(%x: f32[3,2,4], %h: f32[" + d + ",2,5]) -> (y = %y, z = %z) { %w = const f32[" +
            d + ",20,4] splat(0) %wr = const f32[" + d + ",20,5] splat(0) %wb = const f32[" + d +
            ",40] splat(0) %y, %z = lstm(%x, %w, %wr, %wb, _, %h) {hidden_size=5" + tail + " }",
        kLegal);
    for (const std::string_view late : {"false", "true"})
      optimise(
          "graph @g(%x: f32[3,2,4]) -> (y = %y, z = %z) { %w = const f32[" + d +
              ",15,4] splat(0) %wr = const f32[" + d + ",15,5] splat(0) %wb = const f32[" + d +
              ",30] splat(0) %y, %z = gru(%x, %w, %wr, %wb) {hidden_size=5, linear_before_reset=" +
              std::string(late) + tail + " }",
          kLegal);
    optimise("graph @g(%x: f32[2,3,4]) -> (y = %y) { %w = const f32[" + d +
                 ",5,4] splat(0) %wr = const f32[" + d +
                 ",5,5] splat(0) %y = rnn(%x, %w, %wr) {hidden_size=5, batch_first=true" + tail +
                 " }",
             kLegal);
  }
}

TEST(LegaliseTflite, SampledGrids) {
  for (const std::string_view mode : {"linear", "nearest"})
    for (const std::string_view padding : {"zeros", "border"})
      for (const std::string_view align : {"false", "true"})
        optimise(
            "graph @g(%x: f32[2,3,5,6], %g: f32[2,4,4,2]) -> (y = %y) { %two = const f32[] "
            "splat(1.3) "
            "%h = mul(%g, %two) %y = grid_sample(%x, %h) {mode=" +
                std::string(mode) + ", padding=" + std::string(padding) +
                ", align_corners=" + std::string(align) + "} }",
            kLegal);
}

TEST(LegaliseTflite, Movement) {
  expect_kinds(R"(graph @g(%x: f32[1,4,4,8]) -> (y = %y) {
    %y = depth_to_space(%x) {layout=nhwc, block=2, order=crd}
  })",
               kLegal, "gather depth_to_space");
  expect_kinds(R"(graph @g(%x: f32[1,4,4,3]) -> (y = %y) {
    %w = const f32[8,1,1,3] splat(0)
    %c = conv(%x, %w) {layout=nhwc}
    %y = depth_to_space(%c) {layout=nhwc, block=2, order=crd}
  })",
               kLegal, "conv depth_to_space");
  expect_kinds(R"(graph @g(%x: f32[1,4,4,6]) -> (y = %y) {
    %s = const i64[5] dense[1,4,4,2,3] %j = const i64[4] dense[1,4,4,6]
    %a = reshape(%x, %s) %b = transpose(%a) {perm=[0,1,2,4,3]} %y = reshape(%b, %j)
  })",
               kLegal, "gather");
  expect_kinds(R"(graph @g(%x: f32[3,4]) -> (y = %y) {
    %p = const i64[4] dense[-1,2,1,-1]
    %y = pad(%x, %p)
  })",
               kLegal, "slice slice pad");
  expect_kinds(R"(graph @g(%x: f32[3,4]) -> (y = %y) {
    %p = const i64[4] dense[1,2,0,0]
    %y = pad(%x, %p) {mode=edge}
  })",
               kLegal, "gather gather");
  expect_kinds(R"(graph @g(%x: f32[3,4]) -> (y = %y) { %y = softmax(%x) {axis=0} })", kLegal,
               "transpose softmax transpose");
  optimise(R"(graph @g(%x: f32[3,4]) -> (y = %y) {
    %i = const i64[2,4] dense[0,-1,1,2,2,1,0,-3]
    %y = gather_elements(%x, %i) {axis=0}
  })",
           kLegal);
}

// --- the interface -------------------------------------------------------------------------------

TEST(LayoutFreeInterface, ImagesComeAndGoChannelsLast) {
  const auto out = optimise(R"(graph @g(%x: f32[1,3,8,8]) -> (y = %y) {
    %w = const f32[4,3,3,3] splat(0)
    %a = conv(%x, %w) {pads=[1,1,1,1]}
    %y = relu(%a)
  })",
                            "tflite", {.compare = false});
  EXPECT_EQ(out.kinds(), "conv relu");
  EXPECT_EQ(out.after->inputs()[0]->type().text(), "f32[1,8,8,3]");
  EXPECT_EQ(out.after->outputs()[0]->type().text(), "f32[1,8,8,4]");
  EXPECT_EQ(out.after->metadata().at("layout.input.x"), "nhwc");
  EXPECT_EQ(out.after->metadata().at("layout.output.y"), "nhwc");
  const auto kept = optimise(R"(graph @g(%x: f32[1,3,8,8]) -> (y = %y) {
    %w = const f32[4,3,3,3] splat(0)
    %y = conv(%x, %w) {pads=[1,1,1,1]}
  })",
                             "tflite-keep-io");
  EXPECT_EQ(kept.kinds(), "transpose conv transpose");
}

TEST(LayoutFreeInterface, OneChannelIsAnImageToo) {
  const auto out = optimise(R"(graph @g(%x: f32[1,1,8,8]) -> (y = %y) {
    %w = const f32[4,1,3,3] splat(0)
    %y = conv(%x, %w)
  })",
                            "tflite", {.compare = false});
  EXPECT_EQ(out.after->inputs()[0]->type().text(), "f32[1,8,8,1]");
}

TEST(LayoutFreeInterface, OtherInputsStay) {
  const auto out = optimise(R"(graph @g(%x: f32[1,5,6], %i: f32[1,3,4,4]) -> (y = %y, z = %c) {
    %y = softmax(%x) {axis=2}
    %w = const f32[4,3,1,1] splat(0)
    %c = conv(%i, %w)
  })",
                            "tflite", {.compare = false});
  EXPECT_EQ(out.after->inputs()[0]->type().text(), "f32[1,5,6]");
  EXPECT_EQ(out.after->inputs()[1]->type().text(), "f32[1,4,4,3]");
}

TEST(LegaliseTflite, AttentionWithMasksCachesAndSharedHeads) {
  for (const std::string_view attrs :
       {"{}", "{causal=true}", "{scale=0.3, softcap=2.0}", "{causal=true, left_window=2}"})
    optimise(
        "graph @g(%q: f32[2,4,5,8], %k: f32[2,2,5,8], %v: f32[2,2,5,6], %m: f32[5,5]) -> "
        "(y = %y) { %y = attention(%q, %k, %v, %m) " +
            std::string(attrs) + " }",
        kLegal);
  const auto flat = optimise(R"(graph @g(%q: f32[2,5,32], %k: f32[2,5,16], %v: f32[2,5,16])
      -> (y = %y) { %y = attention(%q, %k, %v) {q_heads=4, kv_heads=2} })",
                             kLegal);
  EXPECT_EQ(flat.count(OpKind::Attention), 0);
  const auto cached = optimise(R"(graph @g(%q: f32[1,2,1,8], %k: f32[1,2,1,8], %v: f32[1,2,1,8],
      %pk: f32[1,2,3,8], %pv: f32[1,2,3,8]) -> (y = %y, a = %a, b = %b) {
    %y, %a, %b = attention(%q, %k, %v, _, %pk, %pv) {causal=true}
  })",
                               kLegal);
  EXPECT_EQ(cached.count(OpKind::Concat), 2);
}

TEST(LegaliseTflite, RotaryPositions) {
  for (const std::string_view attrs :
       {"{}", "{interleaved=true}", "{rotary_dim=4}", "{interleaved=true, rotary_dim=4}"}) {
    const bool part = attrs.find("rotary_dim") != std::string_view::npos;
    const std::string cache = part ? "f32[2,3,2]" : "f32[2,3,4]";
    const auto out = optimise("graph @g(%x: f32[2,5,3,8], %c: " + cache + ", %s: " + cache +
                                  ") -> (y = %y) { %y = rotary_embedding(%x, %c, %s) " +
                                  std::string(attrs) + " }",
                              kLegal);
    EXPECT_EQ(out.count(OpKind::RotaryEmbedding), 0);
  }
}

TEST(LegaliseTflite, Scatters) {
  for (const std::string_view reduction : {"none", "add", "mul", "max", "min"}) {
    optimise(R"(graph @g(%x: f32[4,5], %u: f32[2,5]) -> (y = %y) {
      %i = const i64[2,1] dense[3,-4]
      %y = scatter_nd(%x, %i, %u) {reduction=)" +
                 std::string(reduction) + "} }",
             kLegal);
    optimise(R"(graph @g(%x: f32[3,4], %u: f32[2,4]) -> (y = %y) {
      %i = const i64[2,4] dense[0,1,2,0,-1,0,1,2]
      %y = scatter_elements(%x, %i, %u) {axis=0, reduction=)" +
                 std::string(reduction) + "} }",
             kLegal);
  }
  // Several updates of one place add up.
  const auto sums = optimise(R"(graph @g(%x: f32[4], %u: f32[3]) -> (y = %y) {
    %i = const i64[3] dense[1,1,1]
    %y = scatter_elements(%x, %i, %u) {axis=0, reduction=add}
  })",
                             kLegal);
  EXPECT_EQ(sums.only(OpKind::ScatterNd).attrs_as<ScatterNdAttrs>().reduction, Reduction::Add);
  // The largest of several has no form.
  const auto largest = optimise(R"(graph @g(%x: f32[4], %u: f32[3]) -> (y = %y) {
    %i = const i64[3] dense[1,1,1]
    %y = scatter_elements(%x, %i, %u) {axis=0, reduction=max}
  })",
                                kLegal);
  EXPECT_EQ(largest.only(OpKind::ScatterNd).attrs_as<ScatterNdAttrs>().reduction, Reduction::Max);
}

TEST(LegaliseTflite, BatchesOfGatherNd) {
  const auto out = optimise(R"(graph @g(%x: f32[2,3,4,5]) -> (y = %y) {
    %i = const i64[2,3,2,1] dense[0,3,1,2,3,-1,2,2,0,0,1,3]
    %y = gather_nd(%x, %i) {batch_dims=2}
  })",
                            kLegal);
  EXPECT_EQ(out.only(OpKind::GatherNd).attrs_as<GatherNdAttrs>().batch_dims, 0);
}

TEST(LegaliseTflite, FourierTransforms) {
  for (const std::string_view attrs : {"{}", "{onesided=true}", "{inverse=true}"})
    for (const std::string_view last : {"1", "2"}) {
      if (attrs.find("onesided") != std::string_view::npos && last == "2") continue;
      const auto out = optimise("graph @g(%x: f32[2,10,3," + std::string(last) +
                                    "]) -> (y = %y) { %a = const i64[] splat(1) "
                                    "%y = dft(%x, _, %a) " +
                                    std::string(attrs) + " }",
                                kLegal);
      EXPECT_EQ(out.count(OpKind::Dft), 0);
    }
  const auto frames = optimise(R"(graph @g(%x: f32[2,32,1]) -> (y = %y) {
    %step = const i64[] splat(4) %w = const f32[8] splat(0)
    %y = stft(%x, %step, %w) {onesided=true}
  })",
                               kLegal);
  EXPECT_EQ(frames.count(OpKind::Stft), 0);
}

// RFFT2D has lengths that are powers of two, of rows and then of columns.
TEST(LegaliseTflite, FourierTransformsOfRowsStay) {
  const auto rows = optimise(R"(graph @g(%x: f32[2,3,16,1]) -> (y = %y) {
    %f = dft(%x) {onesided=true}
    %shape = const i64[3] dense[6,9,2] %v = reshape(%f, %shape)
    %last = const i64[1] splat(-1) %y = reduce_l2(%v, %last) {keep_dims=false}
  })",
                             kLegal);
  // The magnitude is taken in front of the reshape: an operator of its own on complex numbers.
  EXPECT_EQ(rows.kinds(), "dft reduce_l2 reshape") << rows.text();
  const auto plane = optimise(R"(graph @g(%x: f32[2,8,16,1]) -> (y = %y) {
    %f = dft(%x) {onesided=true} %a = const i64[] splat(1) %y = dft(%f, _, %a)
  })",
                              kLegal);
  EXPECT_EQ(plane.kinds(), "dft dft") << plane.text();
  // Another dimension is brought to its place.
  const auto turned = optimise(R"(graph @g(%x: f32[16,3,1]) -> (y = %y) {
    %a = const i64[] splat(0) %y = dft(%x, _, %a) {onesided=true}
  })",
                               kLegal);
  EXPECT_EQ(turned.kinds(), "transpose dft transpose") << turned.text();
}

TEST(LegaliseTflite, PublishedCustomOperators) {
  const auto pool = optimise(R"(graph @g(%x: f32[1,4,6,3]) -> (y = %y, i = %i) {
    %y, %i = max_pool_argmax(%x) {kernel=[2,3], strides=[2,3]}
  })",
                             kLegal);
  EXPECT_EQ(pool.count(OpKind::MaxPoolArgmax), 0) << pool.text();
  const auto plain = optimise(R"(graph @g(%x: f32[1,5,6,3]) -> (y = %y) {
    %y = max_pool_argmax(%x) {kernel=[2,3], strides=[1,2], padding=same_upper}
  })",
                              kLegal);
  EXPECT_EQ(plain.count(OpKind::MaxPool), 1) << plain.text();
  // Windows that overlap have no form in builtin operators.
  const auto overlap = optimise(R"(graph @g(%x: f32[1,5,6,3]) -> (y = %y, i = %i) {
    %y, %i = max_pool_argmax(%x) {kernel=[3,3], strides=[1,1]}
  })",
                                kLegal);
  EXPECT_EQ(overlap.count(OpKind::MaxPoolArgmax), 1) << overlap.text();
  const auto unpool = optimise(R"(graph @g(%x: f32[1,2,2,3]) -> (y = %y) {
    %i = const f32[1,2,2,3] dense[0.1,1.1,2.1,3.1,4.1,5.1,5.1,4.1,3.1,2.1,1.1,0.1]
    %y = max_unpool_argmax(%x, %i) {kernel=[2,3], strides=[2,3]}
  })",
                               kLegal);
  EXPECT_EQ(unpool.count(OpKind::MaxUnpoolArgmax), 0) << unpool.text();
  const auto spectrum = optimise(R"(graph @g(%x: f32[3,12]) -> (y = %y) {
    %f = signal_rfft(%x) {fft_length=16} %y = signal_irfft(%f) {fft_length=16}
  })",
                                 kLegal);
  EXPECT_EQ(spectrum.count(OpKind::SignalRfft) + spectrum.count(OpKind::SignalIrfft), 0);
}

TEST(LegaliseTflite, ComputesInSinglePrecision) {
  const auto half = optimise(R"(graph @g(%x: f16[2,3]) -> (y = %y) {
    %w = const f16[3] splat(0) %a = mul(%x, %w) %y = relu(%a)
  })",
                             kLegal, {.tolerance = 2e-3});
  EXPECT_EQ(half.kinds(), "cast mul relu cast") << half.text();
  EXPECT_EQ(half.after->outputs()[0]->dtype(), DType::F16);
  const auto wide = optimise(R"(graph @g(%x: f32[2,3]) -> (y = %y) {
    %d = cast(%x) {to=f64} %e = exp(%d) %y = cast(%e) {to=f32}
  })",
                             kLegal);
  EXPECT_EQ(wide.kinds(), "exp") << wide.text();
}

TEST(LegaliseTflite, PlacesOfOneHotFromTheEnd) {
  const auto out = optimise(R"(graph @g(%x: f32[4]) -> (y = %y) {
    %i = cast(%x) {to=i64} %d = const i64[1] dense[3] %v = const f32[2] dense[0,1]
    %y = one_hot(%i, %d, %v)
  })",
                            kLegal);
  // One counts from the end, one keeps what is below that from being counted again.
  EXPECT_EQ(out.count(OpKind::Where), 2);
}

TEST(LegaliseTflite, LoopsCarryWhatGrows) {
  const auto loop = optimise(R"(graph @g(%x: f32[3]) -> (s = %s, all = %all) {
    %n = const i64[] splat(4)
    %s, %all = loop(%n, _, %x) {num_carried=1}
      body graph @body(%i: i64[], %c: bool[], %v: f32[3]) -> (c = %c, v = %w, part = %w) {
        %one = const f32[] splat(1)
        %w = add(%v, %one)
      }
  })",
                             kLegal);
  EXPECT_EQ(loop.count(OpKind::DynamicUpdateSlice), 1) << loop.text();
  const auto scan = optimise(R"(graph @g(%s: f32[3], %x: f32[3,5]) -> (t = %t, all = %all) {
    %t, %all = scan(%s, %x) {num_states=1, num_scan_inputs=1, input_axes=[1],
                             input_directions=[1], output_axes=[1], output_directions=[0]}
      body graph @body(%a: f32[3], %b: f32[3]) -> (a = %c, part = %d) {
        %c = add(%a, %b)
        %d = mul(%a, %b)
      }
  })",
                             kLegal);
  EXPECT_EQ(scan.count(OpKind::Scan), 0) << scan.text();
  EXPECT_EQ(scan.count(OpKind::Loop), 1);
}

}  // namespace
}  // namespace ec
