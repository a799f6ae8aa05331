// CenterNet: a map of centres for each class, maps of sizes and of offsets. CenterFace: the same
// with logarithms of sizes, rows before columns, and landmarks, which are not judged.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tasks/detection/head.h"
#include "tasks/values.h"

namespace ec::tasks::detection {
namespace {

// A map of [channels][height][width], wherever its channels stand.
struct Map {
  const float* data = nullptr;
  size_t channels = 0, height = 0, width = 0;
  bool channels_last = false;

  float at(size_t channel, size_t y, size_t x) const {
    return channels_last ? data[(y * width + x) * channels + channel]
                         : data[(channel * height + y) * width + x];
  }
};

Map map_of(const Tensor& tensor, bool channels_last) {
  const auto size = [&](size_t d) { return static_cast<size_t>(tensor.shape[d]); };
  if (channels_last) return {tensor.values.data(), size(3), size(1), size(2), true};
  return {tensor.values.data(), size(1), size(2), size(3), false};
}

struct Roles {
  size_t centres = 0, sizes = 0, offsets = 0;
  bool channels_last = false;
};

// exp() of a hostile size stays finite.
constexpr float kMostExponent = 30.0f;

class CenterNetHead final : public Head {
 public:
  CenterNetHead(const HeadContext& context, Roles roles) : roles_(roles) {
    const Map sizes = map_of(context.outputs[roles.sizes], roles.channels_last);
    const auto widest = static_cast<float>(std::max(sizes.height, sizes.width));
    // Logarithms of sizes in cells: none is larger than the map.
    faces_ = context.outputs.size() > 3 &&
             span_of(context.outputs[roles.sizes].values).most < std::log(widest) + 1;
    name_ = faces_ ? "CenterFace" : "CenterNet";
    suppression_ = false;  // centres are largest among their neighbours
    const Map centres = map_of(context.outputs[roles.centres], roles.channels_last);
    classes_ = static_cast<int32_t>(centres.channels);
    logits_ = !is_unit(context.outputs[roles.centres].values);
    if (context.interface.width > 0)
      stride_ = static_cast<float>(context.interface.width) / static_cast<float>(centres.width);
    reason_ =
        fmt::format("centres of {} classes{} in '{}', sizes in '{}', offsets in '{}', all {}x{}",
                    classes_, logits_ ? " as logits" : "", context.interface.outputs[roles.centres],
                    context.interface.outputs[roles.sizes],
                    context.interface.outputs[roles.offsets], centres.height, centres.width);
  }

  void decode(Tensors outputs, float least, Candidates& candidates) const override {
    const Map centres = map_of(outputs[roles_.centres], roles_.channels_last);
    const Map sizes = map_of(outputs[roles_.sizes], roles_.channels_last);
    const Map offsets = map_of(outputs[roles_.offsets], roles_.channels_last);
    for (size_t c = 0; c < centres.channels; ++c)
      for (size_t y = 0; y < centres.height; ++y)
        for (size_t x = 0; x < centres.width; ++x) {
          const float raw = centres.at(c, y, x);
          const float score = logits_ ? sigmoid(raw) : raw;
          if (!(score >= least) || !is_peak(centres, c, y, x)) continue;
          const size_t across = faces_ ? 1 : 0, down = 1 - across;
          const Box box = centred(static_cast<float>(x) + offsets.at(across, y, x),
                                  static_cast<float>(y) + offsets.at(down, y, x),
                                  size(sizes.at(across, y, x)), size(sizes.at(down, y, x)));
          // Rounding moves a peak to the next cell: candidates are compared by their place.
          candidates.add({{box.x1 * stride_, box.y1 * stride_, box.x2 * stride_, box.y2 * stride_},
                          score,
                          static_cast<int32_t>(c),
                          -1,
                          -1});
        }
  }

 private:
  float size(float stored) const {
    return faces_ ? std::exp(std::min(stored, kMostExponent)) : stored;
  }

  // Of equal neighbours, which integers make often, the first counts.
  static bool is_peak(const Map& map, size_t c, size_t y, size_t x) {
    const float value = map.at(c, y, x);
    for (size_t v = y > 0 ? y - 1 : 0; v <= std::min(y + 1, map.height - 1); ++v)
      for (size_t u = x > 0 ? x - 1 : 0; u <= std::min(x + 1, map.width - 1); ++u) {
        const bool before = v < y || (v == y && u < x);
        const float other = map.at(c, v, u);
        if (other > value || (before && other == value)) return false;
      }
    return true;
  }

  Roles roles_;
  bool logits_ = false, faces_ = false;
  float stride_ = 1;
};

// Whether a map of two channels holds sizes and `other` offsets: by name, else offsets are the ones
// that stay within a cell.
bool holds_sizes(const HeadContext& context, size_t map, size_t other) {
  const std::string& name = context.interface.outputs[map];
  const std::string& other_name = context.interface.outputs[other];
  if (name_has(name, {"wh", "size"}) || name_has(other_name, {"reg", "off"})) return true;
  if (name_has(other_name, {"wh", "size"}) || name_has(name, {"reg", "off"})) return false;
  return span_of(context.outputs[map].values).most > span_of(context.outputs[other].values).most;
}

// Which output holds what; empty: the shapes are others.
std::optional<Roles> roles_of(const HeadContext& context, bool last) {
  const size_t y = last ? 1 : 2, channel = last ? 3 : 1, count = context.outputs.size();
  std::vector<size_t> pairs, others;
  for (size_t i = 0; i < count; ++i) {
    const auto& shape = context.outputs[i].shape;
    if (shape[y] != context.outputs[0].shape[y] || shape[y + 1] != context.outputs[0].shape[y + 1])
      return std::nullopt;
    const bool named = name_has(context.interface.outputs[i], {"hm", "heat", "center"});
    (shape[channel] == 2 && !named ? pairs : others).push_back(i);
  }
  if (pairs.size() != 2) return std::nullopt;
  // Beside landmarks, centres are the probabilities.
  size_t centres = others[0];
  if (others.size() == 2) {
    const auto is_score = [&](size_t i) { return is_unit(context.outputs[i].values); };
    if (is_score(others[0]) == is_score(others[1])) return std::nullopt;
    if (is_score(others[1])) centres = others[1];
  }
  const bool sizes = holds_sizes(context, pairs[0], pairs[1]);
  return Roles{centres, pairs[sizes ? 0 : 1], pairs[sizes ? 1 : 0], last};
}

}  // namespace

HeadPtr recognise_centernet(const HeadContext& context) {
  if (context.outputs.size() < 3 || context.outputs.size() > 4) return nullptr;
  for (const Tensor& output : context.outputs)
    if (output.rank() != 4 || output.shape[0] != 1 || output.values.empty()) return nullptr;
  for (const bool last : {false, true})
    if (const std::optional<Roles> roles = roles_of(context, last))
      return std::make_unique<CenterNetHead>(context, *roles);
  return nullptr;
}

}  // namespace ec::tasks::detection
