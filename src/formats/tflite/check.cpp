// The rules of a TFLite file that the flatbuffer itself does not enforce: indices, references
// between subgraphs, the order of operators, options that belong to their operator.
#include <algorithm>
#include <limits>
#include <set>

#include "formats/tflite/check_tensor.h"
#include "formats/tflite/model_file.h"
#include "support/strings.h"

namespace ec::tflite {
namespace {

constexpr size_t kMaxCallDepth = 64;
constexpr size_t kMaxListLength = 10'000;  // inputs or outputs of an operator or a subgraph
using Indices = flatbuffers::Vector<int32_t>;

bool contains(const Indices* list, int32_t value) {
  return list != nullptr && std::find(list->begin(), list->end(), value) != list->end();
}

class Checker {
 public:
  Checker(const ModelFile& file, DiagnosticSink& sink)
      : file_(file), model_(file.model()), sink_(sink) {}

  void run() {
    check_version();
    if (!has_all_parts()) return;
    check_buffers();
    check_operator_codes();
    for (uint32_t i = 0; i < model_.subgraphs()->size(); ++i) check_subgraph(i);
    if (sink_.has_errors()) return;  // what follows relies on sound indices
    check_calls();
    check_signatures();
    check_metadata();
  }

 private:
  void fault(Code code, std::string message, std::string hint = {}) {
    if (hint.empty()) hint = "the file breaks the rules of its format: export or copy it again";
    sink_.report(Error(code, std::move(message)).hint(std::move(hint)));
  }

  void check_version() {
    if (model_.version() == 3) return;
    fault(Code::UnsupportedFormat,
          "this is version " + std::to_string(model_.version()) + " of the TFLite format",
          "only version 3, in use since 2017, is supported: convert the model again");
  }

  // Null entries in a vector of tables cannot be: the verifier refuses them.
  bool has_all_parts() {
    const auto missing = [&](const void* part, const char* what) {
      if (part == nullptr) fault(Code::CorruptFile, std::string("the file has no ") + what);
      return part == nullptr;
    };
    if (missing(model_.subgraphs(), "subgraphs") || missing(model_.buffers(), "buffers"))
      return false;
    if (model_.subgraphs()->size() == 0)
      return fault(Code::CorruptFile, "the file has no subgraphs"), false;
    bool any_operator = false;
    for (const SubGraph* graph : *model_.subgraphs())
      any_operator = any_operator || size_of(graph->operators()) > 0;
    return !any_operator || !missing(model_.operator_codes(), "operator codes");
  }

  bool inside(uint64_t offset, uint64_t size) const {
    return offset <= file_.file().size() && size <= file_.file().size() - offset;
  }

  void check_buffers() {
    for (uint32_t i = 0; i < model_.buffers()->size(); ++i) {
      const Buffer& buffer = *model_.buffers()->Get(i);
      if (buffer.offset() > 1 && !inside(buffer.offset(), buffer.size()))
        fault(Code::CorruptFile,
              "buffer " + std::to_string(i) + " lies at byte " + std::to_string(buffer.offset()) +
                  " with " + std::to_string(buffer.size()) + " bytes; the file has " +
                  std::to_string(file_.file().size()),
              "the file was cut off: export or copy it again");
    }
  }

  void check_operator_codes() {
    if (model_.operator_codes() == nullptr) return;
    for (const OperatorCode* code : *model_.operator_codes())
      if (builtin_code(*code) == static_cast<int32_t>(BuiltinOperator::CUSTOM) &&
          text_of(code->custom_code()).empty())
        fault(Code::CorruptFile, "a custom operator has no name");
  }

  void check_subgraph(uint32_t index) {
    const SubGraph& graph = *model_.subgraphs()->Get(index);
    const size_t before = sink_.error_count();
    for (uint32_t i = 0; i < size_of(graph.tensors()); ++i)
      check_tensor(file_, graph, static_cast<int32_t>(i), sink_);
    check_interface(graph, graph.inputs(), "input");
    check_interface(graph, graph.outputs(), "output");
    for (uint32_t i = 0; i < size_of(graph.operators()); ++i)
      check_operator(graph, *graph.operators()->Get(i), i);
    if (sink_.error_count() == before) check_order(graph);
  }

  void check_interface(const SubGraph& graph, const Indices* list, const char* what) {
    if (size_of(list) > kMaxListLength)
      return fault(Code::TooLarge,
                   "a subgraph has " + std::to_string(size_of(list)) + " " + what + "s");
    for (uint32_t i = 0; i < size_of(list); ++i)
      if (!is_tensor(graph, list->Get(i)))
        fault(Code::CorruptFile, std::string(what) + " " + std::to_string(i) +
                                     " of a subgraph is tensor " + std::to_string(list->Get(i)) +
                                     ", which does not exist");
  }

