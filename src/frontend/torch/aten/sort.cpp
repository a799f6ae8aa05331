// Ordering elements.
#include "frontend/torch/aten/table.h"

namespace ec::torch {
namespace {

struct Sorted {
  ec::Tensor* values;
  ec::Tensor* indices;
};

Result<Sorted> top(Call& c, ec::Tensor* x, ec::Tensor* k, int64_t axis, bool largest) {
  TopKAttrs attrs;
  attrs.axis = axis;
  attrs.largest = largest;
  EC_TRY(const Tensors results, c.add_many(OpKind::TopK, {x, k}, attrs, 2));
  return Sorted{results[0], results[1]};
}

Result<std::vector<TorchValue>> topk(Call& c) {
  ec::Tensor* x = c.tensor("self");
  EC_TRY(ec::Tensor * k, c.sizes(std::vector<TorchValue>{c.arg("k")}));
  EC_TRY(const Sorted sorted, top(c, x, k, c.dim("dim", c.rank(x)), c.boolean("largest")));
  return std::vector<TorchValue>{sorted.values, sorted.indices};
}

// All of them in order: the largest, or smallest, n of n.
Result<Sorted> sorted_along(Call& c, bool descending) {
  ec::Tensor* x = c.tensor("self");
  const int64_t rank = c.rank(x);
  if (rank == 0) return Sorted{x, c.scalar(DType::I64, 0)};
  const int64_t axis = c.dim("dim", rank);
  ShapeAttrs attrs;
  attrs.start = axis;
  attrs.end = axis + 1;
  EC_TRY(ec::Tensor * k, x->type().is_static() ? Result<ec::Tensor*>(c.int_list({c.size(x, axis)}))
                                               : c.add(OpKind::Shape, {x}, attrs));
  return top(c, x, k, axis, descending);
}

Result<std::vector<TorchValue>> sort(Call& c) {
  EC_TRY(const Sorted sorted, sorted_along(c, c.boolean("descending")));
  return std::vector<TorchValue>{sorted.values, sorted.indices};
}

Result<ec::Tensor*> argsort(Call& c) {
  EC_TRY(const Sorted sorted, sorted_along(c, c.boolean("descending")));
  return sorted.indices;
}

Result<std::vector<TorchValue>> pick(Call& c, ec::Tensor* x, int64_t axis, int64_t k, bool keep) {
  EC_TRY(const Sorted sorted, top(c, x, c.int_list({k}), axis, false));
  std::vector<TorchValue> results;
  for (ec::Tensor* y : {sorted.values, sorted.indices}) {
    EC_TRY(ec::Tensor * last, c.slice(y, axis, k - 1, k));
    if (!keep) {
      EC_TRY(last, c.squeeze(last, {axis}));
    }
    results.emplace_back(last);
  }
  return results;
}

Result<std::vector<TorchValue>> kthvalue(Call& c) {
  ec::Tensor* x = c.tensor("self");
  return pick(c, x, c.dim("dim", c.rank(x)), c.integer("k"), c.boolean("keepdim"));
}

// The lower of two middle elements.
Result<std::vector<TorchValue>> median_dim(Call& c) {
  ec::Tensor* x = c.tensor("self");
  const int64_t axis = c.dim("dim", c.rank(x));
  return pick(c, x, axis, (c.size(x, axis) + 1) / 2, c.boolean("keepdim"));
}

Result<ec::Tensor*> median(Call& c) {
  EC_TRY(ec::Tensor * flat, c.reshape(c.tensor("self"), Ints{-1}));
  EC_TRY(const std::vector<TorchValue> results, pick(c, flat, 0, (c.size(flat, 0) + 1) / 2, false));
  return results.front().tensor();
}

constexpr OperatorRow kRows[] = {
    {"aten::topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor "
     "values, Tensor indices)",
     topk},
    {"aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
     "indices)",
     sort},
    {"aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
     "(Tensor values, Tensor indices)",
     sort},
    {"aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", argsort},
    {"aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> "
     "Tensor",
     argsort},
    {"aten::kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, "
     "Tensor indices)",
     kthvalue},
    {"aten::median(Tensor self) -> Tensor", median},
    {"aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
     "indices)",
     median_dim},
};

}  // namespace

const std::span<const OperatorRow> kSortRows = kRows;

}  // namespace ec::torch
