// Elements by index: gathered, scattered, marked, found.
#include <algorithm>

#include "writer/tflite/emitter.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

bool is_zero(const ec::Tensor& tensor) {
  const auto bytes = tensor.raw_data().bytes();
  return tensor.is_constant() &&
         std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

Status emit_gather(OpEmitter& e) {
  const auto axis = static_cast<int32_t>(positive_axis(e.attrs<GatherAttrs>().axis, e.rank()));
  EC_TRY(const int32_t indices, e.int32_operand(1));
  e.add(Op::GATHER, {e.in(0), indices}, {e.out()},
        options(BuiltinOptions::GatherOptions, CreateGatherOptions(e.fbb(), axis)));
  return {};
}

// Batches with one index each along the dimension after theirs are what GATHER has options for.
Status emit_gather_nd(OpEmitter& e) {
  const auto batch = static_cast<int32_t>(e.attrs<GatherNdAttrs>().batch_dims);
  EC_TRY(int32_t indices, e.int32_operand(1));
  if (batch == 0) {
    e.add(Op::GATHER_ND, {e.in(0), indices}, {e.out()},
          options(BuiltinOptions::GatherNdOptions, CreateGatherNdOptions(e.fbb())));
    return {};
  }
  const std::optional<Shape>& shape = e.input(1).shape();
  if (!shape || !(shape->dims().back().is_static() && shape->dims().back().size() == 1))
    return e.fail("batch dimensions", std::string(kPipelineHint));
  if (written_operand(e.op(), 1)->shape()->rank() == shape->rank()) {
    EC_CHECK_OK(e.require_static(e.input(1)));
    Shape flat = *shape;
    flat.dims().pop_back();
    const std::vector<int64_t> sizes = flat.sizes();
    indices = e.step(Op::RESHAPE, {indices, e.ints(sizes)}, ec::TensorType(DType::I32, flat));
  }
  e.add(Op::GATHER, {e.in(0), indices}, {e.out()},
        options(BuiltinOptions::GatherOptions, CreateGatherOptions(e.fbb(), batch, batch)), 5);
  return {};
}

// The operator adds to zeros; what is there already is added behind it.
Status emit_scatter_nd(OpEmitter& e) {
  if (e.attrs<ScatterNdAttrs>().reduction != Reduction::Add)
    return e.fail("a reduction other than addition", std::string(kPipelineHint));
  if (e.dtype() == DType::Bool) return e.fail("sums of truth values");
  // The operator adds what is stored, zero points included.
  if (e.input(0).type().quant || e.input(2).type().quant)
    return e.fail("sums of integers with parameters");
  EC_TRY(const int32_t indices, e.int32_operand(1));
  const ec::Tensor& x = e.input(0);
  const Options opts = options(BuiltinOptions::ScatterNdOptions, CreateScatterNdOptions(e.fbb()));
  if (written_operand(e.op(), 0) != &x) {
    EC_TRY(const int32_t shape, e.int32_operand(0));
    return e.add(Op::SCATTER_ND, {indices, e.in(2), shape}, {e.out()}, opts), ok_status();
  }
  EC_CHECK_OK(e.require_static(x));
  const int32_t shape = e.ints(x.shape()->sizes());
  if (is_zero(x))
    return e.add(Op::SCATTER_ND, {indices, e.in(2), shape}, {e.out()}, opts), ok_status();
  const int32_t sum = e.step(Op::SCATTER_ND, {indices, e.in(2), shape}, x.type(), opts);
  e.add(Op::ADD, {e.in(0), sum}, {e.out()},
        options(BuiltinOptions::AddOptions, CreateAddOptions(e.fbb())));
  return {};
}

// Coordinates as rows; the graph has them as columns.
Status emit_non_zero(OpEmitter& e) {
  const Operation* transpose = e.graph().only_reader(e.op().output(), OpKind::Transpose);
  if (transpose != nullptr &&
      transpose->attrs_as<TransposeAttrs>().perm == std::vector<int64_t>{1, 0}) {
    e.graph().take_along(transpose);
    e.add(Op::WHERE, {e.in(0)}, {e.graph().tensor(transpose->output())},
          options(BuiltinOptions::WhereOptions, CreateWhereOptions(e.fbb())));
    return {};
  }
  Shape rows{Dim::unknown(), Dim(static_cast<int64_t>(e.rank()))};
  const int32_t indices =
      e.step(Op::WHERE, {e.in(0)}, ec::TensorType(DType::I64, std::move(rows)),
             options(BuiltinOptions::WhereOptions, CreateWhereOptions(e.fbb())));
  const int64_t swap[] = {1, 0};
  e.add(Op::TRANSPOSE, {indices, e.ints(swap)}, {e.out()},
        options(BuiltinOptions::TransposeOptions, CreateTransposeOptions(e.fbb())));
  return {};
}

// one_hot(indices, depth, values [off, on])
Status emit_one_hot(OpEmitter& e) {
  const auto depth = scalar_value(e.op().input(1));
  const ec::Tensor& values = e.input(2);
  if (!depth || !values.is_constant()) return e.fail("depth or values that are computed");
  const size_t rank = e.rank();
  const auto axis = static_cast<int32_t>(positive_axis(e.attrs<OneHotAttrs>().axis, rank + 1));
  const size_t size = element_size(values.dtype());
  const ec::TensorType type(values.dtype(), Shape{});
  const int32_t off = e.constant(type, values.data().slice(0, size));
  const int32_t on = e.constant(type, values.data().slice(size, size));
  EC_TRY(const int32_t indices, e.int32_operand(0));
  e.add(Op::ONE_HOT, {indices, e.int_scalar(static_cast<int64_t>(*depth)), on, off}, {e.out()},
        options(BuiltinOptions::OneHotOptions,
                CreateOneHotOptions(e.fbb(), axis == static_cast<int32_t>(rank) ? -1 : axis)));
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Gather, emit_gather},        {OpKind::GatherNd, emit_gather_nd},
    {OpKind::ScatterNd, emit_scatter_nd}, {OpKind::OneHot, emit_one_hot},
    {OpKind::NonZero, emit_non_zero},
};

}  // namespace

const std::span<const EmitRow> kEmitGather = kRows;

}  // namespace ec::tflite
