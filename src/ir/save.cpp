// The saved form: the text, then the large constants, 64-byte aligned, in the order of the text.
//
//   ecir 1 data=00000000000000004096
//   graph ... blob(0, 150528) ...
//   (padding) weights
#include <map>

#include "ir/print.h"
#include "ir/text.h"
#include "support/file.h"
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

Status write_zeros(AtomicFile& file, size_t count) {
  static constexpr std::byte kZeros[Blob::kAlignment]{};
  return file.write(std::span<const std::byte>(kZeros, count));
}

}  // namespace

Status save_ecir(const Graph& graph, const std::filesystem::path& path) {
  std::vector<std::span<const std::byte>> blobs;
  std::map<std::pair<const std::byte*, size_t>, size_t> placed;  // shared weights are stored once
  size_t end = 0;
  const ConstantPrinter place = [&](const Tensor& tensor) {
    const auto bytes = tensor.raw_data().bytes();
    const auto [it, fresh] = placed.try_emplace({bytes.data(), bytes.size()}, end);
    if (fresh) {
      blobs.push_back(bytes);
      end += align_up(bytes.size());
    }
    return "blob(" + std::to_string(it->second) + ", " + std::to_string(bytes.size()) + ")";
  };
  const std::string body = print_graph(graph, place);
  const size_t text_size = kHeader.size() + kDigits + 1 + body.size();
  const size_t data_offset = align_up(text_size);

  EC_TRY(AtomicFile file, AtomicFile::create(path));
  EC_CHECK_OK(file.write(std::string(kHeader) + padded(data_offset) + "\n" + body));
  EC_CHECK_OK(write_zeros(file, data_offset - text_size));
  for (const auto& bytes : blobs) {
    EC_CHECK_OK(file.write(bytes));
    EC_CHECK_OK(write_zeros(file, align_up(bytes.size()) - bytes.size()));
  }
  return file.commit();
}

bool looks_like_ecir(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return text.starts_with("ecir ") || text.starts_with("graph @");
}

Result<std::unique_ptr<Graph>> load_ecir(const std::filesystem::path& path) {
  EC_TRY(const Blob file, map_file(path));
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  Blob data;
  if (text.starts_with(kHeader)) {
    const auto offset = parse_int(text.substr(kHeader.size(), kDigits));
    if (!offset || *offset < 0 || static_cast<size_t>(*offset) > align_up(text.size()))
      return Error(Code::BadText, "the data section's offset is not valid").file(path.string());
    // A file without large constants ends before the aligned data section would begin.
    const size_t begin = std::min(static_cast<size_t>(*offset), file.size());
    data = file.slice(begin, file.size() - begin);
    text = text.substr(0, begin);
    while (text.ends_with('\0')) text.remove_suffix(1);
  }
  auto graph = parse(text, data);
  if (!graph.ok()) return std::move(graph).error().file(path.string());
  return graph;
}

}  // namespace ec
