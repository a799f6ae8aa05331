// Which sizes of a graph stay open, and what the others are.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/flexible_shapes.h"
#include "support/strings.h"

namespace ec {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

// Sizes of a symbol of the graph.
struct Choice {
  FlexibleDim sizes;
  std::string from;              // the option's words
  std::optional<int64_t> given;  // the default, where the user or the model says one
  int64_t chosen = 1;
};

class Binder {
 public:
  Binder(Graph& graph, const FlexibleShapes& flexible, DiagnosticSink& sink)
      : graph_(graph), flexible_(flexible), sink_(sink) {}

  Status run(const GivenShapes& given, const ShapesByName& shapes, const SizesByName& dims) {
    for (const auto& [name, shape] : flexible_.inputs) {
      EC_TRY(Tensor * input, find_input(name));
      EC_CHECK_OK(choose_for(input, shape));
    }
    for (const auto& [name, dim] : flexible_.dims) EC_CHECK_OK(choose_dim(name, dim));
    EC_CHECK_OK(take_defaults(given, shapes, dims));
    EC_CHECK_OK(settle_defaults());
    EC_CHECK_OK(bind_the_rest(given, shapes));
    return note();
  }

 private:
  static Error unfit(std::string message, std::string hint) {
    return Error(Code::BadShapeOption, std::move(message)).hint(std::move(hint));
  }

  Result<Tensor*> find_input(const std::string& name) const {
    const std::vector<Tensor*>& inputs = graph_.inputs();
    if (name.empty() && inputs.size() == 1) return inputs.front();
    std::vector<std::string_view> known;
    for (Tensor* input : inputs) {
      if (input->name() == name) return input;
      known.push_back(input->name());
    }
    if (const auto at = parse_int(name); at && *at >= 0 && static_cast<size_t>(*at) < inputs.size())
      return inputs[static_cast<size_t>(*at)];
    std::string hint = did_you_mean(name, known);
    if (hint.empty() && !known.empty())
      hint = fmt::format("the first input is '{}'", printable(known[0]));
    if (name.empty())
      return unfit(
          fmt::format("the flexible shape names no input, and the model has {}", inputs.size()),
          std::move(hint));
    return unfit(fmt::format("the model has no input '{}'", printable(name)), std::move(hint));
  }

  // The name of an open size; sizes without one get it, so that it can be followed.
  std::string symbol_of(Tensor* input, size_t axis) {
    const Dim dim = (*input->shape())[axis];
    if (dim.is_symbol()) return std::string(dim.symbol_name());
    const std::string name = fmt::format("{}_{}", input->name(), axis);
    TensorType type = input->type();
    (*type.shape)[axis] = Dim::symbol(name);
    graph_.set_type(input, std::move(type));
    return name;
  }

  Status choose_for(Tensor* input, const FlexibleShape& shape) {
    const std::string shown = printable(input->name());
    if (!input->shape() || input->shape()->rank() != shape.rank())
      return unfit(fmt::format("input '{}' is {}, the flexible shape has {} dimensions", shown,
                               input->type().text(), shape.rank()),
                   "give one size or range for each dimension");
    for (size_t d = 0; d < shape.rank(); ++d) {
      FlexibleDim sizes;
      if (shape.is_listed())
        for (const std::vector<int64_t>& listed : shape.listed) sizes.listed.push_back(listed[d]);
      else
        sizes.range = shape.ranges[d];
      const bool varies =
          shape.is_listed()
              ? std::ranges::any_of(sizes.listed,
                                    [&](int64_t size) { return size != sizes.listed[0]; })
              : !sizes.range.is_fixed();
      const Dim dim = (*input->shape())[d];
      if (!varies) continue;  // fixed when the model was read
      if (dim.is_static())
        return unfit(fmt::format("dimension {} of input '{}' is {} in the model, and "
                                 "--flexible-shape leaves it open",
                                 d, shown, dim.size()),
                     "export the model with this size open (dynamic axes), and leave out --dim "
                     "for it");
      EC_CHECK_OK(
          choose(symbol_of(input, d), sizes, fmt::format("dimension {} of input '{}'", d, shown)));
    }
    return {};
  }

