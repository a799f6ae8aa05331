#include "runtime/kernels/conv2d.h"

#include "runtime/kernels/conv_transpose.h"
#include "unit/kernels/kernel_test_util.h"

namespace ec::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Case {
  std::string name;
  Conv2dShape shape;
};

Conv2dShape shape_of(int64_t h, int64_t w, int64_t in, int64_t out, int64_t kh, int64_t kw,
                     int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1, int64_t groups = 1,
                     int64_t batch = 1) {
  Conv2dShape s;
  s.batch = batch;
  s.in_h = h;
  s.in_w = w;
  s.in_c = in;
  s.out_c = out;
  s.kernel_h = kh;
  s.kernel_w = kw;
  s.stride_h = s.stride_w = stride;
  s.dilation_h = s.dilation_w = dilation;
  s.pad_top = s.pad_left = pad;
  s.groups = groups;
  s.out_h = (h + 2 * pad - dilation * (kh - 1) - 1) / stride + 1;
  s.out_w = (w + 2 * pad - dilation * (kw - 1) - 1) / stride + 1;
  return s;
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"pointwise", shape_of(7, 5, 19, 37, 1, 1)},
      {"pointwise_wide", shape_of(3, 3, 130, 100, 1, 1)},
      {"pointwise_strided", shape_of(9, 8, 12, 20, 1, 1, 2)},
      {"pointwise_padded", shape_of(4, 4, 8, 16, 1, 1, 1, 1)},
      {"one_pixel", shape_of(1, 1, 40, 33, 1, 1)},
      {"three_by_three", shape_of(8, 9, 70, 34, 3, 3, 1, 1)},
      {"stem", shape_of(15, 17, 3, 32, 3, 3, 2, 1)},
      {"seven_by_seven", shape_of(20, 23, 3, 24, 7, 7, 2, 3)},
      {"pad_beyond_kernel", shape_of(3, 3, 3, 8, 3, 3, 1, 4)},
      {"pad_beyond_kernel_wide", shape_of(3, 3, 80, 8, 3, 3, 1, 4)},
      {"dilated", shape_of(12, 11, 6, 9, 3, 3, 1, 2, 2)},
      {"grouped", shape_of(6, 7, 24, 36, 3, 3, 1, 1, 1, 4)},
      {"grouped_one_channel", shape_of(6, 7, 6, 12, 3, 3, 1, 1, 1, 6)},
      {"long_k", shape_of(5, 5, 260, 40, 3, 3, 1, 1)},
      {"long_k_pointwise", shape_of(4, 5, 2100, 20, 1, 1)},
      {"batch", shape_of(6, 5, 8, 16, 3, 3, 2, 1, 1, 1, 3)},
      {"row_kernel", shape_of(6, 21, 5, 16, 1, 9, 1, 0)},
      {"column_kernel", shape_of(21, 6, 5, 16, 9, 1, 1, 0)},
  };
  for (const int64_t k : {2, 3, 5, 7}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t channels : {5, 16, 35}) {
        const std::string name = "depthwise_k" + std::to_string(k) + "_s" + std::to_string(stride) +
                                 "_c" + std::to_string(channels);
        all.push_back(
            {name, shape_of(11, 19, channels, channels, k, k, stride, k / 2, 1, channels)});
      }
    }
  }
  all.push_back({"depthwise_dilated", shape_of(13, 13, 18, 18, 3, 3, 1, 2, 2, 18)});
  all.push_back({"depthwise_narrow", shape_of(4, 2, 32, 32, 5, 5, 1, 2, 1, 32, 2)});
  Conv2dShape uneven = shape_of(9, 10, 20, 12, 4, 3, 2, 0);
  uneven.pad_top = 2;
  uneven.pad_left = 0;
  uneven.stride_w = 1;
  uneven.out_h = (9 + 2 + 1 - 4) / 2 + 1;
  uneven.out_w = 10 + 0 + 1 - 3 + 1;
  all.push_back({"uneven_pads", uneven});
  return all;
}

