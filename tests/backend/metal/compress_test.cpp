// Weights in fewer bits: the forms alone, and packages that hold them, read back.
#include "backend/metal/compress/compress.h"

#include <cmath>
#include <limits>
#include <random>

#include "backend/metal/compress/palette.h"
#include "backend/metal/compress/scales.h"
#include "backend/metal/compress/sparse.h"
#include "backend/metal/half_precision.h"
#include "backend/metal/package.h"
#include "backend/metal/place.h"
#include "passes/harness.h"
#include "support/small_float.h"

namespace ec::metal {
namespace {

float half(float value) { return half_to_float(float_to_half(value)); }

// Weights as networks have them: most near zero, a few far out.
std::vector<float> weights(size_t count, bool in_half, unsigned seed = 1) {
  std::minstd_rand random(seed);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int k = 0; k < 4; ++k)
      sum += static_cast<float>(random()) / static_cast<float>(std::minstd_rand::max()) - 0.5f;
    sum *= i % 97 == 0 ? 3.0f : 0.2f;
    values.push_back(in_half ? half(sum) : sum);
  }
  return values;
}

double error_of(const std::vector<float>& values, const Palette& palette) {
  double error = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double difference = double{values[i]} - double{palette.table[palette.indices[i]]};
    error += difference * difference;
  }
  return error;
}

Palette table_of(const std::vector<float>& values, size_t entries, bool in_half) {
  auto palette = palettize(values, entries, in_half);
  EXPECT_TRUE(palette.ok());
  return palette.ok() ? std::move(*palette) : Palette();
}

// The least squared error of all ways to cut sorted values into clusters.
double least_error(std::vector<float> values, size_t clusters) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const auto cost = [&](size_t begin, size_t end) {
    double mean = 0, error = 0;
    for (size_t i = begin; i < end; ++i) mean += double{values[i]};
    mean /= static_cast<double>(end - begin);
    for (size_t i = begin; i < end; ++i)
      error += (double{values[i]} - mean) * (double{values[i]} - mean);
    return error;
  };
  std::vector<double> least(n + 1);
  for (size_t j = 1; j <= n; ++j) least[j] = cost(0, j);
  for (size_t m = 1; m < clusters; ++m) {
    std::vector<double> next(n + 1, std::numeric_limits<double>::infinity());
    for (size_t j = m + 1; j <= n; ++j)
      for (size_t i = m; i < j; ++i) next[j] = std::min(next[j], least[i] + cost(i, j));
    least = std::move(next);
  }
  return least[n];
}

TEST(Palettes, HaveTheLeastErrorOfAllTables) {
  const std::vector<float> values = weights(120, false);
  for (const size_t entries : {2, 4, 8, 16}) {
    const double least = least_error(values, entries);
    EXPECT_NEAR(error_of(values, table_of(values, entries, false)), least, 1e-6 * least) << entries;
  }
}

TEST(Palettes, OfFewDifferentWeightsAreExact) {
  std::vector<float> values;
  for (int i = 0; i < 5000; ++i) values.push_back(static_cast<float>(i * 7 % 16) / 8 - 1);
  const Palette palette = table_of(values, 16, true);
  EXPECT_EQ(palette.table.size(), 16u);
  EXPECT_EQ(error_of(values, palette), 0);
  EXPECT_TRUE(std::is_sorted(palette.table.begin(), palette.table.end()));
  // Both zeros are one entry.
  EXPECT_EQ(table_of({0.0f, -0.0f, 1.0f}, 4, true).table, (std::vector<float>{0, 1}));
  EXPECT_EQ(table_of({2.0f, 2.0f}, 2, false).table, (std::vector<float>{2}));
}

