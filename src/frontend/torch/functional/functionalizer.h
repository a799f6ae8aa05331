// In-place operators and views made functional. PyTorch programs write into tensors, also through
// views of them (x[:, 0].add_(1)); the IR has values only. Each tensor of the program knows the
// memory it stands for: a write makes a new value of that memory, and every view of it is taken
// again when it is next read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/torch/aten/operators.h"
#include "frontend/torch/value.h"

namespace ec::torch {

// How a view was taken: a call of the operator table whose first argument is the viewed tensor.
struct ViewStep {
  std::string name;              // "aten::select"
  std::vector<TorchValue> args;  // without the viewed tensor
  NamedValues kwargs;
};

// The memory of a tensor (no base), or a view of another tensor's.
struct Alias {
  std::shared_ptr<Alias> base;
  ViewStep step;           // from the base; unused without one
  TensorRef value;         // when `version` is that of the memory; its own alias is empty
  uint64_t version = 0;    // of the memory: counts writes
  bool contiguous = true;  // elements in row-major order: reshape is a view
  int depth = 0;           // views between this one and the memory
};

class Functionalizer {
 public:
  // A tensor with memory of its own: inputs, weights.
  static TensorRef adopt(TensorRef tensor);

  // As call() of the operator table, but also for names that write to their first argument
  // ("aten::add_"); arguments are read as they are now.
  Result<std::vector<TorchValue>> call(const CallSite& site, std::string_view name,
                                       std::span<const TorchValue> args,
                                       const NamedValues& kwargs = {});
  // The tensor as it is after all writes so far. Also inside lists, tuples and dicts.
  Result<TensorRef> current(const CallSite& site, const TensorRef& tensor);
  Result<TorchValue> current(const CallSite& site, const TorchValue& value);
  // Gives the tensor's memory new contents; all views of it see them.
  Status write(const CallSite& site, const TensorRef& target, TensorRef value);

  // Branches of which only one will run: what is written between begin_branch() and end_branch()
  // is undone and returned, so that the caller can join both sides.
  struct Write {
    std::shared_ptr<Alias> memory;
    TensorRef value;
  };
  void begin_branch();
  std::vector<Write> end_branch();

 private:
  struct Arguments {
    std::vector<TorchValue> positional;
    NamedValues named;
  };
  // Every argument as it is after the writes so far.
  Result<Arguments> current(const CallSite& site, std::span<const TorchValue> args,
                            const NamedValues& kwargs);

  struct Change {
    std::shared_ptr<Alias> alias;
    TensorRef value;
    uint64_t version;
  };

  Result<std::vector<TorchValue>> call_in_place(const CallSite& site, std::string_view name,
                                                std::span<const TorchValue> args,
                                                const NamedValues& kwargs);
  Result<std::vector<TorchValue>> call_functional(const CallSite& site, std::string_view name,
                                                  std::span<const TorchValue> args,
                                                  const NamedValues& kwargs);
  Result<TensorRef> value_of(const CallSite& site, const std::shared_ptr<Alias>& alias);
  Status write_alias(const CallSite& site, const std::shared_ptr<Alias>& alias, TensorRef value);
  void set(const std::shared_ptr<Alias>& alias, TensorRef value, uint64_t version);

  std::vector<std::vector<Change>> branches_;
};

}  // namespace ec::torch
