#include "backend/metal/compress/compress.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "backend/metal/compress/palette.h"
#include "backend/metal/compress/scales.h"
#include "backend/metal/compress/sparse.h"
#include "ops/attrs.h"
#include "support/budget.h"
#include "support/small_float.h"

namespace ec::metal {
namespace {

constexpr double kBestSqnr = 120;

// A weight with what its layer says of its dimensions.
struct Weight {
  Tensor* tensor = nullptr;
  const Operation* layer = nullptr;
  size_t in_axis = 1, out_axis = 0;  // channels that are summed over, and those of results
};

bool transposes(const Operation& op, size_t operand) {
  if (op.kind() == OpKind::Gemm) {
    const auto& attrs = op.attrs_as<GemmAttrs>();
    return operand == 0 ? attrs.transpose_a : attrs.transpose_b;
  }
  const auto& attrs = op.attrs_as<MatMulAttrs>();
  return operand == 0 ? attrs.transpose_a : attrs.transpose_b;
}

// Whether the operand of the operation is a weight that programs take in fewer bits.
std::optional<Weight> weight_of(Operation& op, size_t operand) {
  Weight weight{op.input(operand), &op, 1, 0};
  const size_t rank = weight.tensor->shape()->rank();
  switch (op.kind()) {
    case OpKind::Conv:
      if (operand != 1) return std::nullopt;
      return weight;
    case OpKind::ConvTranspose:
      if (operand != 1) return std::nullopt;
      std::swap(weight.in_axis, weight.out_axis);
      return weight;
    case OpKind::MatMul:
    case OpKind::Gemm:
      if (operand > 1) return std::nullopt;
      // The first operand sums over its last dimension, the second over the one before.
      weight.in_axis = (operand == 0) != transposes(op, operand) ? rank - 1 : rank - 2;
      weight.out_axis = weight.in_axis == rank - 1 ? rank - 2 : rank - 1;
      return weight;
    case OpKind::Gather:
      if (operand != 0) return std::nullopt;
      return weight;
    default:
      return std::nullopt;
  }
}

bool is_large_float(const Tensor* tensor) {
  return tensor != nullptr && tensor->is_constant() && !tensor->type().quant &&
         (tensor->dtype() == DType::F16 || tensor->dtype() == DType::F32) &&
         tensor->shape()->rank() > 1 && *tensor->type().num_elements() > kSmallWeights;
}

// --- elements ------------------------------------------------------------------------------------

std::vector<float> values_of(const Tensor* tensor) {
  std::vector<float> values(static_cast<size_t>(*tensor->type().num_elements()));
  const std::byte* data = tensor->data().bytes().data();
  if (tensor->dtype() == DType::F32)
    std::copy_n(reinterpret_cast<const float*>(data), values.size(), values.begin());
  else
    std::transform(reinterpret_cast<const uint16_t*>(data),
                   reinterpret_cast<const uint16_t*>(data) + values.size(), values.begin(),
                   half_to_float);
  return values;
}

Blob elements_of(std::span<const float> values, DType dtype) {
  if (dtype == DType::F32) return Blob::copy_of(values);
  std::vector<uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), float_to_half);
  return Blob::copy_of(std::span<const uint16_t>(halves));
}

// 10 log10(signal / noise), at most 120.
double sqnr_of(std::span<const float> weights, std::span<const float> stored) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double difference = double{weights[i]} - double{stored[i]};
    signal += double{weights[i]} * double{weights[i]};
    noise += difference * difference;
  }
  if (noise == 0) return kBestSqnr;
  return signal == 0 ? 0 : std::min(kBestSqnr, 10 * std::log10(signal / noise));
}

bool only_weights(const Graph& graph, const Tensor* tensor) {
  if (std::ranges::find(graph.outputs(), tensor) != graph.outputs().end()) return false;
  return std::ranges::all_of(
      tensor->uses(), [](const Use& use) { return weight_of(*use.op, use.index).has_value(); });
}

// Constants that nothing but layers reads, each once.
std::vector<Weight> find_weights(Graph& graph) {
  std::vector<Weight> weights;
  std::set<uint32_t> seen;
  for (Operation* op : graph.topological())
    for (size_t i = 0; i < op->inputs().size(); ++i) {
      Tensor* tensor = op->input(i);
      if (!is_large_float(tensor) || !seen.insert(tensor->id()).second) continue;
      const std::optional<Weight> weight = weight_of(*op, i);
      if (weight && only_weights(graph, tensor)) weights.push_back(*weight);
    }
  return weights;
}

// --- the step ------------------------------------------------------------------------------------

