#include <gtest/gtest.h>

#include "ops/op_case.h"
#include "ops/window.h"

namespace ec::test {
namespace {

ConvAttrs conv(std::vector<int64_t> strides = {}, std::vector<int64_t> pads = {}) {
  ConvAttrs attrs;
  attrs.strides = std::move(strides);
  attrs.pads = std::move(pads);
  return attrs;
}

TEST(Conv, ByHand) {
  // 1 2 3 with padding, kernel 1 10: 0*1+1*10, 1*1+2*10, 2*1+3*10, 3*1.
  expect_case({OpKind::Conv,
               {f32({1, 1, 3}, {1, 2, 3}), f32({1, 1, 2}, {1, 10})},
               {f32({1, 1, 4}, {10, 21, 32, 3})},
               conv({1}, {1, 1})});
  // One output element: every fused stage shows.
  ConvAttrs attrs = conv();
  attrs.activation = Activation::HardSigmoid;
  attrs.act_alpha = 0.125f;
  attrs.act_beta = 0.5f;
  expect_case({OpKind::Conv,
               {f32({1, 1, 1}, {2}), f32({1, 1, 1}, {3}), f32({1}, {-5}), f32({1, 1, 1}, {0.5})},
               {f32({1, 1, 1}, {0.6875})},
               attrs});
}

TEST(Conv, AutoPadding) {
  WindowSpec spec{{3}, {2}, {1}, {0, 0}, AutoPad::SameUpper, false};
  WindowDim w = resolve_window(spec, 0, 6);  // 3 windows cover 7: one element of padding
  EXPECT_EQ(std::tuple(w.output, w.pad_begin, w.pad_end), std::tuple(3, 0, 1));
  spec.auto_pad = AutoPad::SameLower;
  w = resolve_window(spec, 0, 6);
  EXPECT_EQ(std::tuple(w.output, w.pad_begin, w.pad_end), std::tuple(3, 1, 0));
  spec.auto_pad = AutoPad::Valid;
  EXPECT_EQ(resolve_window(spec, 0, 6).output, 2);
  // Rounding up drops a window that would start in the padding at the end.
  const WindowSpec up{{2}, {3}, {1}, {0, 2}, AutoPad::Explicit, true};
  EXPECT_EQ(resolve_window(up, 0, 3).output, 1);
  EXPECT_EQ(resolve_window(up, 0, 4).output, 2);
}

TEST(Conv, TapsAgreeWithOutputs) {
  const WindowSpec spec{{3}, {2}, {2}, {3, 2}, AutoPad::Explicit, false};
  const WindowDim w = resolve_window(spec, 0, 7);
  for (int64_t o = 0; o < w.output; ++o)
    for (int64_t k = 0; k < w.kernel; ++k) {
      const int64_t at = o * w.stride - w.pad_begin + k * w.dilation;
      const bool inside = at >= 0 && at < w.input;
      const auto [first_tap, last_tap] = w.taps(o);
      const auto [first, last] = w.outputs_of_tap(k);
      EXPECT_EQ(k >= first_tap && k < last_tap, inside) << o << " " << k;
      EXPECT_EQ(o >= first && o < last, inside) << o << " " << k;
    }
}

TEST(Conv, OpenDimensionsFlow) {
  const Dim n = sym("N"), h = sym("H");
  const auto w = typed(DType::F32, {8, 3, 3, 3});
  expect_types(OpKind::Conv, {typed(DType::F32, {n, 3, h, 224}), w}, conv({1, 1}, {1, 1, 1, 1}),
               {"f32[N,8,H,224]"});
  expect_types(OpKind::Conv, {typed(DType::F32, {n, 3, h, 224}), w}, conv({2, 2}, {1, 1, 1, 1}),
               {"f32[N,8,?,112]"});
  expect_types(OpKind::Conv, {unranked(DType::F32), w}, conv(), {"f32[?,8,?,?]"});
  ConvAttrs same = conv();
  same.auto_pad = AutoPad::SameLower;
  same.layout = Layout::ChannelsLast;
  expect_types(OpKind::Conv, {typed(DType::F32, {n, h, 5, 3}), typed(DType::F32, {4, 2, 2, 3})},
               same, {"f32[N,H,5,4]"});
  ConvTransposeAttrs up;
  up.strides = {2, 2};
  expect_types(OpKind::ConvTranspose,
               {typed(DType::F32, {n, 3, h, 5}), typed(DType::F32, {3, 4, 2, 2})}, up,
               {"f32[N,4,?,10]"});
  up.strides = {1, 1};
  up.pads = {1, 1, 1, 1};
  expect_types(OpKind::ConvTranspose,
               {typed(DType::F32, {n, 3, h, 5}), typed(DType::F32, {3, 4, 3, 3})}, up,
               {"f32[N,4,H,5]"});
}

TEST(Conv, Errors) {
  const auto x = typed(DType::F32, {1, 4, 8, 8});
  const auto w = typed(DType::F32, {6, 2, 3, 3});
  const auto expect = [&](const Known& image, const Known& filters, ConvAttrs attrs, Code code,
                          std::string_view text) {
    expect_infer_error(OpKind::Conv, {image, filters}, attrs, code, text);
  };
  ConvAttrs grouped = conv();
  grouped.groups = 2;
  expect_types(OpKind::Conv, {x, w}, grouped, {"f32[1,6,6,6]"});
  expect(x, w, conv(), Code::ShapeMismatch, "has 4 channels");
  grouped.groups = 3;
  expect(x, w, grouped, Code::BadValue, "3 groups");
  grouped.groups = 0;
  expect(x, w, grouped, Code::BadValue, "groups 0");
  grouped.groups = 2;
  grouped.strides = {0, 1};
  expect(x, w, grouped, Code::BadValue, "strides [0,1]");
  grouped.strides = {1};
  expect(x, w, grouped, Code::BadValue, "2 entries");
  grouped.strides = {};
  grouped.pads = {-1, 0, 0, 0};
  expect(x, w, grouped, Code::BadValue, "pads");
  grouped.pads = {0, 0, INT64_MAX, 0};
  expect(x, w, grouped, Code::BadValue, "pads");
  grouped.pads = {};
  grouped.dilations = {4, 4};
  expect(x, w, grouped, Code::ShapeMismatch, "window of 9 does not fit spatial size 8");
  expect(typed(DType::F32, {1, 4, 8}), w, conv(), Code::ShapeMismatch, "f32[1,4,8]");
  expect(typed(DType::F32, {1, 2}), typed(DType::F32, {1, 2}), conv(), Code::ShapeMismatch,
         "rank 3");
  expect(x, typed(DType::F16, {6, 4, 3, 3}), conv(), Code::TypeMismatch, "f16");
  expect(x, typed(DType::F32, {6, 4, 0, 3}), conv(), Code::BadValue, "kernel");
  expect(typed(DType::F32, {1, 1, INT64_MAX, 1}), typed(DType::F32, {1, 1, 1, 1}), conv(),
         Code::TooLarge, "too large");
  expect_infer_error(OpKind::Conv, {x, typed(DType::F32, {6, 4, 3, 3}), typed(DType::F32, {5})}, {},
                     Code::ShapeMismatch, "bias");
  expect_infer_error(OpKind::Conv,
                     {x, typed(DType::F32, {6, 4, 3, 3}), kAbsent, typed(DType::F32, {1, 6, 8, 8})},
                     {}, Code::ShapeMismatch, "residual");
}

TEST(ConvTranspose, Errors) {
  const auto x = typed(DType::F32, {1, 4, 8});
  const auto w = typed(DType::F32, {4, 2, 3});
  ConvTransposeAttrs attrs;
  attrs.pads = {5, 5};
  expect_infer_error(OpKind::ConvTranspose, {x, w}, attrs, Code::ShapeMismatch, "leave nothing");
  attrs.pads = {};
  attrs.strides = {int64_t{1} << 29};
  expect_types(OpKind::ConvTranspose, {x, w}, attrs, {"f32[1,2,3758096387]"});
  expect_infer_error(OpKind::ConvTranspose, {typed(DType::F32, {1, 4, 1 << 20}), w}, attrs,
                     Code::ShapeMismatch, "too large");
  attrs.strides = {};
  attrs.output_sizes = {0};
  expect_infer_error(OpKind::ConvTranspose, {x, w}, attrs, Code::BadValue, "output_sizes");
  expect_infer_error(OpKind::ConvTranspose, {x, typed(DType::F32, {3, 2, 3})}, {},
                     Code::ShapeMismatch, "has 4 channels");
}

TEST(DeformConv, Inference) {
  const Dim n = sym("N"), h = sym("H");
  DeformConvAttrs attrs;
  attrs.pads = {1, 1, 1, 1};
  const auto w = typed(DType::F32, {8, 4, 3, 3});
  expect_types(OpKind::DeformConv,
               {typed(DType::F32, {n, 4, h, 5}), w, typed(DType::F32, {n, 18, h, 5})}, attrs,
               {"f32[N,8,H,5]"});
  expect_infer_error(OpKind::DeformConv,
                     {typed(DType::F32, {1, 4, 5, 5}), w, typed(DType::F32, {1, 9, 5, 5})}, attrs,
                     Code::ShapeMismatch, "should be 18");
  attrs.offset_groups = 3;
  expect_infer_error(OpKind::DeformConv,
                     {typed(DType::F32, {1, 4, 5, 5}), w, typed(DType::F32, {1, 18, 5, 5})}, attrs,
                     Code::BadValue, "offset groups");
}

TEST(Col2Im, Inference) {
  expect_types(OpKind::Col2Im,
               {typed(DType::F32, {sym("N"), 8, 9}), i64({2}, {4, 4}), i64({2}, {2, 2})}, {},
               {"f32[N,2,4,4]"});
  expect_types(
      OpKind::Col2Im,
      {typed(DType::F32, {1, 8, sym("L")}), Known::shape_tensor({sym("H"), 4}), i64({2}, {2, 2})},
      {}, {"f32[1,2,H,4]"});
  expect_infer_error(OpKind::Col2Im,
                     {typed(DType::F32, {1, 8, 8}), i64({2}, {4, 4}), i64({2}, {2, 2})}, {},
                     Code::ShapeMismatch, "are 9");
  expect_infer_error(OpKind::Col2Im,
                     {typed(DType::F32, {1, 7, 9}), i64({2}, {4, 4}), i64({2}, {2, 2})}, {},
                     Code::ShapeMismatch, "multiple");
  expect_infer_error(OpKind::Col2Im,
                     {typed(DType::F32, {1, 8, 9}), i64({2}, {4, 4}), i64({2}, {0, 2})}, {},
                     Code::BadValue, "block");
}

}  // namespace
}  // namespace ec::test