  Status choose_dim(const std::string& name, const FlexibleDim& dim) {
    std::vector<std::string_view> known;
    for (const Tensor* input : graph_.inputs())
      if (input->shape())
        for (const Dim& d : *input->shape())
          if (d.is_symbol()) known.push_back(d.symbol_name());
    if (std::ranges::find(known, name) == known.end()) {
      std::string hint = did_you_mean(name, known);
      if (hint.empty())
        hint = known.empty() ? "all input dimensions are fixed"
                             : fmt::format("open dimensions: {}", fmt::join(known, ", "));
      return unfit(fmt::format("no input has a dimension named '{}'", printable(name)),
                   std::move(hint));
    }
    return choose(name, dim, fmt::format("dimension '{}'", printable(name)));
  }

  Status choose(const std::string& symbol, const FlexibleDim& sizes, std::string from) {
    const auto [it, added] = choices_.emplace(symbol, Choice{sizes, from, {}, 1});
    const FlexibleDim& other = it->second.sizes;
    if (!added && other.text() != sizes.text())
      return unfit(
          fmt::format("{} and {} are one size in the model, '{}', and are given {} and {}",
                      it->second.from, from, printable(symbol), other.text(), sizes.text()),
          "give both the same sizes");
    if (sizes.listed.empty()) return {};
    if (listed_ != 0 && listed_ != sizes.listed.size())
      return unfit(
          fmt::format("one list has {} sizes and another {}", listed_, sizes.listed.size()),
          "the first shapes go together, the second ones, and so on");
    listed_ = sizes.listed.size();
    return {};
  }

  // Defaults from, in this order: what the user gives, calibration data, the model itself.
  Status take_defaults(const GivenShapes& given, const ShapesByName& shapes,
                       const SizesByName& dims) {
    for (const auto& [name, sizes] : shapes) {
      EC_TRY(const Tensor* input, find_input(name));
      EC_CHECK_OK(take(input, sizes, "--input-shape"));
    }
    for (const auto& [name, size] : dims)
      if (const auto found = choices_.find(name); found != choices_.end())
        found->second.given = size;
    for (const auto& [name, sizes] : given)
      for (const Tensor* input : graph_.inputs())
        if (input->name() == name) EC_CHECK_OK(take(input, sizes, {}));
    for (const FlexibleInput& input : defaults_of_model())
      for (const Tensor* tensor : graph_.inputs())
        if (tensor->name() == input.name) EC_CHECK_OK(take(tensor, input.shape, {}));
    return {};
  }

  std::vector<FlexibleInput> defaults_of_model() const {
    std::vector<FlexibleInput> found;
    for (const Tensor* input : graph_.inputs()) {
      const auto entry = graph_.metadata().find(std::string(kDefaultShapeKey) + input->name());
      if (entry == graph_.metadata().end()) continue;
      FlexibleInput& own = found.emplace_back();
      own.name = input->name();
      for (const std::string_view part : split(entry->second, 'x'))
        own.shape.push_back(parse_int(part).value_or(-1));
    }
    return found;
  }

  // `from` is empty where nobody is at fault for sizes that do not fit.
  Status take(const Tensor* input, const std::vector<int64_t>& sizes, std::string_view from) {
    if (!input->shape() || input->shape()->rank() != sizes.size()) return {};
    for (size_t d = 0; d < sizes.size(); ++d) {
      const Dim dim = (*input->shape())[d];
      if (!dim.is_symbol() || sizes[d] < 0) continue;
      const auto found = choices_.find(std::string(dim.symbol_name()));
      if (found == choices_.end()) continue;
      if (found->second.given) {
        if (from.empty() || *found->second.given == sizes[d]) continue;
        return unfit(fmt::format("{} gives '{}' the sizes {} and {}", from,
                                 printable(dim.symbol_name()), *found->second.given, sizes[d]),
                     "dimensions of one name have one size in all inputs");
      }
      const FlexibleDim& choice = found->second.sizes;
      const bool fits = choice.listed.empty()
                            ? choice.range.has(sizes[d])
                            : std::ranges::find(choice.listed, sizes[d]) != choice.listed.end();
      if (fits)
        found->second.given = sizes[d];
      else if (!from.empty())
        return unfit(fmt::format("{} gives {} the size {}, which is none of {}", from,
                                 found->second.from, sizes[d], choice.text()),
                     "the default shape has to be one that is admitted");
    }
    return {};
  }

