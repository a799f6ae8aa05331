// The operators of PyTorch: signatures as PyTorch writes them, and what they are in the IR. Both
// readers call them by name; the table picks the overload, fills in defaults, promotes types as
// PyTorch does and appends operations to the graph.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/torch/value.h"
#include "ir/graph.h"
#include "support/result.h"

namespace ec::torch {

// Bytes of the constants that conversions compute; what a file may make of them goes with its size.
struct MadeConstants {
  size_t bytes = 0;
  size_t most = size_t{48} << 20;
};

// Where a call builds, and what it is called in the source (module path).
struct CallSite {
  ec::Graph* graph = nullptr;
  Location location;
  DiagnosticSink* sink = nullptr;  // for warnings; may be null
  MadeConstants* made = nullptr;   // null: not counted
};

using NamedValues = std::vector<std::pair<std::string, TorchValue>>;

// "aten::add" picks the overload by arguments; "aten::add.Tensor" is exact. Functional forms only:
// names that end in '_' (relu_) are for functional/. Results are one value per result of the schema
// (lists of tensors are one list value); none for operators without a result.
// Errors: UnsupportedOp for names that the table lacks (with the nearest ones as a hint),
// BadArity/TypeMismatch for arguments that fit no overload, and those of the conversions.
Result<std::vector<TorchValue>> call(const CallSite& site, std::string_view name,
                                     std::span<const TorchValue> args,
                                     const NamedValues& kwargs = {});

// Whether the table has the operator ("aten::add" or "aten::add.Tensor"; the overload is not
// looked at).
bool is_known_operator(std::string_view name);
Error unknown_operator(std::string_view name);
// "aten::add", each once, in order.
std::span<const std::string_view> operator_names();

// c10::ScalarType numbers of TorchScript: the encoding of all dtype arguments of `call`. The
// quantised ones (qint8 12, quint8 13, qint32 14) give their integer types. Errors:
// UnsupportedType.
Result<DType> dtype_of_scalar_type(int64_t scalar_type);
int64_t scalar_type_of(DType dtype);

// The value as a tensor of the graph: numbers become 0-d constants that promote as numbers do.
Result<TensorRef> as_tensor(const CallSite& site, const TorchValue& value);
// A tensor's value when it is known and single: what int(), float() and bool() give; SymScalar
// otherwise.
Result<TorchValue> as_number(const CallSite& site, const TensorRef& tensor, SymScalar::Kind kind);

}  // namespace ec::torch
