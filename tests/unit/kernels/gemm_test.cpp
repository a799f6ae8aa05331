#include "runtime/kernels/gemm.h"

#include "unit/kernels/kernel_test_util.h"

namespace ec::kernels {
namespace {

struct Size {
  int64_t m, n, k;
};
const Size kSizes[] = {{1, 1, 1},    {1, 33, 7},     {1, 1000, 70}, {2, 17, 5},    {3, 64, 64},
                       {13, 31, 40}, {14, 32, 40},   {15, 33, 41},  {29, 100, 17}, {57, 65, 1030},
                       {5, 20, 0},   {70, 48, 2300}, {200, 16, 3}};

std::vector<double> reference(const Size& s, const float* a, int64_t am, int64_t ak, const float* b,
                              int64_t bk, int64_t bn, double alpha, const float* bias) {
  std::vector<double> c(static_cast<size_t>(s.m * s.n));
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = 0.0;
      for (int64_t k = 0; k < s.k; ++k)
        sum += static_cast<double>(a[i * am + k * ak]) * static_cast<double>(b[k * bk + j * bn]);
      sum = alpha * sum + (bias != nullptr ? static_cast<double>(bias[j]) : 0.0);
      c[static_cast<size_t>(i * s.n + j)] = sum;
    }
  return c;
}

TEST(PackedGemm, MatchesNaiveLoops) {
  Random random(1);
  for (const Size& s : kSizes) {
    const std::vector<float> a = random.floats(s.m * s.k + 1);
    const std::vector<float> b = random.floats(s.k * s.n + 1);
    const std::vector<float> bias = random.floats(s.n);
    for (const bool transposed : {false, true}) {
      const MatrixRef ref{b.data(), transposed ? 1 : s.n, transposed ? s.k : 1};
      const std::vector<double> want =
          reference(s, a.data(), s.k, 1, b.data(), ref.stride_k, ref.stride_n, 0.5, bias.data());
      for (const Isa isa : available_isas()) {
        const PackedGemm gemm(kernel_table(isa), s.k, s.n, ref, 0.5F, bias.data(), {});
        std::vector<float> first;
        for (const int threads : {1, 2, 3}) {
          ThreadPool pool(threads);
          AlignedBuffer<std::byte> scratch(gemm.scratch_bytes(s.m, threads));
          Guarded c(s.m * s.n);
          gemm.run(a.data(), s.k, s.m, c.data(), s.n, nullptr, pool, scratch.data());
          EXPECT_TRUE(c.intact());
          expect_close(c.values(), want, std::string(isa_name(isa)));
          if (first.empty()) first = c.values();
          EXPECT_EQ(first, c.values());
        }
      }
    }
  }
}

TEST(BatchedGemm, MatchesNaiveLoopsInEveryLayout) {
  Random random(2);
  for (const Size& s : kSizes) {
    const std::vector<float> a = random.floats(3 * s.m * s.k + 1);
    const std::vector<float> b = random.floats(3 * s.k * s.n + 1);
    const std::vector<float> bias = random.floats(s.n);
    for (int form = 0; form < 8; ++form) {
      const bool ta = (form & 1) != 0;
      const bool tb = (form & 2) != 0;
      const float alpha = (form & 4) != 0 ? 0.125F : 1.0F;
      BatchedGemmShape g;
      g.m = s.m;
      g.n = s.n;
      g.k = s.k;
      g.a_stride_m = ta ? 1 : s.k;
      g.a_stride_k = ta ? s.m : 1;
      g.b_stride_k = tb ? 1 : s.n;
      g.b_stride_n = tb ? s.k : 1;
      g.a_offsets = {0, s.m * s.k, 2 * s.m * s.k};
      g.b_offsets = {s.k * s.n, 0, s.k * s.n};  // shared, as in a broadcast batch
      g.c_offsets = {0, s.m * s.n, 2 * s.m * s.n};
      std::vector<double> want;
      for (size_t i = 0; i < 3; ++i) {
        const std::vector<double> one = reference(
            s, a.data() + g.a_offsets[i], g.a_stride_m, g.a_stride_k, b.data() + g.b_offsets[i],
            g.b_stride_k, g.b_stride_n, static_cast<double>(alpha), bias.data());
        want.insert(want.end(), one.begin(), one.end());
      }
      for (const Isa isa : available_isas()) {
        const BatchedGemm gemm(kernel_table(isa), g, alpha, {});
        std::vector<float> first;
        for (const int threads : {1, 2, 5}) {
          ThreadPool pool(threads);
          AlignedBuffer<std::byte> scratch(gemm.scratch_bytes(threads));
          Guarded c(3 * s.m * s.n);
          gemm.run(a.data(), b.data(), bias.data(), c.data(), pool, scratch.data());
          EXPECT_TRUE(c.intact());
          expect_close(c.values(), want, "form " + std::to_string(form));
          if (first.empty()) first = c.values();
          EXPECT_EQ(first, c.values());
        }
      }
    }
  }
}

}  // namespace
}  // namespace ec::kernels
