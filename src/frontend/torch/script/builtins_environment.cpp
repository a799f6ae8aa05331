// Questions about the surroundings of the program, answered as they are for inference on a CPU with
// the plain code paths: fused attention of PyTorch's own kernels is not asked for.
#include <array>

#include "frontend/torch/script/builtins.h"

namespace ec::torch::script {
namespace {

template <bool answer>
BuiltinResult always(const BuiltinCall&) {
  return TorchValue(answer);
}

BuiltinResult nothing(const BuiltinCall&) { return TorchValue(); }

// wait(future), prim.data(x), detach of a value that is no tensor: the value itself.
BuiltinResult itself(const BuiltinCall& call) {
  if (call.args.empty()) return std::nullopt;
  return call.args[0];
}

BuiltinResult itself_unless_tensor(const BuiltinCall& call) {
  if (call.args.empty() || call.args[0].is_tensor()) return std::nullopt;
  return call.args[0];
}

BuiltinResult cpu(const BuiltinCall&) { return TorchValue("cpu"); }

BuiltinResult device(const BuiltinCall& call) {
  return call.args.empty() ? TorchValue("cpu") : call.args[0];
}

BuiltinResult unwrap(const BuiltinCall& call) {
  if (call.args.empty()) return std::nullopt;
  if (call.args[0].is_none()) return Error(Code::BadValue, "None where the model needs a value");
  return call.args[0];
}

// A list of its own, as the program may change it.
BuiltinResult enumerator_name(const BuiltinCall& call) {
  const auto entry = call.args.empty() ? nullptr : as_object<Enumerator>(call.args[0]);
  if (entry == nullptr) return std::nullopt;
  return TorchValue(entry->name);
}

BuiltinResult enumerator_value(const BuiltinCall& call) {
  const auto entry = call.args.empty() ? nullptr : as_object<Enumerator>(call.args[0]);
  if (entry == nullptr) return std::nullopt;
  return entry->value;
}

constexpr std::array kEnvironment = {
    NamedBuiltin{"aten::is_grad_enabled", always<true>},
    NamedBuiltin{"prim::requires_grad", always<true>},
    NamedBuiltin{"aten::requires_grad", always<true>},
    NamedBuiltin{"aten::is_autocast_enabled", always<false>},
    NamedBuiltin{"aten::is_autocast_cpu_enabled", always<false>},
    NamedBuiltin{"aten::_is_tracing", always<false>},
    NamedBuiltin{"prim::is_nested", always<false>},
    NamedBuiltin{"prim::is_cuda", always<false>},
    NamedBuiltin{"prim::is_sparse", always<false>},
    NamedBuiltin{"prim::is_mkldnn", always<false>},
    NamedBuiltin{"prim::is_xpu", always<false>},
    NamedBuiltin{"prim::is_meta", always<false>},
    NamedBuiltin{"prim::is_mps", always<false>},
    NamedBuiltin{"prim::is_cpu", always<true>},
    NamedBuiltin{"aten::is_scripting", always<true>},
    NamedBuiltin{"aten::set_grad_enabled", nothing},
    NamedBuiltin{"aten::warn", nothing},
    NamedBuiltin{"prim::Print", nothing},
    NamedBuiltin{"aten::manual_seed", nothing},
    NamedBuiltin{"aten::wait", itself},
    NamedBuiltin{"prim::awaitable_wait", itself},
    NamedBuiltin{"prim::unchecked_unwrap_optional", unwrap},
    NamedBuiltin{"aten::_unwrap_optional", unwrap},
    NamedBuiltin{"prim::type", cpu},
    NamedBuiltin{"prim::device", cpu},
    NamedBuiltin{"aten::device", device},
    NamedBuiltin{"aten::detach", itself_unless_tensor},
    NamedBuiltin{"prim::EnumName", enumerator_name},
    NamedBuiltin{"prim::EnumValue", enumerator_value},
};

}  // namespace

std::span<const NamedBuiltin> environment_builtins() { return kEnvironment; }

}  // namespace ec::torch::script
