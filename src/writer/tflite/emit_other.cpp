// Operators that only files of this format have: blocks in the batch, updates in place, operators
// of other programs.
#include "ir/base64.h"
#include "writer/tflite/emitter.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

Status emit_reverse(OpEmitter& e) {
  std::vector<int64_t> axes;
  for (const int64_t axis : e.attrs<ReverseAttrs>().axes)
    axes.push_back(positive_axis(axis, e.rank()));
  e.add(Op::REVERSE_V2, {e.in(0), e.ints(axes)}, {e.out()},
        options(BuiltinOptions::ReverseV2Options, CreateReverseV2Options(e.fbb())));
  return {};
}

Status emit_space_to_batch(OpEmitter& e) {
  EC_TRY(const int32_t block, e.int32_operand(1));
  EC_TRY(const int32_t pads, e.int32_operand(2));
  e.add(Op::SPACE_TO_BATCH_ND, {e.in(0), block, pads}, {e.out()},
        options(BuiltinOptions::SpaceToBatchNDOptions, CreateSpaceToBatchNDOptions(e.fbb())));
  return {};
}

Status emit_batch_to_space(OpEmitter& e) {
  EC_TRY(const int32_t block, e.int32_operand(1));
  EC_TRY(const int32_t crops, e.int32_operand(2));
  e.add(Op::BATCH_TO_SPACE_ND, {e.in(0), block, crops}, {e.out()},
        options(BuiltinOptions::BatchToSpaceNDOptions, CreateBatchToSpaceNDOptions(e.fbb())));
  return {};
}

Status emit_dynamic_update_slice(OpEmitter& e) {
  EC_TRY(const int32_t starts, e.int32_operand(2));
  e.add(
      Op::DYNAMIC_UPDATE_SLICE, {e.in(0), e.in(1), starts}, {e.out()},
      options(BuiltinOptions::DynamicUpdateSliceOptions, CreateDynamicUpdateSliceOptions(e.fbb())));
  return {};
}

Status emit_fake_quant(OpEmitter& e) {
  const auto& attrs = e.attrs<FakeQuantAttrs>();
  e.add(Op::FAKE_QUANT, {e.in(0)}, {e.out()},
        options(BuiltinOptions::FakeQuantOptions,
                CreateFakeQuantOptions(e.fbb(), attrs.min, attrs.max,
                                       static_cast<int32_t>(attrs.num_bits), attrs.narrow_range)),
        attrs.narrow_range ? 2 : 1);
  return {};
}

Status emit_custom(OpEmitter& e) {
  const auto& attrs = e.attrs<CustomAttrs>();
  if (attrs.code.empty()) return e.fail("a custom operator without a name");
  const auto bytes = base64_decode(attrs.options);
  if (!bytes) return e.fail("options that are no base64 text");
  std::vector<uint8_t> option_bytes;
  for (const auto byte : *bytes) option_bytes.push_back(static_cast<uint8_t>(byte));
  e.add_custom(attrs.code, std::move(option_bytes));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Reverse, emit_reverse},
    {OpKind::SpaceToBatch, emit_space_to_batch},
    {OpKind::BatchToSpace, emit_batch_to_space},
    {OpKind::DynamicUpdateSlice, emit_dynamic_update_slice},
    {OpKind::FakeQuant, emit_fake_quant},
    {OpKind::Custom, emit_custom},
};

}  // namespace

const std::span<const EmitRow> kEmitOther = kRows;

}  // namespace ec::tflite
