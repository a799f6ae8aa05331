// Softmax, normalisation, pooling, transposition and the thread pool.
#include <atomic>

#include "runtime/kernels/pool.h"
#include "runtime/kernels/thread_pool.h"
#include "runtime/kernels/transpose.h"
#include "unit/kernels/kernel_test_util.h"

namespace ec::kernels {
namespace {

TEST(Softmax, MatchesDefinition) {
  for (const int64_t n : {1, 3, 16, 17, 100, 1000}) {
    Random random(4);
    const std::vector<float> x = random.floats(n, -30, 30);
    double top = -1e30;
    for (const float v : x) top = std::max(top, static_cast<double>(v));
    double sum = 0;
    for (const float v : x) sum += std::exp(static_cast<double>(v) - top);
    std::vector<double> want;
    std::vector<double> want_log;
    for (const float v : x) {
      want.push_back(std::exp(static_cast<double>(v) - top) / sum);
      want_log.push_back(static_cast<double>(v) - top - std::log(sum));
    }
    for (const Isa isa : available_isas()) {
      Guarded y(n);
      kernel_table(isa).softmax_row(x.data(), y.data(), n, false);
      expect_close(y.values(), want, "softmax");
      kernel_table(isa).softmax_row(x.data(), y.data(), n, true);
      expect_close(y.values(), want_log, "log softmax");
      EXPECT_TRUE(y.intact());
    }
  }
}

TEST(Softmax, MaskedValuesVanish) {
  std::vector<float> x(20, -std::numeric_limits<float>::infinity());
  x[3] = 1.0F;
  for (const Isa isa : available_isas()) {
    std::vector<float> y(20);
    kernel_table(isa).softmax_row(x.data(), y.data(), 20, false);
    for (size_t i = 0; i < 20; ++i) EXPECT_EQ(y[i], i == 3 ? 1.0F : 0.0F);
  }
}

TEST(Norm, MatchesDefinition) {
  for (const int64_t n : {1, 5, 16, 33, 768, 3000}) {
    Random random(9);
    const std::vector<float> x = random.floats(n, 9, 11);  // a mean far from zero
    const std::vector<float> scale = random.floats(n);
    const std::vector<float> bias = random.floats(n);
    for (const bool centre : {true, false}) {
      double mean = 0;
      for (const float v : x) mean += static_cast<double>(v) / static_cast<double>(n);
      if (!centre) mean = 0;
      double variance = 0;
      for (const float v : x)
        variance += std::pow(static_cast<double>(v) - mean, 2) / static_cast<double>(n);
      std::vector<double> want;
      for (size_t i = 0; i < x.size(); ++i)
        want.push_back((static_cast<double>(x[i]) - mean) / std::sqrt(variance + 1e-5) *
                           static_cast<double>(scale[i]) +
                       static_cast<double>(bias[i]));
      for (const Isa isa : available_isas()) {
        Guarded y(n);
        NormArgs a{x.data(), y.data(), n, scale.data(), bias.data(), 1e-5F, centre};
        kernel_table(isa).norm_rows(a);
        EXPECT_TRUE(y.intact());
        expect_close(y.values(), want, "norm", 2e-5);
      }
    }
  }
}

// Bit for bit what TFLite's reference kernels make of mean, difference, product, mean, rsqrt and
// product, whatever the instruction set and however many rows come together.
TEST(Norm, AddsUpShortRowsInTheirOrder) {
  for (const int64_t n : {1, 7, 64, 128, 200, 1024}) {
    constexpr int64_t kRows = 19;
    Random random(4);
    const std::vector<float> x = random.floats(kRows * n, -3, 5);
    std::vector<float> want;
    for (int64_t r = 0; r < kRows; ++r) {
      const std::span<const float> row(x.data() + r * n, static_cast<size_t>(n));
      float mean = 0;
      for (const float v : row) mean += v;
      mean /= static_cast<float>(n);
      float variance = 0;
      for (const float v : row) {
        const float d = v - mean;
        variance += d * d;
      }
      variance /= static_cast<float>(n);
      const float scale = 1.0F / std::sqrt(variance + 1e-5F);
      for (const float v : row) want.push_back((v - mean) * scale);
    }
    for (const Isa isa : available_isas()) {
      Guarded y(kRows * n);
      kernel_table(isa).norm_rows({x.data(), y.data(), n, nullptr, nullptr, 1e-5F, true, kRows});
      EXPECT_TRUE(y.intact());
      EXPECT_TRUE(std::equal(want.begin(), want.end(), y.data())) << n;
    }
  }
}

std::vector<double> naive_pool(const Pool2dShape& s, PoolKind kind, const std::vector<float>& x) {
  std::vector<double> y;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t oy = 0; oy < s.out_h; ++oy)
      for (int64_t ox = 0; ox < s.out_w; ++ox)
        for (int64_t c = 0; c < s.channels; ++c) {
          double top = -1e30;
          double sum = 0;
          int64_t count = 0;
          int64_t padded = 0;
          for (int64_t ky = 0; ky < s.kernel_h; ++ky)
            for (int64_t kx = 0; kx < s.kernel_w; ++kx) {
              const int64_t iy = oy * s.stride_h - s.pad_top + ky * s.dilation_h;
              const int64_t ix = ox * s.stride_w - s.pad_left + kx * s.dilation_w;
              if (iy < s.in_h + s.pad_bottom && ix < s.in_w + s.pad_right) ++padded;
              if (iy < 0 || iy >= s.in_h || ix < 0 || ix >= s.in_w) continue;
              const auto v = static_cast<double>(
                  x[static_cast<size_t>(((n * s.in_h + iy) * s.in_w + ix) * s.channels + c)]);
              top = std::max(top, v);
              sum += v;
              ++count;
            }
          const int64_t divisor = s.count_include_pad ? padded : count;
          y.push_back(kind == PoolKind::Max ? top : sum / static_cast<double>(divisor));
        }
  return y;
}

TEST(Pool, MatchesNaiveLoops) {
  for (const int64_t channels : {3, 16, 37}) {
    for (int form = 0; form < 4; ++form) {
      Pool2dShape s;
      s.batch = 2;
      s.in_h = 9;
      s.in_w = 8;
      s.channels = channels;
      s.kernel_h = 3;
      s.kernel_w = 2;
      s.stride_h = 2;
      s.stride_w = 1 + form % 2;
      s.dilation_w = form == 2 ? 2 : 1;
      s.pad_top = 1;
      s.pad_right = 1;
      s.pad_bottom = 1;
      s.count_include_pad = form == 3;
      s.out_h = 5;
      s.out_w = (s.in_w + s.pad_right - s.dilation_w - 1) / s.stride_w + 1;
      Random random(6);
      const std::vector<float> x = random.floats(s.batch * s.in_h * s.in_w * channels);
      for (const PoolKind kind : {PoolKind::Max, PoolKind::Average}) {
        const std::vector<double> want = naive_pool(s, kind, x);
        for (const Isa isa : available_isas()) {
          ThreadPool pool(2);
          AlignedBuffer<std::byte> scratch(pool_scratch_bytes(s, 2));
          Guarded y(static_cast<int64_t>(want.size()));
          run_pool(kernel_table(isa), s, kind, x.data(), y.data(), pool, scratch.data());
          EXPECT_TRUE(y.intact());
          expect_close(y.values(), want, "pool");
        }
      }
    }
  }
}

TEST(GlobalPool, KeepsDigitsOverManyPixels) {
  const int64_t pixels = 12544;
  const int64_t channels = 19;
  Random random(8);
  const std::vector<float> x = random.floats(2 * pixels * channels, 0, 1);
  std::vector<double> want(static_cast<size_t>(2 * channels));
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % static_cast<size_t>(channels);
    const size_t n = i / static_cast<size_t>(channels * pixels);
    want[n * static_cast<size_t>(channels) + c] +=
        static_cast<double>(x[i]) / static_cast<double>(pixels);
  }
  for (const Isa isa : available_isas()) {
    ThreadPool pool(2);
    AlignedBuffer<std::byte> scratch(global_pool_scratch_bytes(pixels, 2));
    Guarded y(2 * channels);
    run_global_pool(kernel_table(isa), 2, pixels, channels, PoolKind::Average, x.data(), y.data(),
                    pool, scratch.data());
    expect_close(y.values(), want, "global pool", 1e-6);
  }
}