TEST(Palettes, OfHalvesHoldHalves) {
  const std::vector<float> values = weights(20000, true);
  double last = std::numeric_limits<double>::infinity();
  for (const size_t entries : {2, 4, 8, 16, 64, 256}) {
    const Palette palette = table_of(values, entries, true);
    for (const float entry : palette.table) EXPECT_EQ(entry, half(entry));
    // No weight is nearer to another entry.
    for (size_t i = 0; i < values.size(); i += 17)
      for (const float entry : palette.table)
        EXPECT_LE(std::abs(values[i] - palette.table[palette.indices[i]]),
                  std::abs(values[i] - entry));
    const double error = error_of(values, palette);
    EXPECT_LT(error, last / 2) << entries;
    last = error;
  }
}

// More different weights than the search looks at one by one.
TEST(Palettes, OfManySinglesAreGoodToo) {
  const std::vector<float> values = weights(200000, false);
  std::vector<float> rounded;
  for (const float value : values) rounded.push_back(half(value));
  const double exact = error_of(rounded, table_of(rounded, 16, true));
  EXPECT_NEAR(error_of(values, table_of(values, 16, false)), exact, 1e-3 * exact);
}

TEST(Scales, AreNoWorseThanThoseOfTheLargestWeight) {
  const std::vector<float> values = weights(64 * 48, true);
  const BlockCut cut{{48, 64}, {1, 32}};
  const ScaledWeights scaled = scale_weights(values, cut, 4, true);
  ASSERT_EQ(scaled.scales.size(), 96u);
  double better = 0;
  for (size_t b = 0; b < 96; ++b) {
    float largest = 0;
    for (size_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(values[b * 32 + i]));
    const float plain = half(largest / 7);
    double ours = 0, theirs = 0;
    for (size_t i = b * 32; i < b * 32 + 32; ++i) {
      const float q = std::clamp(std::nearbyint(values[i] / plain), -7.0f, 7.0f);
      theirs += std::pow(double{values[i]} - double{plain} * double{q}, 2);
      ours += std::pow(
          double{values[i]} - double{scaled.scales[b]} * static_cast<double>(scaled.data[i]), 2);
      EXPECT_TRUE(scaled.data[i] >= -8 && scaled.data[i] <= 7);
    }
    EXPECT_LE(ours, theirs * (1 + 1e-6));
    better += ours < theirs * 0.99 ? 1 : 0;
    EXPECT_EQ(scaled.scales[b], half(scaled.scales[b]));
  }
  EXPECT_GT(better, 48);
}

// Weights that are multiples of one number, as quantised networks have them.
TEST(Scales, OfMultiplesAreNoWorseEither) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i)
    values.push_back(half(0.0123f * static_cast<float>(i % 255 - 127)));
  const BlockCut cut{{1, 1000}, {1, 1000}};
  const ScaledWeights scaled = scale_weights(values, cut, 8, true);
  const float plain = half(half(0.0123f * 127) / 127);
  double ours = 0, theirs = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const float q = std::nearbyint(values[i] / plain);
    theirs += std::pow(double{values[i]} - double{half(plain * q)}, 2);
    ours += std::pow(
        double{values[i]} - double{half(scaled.scales[0] * static_cast<float>(scaled.data[i]))}, 2);
  }
  EXPECT_LE(ours, theirs);
}

TEST(Scales, OfZerosAndTinyWeightsAreNumbers) {
  const BlockCut cut{{2, 4}, {1, 4}};
  const std::vector<float> values{0, 0, 0, 0, 6e-8f, 0, -6e-8f, 0};
  const ScaledWeights scaled = scale_weights(values, cut, 4, true);
  for (const float scale : scaled.scales) EXPECT_GT(scale, 0);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(scaled.data[i], 0);
}

TEST(Sparse, KeepsTheLargest) {
  const std::vector<float> values{0.3f, -0.2f, -0.01f, 0.05f};
  EXPECT_EQ(without_small(values, magnitude_at(values, 0.75)), (std::vector<float>{0.3f, 0, 0, 0}));
  EXPECT_EQ(without_small(values, 0.03f), (std::vector<float>{0.3f, -0.2f, 0, 0.05f}));
  EXPECT_EQ(magnitude_at(values, 0), 0);
}

