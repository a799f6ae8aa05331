// The items of a batch, one by one.
#pragma once

#include "tasks/task.h"

namespace ec::tasks {

// Outputs of one item: views of those of the batch, with shapes of their own.
struct BatchItem {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<Tensor> outputs;
};

// `batch` where every output has it as its first dimension, else 1.
size_t count_items(Tensors outputs, int64_t batch);
// Item `index` of `count`.
BatchItem batch_item(Tensors outputs, size_t count, size_t index);

}  // namespace ec::tasks
