// Instance and group normalisation in both layouts.
#include "runtime/kernels/transpose.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

struct GroupShape {
  int64_t batch, channels, pixels, groups;
  float epsilon;

  int64_t per_group() const { return channels / groups * pixels; }
};

// One group of one image, channels first: normalise as a row, then scale and shift its channels.
void normalise(const kernels::KernelTable& table, const GroupShape& s, int64_t task, const float* x,
               float* y, const float* scale, const float* bias) {
  const int64_t n = s.per_group();
  kernels::NormArgs a;
  a.x = x + task * n;
  a.y = y + task * n;
  a.n = n;
  a.epsilon = s.epsilon;
  table.norm_rows(a);
  const kernels::UnaryFn affine = table.unary[static_cast<size_t>(kernels::UnaryOp::Affine)];
  const int64_t channels = s.channels / s.groups;
  const int64_t first = task % s.groups * channels;
  for (int64_t c = 0; c < channels; ++c) {
    float* row = a.y + c * s.pixels;
    affine(row, row, s.pixels, scale[first + c], bias[first + c]);
  }
}

Prepared prepare_groups(const OpInstance& op, const GroupShape& s, Layout layout,
                        const PrepareContext& ctx) {
  const kernels::KernelTable* table = &ctx.table;
  if (layout == Layout::ChannelsFirst) {
    return make_op(
        [=](const RunArgs& args) {
          args.pool.parallel_for(s.batch * s.groups, [&](int64_t task, int) {
            normalise(*table, s, task, args.in(0), args.out(), args.in(1), args.in(2));
          });
        },
        0, 0b1);
  }
  const std::vector<int64_t> perm = {0, 2, 1};
  const kernels::TransposePlan to_first(std::vector<int64_t>{s.batch, s.pixels, s.channels}, perm,
                                        4);
  const kernels::TransposePlan to_last(std::vector<int64_t>{s.batch, s.channels, s.pixels}, perm,
                                       4);
  return make_op(
      [=](const RunArgs& args) {
        auto* work = reinterpret_cast<float*>(args.scratch);
        to_first.run(*table, args.inputs[0], args.scratch, args.pool);
        args.pool.parallel_for(s.batch * s.groups, [&](int64_t task, int) {
          normalise(*table, s, task, work, work, args.in(1), args.in(2));
        });
        to_last.run(*table, args.scratch, args.outputs[0], args.pool);
      },
      static_cast<size_t>(op.output().count()) * sizeof(float), 0b1);
}

}  // namespace

Prepared group_norm(const OpInstance& op, const PrepareContext& ctx) {
  const OperandInfo& x = op.input(0);
  if (!all_f32(op) || x.rank() < 3) return nullptr;
  const bool instance = op.op.kind() == OpKind::InstanceNorm;
  const Layout layout =
      instance ? op.attrs<InstanceNormAttrs>().layout : op.attrs<GroupNormAttrs>().layout;
  GroupShape s{};
  s.batch = x.shape[0];
  s.channels = layout == Layout::ChannelsFirst ? x.shape[1] : x.shape.back();
  s.pixels = x.count() / (s.batch * s.channels);
  s.groups = instance ? s.channels : op.attrs<GroupNormAttrs>().groups;
  s.epsilon = instance ? op.attrs<InstanceNormAttrs>().epsilon : op.attrs<GroupNormAttrs>().epsilon;
  if (op.input(1).count() != s.channels || op.input(2).count() != s.channels) return nullptr;
  return prepare_groups(op, s, layout, ctx);
}

}  // namespace ec::prepare
