// Blobs whose bytes stay where they are, in a file, until somebody needs them. Weights are the
// largest part of a model: whoever only looks at the graph never reads them, and whoever wants them
// in another order reads them once, straight into it.
//
// Such a blob has its address and size from the beginning; its bytes are zeros until they were
// read. Tensor::data() reads them; code that looks at the bytes of other blobs during an import has
// to call read_deferred() first. After an import nothing is deferred unless the caller asked for it
// (ImportOptions::leave_weights).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "support/blob.h"
#include "support/result.h"

namespace ec {

// Where deferred bytes come from. Several threads may read at once.
class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Fills `out` with the bytes from `offset` on.
  virtual Status read(size_t offset, std::span<std::byte> out) const = 0;
};

// Empty where no address space is left for it, and for a size of 0.
Blob deferred_blob(size_t size, std::shared_ptr<const ByteSource> source);

// The source of a whole deferred blob that was not read yet; null for every other blob.
std::shared_ptr<const ByteSource> unread_source(const Blob& blob);

// Reads the bytes of a deferred blob, or of the one that it is a slice of, to where they belong.
// Does nothing for other blobs.
Status read_deferred(const Blob& blob);

}  // namespace ec