TEST(WeightForms, AreParsedStrictly) {
  for (const std::string_view good :
       {"palettize:1", "palettize:8", "int4:16", "int8", "sparse:0.25", "threshold:0.5", "none"}) {
    const auto form = parse_weight_form(good);
    ASSERT_TRUE(form.ok()) << good;
    EXPECT_EQ(form->text(), good);
  }
  EXPECT_EQ(parse_weight_form("palettize")->text(), "palettize:4");
  EXPECT_EQ(parse_weight_form("int4")->text(), "int4:32");
  EXPECT_EQ(parse_weight_form("sparse")->text(), "sparse:0.5");
  for (const std::string_view bad :
       {"palettize:5", "palettize:", "palettize:4.5", "palettize:4:2", "int4:0", "int8:2",
        "sparse:1", "sparse:0", "sparse:nan", "threshold", "threshold:-1", "threshold:inf", "zip"})
    EXPECT_FALSE(parse_weight_form(bad).ok()) << bad;
}

// --- packages
// --------------------------------------------------------------------------------------

struct Packed {
  std::unique_ptr<Graph> graph;
  CompressedWeights weights;
  std::optional<CoremlProgram> program;
  const coreml::Operation* find(std::string_view type) const {
    for (const coreml::Operation& op :
         program->model.program->functions.at("main").block.operations)
      if (op.type == type) return &op;
    return nullptr;
  }
};

constexpr std::string_view kLayers = R"(graph @g(%x: f32[1,64,6,6]) -> (y = %y) {
    %w1 = const f32[48,64,3,3] splat(0) %c = conv(%x, %w1)
    %w2 = const f32[48,1,3,3] splat(0) %d = conv(%c, %w2) {groups=48, pads=[1,1,1,1]}
    %w3 = const f32[48,64,2,2] splat(0) %t = conv_transpose(%d, %w3)
    %s = const i64[2] dense[1,1600] %f = reshape(%t, %s)
    %w4 = const f32[40,1600] splat(0) %g = matmul(%f, %w4) {transpose_b=true}
    %w5 = const f32[40,100] splat(0) %y = matmul(%g, %w5)
  })";

Packed pack(std::string_view text, const WeightForm& form, bool in_half = true,
            CoremlWriteOptions options = {}) {
  Packed packed;
  packed.graph = test::graph_from(text);
  if (in_half) {
    EXPECT_TRUE(give_half_precision(*packed.graph, {}).ok());
  }
  auto weights = compress_weights(*packed.graph, form);
  EXPECT_TRUE(weights.ok());
  packed.weights = std::move(*weights);
  EXPECT_TRUE(verify(*packed.graph).empty());
  options.stored = packed.weights.stored;
  DiagnosticSink sink;
  auto program = write_coreml(*packed.graph, options, sink);
  EXPECT_TRUE(program.ok()) << program.error().message();
  if (!program.ok()) return packed;
  packed.program = std::move(*program);
  const auto files = package_files(*packed.program, "m.mlpackage");
  auto read = read_package(files);
  EXPECT_TRUE(read.ok()) << read.error().message();
  if (in_half) {
    EXPECT_TRUE(give_single_precision(*packed.graph).ok());
  }
  if (read.ok()) test::expect_same_results(*packed.graph, *read->front());
  return packed;
}

