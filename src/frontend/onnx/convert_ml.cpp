// Operators of ai.onnx.ml that are plain arithmetic on tensors.
#include "frontend/onnx/table.h"

namespace ec::onnx {
namespace {

ec::Tensor* floats(NodeContext& ctx, const std::vector<float>& values, Shape shape) {
  return ctx.graph().add_constant<float>("", std::move(shape), std::span<const float>(values));
}

ec::Tensor* float_row(NodeContext& ctx, const std::vector<float>& values) {
  // One value stands for all features.
  if (values.size() == 1) return ctx.scalar(DType::F32, values[0]);
  return floats(ctx, values, Shape{static_cast<int64_t>(values.size())});
}

// Columns of the last dimension, by index.
Status array_feature_extractor(NodeContext& ctx) {
  EC_TRY(const size_t rank, ctx.rank());
  ec::Tensor* x = ctx.in(0);
  if (rank == 0) return ctx.fail(Code::ShapeMismatch, "the input has no dimensions");
  if (rank == 1) {
    EC_TRY(x, ctx.unsqueeze(x, std::vector<int64_t>{0}));
  }
  EC_TRY(ec::Tensor * indices, ctx.reshape(ctx.in(1), std::vector<int64_t>{-1}));
  GatherAttrs attrs;
  attrs.axis = rank == 1 ? 1 : static_cast<int64_t>(rank) - 1;
  return ctx.finish(OpKind::Gather, {x, indices}, attrs);
}

Status binarizer(NodeContext& ctx) {
  const double threshold = ctx.attr_float("threshold", 0.0f);
  EC_TRY(ec::Tensor * above,
         ctx.add(OpKind::Greater, {ctx.in(0), ctx.scalar(ctx.dtype(), threshold)}));
  CastAttrs attrs;
  attrs.to = ctx.dtype();
  return ctx.finish(OpKind::Cast, {above}, attrs);
}

// (x - offset) * scale
Status scaler(NodeContext& ctx) {
  const std::vector<float> offset = ctx.attr_floats("offset"), scale = ctx.attr_floats("scale");
  EC_TRY(ec::Tensor * x, ctx.cast(ctx.in(0), DType::F32));
  if (!offset.empty()) {
    EC_TRY(x, ctx.add(OpKind::Sub, {x, float_row(ctx, offset)}));
  }
  if (scale.empty()) return ctx.set(0, x), ok_status();
  return ctx.finish(OpKind::Mul, {x, float_row(ctx, scale)});
}

Status normalizer(NodeContext& ctx) {
  constexpr std::string_view kNorms[] = {"MAX", "L1", "L2"};
  constexpr OpKind kKinds[] = {OpKind::ReduceMax, OpKind::ReduceL1, OpKind::ReduceL2};
  const OpKind kind = kKinds[ctx.attr_choice("norm", kNorms, 0)];
  EC_TRY(ec::Tensor * x, ctx.cast(ctx.in(0), DType::F32));
  EC_TRY(ec::Tensor * norm, ctx.add(kind, {x, ctx.ints({-1})}, ReduceAttrs{}));
  return ctx.finish(OpKind::Div, {x, norm});
}

// Replaces one value, which may be NaN.
Status imputer(NodeContext& ctx) {
  const std::vector<float> values = ctx.attr_floats("imputed_value_floats");
  const std::vector<int64_t> ints = ctx.attr_ints("imputed_value_int64s");
  const float replaced = ctx.attr_float("replaced_value_float", 0.0f);
  const auto replaced_int = static_cast<double>(ctx.attr_int("replaced_value_int64", 0));
  ec::Tensor* x = ctx.in(0);
  if (is_float(ctx.dtype())) {
    if (values.empty()) return ctx.fail(Code::BadAttribute, "'imputed_value_floats' is missing");
    ec::Tensor* missing = nullptr;
    if (replaced != replaced) {
      EC_TRY(missing, ctx.add(OpKind::IsNan, {x}));
    } else {
      EC_TRY(missing, ctx.add(OpKind::Equal, {x, ctx.scalar(ctx.dtype(), replaced)}));
    }
    EC_TRY(ec::Tensor * row, ctx.cast(float_row(ctx, values), ctx.dtype()));
    return ctx.finish(OpKind::Where, {missing, row, x});
  }
  if (ints.empty()) return ctx.fail(Code::BadAttribute, "'imputed_value_int64s' is missing");
  EC_TRY(ec::Tensor * missing, ctx.add(OpKind::Equal, {x, ctx.scalar(ctx.dtype(), replaced_int)}));
  EC_TRY(ec::Tensor * row, ctx.cast(ctx.ints(ints), ctx.dtype()));
  return ctx.finish(OpKind::Where, {missing, row, x});
}

Status feature_vectorizer(NodeContext& ctx) {
  ctx.ignore_attr("inputdimensions");
  std::vector<ec::Tensor*> parts;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    if (ctx.in(i) == nullptr) return ctx.fail(Code::BadArity, "an input has no name");
    EC_TRY(ec::Tensor * part, ctx.cast(ctx.in(i), DType::F32));
    parts.push_back(part);
  }
  AxisAttrs attrs;
  attrs.axis = -1;
  return ctx.finish(OpKind::Concat, parts, attrs);
}

// post_transform of the linear and tree models.
Status finish_scores(NodeContext& ctx, ec::Tensor* scores) {
  constexpr std::string_view kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC"};
  const size_t transform = ctx.attr_choice("post_transform", kTransforms, 0);
  AxisAttrs last;
  last.axis = -1;
  if (transform == 1) return ctx.finish(OpKind::Softmax, {scores}, last);
  if (transform == 2) return ctx.finish(OpKind::Sigmoid, {scores});
  ctx.set(0, scores);
  return {};
}

// x W^T + b with W [targets, features]
Status linear_regressor(NodeContext& ctx) {
  const std::vector<float> weights = ctx.attr_floats("coefficients");
  const std::vector<float> bias = ctx.attr_floats("intercepts");
  const int64_t targets = ctx.attr_int("targets", 1);
  if (targets < 1 || weights.empty() || weights.size() % static_cast<size_t>(targets) != 0)
    return ctx.fail(Code::BadAttribute, "'coefficients' does not fit 'targets'");
  EC_TRY(ec::Tensor * x, ctx.cast(ctx.in(0), DType::F32));
  const auto features = static_cast<int64_t>(weights.size()) / targets;
  GemmAttrs attrs;
  attrs.transpose_b = true;
  EC_TRY(ec::Tensor * scores, ctx.add(OpKind::Gemm,
                                      {x, floats(ctx, weights, Shape{targets, features}),
                                       bias.empty() ? nullptr : float_row(ctx, bias)},
                                      attrs));
  return finish_scores(ctx, scores);
}

constexpr Arity k1{1, 1}, k2{2, 2};

constexpr OpRow kRows[] = {
    {"ArrayFeatureExtractor", 1, kLatest, k2, k1, array_feature_extractor},
    {"Binarizer", 1, kLatest, k1, k1, binarizer},
    {"Scaler", 1, kLatest, k1, k1, scaler},
    {"Normalizer", 1, kLatest, k1, k1, normalizer},
    {"Imputer", 1, kLatest, k1, k1, imputer},
    {"FeatureVectorizer", 1, kLatest, {1, kMany}, k1, feature_vectorizer},
    {"LinearRegressor", 1, kLatest, k1, k1, linear_regressor},
};

}  // namespace

const std::span<const OpRow> kMlRows = kRows;

}  // namespace ec::onnx
