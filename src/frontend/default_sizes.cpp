#include "frontend/default_sizes.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "frontend/input_shapes.h"
#include "ir/open_sizes.h"
#include "ops/infer.h"
#include "support/strings.h"

namespace ec {
namespace {

bool is_open(const TensorType& type) { return !type.is_static(); }

// The words of a name: "Batch_size" -> batch, size.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const bool starts =
        std::isupper(c) != 0 && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    if (std::isalpha(c) == 0 || starts) words.emplace_back();
    if (std::isalpha(c) != 0) words.back() += static_cast<char>(std::tolower(c));
  }
  return words;
}

bool says_batch(std::string_view name, bool first) {
  // An expression ("batch*seq") is a count of something else.
  if (name.find_first_of("*+/ ()") != std::string_view::npos) return false;
  const std::vector<std::string> words = words_of(name);
  if (std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word == "batch" || word == "batchsize" || word == "nbatch" || word == "minibatch";
      }))
    return true;
  const std::string whole = to_lower(name);
  return first && (whole == "n" || whole == "b" || whole == "bs" || whole == "bsz");
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Names that exporters invent.
bool is_unnamed(const Dim& dim, const std::string& input) {
  if (!dim.is_symbol()) return true;
  const std::string_view name = dim.symbol_name();
  const auto is_numbered = [&](std::string_view prefix) {
    return name.starts_with(prefix) && is_number(name.substr(prefix.size()));
  };
  return is_numbered("?") || is_numbered("s") || is_numbered("unk__") || is_numbered("dim_") ||
         is_numbered("DynamicDimension.") || is_numbered("p2o.DynamicDimension.") ||
         is_numbered(input + "_dim") || is_numbered(input + "_dim_") ||
         is_numbered(input + "_dynamic_axes_");
}

bool is_first_of_input(const Graph& graph, const Dim& dim) {
  return std::any_of(graph.inputs().begin(), graph.inputs().end(), [&](const Tensor* input) {
    return input->shape() && input->shape()->rank() > 0 && (*input->shape())[0].same_size(dim);
  });
}

// Every input is [open, fixed...], and every output begins with one of the open sizes.
bool rows_are_independent(const Graph& graph) {
  for (const Tensor* input : graph.inputs()) {
    const auto& shape = input->shape();
    if (!shape || shape->rank() < 2 || (*shape)[0].is_static()) return false;
    if (!std::all_of(shape->begin() + 1, shape->end(), [](const Dim& d) { return d.is_static(); }))
      return false;
  }
  for (const Tensor* output : graph.outputs()) {
    const auto& shape = output->shape();
    if (!shape || shape->rank() == 0 || !is_first_of_input(graph, (*shape)[0])) return false;
  }
  return !graph.outputs().empty();
}

