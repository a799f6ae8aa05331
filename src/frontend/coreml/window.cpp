#include "frontend/coreml/window.h"

#include "ops/rules.h"
#include "support/strings.h"

namespace ec::mil {
namespace {

// output = ceil(input / stride). Nothing: a size is open.
std::optional<Ints> same_pads(OpCall& c, Tensor* x, const Ints& kernel, const Window& window,
                              bool odd_at_end) {
  const size_t spatial = kernel.size();
  Ints pads(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    if (!c.is_static(x, axis)) return std::nullopt;
    const int64_t in = c.size(x, axis), stride = window.strides[i];
    const int64_t reach = (kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t out = (in + stride - 1) / stride;
    const int64_t total = std::max<int64_t>(0, (out - 1) * stride + reach - in);
    pads[i] = odd_at_end ? total / 2 : total - total / 2;
    pads[spatial + i] = total - pads[i];
  }
  return pads;
}

}  // namespace

bool check_window(OpCall& c, const Ints& numbers, std::string_view what) {
  for (const int64_t number : numbers)
    if (number < 1 || number > rule::kLargest) {
      c.fail(Code::BadValue, std::string(what) + " has to be positive and at most 2^30");
      return false;
    }
  return true;
}

Window read_window(OpCall& c, Tensor* x, const Ints& kernel) {
  const size_t spatial = kernel.size();
  Window window;
  window.strides = c.ints("strides", Ints(spatial, 1));
  window.dilations = c.ints("dilations", Ints(spatial, 1));
  if (!c.ok() || !check_window(c, kernel, "a window") ||
      !check_window(c, window.strides, "a stride") ||
      !check_window(c, window.dilations, "a dilation"))
    return window;
  if (spatial == 0 || window.strides.size() != spatial || window.dilations.size() != spatial ||
      c.rank(x) != static_cast<int64_t>(spatial) + 2) {
    c.fail(Code::ShapeMismatch, "windows of " + std::to_string(spatial) +
                                    " dimensions do not fit their strides, dilations or operand");
    return window;
  }
  const std::string type = c.text("pad_type", "valid");
  window.pads.assign(2 * spatial, 0);
  if (type == "valid") return window;
  if (type == "custom") {
    const Ints given = c.ints("pad", Ints(2 * spatial, 0));
    if (given.size() != 2 * spatial) {
      c.fail(Code::ShapeMismatch, "'pad' has to be two numbers for each dimension");
      return window;
    }
    for (const int64_t pad : given)
      if (pad < -rule::kLargest || pad > rule::kLargest) {
        c.fail(Code::BadValue, "a pad has to be at most 2^30");
        return window;
      }
    for (size_t i = 0; i < spatial; ++i) {
      window.pads[i] = given[2 * i];
      window.pads[spatial + i] = given[2 * i + 1];
    }
    return window;
  }
  if (type != "same" && type != "same_lower") {
    c.unsupported("padding of the type '" + printable(type, 40) + "'");
    return window;
  }
  if (auto pads = same_pads(c, x, kernel, window, type == "same")) {
    window.pads = std::move(*pads);
  } else {
    window.auto_pad = type == "same" ? AutoPad::SameUpper : AutoPad::SameLower;
    window.pads.clear();
  }
  return window;
}

}  // namespace ec::mil
