// The saved form: the text, then the large constants, 64-byte aligned, in the order of the text.
//
//   ecir 1 data=00000000000000004096
//   graph ... blob(0, 150528) ...
//   (padding) weights
#include <map>

#include "ir/print.h"
#include "ir/text.h"
#include "support/file.h"
#include "support/input_file.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr std::string_view kHeader = "ecir 1 data=";
constexpr size_t kDigits = 20;

size_t align_up(size_t n) {
  return (n + Blob::kAlignment - 1) / Blob::kAlignment * Blob::kAlignment;
}

std::string padded(size_t number) {
  std::string digits = std::to_string(number);
  return std::string(kDigits - digits.size(), '0') + digits;
}

// Zeros up to the next aligned offset; empty where `size` is aligned.
Blob padding(size_t size) {
  static constexpr std::byte kZeros[Blob::kAlignment]{};
  return Blob(nullptr, std::span<const std::byte>(kZeros, align_up(size) - size));
}

}  // namespace

std::vector<Blob> encode_ecir(const Graph& graph) {
  std::vector<Blob> weights;
  std::map<std::pair<const std::byte*, size_t>, size_t> placed;  // shared weights are stored once
  size_t end = 0;
  const ConstantPrinter print_offset = [&](const Tensor& tensor) {
    const Blob& data = tensor.raw_data();
    const auto [it, fresh] = placed.try_emplace({data.bytes().data(), data.size()}, end);
    if (fresh) {
      weights.push_back(data);
      end += align_up(data.size());
    }
    return "blob(" + std::to_string(it->second) + ", " + std::to_string(data.size()) + ")";
  };
  const std::string body = print_graph(graph, print_offset);
  const size_t text_size = kHeader.size() + kDigits + 1 + body.size();
  const std::string text = std::string(kHeader) + padded(align_up(text_size)) + "\n" + body;

  std::vector<Blob> parts = {Blob::copy_of(std::span<const char>(text)), padding(text_size)};
  for (Blob& data : weights) {
    Blob filler = padding(data.size());
    parts.push_back(std::move(data));
    parts.push_back(std::move(filler));
  }
  return parts;
}

Status save_ecir(const Graph& graph, const std::filesystem::path& path) {
  EC_TRY(AtomicFile file, AtomicFile::create(path));
  for (const Blob& part : encode_ecir(graph)) EC_CHECK_OK(file.write(part.bytes()));
  return file.commit();
}

bool looks_like_ecir(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return text.starts_with("ecir ") || text.starts_with("graph @");
}

Result<std::unique_ptr<Graph>> read_ecir(const Blob& file) {
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  Blob data;
  if (text.starts_with(kHeader)) {
    const auto offset = parse_int(text.substr(kHeader.size(), kDigits));
    if (!offset || *offset < 0 || static_cast<size_t>(*offset) > align_up(text.size()))
      return Error(Code::BadText, "the data section's offset is not valid");
    // A file without large constants ends before the aligned data section would begin.
    const size_t begin = std::min(static_cast<size_t>(*offset), file.size());
    data = file.slice(begin, file.size() - begin);
    text = text.substr(0, begin);
    while (text.ends_with('\0')) text.remove_suffix(1);
  }
  return parse(text, data);
}

Result<std::unique_ptr<Graph>> load_ecir(const std::filesystem::path& path) {
  EC_TRY(const Blob file, read_file(path));
  Result<std::unique_ptr<Graph>> graph = read_ecir(file);
  if (!graph.ok()) return std::move(graph).error().file(path.string());
  return graph;
}

}  // namespace ec
