#include "frontend/flexible_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "support/strings.h"

namespace ec {
namespace {

constexpr int64_t kLargestSize = std::numeric_limits<int32_t>::max();
// Core ML takes as many, and nobody needs more.
constexpr size_t kMostListed = 128;

constexpr std::string_view kShapeHint =
    "write NAME:1x3x224..448x224..448, or NAME:1x3x224x224,1x3x320x320 for a list";

std::optional<int64_t> size_of(std::string_view text) {
  const auto size = parse_int(trim(text));
  return size && *size >= 1 && *size <= kLargestSize ? size : std::nullopt;
}

// "224" or "224..448".
std::optional<SizeRange> range_of(std::string_view text) {
  const size_t dots = text.find("..");
  const auto low = size_of(text.substr(0, dots));
  const auto high = dots == std::string_view::npos ? low : size_of(text.substr(dots + 2));
  if (!low || !high || *low > *high) return std::nullopt;
  return SizeRange{*low, *high};
}

std::string range_text(const SizeRange& range) {
  return range.is_fixed() ? std::to_string(range.low)
                          : fmt::format("{}..{}", range.low, range.high);
}

Result<std::vector<SizeRange>> parse_ranges(std::string_view text) {
  std::string unified(text);
  std::replace(unified.begin(), unified.end(), 'X', 'x');
  std::vector<SizeRange> ranges;
  for (const std::string_view part : split(unified, 'x')) {
    const auto range = range_of(part);
    if (!range)
      return Error(Code::Usage, fmt::format("'{}' is no size from 1 to {} and no range LOW..HIGH",
                                            printable(trim(part)), kLargestSize))
          .hint(std::string(kShapeHint));
    ranges.push_back(*range);
  }
  return ranges;
}

Result<FlexibleDim> parse_flexible_dim(std::string_view text) {
  FlexibleDim dim;
  const std::vector<std::string_view> parts = split(text, ',');
  bool fits = parts.size() <= kMostListed;
  for (const std::string_view part : parts) {
    const auto range = range_of(part);
    fits = fits && range && (parts.size() == 1 || range->is_fixed());
    if (!fits) break;
    dim.range = *range;
    if (parts.size() > 1) dim.listed.push_back(range->low);
  }
  if (!fits)
    return Error(Code::Usage, fmt::format("'{}' is no range and no list of sizes", printable(text)))
        .hint("write NAME=1..512, or NAME=128,256,512 for a list");
  return dim;
}

}  // namespace

std::string FlexibleShape::text() const {
  std::string text;
  for (const std::vector<int64_t>& shape : listed)
    text += fmt::format("{}{}", text.empty() ? "" : ",", fmt::join(shape, "x"));
  for (const SizeRange& range : ranges) text += (text.empty() ? "" : "x") + range_text(range);
  return text;
}

std::string FlexibleDim::text() const {
  return listed.empty() ? range_text(range) : fmt::format("{}", fmt::join(listed, ","));
}

Result<FlexibleShape> parse_flexible_shape(std::string_view text) {
  FlexibleShape shape;
  const std::vector<std::string_view> parts = split(text, ',');
  if (parts.size() > kMostListed)
    return Error(Code::Usage, fmt::format("{} shapes are more than {}", parts.size(), kMostListed))
        .hint("give a range instead");
  if (parts.size() == 1) {
    EC_TRY(shape.ranges, parse_ranges(text));
    return shape;
  }
  for (const std::string_view part : parts) {
    EC_TRY(const std::vector<SizeRange> sizes, parse_ranges(part));
    std::vector<int64_t>& listed = shape.listed.emplace_back();
    for (const SizeRange& size : sizes) {
      if (!size.is_fixed())
        return Error(Code::Usage, fmt::format("'{}' has a range within a list", printable(text)))
            .hint(std::string(kShapeHint));
      listed.push_back(size.low);
    }
    if (listed.size() != shape.listed.front().size())
      return Error(Code::Usage,
                   fmt::format("the shapes of '{}' differ in their dimensions", printable(text)))
          .hint(std::string(kShapeHint));
  }
  return shape;
}

Result<FlexibleShapes> parse_flexible_shapes(const std::vector<std::string>& shapes,
                                             const std::vector<std::string>& dims) {
  FlexibleShapes flexible;
  for (const std::string& item : shapes) {
    const size_t colon = item.rfind(':');
    const bool bare = colon == std::string::npos;
    const std::string name = bare ? "" : item.substr(0, colon);
    EC_TRY(FlexibleShape shape,
           parse_flexible_shape(bare ? std::string_view(item)
                                     : std::string_view(item).substr(colon + 1)));
    if (!flexible.inputs.emplace(name, std::move(shape)).second)
      return Error(Code::Usage, fmt::format("two flexible shapes for '{}'", printable(name)))
          .hint("list the shapes of an input with commas");
  }
  for (const std::string& item : dims) {
    const size_t equals = item.rfind('=');
    if (equals == std::string::npos || equals == 0)
      return Error(Code::Usage, fmt::format("'{}' names no dimension", printable(item)))
          .hint("write NAME=1..512, or NAME=128,256,512 for a list");
    EC_TRY(FlexibleDim dim, parse_flexible_dim(std::string_view(item).substr(equals + 1)));
    const std::string name(trim(std::string_view(item).substr(0, equals)));
    if (!flexible.dims.emplace(name, std::move(dim)).second)
      return Error(Code::Usage, fmt::format("two flexible sizes for '{}'", printable(name)));
  }
  return flexible;
}

void leave_open(const FlexibleShapes& flexible, ImportOptions& options) {
  for (const auto& [name, dim] : flexible.dims) options.dims.erase(name);
  // Which inputs have these dimensions is known when the model is read.
  if (!flexible.dims.empty()) options.input_shapes.clear();
  for (const auto& [name, shape] : flexible.inputs) {
    // The only input needs no name; if one of the names is missing there is but one.
    if (name.empty() || options.input_shapes.contains("")) options.input_shapes.clear();
    std::vector<int64_t>& pattern = options.input_shapes[name];
    pattern.clear();
    for (size_t d = 0; d < shape.rank(); ++d) {
      bool fixed = !shape.is_listed() && shape.ranges[d].is_fixed();
      if (shape.is_listed())
        fixed = std::ranges::all_of(
            shape.listed, [&](const auto& sizes) { return sizes[d] == shape.listed[0][d]; });
      pattern.push_back(!fixed ? -1 : shape.is_listed() ? shape.listed[0][d] : shape.ranges[d].low);
    }
  }
}

std::vector<FlexibleInput> flexible_inputs(const Graph& graph) {
  std::vector<FlexibleInput> inputs;
  const auto text_of = [&](std::string_view key, const std::string& name) {
    const auto found = graph.metadata().find(std::string(key) + name);
    return found == graph.metadata().end() ? std::string() : found->second;
  };
  for (const Tensor* input : graph.inputs()) {
    const std::string sizes = text_of(kFlexibleShapeKey, input->name()),
                      shape = text_of(kDefaultShapeKey, input->name());
    if (sizes.empty() || shape.empty()) continue;
    Result<FlexibleShape> parsed = parse_flexible_shape(sizes);
    FlexibleInput& flexible = inputs.emplace_back();
    flexible.name = input->name();
    if (parsed.ok()) flexible.sizes = std::move(*parsed);
    for (const std::string_view part : split(shape, 'x'))
      flexible.shape.push_back(parse_int(part).value_or(1));
  }
  return inputs;
}

void set_flexible_input(Graph& graph, const FlexibleInput& input) {
  graph.metadata()[std::string(kFlexibleShapeKey) + input.name] = input.sizes.text();
  graph.metadata()[std::string(kDefaultShapeKey) + input.name] =
      fmt::format("{}", fmt::join(input.shape, "x"));
}

Result<std::unique_ptr<Graph>> with_shapes(const Graph& graph, const GivenShapes& shapes) {
  std::unique_ptr<Graph> fixed = graph.clone();
  DiagnosticSink sink;
  EC_CHECK_OK(bind_shapes(*fixed, shapes, sink));
  return fixed;
}

std::vector<GivenShapes> admitted_shapes(const std::vector<FlexibleInput>& inputs) {
  std::vector<GivenShapes> all(1);
  size_t listed = 0;
  bool ranges = false;
  for (const FlexibleInput& input : inputs) {
    all[0][input.name] = input.shape;
    listed = std::max(listed, input.sizes.listed.size());
    ranges = ranges || !input.sizes.is_listed();
  }
  const auto add = [&](auto&& shape_of) {
    GivenShapes shapes;
    for (const FlexibleInput& input : inputs) shapes[input.name] = shape_of(input);
    if (std::ranges::find(all, shapes) == all.end()) all.push_back(std::move(shapes));
  };
  for (size_t i = 0; i < listed; ++i)
    add([&](const FlexibleInput& input) {
      return input.sizes.is_listed() ? input.sizes.listed[i] : input.shape;
    });
  const auto end_of = [](const FlexibleInput& input, bool high) {
    if (input.sizes.is_listed()) return input.shape;
    std::vector<int64_t> shape;
    for (const SizeRange& range : input.sizes.ranges)
      shape.push_back(high ? range.high : range.low);
    return shape;
  };
  if (ranges)
    for (const bool high : {false, true})
      add([&](const FlexibleInput& input) { return end_of(input, high); });
  return all;
}

}  // namespace ec
