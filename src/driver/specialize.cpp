#include "driver/specialize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ops/infer.h"
#include "support/strings.h"

namespace ec {
namespace {

std::string interface_text(const Graph& graph) {
  std::string text;
  for (const Tensor* input : graph.inputs())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(input->name()),
                        input->type().text());
  return text.empty() ? "none" : text;
}

Error unknown_input(const Graph& graph, const std::string& name) {
  std::vector<std::string_view> known;
  for (const Tensor* input : graph.inputs()) known.push_back(input->name());
  Error error =
      Error(Code::BadShapeOption, fmt::format("the model has no input '{}'", printable(name)))
          .note(fmt::format("inputs: {}", interface_text(graph)));
  return std::move(error).hint(did_you_mean(name, known));
}

// An input by name, else by position.
Tensor* find_input(const Graph& graph, const std::string& key) {
  for (Tensor* input : graph.inputs())
    if (input->name() == key) return input;
  const std::optional<int64_t> position = parse_int(key);
  if (position && *position >= 0 && static_cast<size_t>(*position) < graph.inputs().size())
    return graph.inputs()[static_cast<size_t>(*position)];
  return nullptr;
}

using Bindings = std::map<std::string, int64_t, std::less<>>;

// Binds the symbols of one input to the sizes asked for, and sizes without a symbol in place.
Status bind_shape(Graph& graph, Tensor* input, const std::vector<int64_t>& sizes,
                  Bindings& bindings) {
  const auto mismatch = [&](std::string_view what) {
    return Error(Code::BadShapeOption, fmt::format("input '{}' is {}: {}", printable(input->name()),
                                                   input->type().text(), what))
        .hint("--input-shape can fix open dimensions only");
  };
  TensorType type = input->type();
  if (!type.shape) {
    type.shape = Shape::of(sizes);
    graph.set_type(input, std::move(type));
    return {};
  }
  if (type.shape->rank() != sizes.size())
    return mismatch(fmt::format("{} sizes were given", sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    Dim& dim = (*type.shape)[i];
    if (dim.is_static() && dim.size() != sizes[i])
      return mismatch(fmt::format("dimension {} is {}, not {}", i, dim.size(), sizes[i]));
    if (dim.is_symbol()) {
      const auto [it, fresh] = bindings.emplace(dim.symbol_name(), sizes[i]);
      if (!fresh && it->second != sizes[i])
        return mismatch(fmt::format("dimension '{}' cannot be both {} and {}", dim.symbol_name(),
                                    it->second, sizes[i]));
    }
    if (dim.is_unknown()) dim = sizes[i];
  }
  graph.set_type(input, std::move(type));
  return {};
}

Status bind_dims(const Graph& graph, const std::map<std::string, int64_t>& dims,
                 Bindings& bindings) {
  std::vector<std::string_view> known;
  for (const Tensor* input : graph.inputs())
    if (input->shape())
      for (const Dim& dim : *input->shape())
        if (dim.is_symbol() &&
            std::find(known.begin(), known.end(), dim.symbol_name()) == known.end())
          known.push_back(dim.symbol_name());
  for (const auto& [name, size] : dims) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Error(Code::BadShapeOption,
                   fmt::format("no input has an open dimension '{}'", printable(name)))
          .note(fmt::format("inputs: {}", interface_text(graph)))
          .hint(did_you_mean(name, known));
    const auto [it, fresh] = bindings.emplace(name, size);
    if (!fresh && it->second != size)
      return Error(Code::BadShapeOption,
                   fmt::format("dimension '{}' is given as {} and, through --input-shape, as {}",
                               printable(name), size, it->second))
          .hint("give it once");
  }
  return {};
}

}  // namespace

Status specialize(Graph& graph, const CompileOptions& options, DiagnosticSink& sink) {
  if (options.input_shapes.empty() && options.dims.empty()) return {};
  Bindings bindings;
  for (const auto& [key, sizes] : options.input_shapes) {
    Tensor* input = find_input(graph, key);
    if (!input) return unknown_input(graph, key);
    EC_CHECK_OK(bind_shape(graph, input, sizes, bindings));
  }
  EC_CHECK_OK(bind_dims(graph, options.dims, bindings));
  for (Tensor* input : graph.inputs()) {
    if (!input->shape()) continue;
    TensorType type = input->type();
    for (Dim& dim : type.shape->dims())
      if (dim.is_symbol())
        if (const auto it = bindings.find(dim.symbol_name()); it != bindings.end())
          dim = it->second;
    graph.set_type(input, std::move(type));
  }
  const size_t before = sink.error_count();
  infer_graph(graph, sink);
  if (sink.error_count() > before) return sink.first_error();
  return {};
}

}  // namespace ec
