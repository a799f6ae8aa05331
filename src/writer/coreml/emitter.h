// Writing one block of a program: names of values, constants, operations. One OpEmitter is what the
// functions of the table see.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/coreml/model.h"
#include "formats/coreml/package.h"
#include "ir/graph.h"
#include "ops/attrs.h"
#include "writer/coreml/coreml.h"

namespace ec::mil {

using coreml::DataType;
using coreml::Value;
using coreml::ValueType;

// Identifiers of a program, unique over all of it.
class Names {
 public:
  // A legal identifier near `wanted`; a suffix where it is taken.
  std::string unique(std::string_view wanted);
  // The same without the suffix.
  static std::string legal(std::string_view wanted);

 private:
  std::set<std::string, std::less<>> used_;
  std::map<std::string, int, std::less<>> next_;
};

// A state that the program reads, and writes perhaps.
struct ProgramState {
  std::string name, program_name;  // in the graph and in the program
  ValueType type;
};

struct WriteState {
  Names names;
  coreml::WeightFile weights;
  int version = kCoremlIos16;  // that is written
  int highest = kCoremlIos26;
  int needed = kCoremlIos16;  // by what was written
  std::string needed_by;
  DiagnosticSink* sink = nullptr;
  const CoremlStoredConstants* stored = nullptr;
  std::vector<ProgramState> states;

  // Something needs this version, which `what` says: EC3004 where the deployment target is older.
  Status need(int wanted, std::string what);
};

// The type that elements have in programs; nothing where there is none.
std::optional<DataType> element_type(DType dtype);
// The type of a tensor: unknown sizes stay unknown. Integers between quantize and dequantize keep
// their 8 bits.
ValueType type_of(const Tensor* tensor);

class BlockEmitter {
 public:
  BlockEmitter(WriteState& state, const Graph& graph, BlockEmitter* outer = nullptr)
      : state_(state), graph_(graph), outer_(outer) {}

  WriteState& state() { return state_; }
  const Graph& graph() const { return graph_; }

  // The name of a tensor's value; constants become operations when they are first named.
  std::string name(const Tensor* tensor);
  void bind(const Tensor* tensor, std::string name) { names_[tensor] = std::move(name); }
  bool is_bound(const Tensor* tensor) const { return names_.contains(tensor); }
  // A constant; small ones that are equal share one operation.
  std::string constant(Value value, std::string_view base);
  // A value whose elements lie in the weight file where it has many.
  Value stored_value(ValueType type, Blob data);
  void add(coreml::Operation operation, std::string_view name);

  // Every operation, producers first; state is read before anything writes it. Those that cannot be
  // written are reported; the rest is looked at all the same.
  void emit_operations();
  // The names of the outputs, each of an operation of its own.
  void emit_outputs(const std::vector<std::string>& names);
  const std::vector<std::string>& outputs() const { return block_.outputs; }
  coreml::Block take() && { return std::move(block_); }

 private:
  std::string shared_constant(const std::string& key) const;
  // A constant that is unpacked when the program is compiled.
  std::string stored_constant(const Tensor* tensor, const CoremlStored& stored);

  WriteState& state_;
  const Graph& graph_;
  BlockEmitter* outer_;
  coreml::Block block_;
  std::unordered_map<const Tensor*, std::string> names_;
  std::unordered_map<std::string, std::string> constants_;  // by type and bytes
};

// A parameter with what is bound to it.
struct Arg {
  std::string_view parameter;
  std::vector<std::string> values;
  Arg(std::string_view name, std::string value) : parameter(name), values{std::move(value)} {}
  Arg(std::string_view name, std::vector<std::string> list)
      : parameter(name), values(std::move(list)) {}
};

class OpEmitter {
 public:
  OpEmitter(BlockEmitter& block, const Operation& op) : block_(block), op_(op) {}

  const Operation& op() const { return op_; }
  template <class S>
  const S& attrs() const {
    return op_.attrs_as<S>();
  }
  BlockEmitter& block() { return block_; }
  int version() const { return block_.state().version; }