TEST(CompressedPackages, ComeBackInEveryForm) {
  for (const std::string_view text :
       {"palettize:1", "palettize:2", "palettize:3", "palettize:4", "palettize:6", "palettize:8",
        "int4", "int4:64", "int8", "sparse:0.5", "sparse:0.9", "threshold:0.2"})
    for (const int lowest : {kCoremlIos16, kCoremlIos18})
      for (const bool in_half : {true, false}) {
        SCOPED_TRACE(std::string(text) + " " + std::to_string(lowest));
        const WeightForm form = *parse_weight_form(text);
        CoremlWriteOptions options;
        options.lowest_version = lowest;
        const Packed packed = pack(kLayers, form, in_half, options);
        ASSERT_TRUE(packed.program);
        // All but the depthwise filter, which is small.
        EXPECT_EQ(packed.weights.told.size(), 4u);
        EXPECT_EQ(packed.program->summary.version, std::max(lowest, version_of(form)));
        EXPECT_EQ(packed.program->summary.version_reason.empty(), version_of(form) <= lowest);
        for (const CompressedWeight& weight : packed.weights.told) {
          EXPECT_LT(weight.bytes_after, weight.bytes_before) << weight.name;
          EXPECT_GT(weight.sqnr_db, 0) << weight.name;
        }
      }
}

TEST(CompressedPackages, TableTakesItsBitsAndNoMore) {
  const Packed packed = pack(kLayers, *parse_weight_form("palettize:4"));
  const coreml::Operation* op = packed.find("constexpr_lut_to_dense");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->attribute("indices")->type.dims, (std::vector<int64_t>{48 * 64 * 9 / 2}));
  EXPECT_EQ(op->attribute("lut")->type.dims, (std::vector<int64_t>{16}));
  EXPECT_EQ(packed.weights.told.front().bytes_after, 48 * 64 * 9 / 2 + 32);
  EXPECT_EQ(packed.weights.told.front().name, "w1");
}

TEST(CompressedPackages, ScalesOfBlocksCoverTheWindow) {
  const Packed packed = pack(kLayers, *parse_weight_form("int4"));
  const coreml::Operation* op = packed.find("constexpr_blockwise_shift_scale");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->input("scale")->front().literal->type.dims, (std::vector<int64_t>{48, 2, 1, 1}));
  EXPECT_EQ(op->input("data")->front().literal->type.element, coreml::DataType::Int4);
}

// 100 inputs are no multiple of 32: 25 are the largest equal blocks. 37 are left whole.
TEST(CompressedPackages, BlocksDivideTheInputs) {
  for (const auto& [inputs, blocks] : {std::pair{100, 4}, {37, 1}, {20, 1}, {96, 3}}) {
    const std::string text = "graph @g(%x: f32[1," + std::to_string(inputs) +
                             "]) -> (y = %y) { %w = const f32[200," + std::to_string(inputs) +
                             "] splat(0) %y = matmul(%x, %w) {transpose_b=true} }";
    const Packed packed = pack(text, *parse_weight_form("int4"));
    const coreml::Operation* op = packed.find("constexpr_blockwise_shift_scale");
    ASSERT_NE(op, nullptr);
    EXPECT_EQ(op->input("scale")->front().literal->type.dims, (std::vector<int64_t>{200, blocks}));
  }
}

TEST(CompressedPackages, OtherConstantsStay) {
  // A vector, a small matrix, a constant that is added, one that is an output too, and infinities.
  const Packed packed = pack(R"(graph @g(%x: f32[1,3000]) -> (y = %y, z = %w3) {
    %w1 = const f32[3000] splat(0) %a = mul(%x, %w1)
    %w2 = const f32[1,3000] splat(0) %b = add(%a, %w2)
    %w3 = const f32[3,3000] splat(0) %m = matmul(%b, %w3) {transpose_b=true}
    %w4 = const f32[3,3] splat(0) %n = matmul(%m, %w4)
    %k = const f32[3,3000] splat(inf) %y = matmul(%n, %k)
  })",
                             *parse_weight_form("palettize:4"), false);
  EXPECT_TRUE(packed.weights.told.empty());
  EXPECT_TRUE(packed.weights.stored.empty());
}

TEST(CompressedPackages, FewZerosAreNotWorthAMask) {
  EXPECT_TRUE(pack(kLayers, *parse_weight_form("threshold:0")).weights.told.empty());
  EXPECT_TRUE(pack(kLayers, *parse_weight_form("threshold:1e9")).weights.told.empty());
}

}  // namespace
}  // namespace ec::metal
