#include "formats/torch/pickle_globals.h"

#include <algorithm>
#include <array>

namespace ec::torch {
namespace {

struct Known {
  std::string_view module, name;
  GlobalKind kind;
};

constexpr std::array kKnown = {
    Known{"torch._utils", "_rebuild_tensor_v2", GlobalKind::RebuildTensor},
    Known{"torch._utils", "_rebuild_qtensor", GlobalKind::RebuildQuantized},
    Known{"torch._utils", "_rebuild_parameter", GlobalKind::RebuildParameter},
    Known{"collections", "OrderedDict", GlobalKind::OrderedDict},
    Known{"torch.jit._pickle", "build_intlist", GlobalKind::TypedList},
    Known{"torch.jit._pickle", "build_doublelist", GlobalKind::TypedList},
    Known{"torch.jit._pickle", "build_boollist", GlobalKind::TypedList},
    Known{"torch.jit._pickle", "build_tensorlist", GlobalKind::TypedList},
    Known{"torch.jit._pickle", "restore_type_tag", GlobalKind::TypeTag},
    Known{"torch", "device", GlobalKind::Device},
    Known{"builtins", "complex", GlobalKind::Complex},
    Known{"torch", "per_tensor_affine", GlobalKind::Name},
    Known{"torch", "per_channel_affine", GlobalKind::Name},
};

// Modules whose functions reach outside: no model and no checkpoint needs them.
constexpr std::array<std::string_view, 14> kDangerousModules = {
    "os",     "posix",     "nt",     "subprocess", "sys",      "runpy", "pty",
    "shutil", "importlib", "socket", "webbrowser", "commands", "code",  "ctypes"};
constexpr std::array<std::string_view, 9> kDangerousBuiltins = {
    "eval", "exec", "compile", "open", "getattr", "setattr", "__import__", "execfile", "input"};

template <class List>
bool contains(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

GlobalKind classify_global(std::string_view module, std::string_view name) {
  for (const Known& known : kKnown)
    if (known.module == module && known.name == name) return known.kind;
  if (module == "torch" && name.ends_with("Storage")) return GlobalKind::StorageType;
  if (module == "__torch__" || module.starts_with("__torch__.")) return GlobalKind::ScriptClass;
  if (contains(kDangerousModules, module.substr(0, module.find('.')))) return GlobalKind::Danger;
  if ((module == "builtins" || module == "__builtin__") && contains(kDangerousBuiltins, name))
    return GlobalKind::Danger;
  return GlobalKind::Unknown;
}

}  // namespace ec::torch
