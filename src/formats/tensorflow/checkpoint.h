// A checkpoint of TensorFlow's second format: an index (PREFIX.index) and its data shards
// (PREFIX.data-SSSSS-of-NNNNN).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensorflow/model.h"
#include "support/blob.h"
#include "support/result.h"

namespace ec::tf {

struct CheckpointEntry {
  DataType type = DataType::Invalid;
  std::vector<int64_t> dims;
  int64_t shard = 0, offset = 0, size = 0;
  uint32_t crc = 0;
  bool sliced = false;  // the value is stored in parts
};

class Checkpoint {
 public:
  struct Range {
    std::string name;  // of a file beside the index: "variables.data-00000-of-00001"
    size_t offset = 0, size = 0;
    bool is_weight = false;  // its bytes may be read later
  };
  using ReadRange = std::function<Result<Blob>(const Range& range)>;

  // `stem`: the name of the index without ".index".
  static Result<Checkpoint> open(const Blob& index, std::string stem, ReadRange read);

  // Null: the checkpoint has no such value.
  const CheckpointEntry* find(std::string_view key) const;
  // The elements of a value, as in memory.
  Result<Blob> read(const CheckpointEntry& entry, std::string_view key) const;
  // The text of a string value of one element.
  Result<Blob> read_text(std::string_view key) const;
  const std::map<std::string, CheckpointEntry, std::less<>>& entries() const { return entries_; }

 private:
  Checkpoint() = default;
  std::string shard_name(int64_t shard) const;

  std::string stem_;
  ReadRange read_;
  int64_t shards_ = 0;
  std::map<std::string, CheckpointEntry, std::less<>> entries_;
};

}  // namespace ec::tf
