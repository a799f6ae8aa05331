// The program around the operations: dispatch, interface, versions.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/open_sizes.h"
#include "ops/op_def.h"
#include "support/strings.h"
#include "writer/coreml/coreml.h"
#include "writer/coreml/emitter.h"
#include "writer/coreml/interface.h"
#include "writer/coreml/interleave.h"

namespace ec::mil {
namespace {

constexpr size_t kMostDimensions = 5;

Status emit_plain(OpEmitter& e) {
  for (const PlainRow& row : kEmitPlain) {
    if (row.kind != e.op().kind()) continue;
    std::vector<Arg> args{{row.first, e.in(0)}};
    if (e.op().inputs().size() > 1) args.emplace_back(row.second, e.in(1));
    e.emit(row.type, std::move(args));
    return {};
  }
  return e.fail("programs have no operation for it");
}

// Integers of fewer than 32 bits are computed in 32: results that would wrap around do not.
bool computes_narrow_integers(const Operation& op) {
  const DType dtype = op.outputs().empty() ? DType::F32 : op.output()->dtype();
  if (!is_integer(dtype) || bit_width(dtype) >= 32) return false;
  switch (op.kind()) {
    case OpKind::Relu:
    case OpKind::Max:
    case OpKind::Min:
    case OpKind::Clip:
    case OpKind::Cast:
    case OpKind::Quantize:
    case OpKind::Where:
    case OpKind::OneHot:
      return false;
    default:
      return op.def().quant != QuantRule::SameAsInput;
  }
}

// What no operation of a program takes, whatever it computes.
Status check_operands(const OpEmitter& e) {
  const auto check = [&](const Tensor* tensor) -> Status {
    if (tensor == nullptr) return {};
    if (!element_type(tensor->dtype()))
      return e.fail(fmt::format("element type {} (tensor '{}'), which programs do not have",
                                dtype_name(tensor->dtype()), printable(tensor->name())));
    if (!tensor->shape())
      return e.fail(
          fmt::format("the number of dimensions of '{}' is not known", printable(tensor->name())),
          "fix the sizes with --input-shape NAME:1x3x224x224");
    if (tensor->shape()->rank() > kMostDimensions)
      return e.fail(fmt::format("'{}' has {} dimensions, Core ML takes 5",
                                printable(tensor->name()), tensor->shape()->rank()));
    if (tensor->type().num_elements().value_or(0) > std::numeric_limits<int32_t>::max())
      return e.fail(fmt::format("'{}' has more elements than programs count with 32 bits",
                                printable(tensor->name())));
    if (tensor->type().quant)
      return e.fail("arithmetic on integers with scales, which programs do not have",
                    "give the float model, or one with quantize and dequantize around its layers");
    return {};
  };
  for (const Tensor* input : e.op().inputs()) EC_CHECK_OK(check(input));
  for (const Tensor* output : e.op().outputs()) {
    EC_CHECK_OK(check(output));
    if (output->type().num_elements() == 0)
      return e.fail("a result without elements, which programs do not have");
  }
  if (computes_narrow_integers(e.op()))
    return e.fail(fmt::format("arithmetic on {}, which programs compute in 32 bits",
                              dtype_name(e.op().output()->dtype())),
                  "compute on floats or integers of 32 bits");
  return {};
}

// Most forms that programs lack are rewritten where sizes are known.
constexpr std::string_view kFixSizes =
    "fix the sizes with --input-shape NAME:1x3x224x224, and leave out --flexible-shape";

constexpr std::string_view kLeaveOut =
    "leave it to the application, or export the model without it";

bool has_open_sizes(const Operation& op) {
  const auto is_open = [](const Tensor* tensor) {
    return tensor != nullptr && !tensor->type().is_static();
  };
  return std::ranges::any_of(op.inputs(), is_open) || std::ranges::any_of(op.outputs(), is_open);
}

void fill_summary(const coreml::Block& block, std::map<std::string, int64_t>& counts,
                  CoremlSummary& summary) {
  for (const coreml::Operation& op : block.operations) {
    if (op.type == "const") {
      ++summary.num_constants;
      continue;
    }
    ++counts[op.type];
    ++summary.num_operators;
    for (const coreml::Block& nested : op.blocks) fill_summary(nested, counts, summary);
  }
}

}  // namespace

EmitFn find_emit(OpKind kind) {
  static const std::vector<EmitFn> kTable = [] {
    std::vector<EmitFn> table(all_ops().size(), nullptr);
    for (const PlainRow& row : kEmitPlain) table[static_cast<size_t>(row.kind)] = emit_plain;
    for (const auto rows : {kEmitElementwise, kEmitActivations, kEmitReduce, kEmitMovement,
                            kEmitGather, kEmitWeighted, kEmitNorms, kEmitImage, kEmitRecurrent,
                            kEmitQuantize, kEmitControl, kEmitState})
      for (const EmitRow& row : rows) table[static_cast<size_t>(row.kind)] = row.emit;
    return table;
  }();
  return kTable[static_cast<size_t>(kind)];
}

void BlockEmitter::emit_operations() {
  const bool open_inputs = has_open_inputs(graph_);
  const Interleavings interleavings = find_interleavings(graph_);
  std::vector<Operation*> order = graph_.topological();
  std::ranges::stable_partition(
      order, [](const Operation* op) { return op->kind() == OpKind::ReadState; });
  for (const Operation* op : order) {
    if (interleavings.inner.contains(op)) continue;
    OpEmitter emitter(*this, *op);
    if (const auto found = interleavings.concats.find(op); found != interleavings.concats.end()) {
      emit_concat(emitter, *found->second, true);
      continue;
    }
    const EmitFn emit_op = find_emit(op->kind());
    Status status = emit_op == nullptr
                        ? Status(emitter.fail(
                              "programs have no operation for it, and no rewrite into others fits"))
                        : check_operands(emitter);
    if (status.ok()) status = emit_op(emitter);
    if (status.ok() && emitter.is_beyond_32_bits())
      status = emitter.fail("a number is beyond 32 bits");
    for (const Tensor* output : op->outputs())
      if (status.ok() && !is_bound(output) && !graph_.is_unused(output))
        status = emitter.fail("the result '" + printable(output->name()) + "' has no form");
    if (status.ok()) continue;
    const std::string_view way_out = open_inputs && has_open_sizes(*op) ? kFixSizes : kLeaveOut;
    state_.sink->report(std::move(status).error().hint(std::string(way_out)));
  }
}

namespace {

// One version of the program; `state.needed` tells which one it takes.
Result<CoremlProgram> write_once(const Graph& graph, const CoremlWriteOptions& options,
                                 WriteState& state) {
  const size_t errors = state.sink->error_count();
  CoremlProgram program;
  BlockEmitter block(state, graph);
  const auto lists = std::ranges::count_if(
      options.flexible, [](const CoremlFlexibleInput& input) { return !input.shapes.empty(); });
  if (lists > 1) EC_CHECK_OK(state.need(kCoremlIos18, "lists of shapes for more than one input"));
  EC_TRY(const InterfaceNames names, name_interface(graph, state, block));
  block.emit_operations();
  block.emit_outputs(names.outputs);
  if (state.sink->error_count() > errors) return state.sink->first_error();
  coreml::Function main;
  main.opset = fmt::format("CoreML{}", state.version - 1);
  main.block = std::move(block).take();
  coreml::Model& model = program.model;
  model.specification_version = state.version;
  model.metadata = options.metadata;
  EC_CHECK_OK(describe_interface(graph, names, options, model.interface, main));
  describe_states(state.states, model.interface, main);
  EC_CHECK_OK(add_classifier(graph, state, options.labels, model.interface, main));
  program.summary.renamed = names.renamed;
  std::map<std::string, int64_t> counts;
  fill_summary(main.block, counts, program.summary);
  model.program.emplace().functions.emplace("main", std::move(main));
  program.weights = std::move(state.weights);
  CoremlSummary& summary = program.summary;
  summary.operators.assign(counts.begin(), counts.end());
  std::stable_sort(summary.operators.begin(), summary.operators.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  summary.version = state.version;
  return program;
}

}  // namespace
}  // namespace ec::mil

namespace ec {

std::string_view coreml_system(int version) {
  switch (version) {
    case kCoremlIos16:
      return "iOS 16";
    case kCoremlIos17:
      return "iOS 17";
    case kCoremlIos18:
      return "iOS 18";
    default:
      return version < kCoremlIos16 ? "iOS 15" : "iOS 26";
  }
}

Result<CoremlProgram> write_coreml(const Graph& graph, const CoremlWriteOptions& options,
                                   DiagnosticSink& sink) {
  int version = options.lowest_version;
  std::string reason;
  // Parameters of operations depend on the version, which depends on the operations.
  for (;;) {
    mil::WriteState state;
    state.version = version;
    state.needed = version;
    state.highest = options.highest_version;
    state.sink = &sink;
    state.stored = &options.stored;
    EC_TRY(CoremlProgram program, mil::write_once(graph, options, state));
    program.summary.version_reason = reason;
    if (state.needed == version) return program;
    version = state.needed;
    reason = state.needed_by;
  }
}

}  // namespace ec