  static bool is_tensor(const SubGraph& graph, int32_t index) {
    return index >= 0 && static_cast<size_t>(index) < size_of(graph.tensors());
  }

  // --- operators
  // ----------------------------------------------------------------------------------
  struct FaultLocation {
    std::string node, type;
  };

  FaultLocation location_of(const SubGraph& graph, const Operator& op, uint32_t number) const {
    FaultLocation location{"operator " + std::to_string(number), {}};
    if (op.opcode_index() < size_of(model_.operator_codes()))
      location.type = operator_name(file_.code_of(op));
    if (size_of(op.outputs()) > 0 && is_tensor(graph, op.outputs()->Get(0))) {
      const auto i = static_cast<flatbuffers::uoffset_t>(op.outputs()->Get(0));
      const std::string_view name = text_of(graph.tensors()->Get(i)->name());
      if (!name.empty()) location.node = printable(name);
    }
    return location;
  }

  void fault_at(const FaultLocation& location, Code code, std::string message) {
    sink_.report(Error(code, std::move(message))
                     .node(location.node, location.type)
                     .hint("the file breaks the rules of its format: export or copy it again"));
  }

  void check_operator(const SubGraph& graph, const Operator& op, uint32_t number) {
    const FaultLocation location = location_of(graph, op, number);
    if (op.opcode_index() >= size_of(model_.operator_codes()))
      return fault_at(location, Code::CorruptFile,
                      "operator code " + std::to_string(op.opcode_index()) + " does not exist");
    const auto check = [&](const Indices* list, bool optional, const char* what) {
      if (size_of(list) > kMaxListLength)
        return fault_at(location, Code::TooLarge,
                        "the operator has " + std::to_string(size_of(list)) + " " + what + "s");
      for (uint32_t i = 0; i < size_of(list); ++i) {
        const int32_t tensor = list->Get(i);
        if (is_tensor(graph, tensor) || (optional && tensor == -1)) continue;
        fault_at(location, Code::CorruptFile,
                 std::string(what) + " " + std::to_string(i) + " is tensor " +
                     std::to_string(tensor) + ", which does not exist");
      }
    };
    // Lists may be shared; hostile files share long ones among many operators.
    indices_ += size_of(op.inputs()) + size_of(op.outputs()) + size_of(op.intermediates());
    if (indices_ > file_.file().size() + 10'000)
      return fault_at(location, Code::TooLarge,
                      "the operators have more operands than the file bytes");
    check(op.inputs(), true, "input");
    check(op.outputs(), false, "output");
    check(op.intermediates(), true, "intermediate");
    check_options(op, location);
  }

  void check_options(const Operator& op, const FaultLocation& location) {
    const OperatorCode& code = file_.code_of(op);
    const OperatorInfo* info = find_operator(builtin_code(code));
    const BuiltinOptions given = op.builtin_options_type();
    if (info != nullptr && info->options != BuiltinOptions::NONE && given != info->options &&
        given != BuiltinOptions::NONE)
      fault_at(location, Code::BadAttribute,
               std::string(info->name) + " carries options of another operator (number " +
                   std::to_string(static_cast<int>(given)) + " where " +
                   EnumNameBuiltinOptions(info->options) + " belong)");
    if (given != BuiltinOptions::NONE && op.builtin_options() == nullptr)
      fault_at(location, Code::CorruptFile, "the operator's options are missing");
    if (op.large_custom_options_offset() > 1 &&
        !inside(op.large_custom_options_offset(), op.large_custom_options_size()))
      fault_at(location, Code::CorruptFile, "the options lie outside the file");
    for (const uint32_t called : file_.called_subgraphs(op))
      if (called >= model_.subgraphs()->size())
        fault_at(location, Code::CorruptFile,
                 "subgraph " + std::to_string(static_cast<int32_t>(called)) + " does not exist");
  }

  // Operators run in the order of the list: what one reads has to be there before.
  void check_order(const SubGraph& graph) {
    const size_t count = size_of(graph.tensors());
    std::vector<uint8_t> defined(count, 0);
    for (uint32_t i = 0; i < count; ++i) {
      const Tensor& tensor = *graph.tensors()->Get(i);
      defined[i] = tensor.is_variable() || file_.constant_data(tensor).has_value();
    }
    const auto at = [](int32_t i) { return static_cast<size_t>(i); };
    for (uint32_t i = 0; i < size_of(graph.inputs()); ++i) defined[at(graph.inputs()->Get(i))] = 1;
    const auto read = [&](const Indices* list, const FaultLocation& location) {
      for (uint32_t i = 0; i < size_of(list); ++i) {
        const int32_t tensor = list->Get(i);
        if (tensor < 0 || defined[at(tensor)] != 0) continue;
        defined[at(tensor)] = 1;  // once is enough
        fault_at(location, Code::UndefinedName,
                 tensor_label(graph, tensor) + " is read before any operator computes it");
      }
    };
    for (uint32_t i = 0; i < size_of(graph.operators()); ++i) {
      const Operator& op = *graph.operators()->Get(i);
      const FaultLocation location = location_of(graph, op, i);
      // Custom operators list scratch memory among their inputs.
      if (builtin_code(file_.code_of(op)) != static_cast<int32_t>(BuiltinOperator::CUSTOM))
        read(op.inputs(), location);
      for (uint32_t o = 0; o < size_of(op.outputs()); ++o) {
        const int32_t tensor = op.outputs()->Get(o);
        if (defined[at(tensor)] != 0)
          fault_at(
              location, Code::DuplicateName,
              tensor_label(graph, tensor) + " is computed twice, or is an input or a constant");
        defined[at(tensor)] = 1;
      }
    }
    read(graph.outputs(), {});
  }

  // --- subgraphs
  // ----------------------------------------------------------------------------------
  void check_calls() {
    state_.assign(model_.subgraphs()->size(), kUnseen);
    for (uint32_t i = 0; i < model_.subgraphs()->size(); ++i) visit(i, 0);
  }

  void visit(uint32_t index, size_t depth) {
    if (state_[index] == kDone || sink_.has_errors()) return;
    if (state_[index] == kOpen || depth > kMaxCallDepth)
      return fault(Code::TooDeep,
                   state_[index] == kOpen
                       ? "subgraph " + std::to_string(index) + " calls itself"
                       : "subgraphs call each other deeper than " + std::to_string(kMaxCallDepth));
    state_[index] = kOpen;
    const SubGraph& graph = *model_.subgraphs()->Get(index);
    for (uint32_t i = 0; i < size_of(graph.operators()); ++i)
      for (const uint32_t called : file_.called_subgraphs(*graph.operators()->Get(i)))
        visit(called, depth + 1);
    state_[index] = kDone;
  }

  void check_signatures() {
    for (uint32_t i = 0; i < size_of(model_.signature_defs()); ++i) {
      const SignatureDef& signature = *model_.signature_defs()->Get(i);
      const std::string name = "signature '" + printable(text_of(signature.signature_key())) + "'";
      if (signature.subgraph_index() >= model_.subgraphs()->size()) {
        fault(Code::CorruptFile, name + " names subgraph " +
                                     std::to_string(signature.subgraph_index()) +
                                     ", which does not exist");
        continue;
      }
      const SubGraph& graph = *model_.subgraphs()->Get(signature.subgraph_index());
      const auto check = [&](const auto* maps, const Indices* list, const char* what) {
        for (uint32_t m = 0; m < size_of(maps); ++m) {
          const uint32_t tensor = maps->Get(m)->tensor_index();
          if (tensor > static_cast<uint32_t>(std::numeric_limits<int32_t>::max()) ||
              !contains(list, static_cast<int32_t>(tensor)))
            fault(Code::CorruptFile, name + " names tensor " + std::to_string(tensor) + " as an " +
                                         what + ", which it is not");
        }
      };
      check(signature.inputs(), graph.inputs(), "input");
      check(signature.outputs(), graph.outputs(), "output");
    }
  }

  void check_metadata() {
    for (uint32_t i = 0; i < size_of(model_.metadata()); ++i)
      if (model_.metadata()->Get(i)->buffer() >= model_.buffers()->size())
        fault(Code::CorruptFile, "metadata '" +
                                     printable(text_of(model_.metadata()->Get(i)->name())) +
                                     "' names a buffer that does not exist");
  }

  enum State : uint8_t { kUnseen, kOpen, kDone };
  const ModelFile& file_;
  const Model& model_;
  DiagnosticSink& sink_;
  std::vector<State> state_;
  size_t indices_ = 0;  // of all operators
};

}  // namespace

void check_model(const ModelFile& file, DiagnosticSink& sink) { Checker(file, sink).run(); }

}  // namespace ec::tflite
