// libFuzzer: the TensorFlow readers. A frozen graph, a SavedModel's messages, and a checkpoint
// whose data file is the input itself. What imports must be a sound graph.
#include <cstdlib>

#include "formats/tensorflow/checkpoint.h"
#include "formats/tensorflow/decode.h"
#include "frontend/tensorflow/tensorflow.h"
#include "ir/graph.h"

namespace {

void read_checkpoint(const ec::Blob& file) {
  const auto read = [&](const ec::tf::Checkpoint::Range& range) -> ec::Result<ec::Blob> {
    if (range.offset > file.size() || range.size > file.size() - range.offset)
      return ec::Error(ec::Code::BadTensorData, "outside");
    return file.slice(range.offset, range.size);
  };
  const auto checkpoint = ec::tf::Checkpoint::open(file, "variables", read);
  if (!checkpoint.ok()) return;
  for (const auto& [key, entry] : checkpoint->entries()) {
    (void)checkpoint->read(entry, key);
    (void)checkpoint->read_text(key);
  }
}

void read_messages(std::string_view text) {
  ec::wire::Budget budget = ec::wire::Budget::for_file(text.size());
  const auto graphs = ec::tf::decode_saved_model(text, budget);
  if (!graphs.ok()) return;
  for (const ec::tf::MetaGraph& meta : *graphs)
    (void)ec::tf::decode_object_graph(meta.objects, budget);
  (void)ec::tf::decode_checkpoint_objects(text, budget);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::Blob file = ec::Blob::copy_of(std::span<const uint8_t>(data, size));
  read_checkpoint(file);
  read_messages({reinterpret_cast<const char*>(data), size});
  ec::DiagnosticSink sink;
  const auto graph = ec::import_graph_def(file, "fuzz.pb", {}, sink);
  // Refused with a reason, or a sound graph; never both or neither.
  if (graph.ok() == sink.has_errors()) std::abort();
  if (graph.ok() && !ec::verify(**graph).empty()) std::abort();
  return 0;
}
