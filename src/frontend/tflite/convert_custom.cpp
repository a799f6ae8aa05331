// Custom operators: those whose meaning is published have converters, all others are kept as they
// are.
#include <cstring>

#include "frontend/tflite/custom.h"
#include "frontend/tflite/importer.h"
#include "frontend/tflite/table.h"
#include "frontend/tflite/types.h"
#include "ir/base64.h"

namespace ec::tflite {

Result<FlexMap> option_map(const OpContext& ctx) {
  Result<FlexMap> opened = FlexMap::open(ctx.importer().file().custom_options(ctx.source()));
  if (!opened.ok()) return ctx.fail(Code::CorruptFile, opened.error().message());
  return std::move(*opened);
}

Result<int64_t> need_option(const OpContext& ctx, const FlexMap& map, const char* key,
                            int64_t least, int64_t most) {
  const auto value = map.integer(key);
  if (!value) return ctx.fail(Code::BadAttribute, "option '" + std::string(key) + "' is missing");
  if (*value >= least && *value <= most) return *value;
  return ctx.fail(Code::BadAttribute,
                  "option '" + std::string(key) + "' is " + std::to_string(*value));
}

Result<std::vector<int32_t>> option_words(const OpContext& ctx, size_t at_least) {
  const Blob bytes = ctx.importer().file().custom_options(ctx.source());
  constexpr size_t kMost = 16;
  std::vector<int32_t> words(std::min(bytes.size() / sizeof(int32_t), kMost));
  if (words.size() < at_least)
    return ctx.fail(Code::CorruptFile, "the options have " + std::to_string(bytes.size()) +
                                           " bytes, " + std::to_string(4 * at_least) +
                                           " are needed");
  std::memcpy(words.data(), bytes.bytes().data(), words.size() * sizeof(int32_t));
  return words;
}

int32_t custom_version(const OpContext& ctx) {
  return ctx.importer().file().code_of(ctx.source()).version();
}

namespace {

Result<DetectionAttrs> detection_attrs(const OpContext& ctx) {
  EC_TRY(const FlexMap map, option_map(ctx));
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
  EC_TRY(const DetectionAttrs attrs, detection_attrs(ctx));
  std::vector<ec::Tensor*> inputs;
  for (size_t i = 0; i < 3; ++i) {
    ec::Tensor* x = ctx.in(i);
    if (x->type().quant) {
      EC_TRY(x, ctx.add(OpKind::Dequantize, {x}, DequantizeAttrs{}));
    }
    inputs.push_back(x);
  }
  return ctx.finish(OpKind::DetectionPostProcess, std::move(inputs), attrs);
}

constexpr CustomRow kDetectionRows[] = {
    {"TFLite_Detection_PostProcess", {3, 3}, {4, 4}, detection},
};

const CustomRow* find_custom(std::string_view code) {
  for (const auto rows :
       {std::span<const CustomRow>(kDetectionRows), kMediapipeRows, kLandmarkRows, kSignalRows})
    for (const CustomRow& row : rows)
      if (row.code == code) return &row;
  return nullptr;
}

Status convert_known(OpContext& ctx, const CustomRow& row) {
  const std::vector<ec::Tensor*> inputs = ctx.tensors();
  if (!row.inputs.accepts(inputs.size()) || !row.outputs.accepts(ctx.num_outputs()))
    return ctx.fail(Code::BadArity, std::to_string(inputs.size()) + " inputs and " +
                                        std::to_string(ctx.num_outputs()) + " outputs do not fit");
  for (const ec::Tensor* input : inputs)
    if (input == nullptr) return ctx.fail(Code::BadArity, "an input is missing");
  return row.convert(ctx);
}

Status custom(OpContext& ctx) {
  const ModelFile& file = ctx.importer().file();
  CustomAttrs attrs;
  attrs.code = text_of(file.code_of(ctx.source()).custom_code());
  if (const CustomRow* row = find_custom(attrs.code)) return convert_known(ctx, *row);
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
