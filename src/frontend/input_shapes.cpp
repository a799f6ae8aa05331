#include "frontend/input_shapes.h"

#include <algorithm>

#include "support/strings.h"

namespace ec {
namespace {

class Applier {
 public:
  Applier(std::vector<NamedInput>& inputs, const ImportOptions& options, DiagnosticSink& sink)
      : inputs_(inputs), options_(options), sink_(sink) {}

  void run() {
    for (const auto& [name, size] : options_.dims) bind_dim(name, size);
    for (const auto& [name, sizes] : options_.input_shapes)
      if (NamedInput* input = find_input(name)) apply_shape(*input, sizes);
    for (NamedInput& input : inputs_) substitute(input);
  }

 private:
  void fault(std::string message, std::string hint) {
    sink_.report(Error(Code::BadShapeOption, std::move(message)).hint(std::move(hint)));
  }

  std::vector<std::string_view> symbols() const {
    std::vector<std::string_view> names;
    for (const NamedInput& input : inputs_)
      if (input.type.shape)
        for (const Dim& dim : *input.type.shape)
          if (dim.is_symbol()) names.push_back(dim.symbol_name());
    return names;
  }

  void bind_dim(const std::string& name, int64_t size) {
    const auto known = symbols();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string hint = did_you_mean(name, known);
      if (hint.empty()) hint = known.empty() ? "all input dimensions are fixed" : list(known);
      return fault("no input has a dimension named '" + printable(name) + "'", std::move(hint));
    }
    if (size < 0)
      return fault("dimension '" + name + "' cannot be " + std::to_string(size),
                   "sizes are 0 or more");
    sizes_[name] = size;
  }

  static std::string list(const std::vector<std::string_view>& names) {
    std::string text = "open dimensions: ";
    for (size_t i = 0; i < names.size(); ++i) text += (i > 0 ? ", " : "") + std::string(names[i]);
    return text;
  }

  NamedInput* find_input(const std::string& name) {
    if (name.empty() && inputs_.size() == 1) return &inputs_.front();
    std::vector<std::string_view> known;
    for (NamedInput& input : inputs_) {
      if (input.name == name) return &input;
      known.push_back(input.name);
    }
    // By position, when no input has the number as its name.
    if (const auto position = parse_int(name);
        position && *position >= 0 && static_cast<size_t>(*position) < inputs_.size())
      return &inputs_[static_cast<size_t>(*position)];
    if (name.empty()) {
      fault("the shape names no input, and the model has " + std::to_string(inputs_.size()),
            "write --input-shape NAME:1x3x224x224");
    } else {
      std::string hint = did_you_mean(name, known);
      if (hint.empty() && !known.empty())
        hint = "the first input is '" + std::string(known[0]) + "'";
      fault("the model has no input '" + printable(name) + "'", std::move(hint));
    }
    return nullptr;
  }

  void apply_shape(NamedInput& input, const std::vector<int64_t>& sizes) {
    if (!input.type.shape) {
      std::vector<Dim> dims;
      for (const int64_t size : sizes) dims.push_back(size < 0 ? Dim::unknown() : Dim(size));
      input.type.shape = Shape(std::move(dims));
      return;
    }
    Shape& shape = *input.type.shape;
    if (shape.rank() != sizes.size())
      return fault("input '" + input.name + "' has " + std::to_string(shape.rank()) +
                       " dimensions " + shape.text() + ", the given shape " +
                       std::to_string(sizes.size()),
                   "give one size per dimension, -1 to leave one open");
    for (size_t i = 0; i < sizes.size(); ++i) apply_size(input, shape[i], i, sizes[i]);
  }

  void apply_size(const NamedInput& input, Dim& dim, size_t axis, int64_t size) {
    if (size < 0) return;
    const auto conflict = [&](const std::string& what) {
      fault("dimension " + std::to_string(axis) + " of input '" + input.name + "' is " + what +
                ", not " + std::to_string(size),
            "only open dimensions can be given a size; the input is " + input.type.text());
    };
    if (dim.is_static()) {
      if (dim.size() != size) conflict(dim.text());
    } else if (dim.is_symbol()) {
      const auto [it, added] = sizes_.emplace(dim.symbol_name(), size);
      if (!added && it->second != size)
        conflict("'" + it->first + "' = " + std::to_string(it->second));
    } else {
      dim = Dim(size);
    }
  }

  void substitute(NamedInput& input) {
    if (!input.type.shape) return;
    for (Dim& dim : input.type.shape->dims()) {
      if (!dim.is_symbol()) continue;
      const auto it = sizes_.find(std::string(dim.symbol_name()));
      if (it != sizes_.end()) dim = Dim(it->second);
    }
  }

  std::vector<NamedInput>& inputs_;
  const ImportOptions& options_;
  DiagnosticSink& sink_;
  std::map<std::string, int64_t> sizes_;
};

}  // namespace

void apply_input_options(std::vector<NamedInput>& inputs, const ImportOptions& options,
                         DiagnosticSink& sink) {
  Applier(inputs, options, sink).run();
}

}  // namespace ec
