// Outputs of a network, made by hand.
#pragma once

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "tasks/task.h"

namespace ec::tasks {

class Outputs {
 public:
  // An output of zeros; the values are there to be written.
  std::vector<float>& add(std::vector<int64_t> shape, std::string name = "out", float value = 0) {
    size_t count = 1;
    for (const int64_t size : shape) count *= static_cast<size_t>(size);
    names_.push_back(std::move(name));
    stored_.push_back({std::move(shape), std::vector<float>(count, value)});
    return stored_.back().values;
  }
  std::vector<float>& operator[](size_t index) {
    return std::next(stored_.begin(), static_cast<long>(index))->values;
  }

  std::vector<Tensor> tensors() const {
    std::vector<Tensor> all;
    for (const Stored& one : stored_) all.push_back({one.shape, one.values});
    return all;
  }
  Interface interface(int64_t height = 0, int64_t width = 0) const {
    return {names_, 1, height, width};
  }

 private:
  struct Stored {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::vector<std::string> names_;
  std::list<Stored> stored_;
};

}  // namespace ec::tasks
