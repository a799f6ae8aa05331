// Mutations of protobuf files for robustness tests: byte-level damage (truncation, flips, splices)
// and damage that keeps the wire format sound but lies inside it (sizes, counts, offsets, names,
// repeated and deeply nested fields). Deterministic for a seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace ec::fuzz {

class WireMutator {
 public:
  explicit WireMutator(uint64_t seed) : random_(seed) {}

  // A damaged copy of a sound file; `what` says in words what was done.
  std::string mutate(const std::string& file, std::string& what);
  // The same for a file that stays sound as bytes: fields removed, repeated or exchanged, numbers
  // changed, more often by little than by much.
  std::string change_meaning(const std::string& file, std::string& what);

 private:
  // A field somewhere in the message tree, as byte positions in the file.
  struct Field {
    size_t begin, header_end, end;  // tag; after tag and length; after the payload
    int wire_type;
    std::vector<size_t> parents;  // indices of enclosing length-delimited fields
  };

  size_t pick(size_t count) { return count == 0 ? 0 : static_cast<size_t>(random_() % count); }
  void collect(const std::string& file, size_t begin, size_t end, std::vector<size_t>& parents,
               std::vector<Field>& fields, int depth);
  // Replaces a field's bytes and repairs the lengths of all enclosing messages.
  std::string replace(const std::string& file, const std::vector<Field>& fields, size_t index,
                      const std::string& bytes);

  std::string damage_bytes(std::string file, std::string& what);
  std::string damage_structure(const std::string& file, std::string& what);
  // A number, or one of a packed list, becomes another one of its size. False: there is none.
  bool change_number(std::string& file, const std::vector<Field>& fields, size_t index);

  std::mt19937_64 random_;
};

std::string encode_varint(uint64_t value);

}  // namespace ec::fuzz