  Status settle_defaults() {
    const auto fits = [&](size_t i) {
      return std::ranges::all_of(choices_, [&](const auto& entry) {
        const Choice& choice = entry.second;
        return choice.sizes.listed.empty() || !choice.given ||
               choice.sizes.listed[i] == *choice.given;
      });
    };
    size_t at = 0;
    while (at < listed_ && !fits(at)) ++at;
    if (listed_ > 0 && at == listed_)
      return unfit("the default shape is none of the listed ones",
                   "give one of them with --input-shape, or leave it out for the first");
    for (auto& [symbol, choice] : choices_) {
      const bool listed = !choice.sizes.listed.empty();
      choice.chosen =
          listed ? choice.sizes.listed[at] : choice.given.value_or(choice.sizes.range.low);
      if (listed || choice.sizes.range.has(choice.chosen)) continue;
      return unfit(fmt::format("the default size {} of {} is not within {}", choice.chosen,
                               choice.from, choice.sizes.text()),
                   "the default shape has to be one that is admitted");
    }
    return {};
  }

  // All sizes but those that stay open, by the rules that hold for other targets.
  Status bind_the_rest(const GivenShapes& given, const ShapesByName& shapes) {
    std::unique_ptr<Graph> fixed = graph_.clone();
    for (Tensor* input : fixed->inputs()) {
      if (!input->shape()) continue;
      TensorType type = input->type();
      for (Dim& dim : type.shape->dims())
        if (const Choice* choice = choice_of(dim)) dim = Dim(choice->chosen);
      fixed->set_type(input, std::move(type));
    }
    GivenShapes named = given;
    for (const auto& [name, sizes] : shapes) {
      EC_TRY(const Tensor* input, find_input(name));
      if (std::ranges::find(sizes, -1) == sizes.end()) named[input->name()] = sizes;
    }
    EC_TRY(GivenShapes rest, default_shapes(*fixed, named, sink_));
    // Sizes that contradict the model are faults when they are bound.
    for (const auto& [name, sizes] : shapes) {
      EC_TRY(const Tensor* input, find_input(name));
      rest[input->name()] = sizes;
    }
    for (const Tensor* input : graph_.inputs()) {
      if (!input->shape()) continue;
      // Every input is bound, if to nothing: sizes that got a name are inferred with.
      const auto [entry, added] = rest.try_emplace(input->name(), input->shape()->rank(), -1);
      std::vector<int64_t>& sizes = entry->second;
      for (size_t d = 0; d < sizes.size() && d < input->shape()->rank(); ++d)
        if (choice_of((*input->shape())[d]) != nullptr) sizes[d] = -1;
    }
    return bind_shapes(graph_, rest, sink_);
  }

  const Choice* choice_of(const Dim& dim) const {
    if (!dim.is_symbol()) return nullptr;
    const auto found = choices_.find(std::string(dim.symbol_name()));
    return found == choices_.end() ? nullptr : &found->second;
  }