  bool has(size_t i) const { return op_.input(i) != nullptr; }
  const Tensor* input(size_t i) const { return op_.input(i); }
  std::string in(size_t i) { return block_.name(op_.input(i)); }
  size_t rank(size_t i = 0) const { return op_.input(i)->shape()->rank(); }
  // Sizes; unknown ones are kUnknownSize.
  std::vector<int64_t> sizes(const Tensor* tensor) const { return type_of(tensor).dims; }
  DataType element(size_t i = 0) const { return type_of(op_.input(i)).element; }
  bool is_float_input(size_t i = 0) const { return is_float(op_.input(i)->dtype()); }
  int64_t axis(int64_t axis, size_t i = 0) const {
    return axis < 0 ? axis + static_cast<int64_t>(rank(i)) : axis;
  }

  // The operation whose results are those of the graph's operation.
  void emit(std::string_view type, std::vector<Arg> args);
  // The same for result i alone.
  void emit_result(size_t i, std::string_view type, std::vector<Arg> args);
  // The same with nested blocks; the names of the results are taken already.
  void emit_blocks(std::string_view type, std::vector<Arg> args,
                   std::vector<coreml::NamedType> results, std::vector<coreml::Block> blocks);
  // An operation without results.
  void emit_alone(std::string_view type, std::vector<Arg> args, std::string_view name);
  // An operation on the way, with one result or several.
  std::string step(std::string_view type, std::vector<Arg> args, ValueType result);
  std::vector<std::string> steps(std::string_view type, std::vector<Arg> args,
                                 std::vector<ValueType> results);
  // The result is another value.
  void alias(std::string value) { block_.bind(op_.output(), std::move(value)); }

  // Those beyond 32 bits become the nearest: ends of slices mean the end of a tensor.
  std::string ints(std::span<const int64_t> values);
  std::string ints(std::initializer_list<int64_t> values) {
    return ints(std::span<const int64_t>(values.begin(), values.size()));
  }
  // Numbers beyond 32 bits are remembered: the operation is refused then.
  std::string exact_ints(std::span<const int64_t> values);
  std::string i32(int64_t value);
  bool is_beyond_32_bits() const { return beyond_32_bits_; }
  std::string flag(bool value);
  std::string flags(const std::vector<bool>& values);
  std::string text(std::string_view value);
  std::string real(double value, DataType type);
  std::string real(double value) { return real(value, element()); }  // of the first operand's type
  // A number of the first operand's type, float or not.
  std::string number(double value);
  // A constant of its own: elements as they lie in memory.
  std::string constant(ValueType type, Blob data);

  // The operation needs this version: EC3004 where the deployment target is older.
  Status need(int version, std::string_view why);
  // Without a hint the way out is that of all operations without a form.
  Error fail(std::string message, std::string hint = {}) const;

 private:
  std::string new_name(std::string_view suffix);

  BlockEmitter& block_;
  const Operation& op_;
  bool beyond_32_bits_ = false;
};

// Constant operands.
std::optional<std::vector<int64_t>> int_values(const Tensor* tensor);
std::optional<double> scalar_value(const Tensor* tensor);
std::vector<float> float_values(const Tensor* tensor);

// For forms that a pass brings into others before they get here.
inline constexpr std::string_view kPipelineHint =
    "write the graph that the target's own pipeline gives";

using EmitFn = Status (*)(OpEmitter&);
struct EmitRow {
  OpKind kind;
  EmitFn emit;
};
// Operations with the same operands and no further parameters.
struct PlainRow {
  OpKind kind;
  std::string_view type;
  std::string_view first = "x", second = "y";
};
extern const std::span<const EmitRow> kEmitElementwise, kEmitActivations, kEmitReduce,
    kEmitMovement, kEmitGather, kEmitWeighted, kEmitNorms, kEmitImage, kEmitRecurrent,
    kEmitQuantize, kEmitControl, kEmitState;
extern const std::span<const PlainRow> kEmitPlain;

// Null when programs have nothing for the op.
EmitFn find_emit(OpKind kind);

}  // namespace ec::mil
