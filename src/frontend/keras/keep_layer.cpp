// Layers that cannot be converted: why, and how they stay in the graph as custom operations (ADR
// 24).
#include <algorithm>
#include <set>

#include "frontend/keras/importer.h"
#include "frontend/keras/table.h"
#include "support/strings.h"

namespace ec::keras {
namespace {

bool is_own(const LayerConfig& layer) {
  static const std::set<std::string_view> kOwnPackages = {"keras", "Keras", "tf_keras",
                                                          "TensorflowModelOptimization"};
  return layer.package.empty() || kOwnPackages.contains(layer.package);
}

}  // namespace

const LayerRow* Importer::row_of(const LayerConfig& layer) {
  if (!is_own(layer)) return nullptr;
  return layer.is_operation ? find_operation(layer.class_name) : find_layer(layer.class_name);
}

Error Importer::unknown_class(const LayerConfig& layer, const std::string& name) {
  const std::string shown = printable(layer.class_name);
  const std::string subject = "layer '" + printable(name) + "' is ";
  if (layer.class_name == "Lambda")
    return Error(Code::UnsupportedOp,
                 subject + "a Lambda: it holds Python byte code, which is never run")
        .hint(export_advice() + "; or replace it by layers and keras.ops");
  if (const RefusedRow* refused = is_own(layer) ? find_refused(layer.class_name) : nullptr)
    return Error(Code::UnsupportedOp,
                 subject + "of class " + shown + ": " + std::string(refused->why))
        .hint(export_advice());
  if (is_own(layer) && layer.is_operation)
    return {Code::UnsupportedOp, "operation keras.ops " + shown + " is not supported"};
  const bool named = !layer.package.empty() && layer.package != "Custom";
  Error error(Code::UnsupportedOp, subject + "of class '" +
                                       (named ? printable(layer.package) + ">" : "") + shown +
                                       "', which is no layer of Keras");
  if (layer.package.empty())
    if (const std::string near = did_you_mean(layer.class_name, layer_names()); !near.empty())
      error = std::move(error).note(near);
  return std::move(error).hint(export_advice());
}

Value Importer::give_up(Error error, const std::string& name, const std::string& type,
                        const std::vector<Value>& args, const Value& kwargs,
                        const BeforeCall& before) {
  std::vector<ec::Tensor*> operands;
  for (const Value& arg : args) collect_tensors(arg, operands);
  collect_tensors(kwargs, operands);
  // An error that was reported stays one, and what a state was told cannot be taken back.
  KeptOperations* kept = options_.kept;
  if (kept == nullptr || errors_ != before.errors || states_.changes() != before.state_changes ||
      !kept->takes(error.code(), operands)) {
    report(std::move(error), name, type);
    return Value::failed();
  }
  // Constants may be weights that others read, too.
  erase_unfinished(*graph_, before.operations, graph_->tensor_id_bound(),
                   [](const ec::Tensor*) { return true; });
  // The file does not tell what a layer gives: most keep the type of what they read.
  TensorType result = operands.empty() ? TensorType(DType::F32) : operands.front()->type();
  if (kept->takes_faults()) result.shape.reset();
  Result<Operation*> op = kept->add(*graph_, std::move(operands), {result}, Location(name, type),
                                    explained(std::move(error)).diagnostic());
  if (!op.ok()) {
    report(std::move(op).error(), name, type);
    return Value::failed();
  }
  if (graph_->find_tensor(name) == nullptr) graph_->rename((*op)->output(0), name);
  return (*op)->output(0);
}

}  // namespace ec::keras