  // An input takes a list of shapes or ranges.
  Status note() {
    for (const Tensor* input : graph_.inputs()) {
      FlexibleShape sizes;
      std::vector<int64_t> shape;
      bool open = false, listed = false, ranges = false;
      for (const Dim& dim : *input->shape()) {
        const Choice* choice = choice_of(dim);
        open = open || choice != nullptr;
        listed = listed || (choice != nullptr && !choice->sizes.listed.empty());
        ranges = ranges || (choice != nullptr && choice->sizes.listed.empty());
        shape.push_back(choice != nullptr ? choice->chosen : dim.size());
      }
      if (!open) continue;
      if (listed && ranges)
        return unfit(fmt::format("input '{}' has a list for one size and a range for another",
                                 printable(input->name())),
                     "list whole shapes with --flexible-shape, or give ranges for both");
      for (size_t i = 0; listed && i < listed_; ++i) {
        std::vector<int64_t> one;
        for (size_t d = 0; d < shape.size(); ++d) {
          const Choice* choice = choice_of((*input->shape())[d]);
          const bool varies = choice != nullptr && !choice->sizes.listed.empty();
          one.push_back(varies ? choice->sizes.listed[i] : shape[d]);
        }
        sizes.listed.push_back(std::move(one));
      }
      for (size_t d = 0; !listed && d < shape.size(); ++d) {
        const Choice* choice = choice_of((*input->shape())[d]);
        sizes.ranges.push_back(choice != nullptr ? choice->sizes.range
                                                 : SizeRange{shape[d], shape[d]});
      }
      set_flexible_input(graph_, {input->name(), std::move(shape), std::move(sizes)});
    }
    return {};
  }

  Graph& graph_;
  const FlexibleShapes& flexible_;
  DiagnosticSink& sink_;
  std::map<std::string, Choice> choices_;  // by symbol
  size_t listed_ = 0;                      // how many shapes each list has
};

// A graph with these sizes has a meaning, as far as inference tells.
std::optional<std::string> fault_at(const Graph& graph, const GivenShapes& shapes) {
  const Result<std::unique_ptr<Graph>> fixed = with_shapes(graph, shapes);
  if (fixed.ok()) return std::nullopt;
  const Diagnostic& d = fixed.error().diagnostic();
  return d.node.empty() ? d.message : fmt::format("node '{}': {}", printable(d.node), d.message);
}

std::string text_of(const GivenShapes& shapes) {
  std::string text;
  for (const auto& [name, shape] : shapes)
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", printable(name), shape_text(shape));
  return text;
}

// Every listed shape and both ends of ranges must be ones that the model can be computed with. Of
// what lies between, the next to the smallest is tried: models that halve their sizes several times
// fail there.
Status check_sizes(const Graph& graph, DiagnosticSink& sink) {
  const std::vector<FlexibleInput> inputs = flexible_inputs(graph);
  for (const GivenShapes& shapes : admitted_shapes(inputs))
    if (const auto fault = fault_at(graph, shapes))
      return Error(Code::BadShapeOption,
                   fmt::format("the model cannot be computed with {}: {}", text_of(shapes), *fault))
          .hint("leave out these sizes");
  GivenShapes next;
  bool differs = false;
  for (const FlexibleInput& input : inputs) {
    std::vector<int64_t>& shape = next[input.name] = input.shape;
    for (size_t d = 0; d < shape.size() && !input.sizes.is_listed(); ++d) {
      const SizeRange& range = input.sizes.ranges[d];
      differs = differs || !range.is_fixed();
      shape[d] = std::min(range.low + 1, range.high);
    }
  }
  if (!differs) return {};
  if (const auto fault = fault_at(graph, next)) {
    Diagnostic d(Code::DynamicShape,
                 fmt::format("the model cannot be computed with every size of the range, such as "
                             "{}: {}",
                             text_of(next), *fault));
    d.severity = Severity::Warning;
    d.hint = "list the shapes that it takes, or make sure that applications give no others";
    sink.report(std::move(d));
  }
  return {};
}

}  // namespace

Status bind_flexible_shapes(Graph& graph, const FlexibleShapes& flexible, const GivenShapes& given,
                            const ShapesByName& shapes, const SizesByName& dims,
                            DiagnosticSink& sink) {
  Status status = Binder(graph, flexible, sink).run(given, shapes, dims);
  if (status.ok()) status = check_sizes(graph, sink);
  return status;
}

}  // namespace ec
