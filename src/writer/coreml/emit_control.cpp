// Branches and loops: every body becomes a block. What bodies read from outside goes by its name
// there, so captures are no loop variables.
#include <algorithm>
#include <limits>

#include "support/strings.h"
#include "writer/coreml/emitter.h"

namespace ec::mil {
namespace {

ValueType truth_type() { return ValueType::tensor(DataType::Bool); }
ValueType count_type() { return ValueType::tensor(DataType::Int32); }

// The one element of a value as a value without dimensions.
std::string as_scalar(OpEmitter& e, const std::string& name, const ValueType& type) {
  if (type.dims.empty()) return name;
  return e.step("squeeze", {{"x", name}}, ValueType::tensor(type.element));
}

// Blocks take and give values as they are outside.
Status check_alike(const OpEmitter& e, const Tensor* outside, const Tensor* inside) {
  const ValueType a = type_of(outside), b = type_of(inside);
  if (a == b) return {};
  const bool sizes = a.element == b.element;
  return e.fail("'" + printable(outside->name()) + "' is " + outside->type().text() +
                    " outside and " + inside->type().text() + " in the nested graph",
                sizes ? "export the model so that values keep their sizes in all branches and "
                        "iterations"
                      : "export the model so that values keep their types");
}

// Whether the value is true whatever the run gives; `given` is true already.
bool is_always_true(const Tensor* tensor, const Tensor* given) {
  while (tensor->producer() != nullptr && tensor->producer()->kind() == OpKind::Identity)
    tensor = tensor->producer()->input(0);
  if (tensor->is_constant()) return scalar_value(tensor) == 1.0;
  return tensor == given;
}

// --- if ------------------------------------------------------------------------------------------

Status emit_if(OpEmitter& e) {
  const std::string condition = as_scalar(e, e.in(0), type_of(e.input(0)));
  std::vector<coreml::Block> blocks;
  for (const auto& body : e.op().bodies()) {
    for (size_t i = 0; i < e.op().outputs().size(); ++i)
      EC_CHECK_OK(check_alike(e, e.op().output(i), body->outputs()[i]));
    BlockEmitter block(e.block().state(), *body, &e.block());
    for (size_t i = 0; i < body->inputs().size(); ++i)
      if (!body->is_unused(body->inputs()[i])) block.bind(body->inputs()[i], e.in(i + 1));
    block.emit_operations();
    block.emit_outputs({});
    blocks.push_back(std::move(block).take());
  }
  std::vector<coreml::NamedType> results;
  for (const Tensor* output : e.op().outputs())
    results.push_back({e.block().name(output), type_of(output)});
  e.emit_blocks("cond", {{"pred", condition}}, std::move(results), std::move(blocks));
  return {};
}

// --- loop ----------------------------------------------------------------------------------------

constexpr size_t kTripCount = 0, kCondition = 1, kFirstValue = 2;

// The loop variables in order: the number of the iteration where something asks for it, whether to
// go on where that is not always so, then what the loop carries.
class LoopWriter {
 public:
  explicit LoopWriter(OpEmitter& e)
      : e_(e),
        body_(*e.op().bodies()[0]),
        carried_(static_cast<size_t>(e.attrs<LoopAttrs>().num_carried)) {}

  Status write() {
    EC_CHECK_OK(check());
    choose_limit();
    choose_condition();
    counted_ = !limit_.empty() || !body_.is_unused(body_.inputs()[0]);
    std::vector<std::string> initial;
    if (counted_) initial.push_back(e_.i32(0));
    if (conditional_) initial.push_back(first_condition_);
    for (size_t i = 0; i < carried_; ++i) initial.push_back(e_.in(kFirstValue + i));
    std::vector<coreml::Block> blocks;
    blocks.push_back(test_block());
    blocks.push_back(body_block());
    std::vector<coreml::NamedType> results = variables("last");
    for (size_t i = 0; i < carried_; ++i)
      results[results.size() - carried_ + i].name = e_.block().name(e_.op().output(i));
    e_.emit_blocks("while_loop", {{"loop_vars", std::move(initial)}}, std::move(results),
                   std::move(blocks));
    return {};
  }

 private:
  Status check() const {
    if (body_.outputs().size() != 1 + carried_)
      return e_.fail("results that grow by one row in each of an unknown number of iterations",
                     "give the loop a constant number of iterations");
    if (carried_ == 0) return e_.fail("a loop that carries no value");
    for (size_t i = 0; i < carried_; ++i) {
      const Tensor* inside = body_.inputs()[kFirstValue + i];
      EC_CHECK_OK(check_alike(e_, e_.input(kFirstValue + i), inside));
      EC_CHECK_OK(check_alike(e_, inside, body_.outputs()[1 + i]));
      EC_CHECK_OK(check_alike(e_, e_.op().output(i), inside));
    }
    return {};
  }