template <class T>
void check_transpose(const std::vector<int64_t>& shape, const std::vector<int64_t>& perm, Isa isa,
                     int threads) {
  int64_t count = 1;
  for (const int64_t d : shape) count *= d;
  std::vector<T> x(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 2654435761U);
  std::vector<T> y(x.size() + 1, T{7});
  ThreadPool pool(threads);
  TransposePlan(shape, perm, sizeof(T))
      .run(kernel_table(isa), reinterpret_cast<const std::byte*>(x.data()),
           reinterpret_cast<std::byte*>(y.data()), pool);
  EXPECT_EQ(y.back(), T{7});
  std::vector<int64_t> in_stride(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) in_stride[i - 1] = in_stride[i] * shape[i];
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat;
    int64_t from = 0;
    for (size_t i = perm.size(); i-- > 0;) {
      const auto p = static_cast<size_t>(perm[i]);
      from += rest % shape[p] * in_stride[p];
      rest /= shape[p];
    }
    ASSERT_EQ(y[static_cast<size_t>(flat)], x[static_cast<size_t>(from)]) << flat;
  }
}

TEST(Transpose, EveryPermutationOfFourDimensions) {
  std::vector<int64_t> perm = {0, 1, 2, 3};
  do {
    for (const Isa isa : available_isas()) {
      check_transpose<float>({3, 17, 5, 20}, perm, isa, 2);
      check_transpose<float>({2, 1, 33, 8}, perm, isa, 1);
    }
    check_transpose<uint8_t>({3, 17, 5, 20}, perm, best_isa(), 2);
    check_transpose<uint16_t>({3, 17, 5, 20}, perm, best_isa(), 1);
    check_transpose<uint64_t>({3, 17, 5, 20}, perm, best_isa(), 1);
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(Transpose, OtherRanks) {
  check_transpose<float>({}, {}, best_isa(), 1);
  check_transpose<float>({7}, {0}, best_isa(), 1);
  check_transpose<float>({300, 411}, {1, 0}, best_isa(), 2);
  check_transpose<float>({0, 5}, {1, 0}, best_isa(), 1);
  check_transpose<float>({2, 3, 4, 5, 6, 7}, {5, 2, 0, 4, 1, 3}, best_isa(), 2);
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> hits(37);
      pool.parallel_for(37, [&](int64_t i, int thread) {
        EXPECT_LT(thread, threads);
        hits[static_cast<size_t>(i)].fetch_add(1);
      });
      for (const auto& h : hits) ASSERT_EQ(h.load(), 1);
    }
  }
}

}  // namespace
}  // namespace ec::kernels
