// The preparation functions, one per family, and what they share. Each returns null for forms it
// does not take.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "ops/attrs.h"
#include "runtime/kernels/aligned_buffer.h"
#include "runtime/prepared_op.h"

namespace ec::prepare {

using Prepared = std::unique_ptr<PreparedOp>;

// A batched product keeps the places of its matrices. More of them than any network has are left to
// the reference kernel: a file of some bytes may name a batch of any size.
inline constexpr int64_t kMostMatrices = int64_t{1} << 20;

Prepared conv(const OpInstance& op, const PrepareContext& ctx);
Prepared conv_transpose(const OpInstance& op, const PrepareContext& ctx);
Prepared matmul(const OpInstance& op, const PrepareContext& ctx);
Prepared gemm(const OpInstance& op, const PrepareContext& ctx);
Prepared einsum(const OpInstance& op, const PrepareContext& ctx);
Prepared pool(const OpInstance& op, const PrepareContext& ctx);
Prepared global_pool(const OpInstance& op, const PrepareContext& ctx);
Prepared unary(const OpInstance& op, const PrepareContext& ctx);
Prepared binary(const OpInstance& op, const PrepareContext& ctx);
Prepared softmax(const OpInstance& op, const PrepareContext& ctx);
Prepared norm(const OpInstance& op, const PrepareContext& ctx);
Prepared batch_norm(const OpInstance& op, const PrepareContext& ctx);
Prepared reduce(const OpInstance& op, const PrepareContext& ctx);
Prepared transpose(const OpInstance& op, const PrepareContext& ctx);
Prepared concat(const OpInstance& op, const PrepareContext& ctx);
Prepared split(const OpInstance& op, const PrepareContext& ctx);
Prepared slice(const OpInstance& op, const PrepareContext& ctx);
Prepared pad(const OpInstance& op, const PrepareContext& ctx);
Prepared group_norm(const OpInstance& op, const PrepareContext& ctx);
Prepared depth_to_space(const OpInstance& op, const PrepareContext& ctx);
Prepared space_to_depth(const OpInstance& op, const PrepareContext& ctx);
Prepared resize(const OpInstance& op, const PrepareContext& ctx);
Prepared attention(const OpInstance& op, const PrepareContext& ctx);
Prepared recurrent(const OpInstance& op, const PrepareContext& ctx);
Prepared gather(const OpInstance& op, const PrepareContext& ctx);
Prepared quantize(const OpInstance& op, const PrepareContext& ctx);
Prepared dequantize(const OpInstance& op, const PrepareContext& ctx);

// Operations on quantised tensors; their kernels equal the integer kernels of the op table.
Prepared integer_conv(const OpInstance& op, const PrepareContext& ctx);
Prepared integer_gemm(const OpInstance& op, const PrepareContext& ctx);
Prepared integer_add(const OpInstance& op, const PrepareContext& ctx);
Prepared integer_sub(const OpInstance& op, const PrepareContext& ctx);
Prepared integer_mul(const OpInstance& op, const PrepareContext& ctx);
Prepared integer_function(const OpInstance& op, const PrepareContext& ctx);

inline size_t align_up(size_t n) {
  return (n + kernels::kAlignment - 1) / kernels::kAlignment * kernels::kAlignment;
}

// The fused activation in the kernels' terms.
kernels::Epilogue epilogue_of(Activation activation, float alpha, float beta);

inline bool all_f32(const OpInstance& op) {
  for (const OperandInfo& info : op.inputs)
    if (info.present && info.dtype != DType::F32) return false;
  for (const OperandInfo& info : op.outputs)
    if (info.dtype != DType::F32) return false;
  return true;
}

inline int64_t product(std::span<const int64_t> sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  return n;
}

// The one element of a constant f32 operand.
inline std::optional<float> constant_scalar(const OpInstance& op, size_t i) {
  if (!op.has(i) || !op.input(i).is_f32()) return std::nullopt;
  if (op.input(i).constant == nullptr || op.input(i).count() != 1) return std::nullopt;
  return *op.input(i).f32();
}

// The elements of a constant integer operand.
std::optional<std::vector<int64_t>> constant_ints(const OpInstance& op, size_t i);

// A function object as a prepared operation.
template <class F>
class FunctionOp final : public PreparedOp {
 public:
  FunctionOp(F run, size_t scratch, uint32_t in_place, size_t packed)
      : run_(std::move(run)), scratch_(scratch), in_place_(in_place), packed_(packed) {}
  size_t scratch_bytes() const override { return scratch_; }
  size_t packed_bytes() const override { return packed_; }
  bool in_place(size_t i) const override { return i < 32 && (in_place_ >> i & 1U) != 0; }
  Status run(const RunArgs& args) override {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, const RunArgs&>>) {
      run_(args);
      return {};
    } else {
      return run_(args);
    }
  }

 private:
  F run_;
  size_t scratch_;
  uint32_t in_place_;
  size_t packed_;
};

// `in_place` has bit i set if result 0 may share the memory of operand i.
template <class F>
Prepared make_op(F run, size_t scratch = 0, uint32_t in_place = 0, size_t packed = 0) {
  return std::make_unique<FunctionOp<F>>(std::move(run), scratch, in_place, packed);
}

}  // namespace ec::prepare
