// Operations of a block in order: operands by name, the row of the table, results under their
// names.
#include <algorithm>

#include "frontend/coreml/importer.h"
#include "frontend/coreml/limits.h"
#include "frontend/coreml/op_call.h"
#include "frontend/coreml/table.h"
#include "frontend/coreml/types.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::mil {
namespace {

// Calls f(name, optional) for the names of a row's parameters.
template <class F>
void for_each_parameter(std::string_view list, F&& f) {
  while (!list.empty()) {
    const size_t end = list.find(' ');
    std::string_view name = list.substr(0, end);
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
    const bool optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    f(name, optional);
  }
}

bool lists(std::string_view parameters, std::string_view wanted) {
  bool found = false;
  for_each_parameter(parameters,
                     [&](std::string_view name, bool) { found = found || name == wanted; });
  return found;
}

bool is_given(const coreml::Operation& op, std::string_view name) {
  const auto* bindings = op.input(name);
  return (bindings != nullptr && !bindings->empty()) || op.attribute(name) != nullptr;
}

}  // namespace

Location location_of(const coreml::Operation& op) {
  std::string name;
  if (const coreml::Value* given = op.attribute("name");
      given != nullptr && given->strings.size() == 1)
    name = given->strings.front();
  if (name.empty() && !op.outputs.empty()) name = op.outputs.front().name;
  return Location(name.substr(0, kMaxNameLength), op.type.substr(0, kMaxNameLength));
}

bool Importer::import_block(const coreml::Block& block, Scope& scope) {
  const size_t before = errors_;
  for (const coreml::Operation& op : block.operations) {
    if (stopped_) break;
    if (Status stop = check_budget(); !stop.ok()) {
      report(std::move(stop).error());
      stopped_ = true;
      break;
    }
    import_operation(op, scope);
  }
  return !stopped_ && errors_ == before;
}

bool Importer::count_operation(const Location& location) {
  if (stopped_) return false;
  if (++operations_ <= max_operations(bytes_)) return true;
  report(Error(Code::TooLarge, "the program expands to more than " +
                                   std::to_string(max_operations(bytes_)) + " operations")
             .node(std::string(location.name()), location.op_type));
  stopped_ = true;
  return false;
}

void Importer::define(Scope& scope, const std::string& name, MilValue value,
                      const Location& location) {
  if (scope.values.emplace(name, std::move(value)).second) return;
  report(Error(Code::DuplicateName, "the name '" + printable(name) + "' is defined twice")
             .node(std::string(location.name()), location.op_type));
}

Status Importer::check_parameters(const OpRow& row, const coreml::Operation& op) const {
  std::string missing;
  for_each_parameter(row.parameters, [&](std::string_view name, bool optional) {
    if (!optional && missing.empty() && !is_given(op, name)) missing = name;
  });
  if (!missing.empty())
    return Error(Code::BadArity, "the parameter '" + missing + "' of " + op.type + " is missing");
  const auto unknown = [&](std::string_view name) {
    return Error(Code::UnsupportedOpForm,
                 op.type + " has no parameter '" + printable(name, 100) + "' that is known");
  };
  for (const auto& [name, bindings] : op.inputs)
    if (!bindings.empty() && !lists(row.parameters, name)) return unknown(name);
  for (const auto& [name, value] : op.attributes)
    if (name != "name" && !lists(row.parameters, name)) return unknown(name);
  return {};
}

// Whether all operands can be had. An error: a name that nothing defines.
Result<bool> Importer::resolve_operands(const coreml::Operation& op, const Scope& scope) const {
  for (const auto& [parameter, bindings] : op.inputs)
    for (const coreml::Binding& binding : bindings) {
      if (binding.literal != nullptr) continue;
      const MilValue* found = scope.find(binding.name);
      if (found == nullptr)
        return Error(Code::UndefinedName, "the value '" + printable(binding.name) +
                                              "' is not defined in front of its use");
      if (found->failed()) return false;
    }
  return true;
}

void Importer::import_operation(const coreml::Operation& op, Scope& scope) {
  const Location location = location_of(op);
  if (!count_operation(location)) return;
  if (op.type == "const") {
    const coreml::Value* value = op.attribute("val");
    if (value == nullptr || op.outputs.size() != 1)
      return give_up(op, scope, location, Error(Code::BadAttribute, "a constant has no value"));
    return define(scope, op.outputs[0].name, MilValue::of(value), location);
  }
  const OpRow* row = find_row(op.type, scope.opset);
  if (row == nullptr) return missing_op(op, scope, location);
  if (Status fault = check_parameters(*row, op); !fault.ok())
    return give_up(op, scope, location, std::move(fault).error());
  Result<bool> known = resolve_operands(op, scope);
  if (!known.ok()) return give_up(op, scope, location, std::move(known).error());
  if (!*known) return skip(op, scope, location);
  OpCall call(*this, scope, op, location);
  convert(*row, call, scope);
}

