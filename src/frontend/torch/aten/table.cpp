#include "frontend/torch/aten/table.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "frontend/torch/aten/dynamic_quantization.h"
#include "frontend/torch/aten/promotion.h"

namespace ec::torch {
namespace {

class Table {
 public:
  Table() {
    const std::span<const OperatorRow> families[] = {kActivationRows,
                                                     kArithmeticRows,
                                                     kAttentionRows,
                                                     kComparisonRows,
                                                     kConvolutionRows,
                                                     kCreationRows,
                                                     kFakeQuantRows,
                                                     kFunctionRows,
                                                     kIndexingRows,
                                                     kJoiningRows,
                                                     kLinearRows,
                                                     kLossRows,
                                                     kMovementRows,
                                                     kNormalizationRows,
                                                     kPaddingRows,
                                                     kPoolingRows,
                                                     kQuantizedRows,
                                                     kQuantizeRows,
                                                     kQuantizedRecurrentRows,
                                                     kRecurrentRows,
                                                     kReductionRows,
                                                     kScalarRows,
                                                     kScatterRows,
                                                     kShapeRows,
                                                     kSignalRows,
                                                     kSortRows,
                                                     kVisionRows};
    for (const auto rows : families)
      for (const OperatorRow& row : rows) {
        auto schema = parse_schema(row.schema);
        if (!schema.ok()) {  // a mistake in this program's own text
          std::fprintf(stderr, "%s\n", schema.error().message().c_str());
          std::abort();
        }
        std::string name = schema->name;
        operators_[std::move(name)].push_back({std::move(schema).value(), &row});
      }
    for (const auto& [name, overloads] : operators_) names_.push_back(name);
  }

  std::map<std::string, std::vector<Operator>, std::less<>> operators_;
  std::vector<std::string_view> names_;
};

const Table& table() {
  static const Table kTable;
  return kTable;
}

}  // namespace

std::span<const Operator> find_operators(std::string_view name) {
  const auto found = table().operators_.find(name);
  if (found == table().operators_.end()) return {};
  return found->second;
}

std::span<const std::string_view> operator_names() { return table().names_; }

Result<std::vector<TorchValue>> Convert::operator()(Call& call) const {
  if (tensor_ != nullptr) {
    EC_TRY(ec::Tensor * result, tensor_(call));
    return std::vector<TorchValue>{result};
  }
  if (value_ != nullptr) {
    EC_TRY(TorchValue result, value_(call));
    return std::vector<TorchValue>{std::move(result)};
  }
  return values_(call);
}

Result<ec::Tensor*> float_operand(Call& c, std::string_view name) {
  ec::Tensor* x = c.tensor(name);
  return c.cast(x, to_float_type(x->dtype()));
}

Result<ec::Tensor*> identity(Call& c) { return c.tensor(c.schema().args.front().name); }

}  // namespace ec::torch