class Compressor {
 public:
  Compressor(Graph& graph, const WeightForm& form, const CompressOptions& options)
      : graph_(graph), form_(form), options_(options) {}

  Result<CompressedWeights> run() {
    const std::vector<Weight> weights = find_weights(graph_);
    result_.values.resize(weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      EC_CHECK_OK(check_budget());
      if (i < options_.left.size() && options_.left[i]) {
        tell_left(weights[i]);
        continue;
      }
      const std::vector<float> values = values_of(weights[i].tensor);
      spend_work(values.size());
      position_ = i;
      // Infinite weights have no mean and no scale.
      if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
        EC_CHECK_OK(compress(weights[i], values));
    }
    return std::move(result_);
  }

 private:
  Status compress(const Weight& weight, const std::vector<float>& values) {
    switch (form_.kind) {
      case WeightForm::Kind::Palette:
        return store_palette(weight, values);
      case WeightForm::Kind::Sparse:
        return store_sparse(weight, values, magnitude_at(values, form_.share));
      case WeightForm::Kind::Threshold:
        return store_sparse(weight, values, form_.threshold);
      case WeightForm::Kind::Int4:
        return store_scaled(weight, values, 4, cut_of(weight, form_.block));
      case WeightForm::Kind::Int8:
        return store_scaled(weight, values, 8, cut_of(weight, 0));
      default:
        return {};
    }
  }

  Status store_palette(const Weight& weight, const std::vector<float>& values) {
    const DType dtype = weight.tensor->dtype();
    const size_t entries = size_t{1} << form_.bits;
    EC_TRY(Palette palette, palettize(values, entries, dtype == DType::F16));
    std::vector<float> stored;
    stored.reserve(values.size());
    for (const uint8_t index : palette.indices) stored.push_back(palette.table[index]);
    palette.table.resize(entries);
    CoremlPalette form;
    form.bits = form_.bits;
    form.indices = Blob::copy_of(std::span<const uint8_t>(palette.indices));
    form.table = elements_of(palette.table, dtype);
    const size_t bytes =
        (values.size() * static_cast<size_t>(form_.bits) + 7) / 8 + form.table.size();
    put(weight, values, stored, std::move(form), bytes);
    return {};
  }

  Status store_sparse(const Weight& weight, const std::vector<float>& values, float magnitude) {
    const std::vector<float> stored = without_small(values, magnitude);
    std::vector<uint8_t> mask;
    std::vector<float> elements;
    mask.reserve(stored.size());
    for (const float value : stored) {
      mask.push_back(value != 0 ? 1 : 0);
      if (value != 0) elements.push_back(value);
    }
    CoremlSparse form;
    form.elements = elements_of(elements, weight.tensor->dtype());
    const size_t bytes = (mask.size() + 7) / 8 + form.elements.size();
    // Too few zeros to be worth a mask, or nothing else: the weights stay.
    if (elements.empty() || bytes >= weight.tensor->data().size()) return {};
    form.mask = Blob::copy_of(std::span<const uint8_t>(mask));
    put(weight, values, stored, std::move(form), bytes);
    return {};
  }

  // The constant becomes what the program unpacks.
  void put(const Weight& weight, const std::vector<float>& values, const std::vector<float>& stored,
           CoremlStored form, size_t bytes) {
    tell(weight, sqnr_of(values, stored), bytes);
    const Blob unpacked = elements_of(stored, weight.tensor->dtype());
    if (options_.keep_values) result_.values[position_] = unpacked;
    graph_.set_constant_data(weight.tensor, weight.tensor->type(), unpacked);
    result_.stored.emplace(weight.tensor, std::move(form));
  }

  // --- integers ------------------------------------------------------------

  // One block along the inputs, all of the window, one output. A number of inputs that the block
  // does not divide is cut into the largest equal blocks of at least half its size, else not at
  // all.
  static BlockCut cut_of(const Weight& weight, int64_t block) {
    BlockCut cut{weight.tensor->shape()->sizes(), weight.tensor->shape()->sizes()};
    cut.block[weight.out_axis] = 1;
    const int64_t inputs = cut.shape[weight.in_axis];
    for (int64_t size = std::min(block, inputs); size > 0 && 2 * size >= block; --size) {
      if (inputs % size != 0) continue;
      cut.block[weight.in_axis] = size;
      break;
    }
    return cut;
  }

