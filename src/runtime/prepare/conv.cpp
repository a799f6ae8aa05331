// Convolutions of one, two and three spatial dimensions in both layouts.
//
// The kernels work on NHWC. A channels-first operation is brought there and back by transposition
// inside the operation; the layout pass makes such operations rare.
#include "runtime/kernels/conv2d.h"

#include "ops/window.h"
#include "runtime/kernels/conv_transpose.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/transpose.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

using kernels::Conv2dShape;
using kernels::WeightStrides;

// Channels-first images to channels-last and back; nothing to do when one of the two is trivial.
class LayoutBridge {
 public:
  LayoutBridge(int64_t batch, int64_t channels, int64_t pixels)
      : count_(batch * channels * pixels),
        trivial_(channels == 1 || pixels == 1),
        to_last_(std::vector<int64_t>{batch, channels, pixels}, std::vector<int64_t>{0, 2, 1}, 4),
        to_first_(std::vector<int64_t>{batch, pixels, channels}, std::vector<int64_t>{0, 2, 1}, 4) {
  }
  bool trivial() const { return trivial_; }
  size_t bytes() const { return trivial_ ? 0 : align_up(static_cast<size_t>(count_) * 4); }
  void to_last(const kernels::KernelTable& table, const float* x, float* y,
               kernels::ThreadPool& pool) const {
    to_last_.run(table, reinterpret_cast<const std::byte*>(x), reinterpret_cast<std::byte*>(y),
                 pool);
  }
  void to_first(const kernels::KernelTable& table, const float* x, float* y,
                kernels::ThreadPool& pool) const {
    to_first_.run(table, reinterpret_cast<const std::byte*>(x), reinterpret_cast<std::byte*>(y),
                  pool);
  }

 private:
  int64_t count_;
  bool trivial_;
  kernels::TransposePlan to_last_;
  kernels::TransposePlan to_first_;
};

// Both kinds of convolution behind one call.
template <class Kernel>
class ConvOp final : public PreparedOp {
 public:
  ConvOp(Kernel kernel, const Conv2dShape& s, Layout layout, bool residual,
         const PrepareContext& ctx)
      : kernel_(std::move(kernel)),
        table_(&ctx.table),
        in_(s.batch, s.in_c, s.in_d * s.in_h * s.in_w),
        out_(s.batch, s.out_c, s.out_d * s.out_h * s.out_w),
        first_(layout == Layout::ChannelsFirst),
        residual_(residual),
        work_(align_up(kernel_.scratch_bytes(ctx.threads))) {}

  size_t scratch_bytes() const override {
    if (!first_) return work_;
    return work_ + in_.bytes() + out_.bytes() * (residual_ ? 2 : 1);
  }

  size_t packed_bytes() const override { return kernel_.packed_bytes(); }

  bool in_place(size_t i) const override {
    if constexpr (requires { kernel_.residual_in_place(); })
      return i == 3 && residual_ && !first_ && kernel_.residual_in_place();
    return false;
  }

  Status run(const RunArgs& args) override {
    const float* x = args.in(0);
    const float* residual = residual_ ? args.in(3) : nullptr;
    float* y = args.out();
    if (!first_) {
      call(x, y, residual, args);
      return {};
    }
    std::byte* at = args.scratch + work_;
    if (!in_.trivial()) {
      auto* copy = reinterpret_cast<float*>(at);
      in_.to_last(*table_, x, copy, args.pool);
      x = copy;
      at += in_.bytes();
    }
    if (out_.trivial()) {
      call(x, y, residual, args);
      return {};
    }
    auto* result = reinterpret_cast<float*>(at);
    if (residual != nullptr) {
      auto* copy = reinterpret_cast<float*>(at + out_.bytes());
      out_.to_last(*table_, residual, copy, args.pool);
      residual = copy;
    }
    call(x, result, residual, args);
    out_.to_first(*table_, result, y, args.pool);
    return {};
  }

 private:
  void call(const float* x, float* y, const float* residual, const RunArgs& args) const {
    if constexpr (requires { kernel_.takes_residual(); }) {
      kernel_.run(x, y, residual, args.pool, args.scratch);
    } else {
      kernel_.run(x, y, args.pool, args.scratch);
    }
  }

  Kernel kernel_;
  const kernels::KernelTable* table_;
  LayoutBridge in_;
  LayoutBridge out_;
  bool first_;
  bool residual_;
  size_t work_;
};

// Sizes of an image operand; those with fewer spatial dimensions have size 1 in the others.
struct Image {
  int64_t n, c, d, h, w;
};

Image image_of(const OperandInfo& info, Layout layout) {
  const std::vector<int64_t> s = channels_first_shape(layout, info.shape);
  const size_t r = s.size();
  return {s[0], s[1], r > 4 ? s[r - 3] : 1, r > 3 ? s[r - 2] : 1, s[r - 1]};
}

bool is_image(const OperandInfo& info) { return info.rank() >= 3 && info.rank() <= 5; }

// Strides of weights (first, second, z, y, x) or (first, z, y, x, second), by layout.
struct Strides {
  int64_t first, second, plane, row, column;
};

Strides weight_strides(const OperandInfo& w, Layout layout) {
  const Image k = image_of(w, layout);
  if (layout == Layout::ChannelsFirst)
    return {k.c * k.d * k.h * k.w, k.d * k.h * k.w, k.h * k.w, k.w, 1};
  return {k.d * k.h * k.w * k.c, 1, k.h * k.w * k.c, k.w * k.c, k.c};
}

