// What applications see of a function: inputs, states, outputs and what the file says of them.
#include <algorithm>

#include "frontend/coreml/importer.h"
#include "frontend/coreml/limits.h"
#include "frontend/coreml/types.h"
#include "frontend/default_sizes.h"
#include "frontend/input_shapes.h"
#include "support/checked.h"
#include "support/strings.h"

namespace ec::mil {
namespace {

using coreml::Feature;

const Feature* find_feature(const std::vector<Feature>& features, std::string_view name) {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [&](const Feature& f) { return f.name == name; });
  return found == features.end() ? nullptr : &*found;
}

// The shape that the interface gives an input whose sizes the program leaves open.
std::vector<int64_t> default_shape(const Feature& feature, size_t rank) {
  if (feature.kind == Feature::Kind::Image && rank == 4)
    return {1,
            feature.color == coreml::ColorSpace::Rgb || feature.color == coreml::ColorSpace::Bgr
                ? 3
                : 1,
            feature.height, feature.width};
  return feature.shape.size() == rank ? feature.shape : std::vector<int64_t>();
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

std::string image_text(const Feature& feature) {
  std::string color = "grayscale";
  if (feature.color == coreml::ColorSpace::Rgb) color = "RGB";
  if (feature.color == coreml::ColorSpace::Bgr) color = "BGR";
  return color + " image, " + std::to_string(feature.width) + " wide, " +
         std::to_string(feature.height) + " high";
}

std::string flexible_text(const Feature& feature) {
  std::string text;
  for (const auto& shape : feature.enumerated_shapes)
    text += (text.empty() ? "" : " or ") + shape_text(shape);
  for (const coreml::SizeRange& range : feature.shape_range)
    text += (text.empty() ? "" : " x ") + std::to_string(range.lower) +
            (range.upper == range.lower ? ""
             : range.upper < 0          ? "..."
                                        : ".." + std::to_string(range.upper));
  return text.substr(0, 1000);
}

}  // namespace

void Importer::add_inputs(Scope& scope, const coreml::Function& function,
                          const coreml::Interface& interface) {
  std::vector<NamedInput> inputs;
  std::vector<const coreml::NamedType*> sources;
  for (const coreml::NamedType& input : function.inputs) {
    if (input.type.kind == coreml::ValueType::Kind::State) continue;
    auto type = declared_type(input.type, input.name.substr(0, kMaxNameLength));
    if (!type) {
      report(Error(Code::UnsupportedType, "the input '" + printable(input.name) + "' is " +
                                              type_text(input.type) + ", no tensor of numbers"));
      scope.values.try_emplace(input.name);
      continue;
    }
    if (const Feature* feature = find_feature(interface.inputs, input.name);
        feature != nullptr && type->shape && !type->shape->is_static()) {
      const std::vector<int64_t> shape = default_shape(*feature, type->shape->rank());
      if (!shape.empty() && checked_extent(shape, 8))
        scope.site.graph.metadata()[std::string(kDefaultShapeKey) + input.name] = shape_text(shape);
    }
    inputs.push_back({input.name.substr(0, kMaxNameLength), std::move(*type)});
    sources.push_back(&input);
  }
  DiagnosticSink faults;
  apply_input_options(inputs, options_, faults);
  for (const Diagnostic& d : faults.diagnostics()) report(Error(d));
  for (size_t i = 0; i < inputs.size(); ++i) {
    ec::Tensor* tensor = scope.site.graph.add_input(inputs[i].name, inputs[i].type);
    if (inputs[i].type.is_static())
      scope.site.graph.metadata().erase(std::string(kDefaultShapeKey) + inputs[i].name);
    define(scope, sources[i]->name, MilValue::of(tensor), Location(inputs[i].name));
  }
}

void Importer::add_states(Scope& scope, const coreml::Function& function) {
  for (const coreml::NamedType& input : function.inputs) {
    if (input.type.kind != coreml::ValueType::Kind::State) continue;
    const Location location(input.name.substr(0, kMaxNameLength), "state");
    const auto type = input.type.nested.size() == 1 ? declared_type(input.type.nested[0], "")
                                                    : std::optional<TensorType>();
    const auto bytes = type ? type->num_bytes() : std::nullopt;
    const bool fits = bytes && may_expand(static_cast<size_t>(*bytes));
    Buffer zeros = fits ? Buffer::allocate(static_cast<size_t>(*bytes)) : Buffer();
    if (!fits || !zeros.ok()) {
      report(Error(Code::UnsupportedType,
                   "the state '" + printable(input.name) + "' has no fixed size, or is too large"));
      scope.values.try_emplace(input.name);
      continue;
    }
    ec::Tensor* initial = scope.site.graph.add_constant("", *type, std::move(zeros).to_blob());
    if (auto value =
            states_->declare(input.name, input.name.substr(0, kMaxNameLength), initial, location);
        !value.ok()) {
      report(std::move(value).error());
      scope.values.try_emplace(input.name);
      continue;
    }
    define(scope, input.name, MilValue::of_state(input.name), location);
  }
}

void Importer::add_outputs(Scope& scope, const coreml::Block& block) {
  ec::Graph& graph = scope.site.graph;
  if (block.outputs.empty() && errors_ == 0)
    report(Error(Code::CorruptFile, "the program has no outputs"));
  for (const std::string& name : block.outputs) {
    const MilValue* found = scope.find(name);
    if (found == nullptr) {
      report(Error(Code::UndefinedName, "the output '" + printable(name) + "' is not defined"));
      continue;
    }
    if (found->failed() || found->kind == MilValue::Kind::Label) continue;
    ec::Tensor* tensor = found->tensor;
    if (found->kind == MilValue::Kind::Constant) {
      auto made = constant(scope.site, *found->constant, "");
      if (!made.ok()) {
        report(std::move(made).error());
        continue;
      }
      tensor = *made;
    } else if (found->kind != MilValue::Kind::Tensor) {
      report(Error(Code::UnsupportedType, "the output '" + printable(name) + "' is no tensor"));
      continue;
    }
    // Outputs are results of operations, each of its own.
    if (tensor->producer() == nullptr || graph.is_output(tensor)) {
      auto same = graph.add_single(OpKind::Identity, {tensor}, {}, Location(name, "identity"));
      if (!same.ok()) {
        report(std::move(same).error());
        continue;
      }
      tensor = *same;
    }
    graph.add_output(name.substr(0, kMaxNameLength), tensor);
  }
  if (errors_ == 0 && graph.outputs().empty())
    report(Error(Code::CorruptFile, "the program gives no numbers"));
}

void Importer::set_metadata(ec::Graph& graph, const coreml::Interface& interface) const {
  auto& metadata = graph.metadata();
  metadata["source_format"] = "coreml";
  const auto put = [&](const std::string& key, std::string_view value) {
    if (!value.empty()) metadata[key] = printable(value, kMaxNameLength);
  };
  put("coreml.specification", std::to_string(model_.specification_version));
  put("coreml.description", model_.metadata.description);
  put("coreml.author", model_.metadata.author);
  put("coreml.license", model_.metadata.license);
  put("coreml.version", model_.metadata.version);
  size_t count = 0;
  for (const auto& [key, value] : model_.metadata.user_defined)
    if (++count <= 100) put("coreml.user." + printable(key, 100), value);
  std::string functions;
  for (const auto& [name, function] : model_.program->functions)
    functions += (functions.empty() ? "" : ",") + printable(name, 100);
  if (model_.program->functions.size() > 1) put("coreml.functions", functions);
  for (const Feature& feature : interface.inputs) {
    const std::string name = printable(feature.name, 200);
    if (feature.kind == Feature::Kind::Image) put("coreml.input." + name, image_text(feature));
    put("coreml.sizes." + name, flexible_text(feature));
  }
  if (!classes_.empty()) metadata["coreml.classes"] = classes_;
}

}  // namespace ec::mil
