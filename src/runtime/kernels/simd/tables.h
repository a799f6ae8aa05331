// Functions that fill a kernel table, one per file of this folder.
#pragma once

#include "runtime/kernels/kernel_table.h"

namespace ec::kernels::EC_SIMD_NS {

void fill_gemm(KernelTable& table);
void fill_depthwise(KernelTable& table);
void fill_elementwise(KernelTable& table);
void fill_rows(KernelTable& table);
void fill_transpose(KernelTable& table);
void fill_int8(KernelTable& table);
void fill_quantize(KernelTable& table);
void fill_table(KernelTable& table);

}  // namespace ec::kernels::EC_SIMD_NS