void Importer::missing_op(const coreml::Operation& op, Scope& scope, const Location& location) {
  Error error(Code::UnsupportedOp,
              "the operator '" + printable(op.type, 100) + "' is not supported");
  if (options_.kept != nullptr) return give_up(op, scope, location, std::move(error));
  const auto known = std::find_if(missing_.begin(), missing_.end(),
                                  [&](const MissingOp& m) { return m.type == op.type; });
  if (known != missing_.end())
    ++known->count;
  else if (missing_.size() < kMaxImportErrors)
    missing_.push_back(
        {op.type, std::move(error).node(std::string(location.name()), location.op_type)});
  fail_outputs(op, scope);
}

void Importer::convert(const OpRow& row, OpCall& call, Scope& scope) {
  const coreml::Operation& op = call.source();
  const size_t first_operation = scope.site.graph.operation_id_bound();
  const size_t first_tensor = scope.site.graph.tensor_id_bound();
  const size_t states_before = states_->changes();
  const auto fail = [&](Error error) {
    // A state may hold what was built: then that stays, and the operation cannot be kept whole.
    if (states_->changes() != states_before) {
      report(std::move(error).node(std::string(call.location().name()), call.location().op_type));
      return fail_outputs(op, scope);
    }
    erase_unfinished(scope.site.graph, first_operation, first_tensor, [&](const ec::Tensor* t) {
      return std::any_of(scope.site.constants.begin(), scope.site.constants.end(),
                         [&](const auto& known) { return known.second == t; });
    });
    give_up(op, scope, call.location(), std::move(error));
  };
  const Tensors made = row.convert(call);
  if (Status status = call.status(); !status.ok()) return fail(std::move(status).error());
  if (call.is_poisoned()) return skip(op, scope, call.location());
  for (size_t i = 0; i < made.size(); ++i) call.bind(i, made[i]);
  if (!made.empty() && made.size() < op.outputs.size())
    return fail(Error(Code::BadArity, op.type + " has " + std::to_string(made.size()) +
                                          " results, the program names " +
                                          std::to_string(op.outputs.size())));
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    MilValue& value = call.results()[i];
    if (value.kind == MilValue::Kind::Tensor) {
      // Indices are 64 bits wide here; programs have narrower ones.
      const auto declared = to_dtype(op.outputs[i].type.element);
      if (declared && *declared != value.tensor->dtype() && is_integer(*declared) &&
          is_integer(value.tensor->dtype()))
        value.tensor = call.cast(value.tensor, *declared);
      if (Status status = call.status(); !status.ok()) return fail(std::move(status).error());
    }
    if (value.kind == MilValue::Kind::Tensor)
      if (Status status = check_declared(op.outputs[i], value.tensor); !status.ok())
        return fail(std::move(status).error());
  }
  for (size_t i = 0; i < op.outputs.size(); ++i)
    bind(scope, op, i, std::move(call.results()[i]), call.location());
}

Status Importer::check_declared(const coreml::NamedType& declared, const ec::Tensor* made) const {
  const auto type = declared_type(declared.type, "");
  bool fits = type && type->dtype == made->dtype();
  if (fits && type->shape && made->shape()) {
    fits = type->shape->rank() == made->shape()->rank();
    for (size_t i = 0; fits && i < type->shape->rank(); ++i) {
      const Dim &a = (*type->shape)[i], &b = (*made->shape())[i];
      fits = !a.is_static() || !b.is_static() || a.size() == b.size();
    }
  }
  // The classifier's dictionary is its probabilities.
  if (fits || declared.type.kind == coreml::ValueType::Kind::Dictionary) return {};
  return Error(type && type->dtype == made->dtype() ? Code::ShapeMismatch : Code::TypeMismatch,
               "'" + printable(declared.name) + "' is declared as " + type_text(declared.type) +
                   ", the operation gives " + made->type().text());
}

void Importer::bind(Scope& scope, const coreml::Operation& op, size_t i, MilValue value,
                    const Location& location) {
  const std::string& name = op.outputs[i].name;
  if (value.kind == MilValue::Kind::Tensor && value.tensor->producer() != nullptr &&
      value.tensor->producer()->location().name() == location.name() &&
      scope.site.graph.find_tensor(name) == nullptr)
    scope.site.graph.rename(value.tensor, name.substr(0, kMaxNameLength));
  define(scope, name, std::move(value), location);
}

}  // namespace ec::mil
