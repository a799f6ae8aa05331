#include "tasks/batch.h"

#include <algorithm>

namespace ec::tasks {

size_t count_items(Tensors outputs, int64_t batch) {
  const bool batched =
      batch > 1 && std::all_of(outputs.begin(), outputs.end(), [batch](const Tensor& output) {
        return output.rank() > 0 && output.shape[0] == batch;
      });
  return batched ? static_cast<size_t>(batch) : 1;
}

BatchItem batch_item(Tensors outputs, size_t count, size_t index) {
  BatchItem item;
  for (const Tensor& output : outputs) {
    item.shapes.emplace_back(output.shape.begin(), output.shape.end());
    if (count > 1) item.shapes.back()[0] = 1;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t size = outputs[i].values.size() / count;
    item.outputs.push_back({item.shapes[i], outputs[i].values.subspan(index * size, size)});
  }
  return item;
}

}  // namespace ec::tasks
