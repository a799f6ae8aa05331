#include "writer/coreml/interface.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "support/strings.h"

namespace ec::mil {
namespace {

// Sizes of an open dimension that applications may give.
constexpr int64_t kLowestOpen = 1, kHighestOpen = 4096;

Error bad_interface(const Tensor* tensor, const std::string& what) {
  return Error(Code::NotOnTarget, fmt::format("'{}' of type {} {}", printable(tensor->name()),
                                              tensor->type().text(), what));
}

Result<coreml::ArrayType> array_type(const Tensor* tensor) {
  switch (tensor->dtype()) {
    case DType::F32:
      return coreml::ArrayType::Float32;
    case DType::F16:
      return coreml::ArrayType::Float16;
    case DType::I32:
      return coreml::ArrayType::Int32;
    default:
      return bad_interface(tensor, "cannot be given to or by a package")
          .hint("packages take f32, f16 and i32: the target's own pipeline inserts casts");
  }
}

Result<coreml::Feature> array_feature(const Tensor* tensor, const std::string& name, bool input) {
  coreml::Feature feature;
  feature.name = name;
  feature.kind = coreml::Feature::Kind::MultiArray;
  EC_TRY(feature.array, array_type(tensor));
  if (!tensor->shape()) return bad_interface(tensor, "has no number of dimensions");
  const bool open = !tensor->shape()->is_static();
  if (!input && open) return feature;  // an output of open sizes states none
  for (const Dim& dim : *tensor->shape()) {
    const int64_t size = dim.is_static() ? dim.size() : kLowestOpen;
    if (size == 0) return bad_interface(tensor, "is empty, which packages do not take");
    feature.shape.push_back(size);
    if (open)
      feature.shape_range.push_back(dim.is_static() ? coreml::SizeRange{size, size}
                                                    : coreml::SizeRange{kLowestOpen, kHighestOpen});
  }
  if (input && feature.shape.empty())
    return bad_interface(tensor, "has no dimensions, which inputs of packages must have");
  return feature;
}

const CoremlFlexibleInput* find_flexible(const CoremlWriteOptions& options,
                                         const std::string& name) {
  const auto found = std::ranges::find(options.flexible, name, &CoremlFlexibleInput::name);
  return found == options.flexible.end() ? nullptr : &*found;
}

Status open_array(const Tensor* tensor, const CoremlFlexibleInput& sizes,
                  coreml::Feature& feature) {
  const size_t rank = tensor->shape()->rank();
  const auto fits = [&](const auto& list) { return list.size() == rank; };
  if (!fits(sizes.shape) || (sizes.shapes.empty() && !fits(sizes.ranges)) ||
      !std::ranges::all_of(sizes.shapes, fits))
    return bad_interface(tensor, "has other dimensions than the shapes that it is to take");
  feature.shape = sizes.shape;
  feature.enumerated_shapes = sizes.shapes;
  feature.shape_range = sizes.shapes.empty() ? sizes.ranges : std::vector<coreml::SizeRange>();
  return {};
}

// [1, C, H, W]: the image's height and width.
Status open_image(const Tensor* tensor, const CoremlFlexibleInput& sizes,
                  coreml::Feature& feature) {
  coreml::Feature array;
  EC_CHECK_OK(open_array(tensor, sizes, array));
  feature.height = array.shape[2];
  feature.width = array.shape[3];
  for (const auto& shape : array.enumerated_shapes)
    feature.enumerated_sizes.emplace_back(shape[3], shape[2]);
  if (!array.shape_range.empty())
    feature.size_range.emplace(array.shape_range[3], array.shape_range[2]);
  return {};
}

Result<coreml::Feature> image_feature(const Tensor* tensor, const std::string& name,
                                      const CoremlImageInput& image,
                                      const CoremlFlexibleInput* flexible) {
  const bool gray = image.color == coreml::ColorSpace::Grayscale;
  if (tensor->dtype() != DType::F32 || !tensor->shape() || tensor->shape()->rank() != 4 ||
      (flexible == nullptr && !tensor->shape()->is_static()) || (*tensor->shape())[0] != Dim(1) ||
      (*tensor->shape())[1] != Dim(gray ? 1 : 3))
    return bad_interface(tensor, fmt::format("takes no {} image", gray ? "grey" : "colour"))
        .hint("images are f32[1,3,H,W], or f32[1,1,H,W] without colours");
  coreml::Feature feature;
  feature.name = name;
  feature.kind = coreml::Feature::Kind::Image;
  feature.color = image.color;
  if (flexible != nullptr) {
    EC_CHECK_OK(open_image(tensor, *flexible, feature));
    return feature;
  }
  feature.height = (*tensor->shape())[2].size();
  feature.width = (*tensor->shape())[3].size();
  return feature;
}

Value label_list(const std::vector<std::string>& labels) {
  Value list;
  list.type.kind = ValueType::Kind::List;
  list.type.nested = {ValueType::tensor(DataType::String)};
  list.type.list_length = static_cast<int64_t>(labels.size());
  for (const std::string& label : labels) {
    Value& item = list.items.emplace_back();
    item.type = ValueType::tensor(DataType::String);
    item.strings = {label};
  }
  return list;
}

coreml::Feature plain_feature(std::string name, coreml::Feature::Kind kind) {
  coreml::Feature feature;
  feature.name = std::move(name);
  feature.kind = kind;
  return feature;
}

}  // namespace

Status add_classifier(const Graph& graph, WriteState& state, const std::vector<std::string>& labels,
                      coreml::Interface& interface, coreml::Function& main) {
  if (labels.empty()) return {};
  const auto count = static_cast<int64_t>(labels.size());
  size_t which = 0;
  while (which < graph.outputs().size() &&
         (graph.outputs()[which]->type().num_elements() != count ||
          graph.outputs()[which]->dtype() != DType::F32))
    ++which;
  if (which == graph.outputs().size())
    return Error(Code::NotOnTarget,
                 fmt::format("no output has {} numbers, one for each class name", count))
        .hint("give as many names as the model has classes");
  coreml::Operation op;
  op.type = "classify";
  op.inputs.emplace_back("classes", std::vector<coreml::Binding>{
                                        {"", std::make_shared<const Value>(label_list(labels))}});
  op.inputs.emplace_back("probabilities",
                         std::vector<coreml::Binding>{{main.block.outputs[which], nullptr}});
  const std::string label = state.names.unique("classLabel");
  const std::string scores = state.names.unique("classLabel_probs");
  ValueType dictionary;
  dictionary.kind = ValueType::Kind::Dictionary;
  dictionary.nested = {ValueType::tensor(DataType::String), ValueType::tensor(DataType::Float64)};
  op.outputs = {{label, ValueType::tensor(DataType::String)}, {scores, dictionary}};
  Value name;
  name.type = ValueType::tensor(DataType::String);
  name.strings = {label};
  op.attributes.emplace_back("name", std::move(name));
  main.block.operations.push_back(std::move(op));
  const auto at = static_cast<std::ptrdiff_t>(which);
  main.block.outputs[which] = label;
  main.block.outputs.insert(main.block.outputs.begin() + at + 1, scores);
  interface.outputs[which] = plain_feature(label, coreml::Feature::Kind::String);
  interface.outputs.insert(interface.outputs.begin() + at + 1,
                           plain_feature(scores, coreml::Feature::Kind::Dictionary));
  interface.predicted_feature = label;
  interface.predicted_probabilities = scores;
  return {};
}

Result<InterfaceNames> name_interface(const Graph& graph, WriteState& state, BlockEmitter& block) {
  InterfaceNames names;
  const auto take = [&](const std::string& wanted) {
    std::string name = state.names.unique(wanted);
    if (name != wanted) names.renamed.emplace_back(wanted, name);
    return name;
  };
  for (const Tensor* input : graph.inputs()) {
    names.inputs.push_back(take(input->name()));
    block.bind(input, names.inputs.back());
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Tensor* tensor = graph.outputs()[i];
    names.outputs.push_back(take(graph.output_names()[i]));
    if (tensor->producer() != nullptr && !block.is_bound(tensor))
      block.bind(tensor, names.outputs.back());
  }
  return names;
}

void describe_states(const std::vector<ProgramState>& states, coreml::Interface& interface,
                     coreml::Function& main) {
  for (const ProgramState& state : states) {
    coreml::Feature& feature = interface.states.emplace_back();
    feature.name = state.program_name;
    feature.kind = coreml::Feature::Kind::State;
    feature.array = coreml::ArrayType::Float16;
    feature.shape = state.type.dims;
    ValueType type;
    type.kind = ValueType::Kind::State;
    type.nested = {state.type};
    main.inputs.push_back({state.program_name, std::move(type)});
  }
}

Status describe_interface(const Graph& graph, const InterfaceNames& names,
                          const CoremlWriteOptions& options, coreml::Interface& interface,
                          coreml::Function& main) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Tensor* input = graph.inputs()[i];
    const auto image = std::ranges::find(options.images, input->name(), &CoremlImageInput::name);
    const CoremlFlexibleInput* flexible = find_flexible(options, input->name());
    if (image != options.images.end()) {
      EC_TRY(coreml::Feature feature, image_feature(input, names.inputs[i], *image, flexible));
      interface.inputs.push_back(std::move(feature));
    } else {
      EC_TRY(coreml::Feature feature, array_feature(input, names.inputs[i], true));
      if (flexible != nullptr) EC_CHECK_OK(open_array(input, *flexible, feature));
      interface.inputs.push_back(std::move(feature));
    }
    main.inputs.push_back({names.inputs[i], type_of(input)});
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    EC_TRY(coreml::Feature feature, array_feature(graph.outputs()[i], names.outputs[i], false));
    interface.outputs.push_back(std::move(feature));
  }
  return {};
}

}  // namespace ec::mil
