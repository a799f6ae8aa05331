#include "frontend/load_weights.h"

#include <functional>
#include <map>

#include "support/deferred_bytes.h"
#include "support/free_memory.h"
#include "support/units.h"
#include "support/weight_memory.h"

namespace ec {
namespace {

// Constants that have to be read, by what they are read from.
struct Unread {
  struct Constant {
    Graph* graph;
    Tensor* tensor;
  };
  std::map<std::shared_ptr<const ByteSource>, std::vector<Constant>> by_source;  // looked up only
  std::vector<std::shared_ptr<const ByteSource>> order;                          // of first use
  size_t bytes = 0;
};

void find_unread(Graph& graph, Unread& found) {
  for (Tensor* tensor : graph.tensors()) {
    if (!tensor->is_constant()) continue;
    auto source = unread_source(tensor->raw_data());
    if (source == nullptr) continue;
    std::vector<Unread::Constant>& constants = found.by_source[source];
    if (constants.empty()) {
      found.bytes += tensor->raw_data().size();
      found.order.push_back(std::move(source));
    }
    constants.push_back({&graph, tensor});
  }
  for (size_t id = 0; id < graph.operation_id_bound(); ++id)
    if (const Operation* op = graph.operation(static_cast<uint32_t>(id)))
      for (const auto& body : op->bodies()) find_unread(*body, found);
}

Error no_memory(size_t bytes) {
  return Error(Code::OutOfMemory, "the weights have " + format_bytes(static_cast<int64_t>(bytes)) +
                                      ", more than the memory that is free")
      .hint("use a machine with more memory, or split the model");
}

}  // namespace

Status load_weights(Graph& graph) {
  Unread unread;
  find_unread(graph, unread);
  if (!fits_free_memory(unread.bytes)) return no_memory(unread.bytes);
  WeightMemory memory(unread.bytes);
  for (const auto& source : unread.order) {
    const std::vector<Unread::Constant>& constants = unread.by_source[source];
    const WeightMemory::Place place = memory.take(constants.front().tensor->raw_data().size());
    if (place.bytes.empty()) return no_memory(unread.bytes);
    EC_CHECK_OK(source->read(0, place.bytes));
    for (const auto& [owner, tensor] : constants)
      owner->set_constant_data(tensor, tensor->type(), place.blob);
  }
  return {};
}

}  // namespace ec