std::vector<double> reference(const Conv2dShape& s, const std::vector<float>& x,
                              const std::vector<float>& w, const std::vector<float>& bias,
                              const std::vector<float>& residual) {
  const WeightStrides ws = WeightStrides::oihw(s);
  const int64_t in = s.in_c / s.groups;
  const int64_t out = s.out_c / s.groups;
  std::vector<double> y(static_cast<size_t>(s.batch * s.out_h * s.out_w * s.out_c));
  size_t at = 0;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t oy = 0; oy < s.out_h; ++oy)
      for (int64_t ox = 0; ox < s.out_w; ++ox)
        for (int64_t o = 0; o < s.out_c; ++o, ++at) {
          double sum = static_cast<double>(bias[static_cast<size_t>(o)]);
          if (!residual.empty()) sum += static_cast<double>(residual[at]);
          for (int64_t ky = 0; ky < s.kernel_h; ++ky)
            for (int64_t kx = 0; kx < s.kernel_w; ++kx) {
              const int64_t iy = oy * s.stride_h - s.pad_top + ky * s.dilation_h;
              const int64_t ix = ox * s.stride_w - s.pad_left + kx * s.dilation_w;
              if (iy < 0 || iy >= s.in_h || ix < 0 || ix >= s.in_w) continue;
              for (int64_t i = 0; i < in; ++i) {
                const int64_t c = o / out * in + i;
                const auto xi = static_cast<size_t>(((n * s.in_h + iy) * s.in_w + ix) * s.in_c + c);
                const auto wi =
                    static_cast<size_t>(o * ws.out + i * ws.in + ky * ws.row + kx * ws.column);
                sum += static_cast<double>(x[xi]) * static_cast<double>(w[wi]);
              }
            }
          y[at] = sum;
        }
  return y;
}

struct Data {
  std::vector<float> x, w, bias, residual;

  explicit Data(const Conv2dShape& s) {
    Random random(7);
    x = random.floats(s.batch * s.in_h * s.in_w * s.in_c);
    w = random.floats(s.out_c * (s.in_c / s.groups) * s.kernel_h * s.kernel_w);
    bias = random.floats(s.out_c);
    residual = random.floats(s.batch * s.out_h * s.out_w * s.out_c);
  }
};

std::vector<float> run(Isa isa, const Conv2dShape& s, const Data& d, Epilogue epilogue, int threads,
                       bool with_residual) {
  const Conv2d conv(kernel_table(isa), s, d.w.data(), WeightStrides::oihw(s), d.bias.data(),
                    epilogue);
  ThreadPool pool(threads);
  AlignedBuffer<std::byte> scratch(conv.scratch_bytes(threads));
  Guarded y(static_cast<int64_t>(d.residual.size()));
  conv.run(d.x.data(), y.data(), with_residual ? d.residual.data() : nullptr, pool, scratch.data());
  EXPECT_TRUE(y.intact());
  return y.values();
}

TEST(Conv2d, MatchesNaiveLoops) {
  for (const Case& c : cases()) {
    const Data d(c.shape);
    const std::vector<double> want = reference(c.shape, d.x, d.w, d.bias, {});
    for (const Isa isa : available_isas())
      expect_close(run(isa, c.shape, d, {}, 1, false), want,
                   c.name + " " + std::string(isa_name(isa)));
  }
}

TEST(Conv2d, ThreadsGiveTheSameBits) {
  for (const Case& c : cases()) {
    const Data d(c.shape);
    for (const Isa isa : available_isas()) {
      const std::vector<float> one = run(isa, c.shape, d, {}, 1, false);
      EXPECT_EQ(one, run(isa, c.shape, d, {}, 2, false)) << c.name;
      EXPECT_EQ(one, run(isa, c.shape, d, {}, 3, false)) << c.name;
    }
  }
}

TEST(Conv2d, AddsResidualBeforeActivation) {
  for (const Case& c : cases()) {
    const Data d(c.shape);
    for (const Isa isa : available_isas()) {
      const Conv2d probe(kernel_table(isa), c.shape, d.w.data(), WeightStrides::oihw(c.shape),
                         nullptr, {});
      const bool residual = probe.takes_residual();
      std::vector<double> want =
          reference(c.shape, d.x, d.w, d.bias, residual ? d.residual : std::vector<float>());
      for (double& v : want) v = std::clamp(v, 0.0, 0.5);
      const Epilogue clamp{UnaryOp::Clamp, 0.0F, 0.5F};
      const std::vector<float> got = run(isa, c.shape, d, clamp, 1, residual);
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(static_cast<double>(got[i]), want[i], 1e-4) << c.name << " at " << i;
    }
  }
}

TEST(Conv2d, AppliesOtherActivations) {
  for (const Case& c : cases()) {
    const Data d(c.shape);
    std::vector<double> want = reference(c.shape, d.x, d.w, d.bias, {});
    for (double& v : want) v = v / (1.0 + std::exp(-v));
    for (const Isa isa : available_isas())
      expect_close(run(isa, c.shape, d, {UnaryOp::Silu, 0, 0}, 1, false), want, c.name);
  }
}