std::optional<std::vector<int64_t>> own_default(const Graph& graph, const std::string& input) {
  const auto found = graph.metadata().find(std::string(kDefaultShapeKey) + input);
  if (found == graph.metadata().end()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const std::string_view part : split(found->second, 'x')) {
    const auto size = parse_int(part);
    if (!size || *size < 0) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

std::string shape_option(const std::string& name, const std::optional<Shape>& shape) {
  std::string text = "--input-shape " + name + ":";
  if (!shape) return text + "...";
  for (size_t i = 0; i < shape->rank(); ++i)
    text += (i > 0 ? "x" : "") + ((*shape)[i].is_static() ? (*shape)[i].text() : std::string("?"));
  return text;
}

class Chooser {
 public:
  Chooser(const Graph& graph, DiagnosticSink& sink) : graph_(graph), sink_(sink) {
    for (const Tensor* input : graph.inputs()) shapes_.push_back(input->shape());
  }

  // Open sizes that the shape has; a shape that contradicts the model is no help.
  void take(size_t input, const std::vector<int64_t>& sizes) {
    std::optional<Shape>& shape = shapes_[input];
    if (!shape) {
      shape = Shape::of(sizes);
      return;
    }
    if (shape->rank() != sizes.size()) return;
    for (size_t i = 0; i < sizes.size(); ++i)
      if ((*shape)[i].is_static() && (*shape)[i].size() != sizes[i]) return;
    for (size_t i = 0; i < sizes.size(); ++i) set(input, i, sizes[i]);
  }

  void take_batches() {
    for (size_t i = 0; i < shapes_.size(); ++i) {
      if (!shapes_[i]) continue;
      for (size_t axis = 0; axis < shapes_[i]->rank(); ++axis) {
        if ((*shapes_[i])[axis].is_static() || !stands_for_batch(graph_, i, axis)) continue;
        remark(i, axis);
        set(i, axis, 1);
      }
    }
  }

  Result<GivenShapes> finish() {
    std::vector<std::string> missing, options;
    GivenShapes result;
    for (size_t i = 0; i < shapes_.size(); ++i) {
      const Tensor* input = graph_.inputs()[i];
      if (!is_open(input->type())) continue;
      if (shapes_[i] && shapes_[i]->is_static()) {
        result[input->name()] = shapes_[i]->sizes();
        continue;
      }
      missing.push_back("'" + input->name() + "' " + input->type().text());
      add_options(i, options);
    }
    if (missing.empty()) return result;
    Error error =
        Error(Code::DynamicShape, "the model leaves sizes open: input " + join(missing, ", input "))
            .hint(join(options, " ") + " (with numbers in place of ?)");
    sink_.report(error.diagnostic());
    return error;
  }

 private:
  // The size of a dimension, and of every other one with its name.
  void set(size_t input, size_t axis, int64_t size) {
    const Dim dim = (*shapes_[input])[axis];
    (*shapes_[input])[axis] = Dim(size);
    if (!dim.is_symbol()) return;
    for (std::optional<Shape>& shape : shapes_)
      if (shape)
        for (Dim& other : shape->dims())
          if (other == dim) other = Dim(size);
  }

  void remark(size_t input, size_t axis) {
    const Tensor* tensor = graph_.inputs()[input];
    const Dim& dim = (*tensor->shape())[axis];
    const bool named = dim.is_symbol() && !is_unnamed(dim, tensor->name());
    Diagnostic d(Code::DynamicShape,
                 "input '" + tensor->name() + "' " + tensor->type().text() + ": the batch" +
                     (named ? " '" + dim.text() + "'" : std::string()) + " is taken as 1");
    d.severity = Severity::Remark;
    d.hint = "choose another size with " + (named ? "--dim " + dim.text() + "=SIZE"
                                                  : shape_option(tensor->name(), tensor->shape()));
    sink_.report(std::move(d));
  }

  void add_options(size_t input, std::vector<std::string>& options) const {
    const std::string& name = graph_.inputs()[input]->name();
    const std::optional<Shape>& shape = shapes_[input];
    bool by_name = shape.has_value();
    if (shape)
      for (const Dim& dim : *shape)
        by_name = by_name && (dim.is_static() || !is_unnamed(dim, name));
    if (!by_name) return options.push_back(shape_option(name, shape));
    for (const Dim& dim : *shape) {
      const std::string option = "--dim " + dim.text() + "=?";
      if (!dim.is_static() && std::find(options.begin(), options.end(), option) == options.end())
        options.push_back(option);
    }
  }

  const Graph& graph_;
  DiagnosticSink& sink_;
  std::vector<std::optional<Shape>> shapes_;  // by input, with what is known so far
};

}  // namespace

bool stands_for_batch(const Graph& graph, size_t input, size_t axis) {
  const Tensor* tensor = graph.inputs()[input];
  const auto& shape = tensor->shape();
  if (!shape || axis >= shape->rank() || (*shape)[axis].is_static()) return false;
  const Dim& dim = (*shape)[axis];
  if (dim.is_symbol() && says_batch(dim.symbol_name(), axis == 0)) return true;
  if (axis != 0 || !is_unnamed(dim, tensor->name())) return false;
  if (shape->rank() >= 3) return true;
  return shape->rank() == 2 && rows_are_independent(graph);
}

Result<GivenShapes> default_shapes(const Graph& graph, const GivenShapes& given,
                                   DiagnosticSink& sink) {
  Chooser chooser(graph, sink);
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    if (const auto found = given.find(graph.inputs()[i]->name()); found != given.end())
      chooser.take(i, found->second);
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    if (const auto sizes = own_default(graph, graph.inputs()[i]->name())) chooser.take(i, *sizes);
  chooser.take_batches();
  return chooser.finish();
}

Status bind_shapes(Graph& graph, const GivenShapes& shapes, DiagnosticSink& sink) {
  if (shapes.empty()) return {};
  std::vector<NamedInput> inputs;
  for (const Tensor* input : graph.inputs()) inputs.push_back({input->name(), input->type()});
  const size_t before = sink.error_count();
  ImportOptions options;
  options.input_shapes = shapes;
  apply_input_options(inputs, options, sink);
  if (sink.error_count() > before) return sink.first_error();
  for (size_t i = 0; i < inputs.size(); ++i)
    graph.set_type(graph.inputs()[i], std::move(inputs[i].type));
  infer_graph(graph, sink);
  if (sink.error_count() > before) return sink.first_error();
  return {};
}

void remark_given_sizes(const GivenShapes& given, const GivenShapes& taken, DiagnosticSink& sink) {
  for (const auto& [name, shape] : given) {
    if (!taken.contains(name)) continue;
    Diagnostic d(Code::DynamicShape, "input '" + name + "' has the size of the calibration data: " +
                                         Shape::of(shape).text());
    d.severity = Severity::Remark;
    d.hint = "choose another size with --input-shape";
    sink.report(std::move(d));
  }
}

Status bind_default_sizes(Graph& graph, const GivenShapes& given, DiagnosticSink& sink) {
  if (has_open_inputs(graph)) {
    EC_TRY(const GivenShapes shapes, default_shapes(graph, given, sink));
    EC_CHECK_OK(bind_shapes(graph, shapes, sink));
  }
  std::erase_if(graph.metadata(),
                [](const auto& entry) { return entry.first.starts_with(kDefaultShapeKey); });
  return {};
}

}  // namespace ec
