// Writing one graph: the indices of its tensors, operators added by the functions of the table
// below, activations that go into the operator before them.
#pragma once

#include <initializer_list>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"
#include "ops/attrs.h"
#include "ops/clamp.h"
#include "writer/tflite/absorb.h"
#include "writer/tflite/file_builder.h"

namespace ec::tflite {

// As files store elements of 4 and 2 bits: the first of a byte in the low bits.
Blob packed(const Blob& data, DType dtype);

template <class T>
Options options(BuiltinOptions type, flatbuffers::Offset<T> offset) {
  return {type, offset.Union()};
}

class GraphEmitter {
 public:
  GraphEmitter(FileBuilder& model, const ec::Graph& graph, uint32_t index, DiagnosticSink& sink)
      : model_(model), graph_(graph), index_(index), sink_(sink) {}

  // Inputs, all operations, outputs. Operations that cannot be written are reported; the rest is
  // looked at all the same.
  void emit();

  // For a body of one of the graph's operations: a further graph in the file.
  GraphEmitter nested(const ec::Graph& body) {
    return {model_, body, model_.add_graph(body.name()), sink_};
  }
  uint32_t index() const { return index_; }
  FileBuilder& model() { return model_; }
  const ec::Graph& graph() const { return graph_; }
  GraphRecord& record() { return model_.graph(index_); }
  int32_t tensor(const ec::Tensor* tensor);
  int32_t add_tensor(const std::string& name, ec::TensorType type, uint32_t buffer = 0);
  const TensorRecord& tensor_record(int32_t i) { return record().tensors[static_cast<size_t>(i)]; }

  // The activation that the operation takes along and the tensor that holds its result then.
  struct Fused {
    ActivationFunctionType activation = ActivationFunctionType::NONE;
    const ec::Tensor* result = nullptr;
  };
  Fused fuse(const Operation& op);
  // The only reader of a tensor when it is of this kind: operators that do two steps at once ask
  // for it, and say with take_along() that they did the second, too.
  const Operation* only_reader(const ec::Tensor* tensor, OpKind kind) const;
  void take_along(const Operation* op) { fused_.insert(op); }

 private:
  void emit_operations();
  void emit_outputs();
  void check_computed();
  // `name`: of the output that it is copied for.
  int32_t copy_of(const ec::Tensor& original, const std::string& name);
  void find_unwritten();

  FileBuilder& model_;
  const ec::Graph& graph_;
  uint32_t index_;
  DiagnosticSink& sink_;
  std::unordered_map<const ec::Tensor*, int32_t> indices_;
  std::unordered_set<const Operation*> fused_;  // written by the operator of another one
};

class OpEmitter {
 public:
  OpEmitter(GraphEmitter& graph, const Operation& op) : graph_(graph), op_(op) {}

  const Operation& op() const { return op_; }
  template <class S>
  const S& attrs() const {
    return op_.attrs_as<S>();
  }
  flatbuffers::FlatBufferBuilder& fbb() { return graph_.model().fbb(); }
  GraphEmitter& graph() { return graph_; }

  bool has(size_t i) const { return op_.input(i) != nullptr; }
  const ec::Tensor& input(size_t i) const { return *op_.input(i); }
  // The tensor index of operand i, or of what it is written from (absorb.h).
  int32_t in(size_t i) { return has(i) ? graph_.tensor(written_operand(op_, i)) : -1; }
  int32_t out(size_t i = 0) { return graph_.tensor(op_.output(i)); }
  std::vector<int32_t> inputs();
  std::vector<int32_t> outputs();
  DType dtype(size_t i = 0) const { return op_.input(i)->dtype(); }
  size_t rank(size_t i = 0) const { return op_.input(i)->shape()->rank(); }
  // The result, or what the cast behind it makes of it, for operators that give several types.
  const ec::Tensor* cast_result(size_t i, std::initializer_list<DType> types);
  // Whether the source model had one operator for this operation and `other`.
  bool has_source_of(const Operation& other) const { return op_.location() == other.location(); }

  // One operator. `at_least`: the version that the options need; the types are looked at
  // here.
  void add(BuiltinOperator code, std::vector<int32_t> inputs, std::vector<int32_t> outputs,
           Options options = {}, int32_t at_least = 1);
  // An operator of another program, with the operation's operands and results.
  void add_custom(const std::string& code, std::vector<uint8_t> option_bytes);
  // The same with the first `inputs` operands and `outputs` results only.
  void add_custom(const std::string& code, std::vector<uint8_t> option_bytes, size_t inputs,
                  size_t outputs);
  // The same with one new tensor as result, whose index is returned.
  int32_t step(BuiltinOperator code, std::vector<int32_t> inputs, ec::TensorType type,
               Options options = {}, int32_t at_least = 1);

  int32_t constant(ec::TensorType type, Blob data);
  int32_t ints(std::span<const int64_t> values);  // i32, rank 1
  int32_t int_scalar(int64_t value);              // i32, rank 0
  // A scalar of the given type; of a quantised type, its nearest stored value.
  int32_t number(const ec::TensorType& like, double value);
  // An integer operand as i32: constants are converted, the rest is cast.
  Result<int32_t> int32_operand(size_t i);
  int32_t cast_to_i32(int32_t index, const ec::Tensor& tensor);
  // A constant with its dimensions permuted.
  int32_t permuted_constant(const ec::Tensor& tensor, std::span<const int64_t> perm);

  Error fail(std::string message, std::string hint = {}) const;
  Status require_static(const ec::Tensor& tensor) const;

 private:
  GraphEmitter& graph_;
  const Operation& op_;
};

// For forms that a pass brings into others before they get here.
inline constexpr std::string_view kPipelineHint =
    "write the graph that the `tflite` pipeline gives (edgecompile -t tflite)";

using EmitFn = Status (*)(OpEmitter&);
struct EmitRow {
  OpKind kind;
  EmitFn emit;
};
// Ops whose operator has the same operands and results and no options beyond an empty table.
struct PlainRow {
  OpKind kind;
  BuiltinOperator code;
  BuiltinOptions options = BuiltinOptions::NONE;
};
extern const std::span<const EmitRow> kEmitElementwise, kEmitMovement, kEmitSlice, kEmitGather,
    kEmitReduce, kEmitWeighted, kEmitImage, kEmitDetection, kEmitControl, kEmitRecurrent,
    kEmitSignal, kEmitSpectrum, kEmitState, kEmitOther;
extern const std::span<const PlainRow> kEmitPlain;

// Null when TFLite has nothing for the op.
EmitFn find_emit(OpKind kind);
// The lowest version of the operator that takes these tensors.
int32_t version_for_types(BuiltinOperator code, std::span<const TensorRecord* const> inputs,
                          std::span<const TensorRecord* const> outputs);
// The fused activation field for this clamp; nothing where there is no clamp.
std::optional<ActivationFunctionType> activation_code(std::optional<FusedClamp> clamp);

}  // namespace ec::tflite
