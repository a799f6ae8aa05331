// Memory for the weights of one model. Weights that are made while a model is read live about
// equally long, so they share large pieces: the system hands those out in large pages, where a
// piece of memory for each weight costs more time than filling it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "support/blob.h"

namespace ec {

class WeightMemory {
 public:
  // `expected`: about what all weights together will take. It bounds what is asked for ahead.
  explicit WeightMemory(size_t expected) : expected_(expected) {}

  // Bytes to write to, and the blob that they are. Both empty where the memory cannot be had.
  struct Place {
    std::span<std::byte> bytes;
    Blob blob;
  };
  Place take(size_t size);

 private:
  size_t expected_;
  Blob piece_;
  std::byte* next_ = nullptr;  // in the piece
  size_t left_ = 0;            // of the piece
};

}  // namespace ec
