// Resizes by more than 4, which the device leaves to the CPU: from a single pixel a tile, else
// several small ones where they read the same elements.
#include <algorithm>

#include "backend/coral/passes/rules.h"
#include "ops/resize_taps.h"

namespace ec::passes {
namespace {

constexpr int64_t kLargestFactor = 4;

// Factors of at most 4, largest first; empty: there are none.
std::vector<int64_t> small_factors(int64_t n) {
  std::vector<int64_t> factors;
  for (const int64_t f : {4, 3, 2})
    while (n % f == 0) {
      factors.push_back(f);
      n /= f;
    }
  return n == 1 ? factors : std::vector<int64_t>{};
}

// How often each pixel is repeated along a dimension; nothing when it is not just repeated.
std::optional<int64_t> repeated(const ResizeAttrs& attrs, int64_t in, int64_t out) {
  if (in < 1 || out % in != 0) return std::nullopt;
  ResizeAxis axis;
  axis.input = in;
  axis.output = out;
  axis.scale = static_cast<double>(out) / static_cast<double>(in);
  if (!has_small_taps(attrs, axis)) return std::nullopt;
  const ResizeTaps taps = resize_taps(attrs, axis);
  for (int64_t o = 0; o < out; ++o)
    if (taps.index[static_cast<size_t>(o)] != o / (out / in)) return std::nullopt;
  return out / in;
}

struct Steps {
  std::vector<int64_t> height, width;  // sizes after each step
};

// The sizes in between, padded to the same number of steps.
std::optional<Steps> steps_of(const Operation* op, const std::vector<int64_t>& in,
                              const std::vector<int64_t>& out) {
  const auto& attrs = op->attrs_as<ResizeAttrs>();
  std::vector<int64_t> sizes[2];
  for (const size_t d : {size_t{1}, size_t{2}}) {
    std::vector<int64_t>& list = sizes[d - 1];
    if (attrs.mode == ResizeMode::Nearest) {
      const auto factor = repeated(attrs, in[d], out[d]);
      if (!factor) return std::nullopt;
      int64_t size = in[d];
      for (const int64_t f : small_factors(*factor)) {
        if (repeated(attrs, size, size * f) != f) return std::nullopt;
        list.push_back(size *= f);
      }
    } else {
      // Corner to corner, pixels between two are on a line: each step adds points of that line.
      if (attrs.coordinates != CoordinateMode::AlignCorners || in[d] < 2 ||
          (out[d] - 1) % (in[d] - 1) != 0)
        return std::nullopt;
      int64_t gaps = in[d] - 1;
      for (const int64_t f : small_factors((out[d] - 1) / (in[d] - 1)))
        list.push_back((gaps *= f) + 1);
    }
    if (list.empty() && in[d] != out[d]) return std::nullopt;
  }
  while (sizes[0].size() < sizes[1].size())
    sizes[0].push_back(sizes[0].empty() ? in[1] : sizes[0].back());
  while (sizes[1].size() < sizes[0].size())
    sizes[1].push_back(sizes[1].empty() ? in[2] : sizes[1].back());
  return Steps{std::move(sizes[0]), std::move(sizes[1])};
}

Result<bool> resize_in_steps(Rewriter& r, Operation* op) {
  const auto in = static_shape(op->input(0)), out = static_shape(op->output());
  const auto& attrs = op->attrs_as<ResizeAttrs>();
  if (!in || !out || in->size() != 4 || attrs.mode == ResizeMode::Cubic || !moves_elements_only(op))
    return false;
  if ((*out)[0] != (*in)[0] || (*out)[3] != (*in)[3]) return false;
  const bool large = (*out)[1] > kLargestFactor * (*in)[1] || (*out)[2] > kLargestFactor * (*in)[2];
  if (!large) return false;
  Replacement p(r, op);
  if ((*in)[1] == 1 && (*in)[2] == 1) {
    const int64_t repeats[] = {1, (*out)[1], (*out)[2], 1};
    return rewritten(p, p.op(OpKind::Tile, {op->input(0), p.ints(repeats)}), "TILE");
  }
  if (attrs.mode == ResizeMode::Linear && !is_float_form(op)) return false;
  const auto steps = steps_of(op, *in, *out);
  if (!steps || steps->height.size() < 2) return false;
  Tensor* x = op->input(0);
  for (size_t i = 0; i < steps->height.size(); ++i) {
    const int64_t sizes[] = {(*out)[0], steps->height[i], steps->width[i], (*out)[3]};
    x = with_parameters_of(p, p.op(OpKind::Resize, {x, nullptr, nullptr, p.ints(sizes)}, attrs),
                           op->output());
  }
  return rewritten(p, x, std::to_string(steps->height.size()) + " smaller ones");
}

constexpr RewriteRule kRules[] = {{OpKind::Resize, resize_in_steps, "resizes"}};

}  // namespace

const std::span<const RewriteRule> kCoralResize = kRules;

}  // namespace ec::passes
