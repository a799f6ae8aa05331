// State that outlives a run. Programs keep it in half precision, and it starts from zeros: the
// target's pipeline brings other states into that form.
#include <algorithm>

#include "support/strings.h"
#include "writer/coreml/emitter.h"

namespace ec::mil {
namespace {

bool is_zero(const Tensor* tensor) {
  return tensor != nullptr && tensor->is_constant() &&
         std::ranges::all_of(tensor->data().bytes(),
                             [](std::byte byte) { return byte == std::byte{0}; });
}

Status emit_read_state(OpEmitter& e) {
  EC_CHECK_OK(e.need(kCoremlIos18, "state"));
  const Tensor* value = e.op().output();
  if (!value->type().is_static() || value->dtype() != DType::F16 || e.rank() == 0 ||
      !is_zero(e.input(0)))
    return e.fail("state of " + value->type().text() +
                      " that starts from given values; programs keep f16 with fixed sizes that "
                      "starts from zeros",
                  std::string(kPipelineHint));
  ProgramState state;
  state.name = e.attrs<StateAttrs>().name;
  state.program_name = e.block().state().names.unique(state.name);
  state.type = type_of(value);
  e.emit("read_state", {{"input", state.program_name}});
  e.block().state().states.push_back(std::move(state));
  return {};
}

Status emit_write_state(OpEmitter& e) {
  const auto& states = e.block().state().states;
  const auto found = std::ranges::find(states, e.attrs<StateAttrs>().name, &ProgramState::name);
  if (found == states.end()) return e.fail("a state that nothing reads");
  const std::string value = e.in(0);
  e.emit_alone("write_state", {{"input", found->program_name}, {"data", value}},
               found->program_name + "_write");
  e.alias(value);
  return {};
}

constexpr EmitRow kRows[] = {
    {OpKind::ReadState, emit_read_state},
    {OpKind::WriteState, emit_write_state},
};

}  // namespace

const std::span<const EmitRow> kEmitState = kRows;

}  // namespace ec::mil
