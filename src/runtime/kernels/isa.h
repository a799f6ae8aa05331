// Which instruction sets the kernels are built for, and which one this machine can run.
// One binary carries every set of its architecture; the choice is made once, at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ec::kernels {

enum class Isa : uint8_t { Generic, Avx2, Avx512 };

/// The best set that is both compiled in and supported by this processor and operating system.
Isa best_isa();

/// True if kernels for `isa` are compiled in and this processor can execute them.
bool isa_available(Isa isa);

std::string_view isa_name(Isa isa);

/// Bytes of level-2 cache per core; a conservative default when the system does not say.
size_t l2_cache_bytes();

}  // namespace ec::kernels
