// Gathers, scatters, updates of parts, one_hot, positions of non-zero elements.
#include <algorithm>
#include <numeric>

#include "ops/convert.h"
#include "writer/coreml/emitter.h"

namespace ec::mil {
namespace {

// Indices as programs count them: constant ones from the front.
Result<std::string> indices_of(OpEmitter& e, size_t i, int64_t size) {
  const Tensor* tensor = e.input(i);
  const auto values = int_values(tensor);
  if (!values || std::ranges::none_of(*values, [](int64_t v) { return v < 0; })) return e.in(i);
  if (size == coreml::kUnknownSize)
    return e.fail("indices counted from the end of an open size",
                  "fix the sizes with --input-shape");
  std::vector<int32_t> moved;
  for (const int64_t value : *values)
    moved.push_back(static_cast<int32_t>(value < 0 ? value + size : value));
  return e.constant(ValueType::tensor(DataType::Int32, e.sizes(tensor)),
                    Blob::copy_of(std::span<const int32_t>(moved)));
}

void add_validation(OpEmitter& e, std::vector<Arg>& args) {
  if (e.version() >= kCoremlIos17) args.emplace_back("validate_indices", e.flag(false));
}

// Programs gather numbers; truth values go as integers.
std::string as_numbers(OpEmitter& e) {
  if (e.element() != DataType::Bool) return e.in(0);
  return e.step("cast", {{"x", e.in(0)}, {"dtype", e.text("int32")}},
                ValueType::tensor(DataType::Int32, e.sizes(e.input(0))));
}
void finish(OpEmitter& e, std::string_view type, std::vector<Arg> args) {
  if (e.element() != DataType::Bool) return e.emit(type, std::move(args));
  const std::string numbers =
      e.step(type, std::move(args), ValueType::tensor(DataType::Int32, e.sizes(e.op().output())));
  e.emit("cast", {{"x", numbers}, {"dtype", e.text("bool")}});
}

Status emit_gather_along(OpEmitter& e, std::string_view type) {
  const int64_t axis = e.axis(e.attrs<GatherAttrs>().axis);
  EC_TRY(std::string indices, indices_of(e, 1, e.sizes(e.input(0))[static_cast<size_t>(axis)]));
  std::vector<Arg> args{
      {"x", as_numbers(e)}, {"indices", std::move(indices)}, {"axis", e.i32(axis)}};
  if (type == "gather") args.emplace_back("batch_dims", e.i32(0));
  add_validation(e, args);
  finish(e, type, std::move(args));
  return {};
}
Status emit_gather(OpEmitter& e) { return emit_gather_along(e, "gather"); }
Status emit_gather_elements(OpEmitter& e) {
  // Programs want equal sizes beside the axis.
  const std::vector<int64_t> x = e.sizes(e.input(0)), at = e.sizes(e.input(1));
  const auto axis = static_cast<size_t>(e.axis(e.attrs<GatherAttrs>().axis));
  for (size_t d = 0; d < x.size(); ++d)
    if (d != axis && (x[d] != at[d] || x[d] == coreml::kUnknownSize))
      return e.fail("fewer indices than elements beside the axis", std::string(kPipelineHint));
  return emit_gather_along(e, "gather_along_axis");
}

Status emit_gather_nd(OpEmitter& e) {
  const auto values = int_values(e.input(1));
  if (values && std::ranges::any_of(*values, [](int64_t v) { return v < 0; }))
    return e.fail("tuples of indices counted from the end", "count the indices from the front");
  std::vector<Arg> args{{"x", as_numbers(e)},
                        {"indices", e.in(1)},
                        {"batch_dims", e.i32(e.attrs<GatherNdAttrs>().batch_dims)}};
  add_validation(e, args);
  finish(e, "gather_nd", std::move(args));
  return {};
}

std::string_view mode_of(Reduction reduction) {
  constexpr std::string_view kModes[] = {"update", "add", "mul", "max", "min"};
  return kModes[static_cast<size_t>(reduction)];
}

Status emit_scatter_elements(OpEmitter& e) {
  const auto& attrs = e.attrs<ScatterElementsAttrs>();
  const int64_t axis = e.axis(attrs.axis);
  const std::vector<int64_t> x = e.sizes(e.input(0)), at = e.sizes(e.input(1));
  for (size_t d = 0; d < x.size(); ++d)
    if (d != static_cast<size_t>(axis) && x[d] != at[d])
      return e.fail("fewer indices than elements beside the axis");
  EC_TRY(std::string indices, indices_of(e, 1, x[static_cast<size_t>(axis)]));
  std::vector<Arg> args{{"data", e.in(0)},
                        {"indices", std::move(indices)},
                        {"updates", e.in(2)},
                        {"axis", e.i32(axis)},
                        {"mode", e.text(mode_of(attrs.reduction))}};
  add_validation(e, args);
  e.emit("scatter_along_axis", std::move(args));
  return {};
}

Status emit_scatter_nd(OpEmitter& e) {
  const auto values = int_values(e.input(1));
  if (values && std::ranges::any_of(*values, [](int64_t v) { return v < 0; }))
    return e.fail("tuples of indices counted from the end", "count the indices from the front");
  std::vector<Arg> args{{"data", e.in(0)},
                        {"indices", e.in(1)},
                        {"updates", e.in(2)},
                        {"mode", e.text(mode_of(e.attrs<ScatterNdAttrs>().reduction))}};
  add_validation(e, args);
  e.emit("scatter_nd", std::move(args));
  return {};
}

// --- updates at computed places ------------------------------------------------------------------

// Starts outside are moved to the nearest place where the update fits.
std::string clamped(OpEmitter& e, const std::string& starts, const std::vector<int64_t>& largest) {
  const ValueType type = ValueType::tensor(DataType::Int32, {static_cast<int64_t>(largest.size())});
  const std::string low =
      e.step("maximum", {{"x", starts}, {"y", e.ints(std::vector<int64_t>(largest.size()))}}, type);
  return e.step("minimum", {{"x", low}, {"y", e.ints(largest)}}, type);
}

// Whole rows along one axis, which every version can write.
Status emit_row_update(OpEmitter& e, size_t axis, int64_t size, int64_t rows) {
  const ValueType one = ValueType::tensor(DataType::Int32, {1});
  const auto at = static_cast<int64_t>(axis);
  // One number is the start in a list.
  std::string places =
      e.input(2)->shape()->rank() == 0
          ? e.step("reshape", {{"x", e.in(2)}, {"shape", e.ints({1})}}, one)
          : e.step("slice_by_index",
                   {{"x", e.in(2)}, {"begin", e.ints({at})}, {"end", e.ints({at + 1})}}, one);
  places = clamped(e, places, {size - rows});
  if (rows > 1) {
    std::vector<int64_t> steps(static_cast<size_t>(rows));
    std::iota(steps.begin(), steps.end(), 0);
    places = e.step("add", {{"x", places}, {"y", e.ints(steps)}},
                    ValueType::tensor(DataType::Int32, {rows}));
  }
  std::vector<Arg> args{{"data", e.in(0)},
                        {"indices", places},
                        {"updates", e.in(1)},
                        {"axis", e.i32(at)},
                        {"mode", e.text("update")}};
  add_validation(e, args);
  e.emit("scatter", std::move(args));
  return {};
}

Status emit_slice_update(OpEmitter& e, const std::vector<int64_t>& x,
                         const std::vector<int64_t>& update) {
  std::vector<int64_t> largest, own;
  const auto known = int_values(e.input(2));
  for (size_t d = 0; d < x.size(); ++d) {
    largest.push_back(x[d] - update[d]);
    if (known) own.push_back(std::clamp<int64_t>((*known)[d], 0, largest[d]));
  }
  const auto rank = static_cast<int64_t>(x.size());
  std::string begin, end;
  if (known) {
    begin = e.ints(own);
    for (size_t d = 0; d < x.size(); ++d) own[d] += update[d];
    end = e.ints(own);
  } else {
    begin = clamped(e, e.in(2), largest);
    end = e.step("add", {{"x", begin}, {"y", e.ints(update)}},
                 ValueType::tensor(DataType::Int32, {rank}));
  }
  e.emit("slice_update", {{"x", e.in(0)}, {"update", e.in(1)}, {"begin", begin}, {"end", end}});
  return {};
}

Status emit_dynamic_update(OpEmitter& e) {
  const std::vector<int64_t> x = e.sizes(e.input(0)), update = e.sizes(e.input(1));
  if (std::ranges::count(x, coreml::kUnknownSize) +
      std::ranges::count(update, coreml::kUnknownSize))
    return e.fail("an update of open sizes", "fix the sizes with --input-shape");
  if (e.element() == DataType::Bool) return e.fail("truth values", "update numbers instead");
  // Nothing is updated, or everything is, wherever it starts.
  if (std::ranges::count(update, 0) > 0 || x == update) {
    e.emit("identity", {{"x", e.in(x == update ? 1 : 0)}});
    return {};
  }
  if (e.version() >= kCoremlIos18) return emit_slice_update(e, x, update);
  std::vector<size_t> shorter;
  for (size_t d = 0; d < x.size(); ++d)
    if (x[d] != update[d]) shorter.push_back(d);
  // The places of the rows are stored.
  constexpr int64_t kMostRows = int64_t{1} << 20;
  const size_t axis = shorter.front();
  if (shorter.size() == 1 && update[axis] <= kMostRows)
    return emit_row_update(e, axis, x[axis], update[axis]);
  EC_CHECK_OK(e.need(kCoremlIos18, shorter.size() == 1
                                       ? "an update of more than a million rows"
                                       : "an update of a part along several dimensions"));
  return emit_slice_update(e, x, update);
}

Status emit_one_hot(OpEmitter& e) {
  const auto depth = scalar_value(e.input(1));
  const Tensor* values = e.input(2);
  if (!depth || !values->is_constant())
    return e.fail("a depth or values that are computed", "export the model with constant ones");
  if (element_type(values->dtype()) == DataType::Bool)
    return e.fail("truth values", std::string(kPipelineHint));
  const auto rank = static_cast<int64_t>(e.rank()) + 1;
  const int64_t axis = e.attrs<OneHotAttrs>().axis;
  const std::vector<float> pair = float_values(values);
  const DataType type = type_of(e.op().output()).element;
  const auto number = [&](float value) {
    return type == DataType::Int32 ? e.i32(static_cast<int64_t>(value))
                                   : e.real(double{value}, type);
  };
  std::vector<Arg> args{{"indices", e.in(0)},
                        {"one_hot_vector_size", e.i32(saturate_to_int64(*depth))},
                        {"axis", e.i32(axis < 0 ? axis + rank : axis)},
                        {"on_value", number(pair.at(1))},
                        {"off_value", number(pair.at(0))}};
  e.emit("one_hot", std::move(args));
  return {};
}

// One row for each position; the graph has one for each dimension.
Status emit_non_zero(OpEmitter& e) {
  std::vector<int64_t> sizes = e.sizes(e.op().output());
  std::ranges::reverse(sizes);
  const std::string rows =
      e.step("non_zero", {{"x", e.in(0)}}, ValueType::tensor(DataType::Int32, std::move(sizes)));
  e.emit("transpose", {{"x", rows}, {"perm", e.ints({1, 0})}});
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::Gather, emit_gather},        {OpKind::GatherElements, emit_gather_elements},
    {OpKind::GatherNd, emit_gather_nd},   {OpKind::ScatterElements, emit_scatter_elements},
    {OpKind::ScatterNd, emit_scatter_nd}, {OpKind::OneHot, emit_one_hot},
    {OpKind::NonZero, emit_non_zero},     {OpKind::DynamicUpdateSlice, emit_dynamic_update},
};

}  // namespace

const std::span<const EmitRow> kEmitGather = kRows;

}  // namespace ec::mil
