// Custom operators: detection's last step is known, all others are kept as they are.
#include "formats/tflite/flex_map.h"
#include "frontend/tflite/importer.h"
#include "frontend/tflite/table.h"
#include "frontend/tflite/types.h"
#include "ir/base64.h"

namespace ec::tflite {
namespace {

Result<DetectionAttrs> detection_attrs(const OpContext& ctx) {
  Result<FlexMap> opened = FlexMap::open(ctx.importer().file().custom_options(ctx.source()));
  if (!opened.ok()) return ctx.fail(Code::CorruptFile, opened.error().message());
  const FlexMap& map = *opened;
  DetectionAttrs attrs;
  const auto integer = [&](const char* key, int64_t& to) { to = map.integer(key).value_or(to); };
  const auto real = [&](const char* key, float& to) {
    to = static_cast<float>(map.number(key).value_or(double{to}));
  };
  integer("max_detections", attrs.max_detections);
  integer("max_classes_per_detection", attrs.max_classes_per_detection);
  integer("detections_per_class", attrs.detections_per_class);
  integer("num_classes", attrs.num_classes);
  attrs.regular_nms = map.integer("use_regular_nms").value_or(0) != 0;
  real("nms_score_threshold", attrs.score_threshold);
  real("nms_iou_threshold", attrs.iou_threshold);
  real("y_scale", attrs.y_scale);
  real("x_scale", attrs.x_scale);
  real("h_scale", attrs.h_scale);
  real("w_scale", attrs.w_scale);
  return attrs;
}

Status detection(OpContext& ctx) {
  if (ctx.num_inputs() != 3 || ctx.num_outputs() != 4)
    return ctx.fail(Code::BadArity, "three inputs and four outputs are needed");
  EC_TRY(const DetectionAttrs attrs, detection_attrs(ctx));
  std::vector<ec::Tensor*> inputs;
  for (size_t i = 0; i < 3; ++i) {
    ec::Tensor* x = ctx.in(i);
    if (x == nullptr) return ctx.fail(Code::BadArity, "an input is missing");
    if (x->type().quant) {
      EC_TRY(x, ctx.add(OpKind::Dequantize, {x}, DequantizeAttrs{}));
    }
    inputs.push_back(x);
  }
  return ctx.finish(OpKind::DetectionPostProcess, std::move(inputs), attrs);
}

Status custom(OpContext& ctx) {
  const ModelFile& file = ctx.importer().file();
  CustomAttrs attrs;
  attrs.code = text_of(file.code_of(ctx.source()).custom_code());
  if (attrs.code == "TFLite_Detection_PostProcess") return detection(ctx);
  const Blob options = file.custom_options(ctx.source());
  if (!ctx.importer().may_copy(2 * options.size()))
    return ctx.fail(Code::TooLarge, "the options of custom operators exceed the limit");
  attrs.options = base64_encode(options.bytes());
  std::vector<ec::TensorType> types;
  for (size_t i = 0; i < ctx.num_outputs(); ++i) {
    EC_TRY(const DType dtype, ctx.out_dtype(i));
    types.push_back(declared_type(ctx.declared(i), dtype));
  }
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = ctx.location();
  EC_TRY(Operation * op,
         ctx.graph().add_typed(OpKind::Custom, ctx.tensors(), std::move(spec), std::move(types)));
  for (size_t i = 0; i < op->outputs().size(); ++i) EC_CHECK_OK(ctx.set(i, op->output(i)));
  return {};
}

constexpr OpRow kRows[] = {
    {BuiltinOperator::CUSTOM, {0, kMany}, {0, kMany}, custom, true},
};

}  // namespace

const std::span<const OpRow> kCustomRows = kRows;

}  // namespace ec::tflite
