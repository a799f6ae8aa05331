#include "frontend/resampling.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace ec {
namespace {

void expect_near(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6f) << i;
}

TEST(Resampling, TrianglesInterpolateAndAverage) {
  // Twice as large: quarters between neighbours, the border alone at the ends.
  expect_near(resampling_matrix({ResampleKernel::Triangle, 2, 4, 2.0f, 0.0f, false}),
              {1, 0, 0.75f, 0.25f, 0.25f, 0.75f, 0, 1});
  // Half as large: the kernel is two elements wide on each side.
  expect_near(resampling_matrix({ResampleKernel::Triangle, 4, 2, 0.5f, 0.0f, true}),
              {3.0f / 7, 3.0f / 7, 1.0f / 7, 0, 0, 1.0f / 7, 3.0f / 7, 3.0f / 7});
}

TEST(Resampling, KernelsKeepConstants) {
  for (const char* name : {"lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle",
                           "keyscubic", "mitchellcubic"}) {
    const auto kernel = resample_kernel(name);
    ASSERT_TRUE(kernel) << name;
    const auto matrix = resampling_matrix({*kernel, 7, 5, 5.0f / 7, 0.0f, true});
    for (size_t row = 0; row < 5; ++row)
      EXPECT_NEAR(std::accumulate(&matrix[row * 7], &matrix[row * 7] + 7, 0.0f), 1.0f, 1e-5f)
          << name;
  }
  EXPECT_FALSE(resample_kernel("sharp"));
}

TEST(Resampling, NothingIsSampledOutside) {
  expect_near(resampling_matrix({ResampleKernel::Box, 2, 3, 1.0f, 2.0f, false}),
              {0, 0, 0, 0, 1, 0});
}

TEST(Resampling, AreasAreMeans) {
  expect_near(area_matrix(3, 2, 1.5f), {2.0f / 3, 1.0f / 3, 0, 0, 1.0f / 3, 2.0f / 3});
  expect_near(area_matrix(2, 4, 0.5f), {1, 0, 1, 0, 0, 1, 0, 1});
}

TEST(Resampling, TablesAreBounded) {
  Graph graph("g");
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{1, 1 << 12, 2, 3}));
  GraphBuilder builder(graph, Location("node", "Resize"));
  size_t room = 1 << 20;
  resample(builder, x, 1, {ResampleKernel::Box, 1 << 12, 1 << 12, 1.0f, 0.0f, false}, room);
  EXPECT_EQ(builder.status().error().code(), Code::TooLarge);
  EXPECT_EQ(room, size_t{1} << 20);
}

TEST(Resampling, ScalesHaveToBePositive) {
  Graph graph("g");
  Tensor* x = graph.add_input("x", TensorType(DType::F32, Shape{1, 4, 2, 3}));
  for (const float scale : {0.0f, -1.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    GraphBuilder builder(graph, Location("node", "Resize"));
    size_t room = 1 << 20;
    resample(builder, x, 1, {ResampleKernel::Box, 4, 2, scale, 0.0f, false}, room);
    EXPECT_EQ(builder.status().error().code(), Code::BadValue) << scale;
  }
}

}  // namespace
}  // namespace ec
