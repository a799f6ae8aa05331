#include "runtime/kernels/kernel_table.h"

namespace ec::kernels {

namespace simd_generic {
void fill_table(KernelTable& table);
}
#if defined(__x86_64__)
namespace simd_avx2 {
void fill_table(KernelTable& table);
}
namespace simd_avx512 {
void fill_table(KernelTable& table);
}
#endif

namespace {

using Fill = void (*)(KernelTable&);

KernelTable make(Isa isa, Fill fill) {
  KernelTable table;
  table.isa = isa;
  fill(table);
  return table;
}

}  // namespace

const KernelTable& kernel_table(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::Avx512) {
    static const KernelTable table = make(isa, simd_avx512::fill_table);
    return table;
  }
  if (isa == Isa::Avx2) {
    static const KernelTable table = make(isa, simd_avx2::fill_table);
    return table;
  }
#endif
  static const KernelTable table = make(Isa::Generic, simd_generic::fill_table);
  return table;
}

}  // namespace ec::kernels
