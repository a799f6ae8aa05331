#include "formats/tensorflow/graph_outline.h"

#include <algorithm>
#include <optional>

namespace ec::tf {
namespace {

// Messages up to this length are read whole: the system reads as much at once.
constexpr size_t kLong = size_t{16} << 10;
// Tag and length of a field take at most ten bytes each.
constexpr size_t kFieldHead = 20;

enum class Message : uint8_t { Graph, Library, Function, Node, Entry, Value, Tensor, Weights };

// The message in a field on the way from a graph to the contents of its constants.
std::optional<Message> message_in(Message outer, uint64_t field) {
  struct Step {
    Message outer;
    uint64_t field;
    Message inner;
  };
  constexpr Step kSteps[] = {
      {Message::Graph, 1, Message::Node},       {Message::Graph, 2, Message::Library},
      {Message::Library, 1, Message::Function}, {Message::Function, 3, Message::Node},
      {Message::Node, 5, Message::Entry},       {Message::Entry, 2, Message::Value},
      {Message::Value, 8, Message::Tensor},     {Message::Tensor, 4, Message::Weights},
  };
  for (const Step& step : kSteps)
    if (step.outer == outer && step.field == field) return step.inner;
  return std::nullopt;
}

struct Field {
  uint64_t number = 0;
  size_t begin = 0, end = 0;  // of the content
  bool is_message = false;
};

class Outline {
 public:
  explicit Outline(const FileBytes& file) : file_(file) {}

  Status read(Message kind, size_t begin, size_t end) {
    if (end - begin <= kLong) return need(begin, end);
    if (kind == Message::Weights) return {};
    for (size_t at = begin; at < end;) {
      EC_CHECK_OK(need(at, std::min(end, at + kFieldHead)));
      const std::optional<Field> field = field_at(at, end);
      if (!field) return need(at, end);
      const auto inner = field->is_message ? message_in(kind, field->number) : std::nullopt;
      EC_CHECK_OK(inner ? read(*inner, field->begin, field->end) : need(field->begin, field->end));
      at = field->end;
    }
    return {};
  }

 private:
  Status need(size_t begin, size_t end) {
    if (begin >= end) return {};
    EC_TRY(const Blob bytes, file_.range(begin, end - begin));
    return {};
  }

  std::optional<uint64_t> number_at(size_t& at, size_t end) const {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
      const auto byte = std::to_integer<uint64_t>(file_.span()[at++]);
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  // Nothing for what is no field.
  std::optional<Field> field_at(size_t at, size_t end) const {
    const auto tag = number_at(at, end);
    if (!tag) return std::nullopt;
    Field field{*tag >> 3, at, at, false};
    uint64_t length = 0;
    switch (*tag & 7) {
      case 0:
        if (!number_at(field.end, end)) return std::nullopt;
        return field;
      case 1:
        length = 8;
        break;
      case 2: {
        const auto stored = number_at(field.begin, end);
        if (!stored) return std::nullopt;
        length = *stored;
        field.is_message = true;
        break;
      }
      case 5:
        length = 4;
        break;
      default:
        return std::nullopt;
    }
    if (length > end - field.begin) return std::nullopt;
    field.end = field.begin + static_cast<size_t>(length);
    return field;
  }

  const FileBytes& file_;
};

}  // namespace

Status read_graph_outline(const FileBytes& file) {
  if (file.in_memory()) return {};
  return Outline(file).read(Message::Graph, 0, file.size());
}

}  // namespace ec::tf
