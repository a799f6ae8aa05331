// Damage to files of models, of the kind that reaches far into the reader of the format: an archive
// is damaged within one of its records and a protobuf file within its fields, with all around them
// sound. Deterministic for a seed.
#pragma once

#include <cstdint>
#include <string>

namespace ec::fuzz {

// A damaged copy of a sound file, whose name tells its format; `what` says in words what was done.
std::string mutate_model(const std::string& name, const std::string& file, uint64_t seed,
                         std::string& what);

}  // namespace ec::fuzz
