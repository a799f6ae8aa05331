// Operations made ready to run: shapes fixed, constants packed, kernel chosen.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ops/attrs.h"
#include "runtime/kernels/kernel_table.h"
#include "runtime/kernels/thread_pool.h"
#include "support/result.h"

namespace ec {

// An operand or result as preparation sees it.
struct OperandInfo {
  bool present = false;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const std::byte* constant = nullptr;  // aligned elements when the value never changes

  int64_t count() const;
  size_t rank() const { return shape.size(); }
  bool is_f32() const { return present && dtype == DType::F32; }
  bool operator==(const OperandInfo&) const = default;
  const float* f32() const { return reinterpret_cast<const float*>(constant); }
};

// One operation with static shapes. Results are always present here.
struct OpInstance {
  const Operation& op;
  std::vector<OperandInfo> inputs;
  std::vector<OperandInfo> outputs;
  Attrs attributes = op.attrs();  // normalised by the border for these ranks

  bool has(size_t i) const { return i < inputs.size() && inputs[i].present; }
  const OperandInfo& input(size_t i) const { return inputs[i]; }
  const OperandInfo& output(size_t i = 0) const { return outputs[i]; }
  template <class S>
  const S& attrs() const {
    return attributes.as<S>();
  }
};

struct PrepareContext {
  const kernels::KernelTable& table;
  int threads = 1;
};

struct RunArgs {
  std::span<const std::byte* const> inputs;  // null where absent
  std::span<std::byte* const> outputs;
  kernels::ThreadPool& pool;
  std::byte* scratch;

  const float* in(size_t i) const {
    return i < inputs.size() ? reinterpret_cast<const float*>(inputs[i]) : nullptr;
  }
  float* out(size_t i = 0) const { return reinterpret_cast<float*>(outputs[i]); }
};

class PreparedOp {
 public:
  PreparedOp() = default;
  virtual ~PreparedOp() = default;
  PreparedOp(const PreparedOp&) = delete;
  PreparedOp& operator=(const PreparedOp&) = delete;

  virtual size_t scratch_bytes() const { return 0; }
  // True if result 0 may lie in the memory of operand i (which nobody reads afterwards).
  virtual bool in_place(size_t) const { return false; }
  // Memory of weights packed at preparation.
  virtual size_t packed_bytes() const { return 0; }
  virtual Status run(const RunArgs& args) = 0;
};

// Whether some form of the operation has a fast kernel.
bool has_fast_kernel(OpKind kind);
// A fast kernel for this form of the operation, or null: then the reference kernel serves.
std::unique_ptr<PreparedOp> prepare_op(const OpInstance& instance, const PrepareContext& context);

}  // namespace ec
