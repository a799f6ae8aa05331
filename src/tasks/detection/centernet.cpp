// CenterNet: a map of centres for each class, maps of sizes and of offsets.
#include <fmt/format.h>

#include <algorithm>

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

class CenterNetHead final : public Head {
 public:
  CenterNetHead(const HeadContext& context, Roles roles) : roles_(roles) {
    name_ = "CenterNet";
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
          const Box box = centred(static_cast<float>(x) + offsets.at(0, y, x),
                                  static_cast<float>(y) + offsets.at(1, y, x), sizes.at(0, y, x),
                                  sizes.at(1, y, x));
          candidates.add({{box.x1 * stride_, box.y1 * stride_, box.x2 * stride_, box.y2 * stride_},
                          score,
                          static_cast<int32_t>(c),
                          -1,
                          static_cast<int32_t>(y * centres.width + x)});
        }
  }

 private:
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
  bool logits_ = false;
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

}  // namespace

HeadPtr recognise_centernet(const HeadContext& context) {
  if (context.outputs.size() != 3) return nullptr;
  for (const Tensor& output : context.outputs)
    if (output.rank() != 4 || output.shape[0] != 1 || output.values.empty()) return nullptr;
  for (const bool last : {false, true}) {
    const size_t y = last ? 1 : 2, channel = last ? 3 : 1;
    const auto shape = [&](size_t i) { return context.outputs[i].shape; };
    bool same = true;
    for (size_t i = 1; i < 3; ++i)
      same &= shape(i)[y] == shape(0)[y] && shape(i)[y + 1] == shape(0)[y + 1];
    if (!same) continue;
    for (size_t centres = 0; centres < 3; ++centres) {
      const size_t a = (centres + 1) % 3, b = (centres + 2) % 3;
      if (shape(a)[channel] != 2 || shape(b)[channel] != 2) continue;
      // With two classes all three have two channels.
      const bool named = name_has(context.interface.outputs[centres], {"hm", "heat", "center"});
      if (shape(centres)[channel] == 2 && !named) continue;
      const bool sizes = holds_sizes(context, a, b);
      return std::make_unique<CenterNetHead>(context,
                                             Roles{centres, sizes ? a : b, sizes ? b : a, last});
    }
  }
  return nullptr;
}

}  // namespace ec::tasks::detection
