#include "runtime/kernels/simd/tables.h"

namespace ec::kernels::EC_SIMD_NS {

void fill_table(KernelTable& table) {
  fill_gemm(table);
  fill_depthwise(table);
  fill_elementwise(table);
  fill_rows(table);
  fill_transpose(table);
  fill_int8(table);
  fill_quantize(table);
}

}  // namespace ec::kernels::EC_SIMD_NS