  Status store_scaled(const Weight& weight, const std::vector<float>& values, int bits,
                      const BlockCut& cut) {
    const DType dtype = weight.tensor->dtype();
    const ScaledWeights scaled = scale_weights(values, cut, bits, dtype == DType::F16);
    std::vector<uint8_t> bytes(scaled.data.begin(), scaled.data.end());
    Tensor* data =
        graph_.add_constant(weight.tensor->name(),
                            TensorType(bits == 4 ? DType::I4 : DType::I8, *weight.tensor->shape()),
                            Blob::copy_of(std::span<const uint8_t>(bytes)));
    const std::vector<float> stored = unpacked(scaled, cut);
    if (options_.keep_values) result_.values[position_] = elements_of(stored, dtype);
    const std::vector<int64_t> counts = cut.counts();
    DequantizeAttrs attrs;
    attrs.dtype = dtype;
    const bool by_channel = counts[weight.in_axis] == 1;
    attrs.axis = static_cast<int64_t>(by_channel ? weight.out_axis : weight.in_axis);
    std::vector<int64_t> sizes{counts[weight.out_axis]};
    std::vector<float> scales = scaled.scales;
    if (!by_channel) {
      attrs.block_size = cut.block[weight.in_axis];
      sizes = cut.shape;
      sizes[weight.in_axis] = counts[weight.in_axis];
      scales = repeated(scaled.scales, counts, sizes);
    }
    Tensor* scale =
        graph_.add_constant(weight.tensor->name() + "_scale", TensorType(dtype, Shape::of(sizes)),
                            elements_of(scales, dtype));
    EC_TRY(Tensor * fresh, graph_.add_single(OpKind::Dequantize, {data, scale}, attrs));
    tell(weight, sqnr_of(values, stored),
         (values.size() * static_cast<size_t>(bits) + 7) / 8 +
             scaled.scales.size() * element_size(dtype));
    graph_.replace_all_uses(weight.tensor, fresh);
    graph_.erase(weight.tensor);
    return {};
  }

  // Elements of `counts` for every position of `sizes`, of which one dimension may have 1 element
  // in the place of many.
  static std::vector<float> repeated(const std::vector<float>& values,
                                     const std::vector<int64_t>& counts,
                                     const std::vector<int64_t>& sizes) {
    std::vector<float> all;
    std::vector<int64_t> at(sizes.size(), 0);
    int64_t left = 1;
    for (const int64_t size : sizes) left *= size;
    for (; left > 0; --left) {
      int64_t from = 0;
      for (size_t d = 0; d < sizes.size(); ++d)
        from = from * counts[d] + at[d] / (sizes[d] / counts[d]);
      all.push_back(values[static_cast<size_t>(from)]);
      for (size_t d = sizes.size(); d-- > 0;) {
        if (++at[d] < sizes[d]) break;
        at[d] = 0;
      }
    }
    return all;
  }
  static std::vector<float> unpacked(const ScaledWeights& scaled, const BlockCut& cut) {
    std::vector<float> values = repeated(scaled.scales, cut.counts(), cut.shape);
    for (size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(scaled.data[i]);
    return values;
  }

  void tell(const Weight& weight, double sqnr, size_t bytes) {
    CompressedWeight row;
    row.name = weight.tensor->name();
    row.layer = weight.layer->location().name();
    row.form = form_.text();
    row.bytes_before = static_cast<int64_t>(weight.tensor->data().size());
    row.bytes_after = static_cast<int64_t>(bytes);
    row.sqnr_db = sqnr;
    result_.told.push_back(std::move(row));
  }

  void tell_left(const Weight& weight) {
    CompressedWeight row;
    row.name = weight.tensor->name();
    row.layer = weight.layer->location().name();
    row.form = "as it is, for the limit of accuracy";
    row.bytes_before = row.bytes_after = static_cast<int64_t>(weight.tensor->data().size());
    row.sqnr_db = kBestSqnr;
    result_.told.push_back(std::move(row));
  }

  Graph& graph_;
  const WeightForm& form_;
  const CompressOptions& options_;
  size_t position_ = 0;  // of the weight at hand
  CompressedWeights result_;
};

}  // namespace

Result<CompressedWeights> compress_weights(Graph& graph, const WeightForm& form,
                                           const CompressOptions& options) {
  if (!form.compresses()) return CompressedWeights();
  return Compressor(graph, form, options).run();
}

void put_values(Graph& graph, const CompressedWeights& from, const std::vector<bool>& in_form) {
  const std::vector<Weight> weights = find_weights(graph);
  for (size_t i = 0; i < weights.size() && i < from.values.size(); ++i)
    if (in_form[i] && from.values[i].size() > 0)
      graph.set_constant_data(weights[i].tensor, weights[i].tensor->type(), from.values[i]);
}

}  // namespace ec::metal