template <class Dim>
void set_windows(Conv2dShape& s, const std::vector<Dim>& dims) {
  const Dim& x = dims.back();
  s.kernel_w = x.kernel;
  s.stride_w = x.stride;
  s.dilation_w = x.dilation;
  s.pad_left = x.pad_begin;
  if (dims.size() == 1) return;
  const Dim& y = dims[dims.size() - 2];
  s.kernel_h = y.kernel;
  s.stride_h = y.stride;
  s.dilation_h = y.dilation;
  s.pad_top = y.pad_begin;
  if (dims.size() == 2) return;
  const Dim& z = dims.front();
  s.kernel_d = z.kernel;
  s.stride_d = z.stride;
  s.dilation_d = z.dilation;
  s.pad_front = z.pad_begin;
}

void set_images(Conv2dShape& s, const Image& in, const Image& out) {
  s.batch = in.n;
  s.in_c = in.c;
  s.in_d = in.d;
  s.out_d = out.d;
  s.in_h = in.h;
  s.in_w = in.w;
  s.out_c = out.c;
  s.out_h = out.h;
  s.out_w = out.w;
}

// The depthwise kernel takes no residual: it is added, and the activation applied, afterwards.
Prepared add_late(Prepared core, const OpInstance& op, kernels::Epilogue epilogue,
                  const PrepareContext& ctx) {
  const kernels::BinaryPlan plan(op.output().shape, op.input(3).shape);
  const kernels::KernelTable* table = &ctx.table;
  const size_t scratch = core->scratch_bytes();
  const size_t packed = core->packed_bytes();
  return make_op(
      [core = std::shared_ptr<PreparedOp>(std::move(core)), plan, table,
       epilogue](const RunArgs& args) -> Status {
        EC_CHECK_OK(core->run(args));
        plan.run(*table, kernels::BinaryOp::Add, args.out(), args.in(3), args.out(), args.pool,
                 epilogue);
        return {};
      },
      scratch, 0, packed);
}

bool constant_bias(const OpInstance& op) { return !op.has(2) || op.input(2).constant != nullptr; }

}  // namespace

Prepared conv(const OpInstance& op, const PrepareContext& ctx) {
  if (!all_f32(op) || !is_image(op.input(0)) || op.input(1).constant == nullptr ||
      !constant_bias(op))
    return nullptr;
  const auto& attrs = op.attrs<ConvAttrs>();
  Conv2dShape s;
  set_images(s, image_of(op.input(0), attrs.layout), image_of(op.output(), attrs.layout));
  const WindowSpec spec = window_spec(attrs, spatial_sizes(attrs.layout, op.input(1).shape));
  set_windows(s, resolve_windows(spec, spatial_sizes(attrs.layout, op.input(0).shape)));
  s.groups = attrs.groups;
  const bool residual = op.has(3);
  if (residual && op.input(3).shape != op.output().shape) return nullptr;
  const Strides w = weight_strides(op.input(1), attrs.layout);
  const float* bias = op.has(2) ? op.input(2).f32() : nullptr;
  const kernels::Epilogue epilogue = epilogue_of(attrs.activation, attrs.act_alpha, attrs.act_beta);
  const bool late = residual && kernels::Conv2d::is_depthwise(s);
  kernels::Conv2d kernel(ctx.table, s, op.input(1).f32(),
                         {w.first, w.second, w.row, w.column, w.plane}, bias,
                         late ? kernels::Epilogue{} : epilogue);
  Prepared core = std::make_unique<ConvOp<kernels::Conv2d>>(std::move(kernel), s, attrs.layout,
                                                            residual && !late, ctx);
  return late ? add_late(std::move(core), op, epilogue, ctx) : std::move(core);
}

Prepared conv_transpose(const OpInstance& op, const PrepareContext& ctx) {
  if (!all_f32(op) || !is_image(op.input(0)) || op.input(0).rank() == 5 ||
      op.input(1).constant == nullptr || !constant_bias(op))
    return nullptr;
  const auto& attrs = op.attrs<ConvTransposeAttrs>();
  Conv2dShape s;
  set_images(s, image_of(op.input(0), attrs.layout), image_of(op.output(), attrs.layout));
  const WindowSpec spec = window_spec(attrs, spatial_sizes(attrs.layout, op.input(1).shape));
  const std::vector<int64_t> sizes = spatial_sizes(attrs.layout, op.input(0).shape);
  std::vector<TransposedDim> dims;
  for (size_t d = 0; d < sizes.size(); ++d)
    dims.push_back(resolve_transposed(attrs, spec, d, sizes[d]));
  set_windows(s, dims);
  s.groups = attrs.groups;
  const Strides w = weight_strides(op.input(1), attrs.layout);
  const float* bias = op.has(2) ? op.input(2).f32() : nullptr;
  kernels::ConvTranspose2d kernel(ctx.table, s, op.input(1).f32(),
                                  {w.second, w.first, w.row, w.column, 0}, bias,
                                  epilogue_of(attrs.activation, attrs.act_alpha, attrs.act_beta));
  return std::make_unique<ConvOp<kernels::ConvTranspose2d>>(std::move(kernel), s, attrs.layout,
                                                            false, ctx);
}

}  // namespace ec::prepare