TEST(Conv2d, ReadsBothWeightLayouts) {
  const Conv2dShape s = shape_of(6, 6, 10, 14, 3, 3, 1, 1);
  const Data d(s);
  const WeightStrides from = WeightStrides::oihw(s);
  const WeightStrides to = WeightStrides::ohwi(s);
  std::vector<float> ohwi(d.w.size());
  for (int64_t o = 0; o < 14; ++o)
    for (int64_t i = 0; i < 10; ++i)
      for (int64_t y = 0; y < 3; ++y)
        for (int64_t x = 0; x < 3; ++x)
          ohwi[static_cast<size_t>(o * to.out + i * to.in + y * to.row + x * to.column)] =
              d.w[static_cast<size_t>(o * from.out + i * from.in + y * from.row + x * from.column)];
  Data same = d;
  const KernelTable& table = kernel_table(best_isa());
  const Conv2d a(table, s, d.w.data(), from, nullptr, {});
  const Conv2d b(table, s, ohwi.data(), to, nullptr, {});
  ThreadPool pool(1);
  AlignedBuffer<std::byte> scratch(a.scratch_bytes(1));
  std::vector<float> ya(d.residual.size());
  std::vector<float> yb(d.residual.size());
  a.run(d.x.data(), ya.data(), nullptr, pool, scratch.data());
  b.run(d.x.data(), yb.data(), nullptr, pool, scratch.data());
  EXPECT_EQ(ya, yb);
}

TEST(Conv2d, NotANumberPassesThroughClamp) {
  const Conv2dShape s = shape_of(2, 2, 4, 16, 1, 1);
  Data d(s);
  d.x[0] = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : available_isas()) {
    const std::vector<float> y = run(isa, s, d, {UnaryOp::Clamp, 0.0F, kInf}, 1, false);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_FALSE(std::isnan(y[16]));
  }
}

TEST(ConvTranspose2d, MatchesNaiveLoops) {
  struct Transposed {
    int64_t h, w, in, out, k, stride, pad, dilation, groups, extra;
  };
  const Transposed all[] = {{4, 5, 6, 8, 3, 2, 1, 1, 1, 1},
                            {3, 3, 5, 7, 2, 2, 0, 1, 1, 0},
                            {4, 4, 8, 12, 3, 1, 0, 2, 4, 0},
                            {5, 3, 33, 17, 4, 3, 2, 1, 1, 2}};
  for (const Transposed& t : all) {
    Conv2dShape s;
    s.batch = 2;
    s.in_h = t.h;
    s.in_w = t.w;
    s.in_c = t.in;
    s.out_c = t.out;
    s.kernel_h = s.kernel_w = t.k;
    s.stride_h = s.stride_w = t.stride;
    s.dilation_h = s.dilation_w = t.dilation;
    s.pad_top = s.pad_left = t.pad;
    s.groups = t.groups;
    s.out_h = (t.h - 1) * t.stride - 2 * t.pad + t.dilation * (t.k - 1) + 1 + t.extra;
    s.out_w = (t.w - 1) * t.stride - 2 * t.pad + t.dilation * (t.k - 1) + 1 + t.extra;
    const int64_t out = t.out / t.groups;
    const int64_t in = t.in / t.groups;
    Random random(3);
    const std::vector<float> x = random.floats(2 * t.h * t.w * t.in);
    const std::vector<float> w = random.floats(t.in * out * t.k * t.k);
    const std::vector<float> bias = random.floats(t.out);
    std::vector<double> want(static_cast<size_t>(2 * s.out_h * s.out_w * t.out));
    for (size_t i = 0; i < want.size(); ++i)
      want[i] = static_cast<double>(bias[i % static_cast<size_t>(t.out)]);
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t iy = 0; iy < t.h; ++iy)
        for (int64_t ix = 0; ix < t.w; ++ix)
          for (int64_t ci = 0; ci < t.in; ++ci)
            for (int64_t co = 0; co < out; ++co)
              for (int64_t ky = 0; ky < t.k; ++ky)
                for (int64_t kx = 0; kx < t.k; ++kx) {
                  const int64_t oy = iy * t.stride - t.pad + ky * t.dilation;
                  const int64_t ox = ix * t.stride - t.pad + kx * t.dilation;
                  if (oy < 0 || oy >= s.out_h || ox < 0 || ox >= s.out_w) continue;
                  const int64_t o = ci / in * out + co;
                  want[static_cast<size_t>(((n * s.out_h + oy) * s.out_w + ox) * t.out + o)] +=
                      static_cast<double>(
                          x[static_cast<size_t>(((n * t.h + iy) * t.w + ix) * t.in + ci)]) *
                      static_cast<double>(
                          w[static_cast<size_t>(((ci * out + co) * t.k + ky) * t.k + kx)]);
                }
    const WeightStrides strides{t.k * t.k, out * t.k * t.k, t.k, 1, 0};
    for (const Isa isa : available_isas()) {
      const ConvTranspose2d conv(kernel_table(isa), s, w.data(), strides, bias.data(), {});
      for (const int threads : {1, 2}) {
        ThreadPool pool(threads);
        AlignedBuffer<std::byte> scratch(conv.scratch_bytes(threads));
        Guarded y(static_cast<int64_t>(want.size()));
        conv.run(x.data(), y.data(), pool, scratch.data());
        EXPECT_TRUE(y.intact());
        expect_close(y.values(), want, "conv_transpose");
      }
    }
  }
}

}  // namespace
}  // namespace ec::kernels
