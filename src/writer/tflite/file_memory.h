// The memory that a TFLite file grows in: large pages, and room for all of it at once. A file that
// doubles its memory page by page spends more time on that than on its content.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <new>
#include <unordered_map>

#include "support/blob.h"

namespace ec::tflite {

class FileAllocator : public flatbuffers::Allocator {
 public:
  uint8_t* allocate(size_t size) override {
    ec::Buffer piece = ec::Buffer::allocate(size);
    if (!piece.ok()) throw std::bad_alloc();
    auto* data = reinterpret_cast<uint8_t*>(piece.data());
    pieces_.emplace(data, std::move(piece));
    return data;
  }
  void deallocate(uint8_t* data, size_t) override { pieces_.erase(data); }

 private:
  std::unordered_map<const uint8_t*, ec::Buffer> pieces_;  // looked up, never iterated
};

class FileMemory : public flatbuffers::FlatBufferBuilder {
 public:
  FileMemory() : FlatBufferBuilder(1024, new FileAllocator, true) {}
  // Makes room for this many bytes more.
  void reserve(size_t bytes) {
    // The content ends where the memory does: its alignment is that of the end.
    const size_t held = buf_.capacity(), beyond = (held + bytes) % ec::Blob::kAlignment;
    buf_.ensure_space(bytes + (ec::Blob::kAlignment - beyond) % ec::Blob::kAlignment);
  }
};

}  // namespace ec::tflite