  // Numbers of iterations that no loop reaches say that the condition alone ends it.
  void choose_limit() {
    if (!e_.has(kTripCount)) return;
    const auto count = scalar_value(e_.input(kTripCount));
    if (!count)
      limit_ = as_scalar(e_, e_.in(kTripCount), type_of(e_.input(kTripCount)));
    else if (*count < double{std::numeric_limits<int32_t>::max()})
      limit_ = e_.i32(static_cast<int64_t>(*count));
  }

  void choose_condition() {
    const bool begins = !e_.has(kCondition) || scalar_value(e_.input(kCondition)) == 1.0;
    conditional_ = limit_.empty() || !begins ||
                   !is_always_true(body_.outputs()[0], body_.inputs()[kCondition]);
    if (!conditional_) return;
    first_condition_ = e_.has(kCondition)
                           ? as_scalar(e_, e_.in(kCondition), type_of(e_.input(kCondition)))
                           : e_.flag(true);
  }

  // The variables under new names.
  std::vector<coreml::NamedType> variables(const std::string& suffix) {
    Names& names = e_.block().state().names;
    const std::string base = e_.op().output()->name();
    std::vector<coreml::NamedType> list;
    if (counted_) list.push_back({names.unique(base + "_iteration_" + suffix), count_type()});
    if (conditional_) list.push_back({names.unique(base + "_condition_" + suffix), truth_type()});
    for (size_t i = 0; i < carried_; ++i)
      list.push_back(
          {names.unique(e_.op().output(i)->name() + "_" + suffix), type_of(e_.op().output(i))});
    return list;
  }

  // Whether there is another iteration.
  coreml::Block test_block() {
    const std::vector<coreml::NamedType> inputs = variables("tested");
    BlockEmitter block(e_.block().state(), body_, &e_.block());
    OpEmitter inside(block, e_.op());
    std::string more;
    if (!limit_.empty())
      more = inside.step("less", {{"x", inputs[0].name}, {"y", limit_}}, truth_type());
    if (conditional_) {
      const std::string& go_on = inputs[counted_ ? 1 : 0].name;
      more = more.empty() ? inside.step("identity", {{"x", go_on}}, truth_type())
                          : inside.step("logical_and", {{"x", go_on}, {"y", more}}, truth_type());
    }
    coreml::Block result = std::move(block).take();
    result.inputs = inputs;
    result.outputs = {more};
    return result;
  }

  coreml::Block body_block() {
    std::vector<coreml::NamedType> inputs = variables("in");
    BlockEmitter block(e_.block().state(), body_, &e_.block());
    OpEmitter inside(block, e_.op());
    const size_t first = inputs.size() - carried_;
    if (counted_) block.bind(body_.inputs()[0], inputs[0].name);
    block.bind(body_.inputs()[kCondition],
               conditional_ ? inputs[counted_ ? 1 : 0].name : inside.flag(true));
    for (size_t i = 0; i < carried_; ++i)
      block.bind(body_.inputs()[kFirstValue + i], inputs[first + i].name);
    for (size_t i = kFirstValue + carried_; i < body_.inputs().size(); ++i)
      if (!body_.is_unused(body_.inputs()[i])) block.bind(body_.inputs()[i], e_.in(i));
    block.emit_operations();
    block.emit_outputs({});
    std::string next, more;
    if (counted_)
      next = inside.step("add", {{"x", inputs[0].name}, {"y", inside.i32(1)}}, count_type());
    if (conditional_)
      more = as_scalar(inside, block.outputs().front(), type_of(body_.outputs()[0]));
    coreml::Block result = std::move(block).take();
    result.inputs = std::move(inputs);
    result.outputs.erase(result.outputs.begin());
    if (conditional_) result.outputs.insert(result.outputs.begin(), more);
    if (counted_) result.outputs.insert(result.outputs.begin(), next);
    return result;
  }

  OpEmitter& e_;
  const Graph& body_;
  const size_t carried_;
  bool counted_ = false, conditional_ = false;
  std::string limit_, first_condition_;  // empty: there is none
};

Status emit_loop(OpEmitter& e) { return LoopWriter(e).write(); }

constexpr EmitRow kRows[] = {
    {OpKind::If, emit_if},
    {OpKind::Loop, emit_loop},
};

}  // namespace

const std::span<const EmitRow> kEmitControl = kRows;

}  // namespace ec::mil
