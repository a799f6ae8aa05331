#include "frontend/torch/script/source_map.h"

#include <algorithm>
#include <string_view>

#include "formats/torch/pickle.h"
#include "support/strings.h"

namespace ec::torch::script {
namespace {

constexpr size_t kMaxSource = size_t{4} << 20;  // of one function's text; a bound for hostile files

// A trace keeps the stack instead of the source: "net.py(31): forward" comes first.
std::optional<PythonLine> traced_line(std::string_view stack) {
  const std::string_view first = stack.substr(0, stack.find('\n'));
  const size_t close = first.rfind("): ");
  const size_t open = close == first.npos ? close : first.rfind('(', close);
  if (open == first.npos) return std::nullopt;
  const auto line = parse_int(first.substr(open + 1, close - open - 1));
  if (!line) return std::nullopt;
  return PythonLine{std::string(first.substr(0, open)), *line,
                    std::string(first.substr(close + 3))};
}

// ("FORMAT_WITH_STRING_TABLE", (texts...), ((byte, ((texts), file, first line), start, end), ...))
class Reader {
 public:
  explicit Reader(const Pickle& pickle) : pickle_(pickle) {}

  const std::vector<PickleRef>* entries() {
    const PickleNode& root = pickle_[pickle_.root()];
    if (root.kind != PickleKind::Tuple || root.items.size() != 3) return nullptr;
    table_ = &pickle_[root.items[1]].items;
    return &pickle_[root.items[2]].items;
  }

  int64_t offset_of(PickleRef entry) const {
    const PickleNode& node = pickle_[entry];
    return node.items.empty() ? -1 : pickle_[node.items[0]].integer;
  }

  std::optional<PythonLine> line_of(PickleRef entry) const {
    const PickleNode& node = pickle_[entry];
    if (node.items.size() < 2) return std::nullopt;
    const PickleNode& range = pickle_[node.items[1]];
    if (range.items.size() < 2) return std::nullopt;
    const PickleNode& source = pickle_[range.items[0]];
    if (source.items.size() < 3) return std::nullopt;
    const std::string_view file = text(pickle_[source.items[1]].integer);
    std::string code;
    for (const PickleRef piece : pickle_[source.items[0]].items) {
      code += text(pickle_[piece].integer);
      if (code.size() > kMaxSource) return std::nullopt;
    }
    if (const auto traced = traced_line(code)) return traced;
    if (file.empty()) return std::nullopt;
    const int64_t start = pickle_[range.items[1]].integer;
    if (start < 0 || static_cast<size_t>(start) > code.size()) return std::nullopt;
    const std::string_view before = std::string_view(code).substr(0, static_cast<size_t>(start));
    const size_t first = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    const size_t end = std::min(code.find('\n', static_cast<size_t>(start)), code.size());
    return PythonLine{
        std::string(file),
        pickle_[source.items[2]].integer + std::count(before.begin(), before.end(), '\n'),
        std::string(trim(std::string_view(code).substr(first, end - first)))};
  }

 private:
  std::string_view text(int64_t index) const {
    if (index < 0 || static_cast<size_t>(index) >= table_->size()) return {};
    return pickle_[(*table_)[static_cast<size_t>(index)]].text;
  }

  const Pickle& pickle_;
  const std::vector<PickleRef>* table_ = nullptr;
};

}  // namespace

std::optional<PythonLine> SourceMap::find(const std::string& record, uint32_t offset) const {
  // Read each time: this is only for messages, of which there are few.
  const std::string name = record + ".debug_pkl";
  if (!archive_.has(name)) return std::nullopt;
  const Result<Blob> blob = archive_.read(name);
  if (!blob.ok()) return std::nullopt;
  const Result<Pickle> pickle = Pickle::read(blob->bytes());
  if (!pickle.ok()) return std::nullopt;
  Reader reader(*pickle);
  const std::vector<PickleRef>* entries = reader.entries();
  if (entries == nullptr) return std::nullopt;
  // The nearest entry at or before the byte that knows a file; entries are in order.
  std::optional<PythonLine> best;
  size_t last = 0;
  while (last < entries->size() && reader.offset_of((*entries)[last]) <= int64_t{offset}) ++last;
  while (last-- > 0)
    if ((best = reader.line_of((*entries)[last]))) return best;
  return std::nullopt;
}

}  // namespace ec::torch::script
