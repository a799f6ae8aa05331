// The functions and classes that a model's pickle may name.
#pragma once

#include <cstdint>
#include <string_view>

namespace ec::torch {

enum class GlobalKind : uint8_t {
  Unknown,
  RebuildTensor,
  RebuildQuantized,
  RebuildParameter,
  OrderedDict,
  TypedList,  // torch.jit._pickle build_intlist and its kin
  TypeTag,    // torch.jit._pickle restore_type_tag
  Device,
  Complex,
  StorageType,  // torch FloatStorage; only inside persistent ids
  Name,         // torch per_tensor_affine: a constant that is its name
  ScriptClass,  // __torch__...: a class of the archive or built into torch
  Danger,       // runs programs or code
};

GlobalKind classify_global(std::string_view module, std::string_view name);

}  // namespace ec::torch
