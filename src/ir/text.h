// The text form of the IR (.ecir) and its saved form with weights.
//
//   ecir 1
//   graph @tiny(%x: f32[N,8,8,3]) -> (y = %2) {
//     %w = const f32[4,3,3,3] splat(0.5)
//     %1 = conv(%x, %w) {strides=[2,2], layout=nhwc} : f32[N,4,4,4] loc("layer1/Conv_3" : "Conv")
//     %2 = relu(%1) : f32[N,4,4,4]
//   }
//
// Names that are no plain identifiers are quoted: %"conv:0". Absent operands print as `_`.
// Attributes equal to their default are left out. Result types may be left out when written by
// hand: inference gives them. Constants print as splat(v), dense[v, ...] up to 64 elements,
// base64("...") beyond, or blob(offset, bytes) in the saved form, where the bytes stand 64-byte
// aligned behind the text so that they are used in place.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace ec {

enum class ConstantText : uint8_t {
  Full,   // everything: the text parses back to an equal graph
  Elide,  // large constants as `...`, for reading by people; does not parse
};

std::string print(const Graph& graph, ConstantText constants = ConstantText::Full);
// Parses the text form. `data` is the section that blob(...) constants refer to.
Result<std::unique_ptr<Graph>> parse(std::string_view text, const Blob& data = {});

// The saved form, text and weights, as parts that follow each other in the file. The graph's own
// constants are shared, not copied.
std::vector<Blob> encode_ecir(const Graph& graph);
Status save_ecir(const Graph& graph, const std::filesystem::path& path);
// Reads the saved form or plain text. The graph's constants are views of `file`.
Result<std::unique_ptr<Graph>> read_ecir(const Blob& file);
Result<std::unique_ptr<Graph>> load_ecir(const std::filesystem::path& path);
// Whether the bytes begin like an .ecir file.
bool looks_like_ecir(std::span<const std::byte> head);

}  // namespace ec
