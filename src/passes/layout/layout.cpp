// layout: operations on images compute in the wanted order of dimensions.
//
//   conv(relu(conv(%x)))   ->   %t = transpose(%x) {perm=[0,2,3,1]}
//                               conv(relu(conv(%t) {layout=nhwc})) {layout=nhwc} -> transpose
//
// plan.cpp decides; here the permuted operations are added, tensors are transposed where an
// operation reads them in the other order, and what was replaced is erased.
#include "ops/op_def.h"
#include "passes/layout/plan.h"
#include "passes/match.h"
#include "passes/registry.h"

namespace ec::passes {
namespace {

using layout::Form;
using layout::Plan;

class Applier {
 public:
  Applier(Rewriter& rewriter, const Plan& plan)
      : rewriter_(rewriter),
        graph_(rewriter.graph()),
        plan_(plan),
        is_replaced_(graph_.operation_id_bound(), false) {}

  Status run() {
    const std::vector<Operation*> order = graph_.topological();
    EC_CHECK_OK(permute_inputs());
    for (Operation* op : order) EC_CHECK_OK(convert(op));
    // Until here all operations read the source's tensors; now they read what replaces them.
    for (const auto& [tensor, replacement] : equal_) graph_.replace_all_uses(tensor, replacement);
    // Results that are read in the source's order as well.
    for (const auto& [tensor, permuted] : converted_) EC_CHECK_OK(restore(tensor, permuted));
    for (auto it = replaced_.rbegin(); it != replaced_.rend(); ++it)
      if (Operation* op = graph_.operation(*it)) rewriter_.erase_if_unused(op);
    for (const uint32_t id : restored_inputs_) {
      Operation* op = graph_.operation(id);
      if (op == nullptr) continue;
      if (graph_.is_unused(op->output()))
        rewriter_.erase_if_unused(op);
      else
        count_transpose(op->output(),
                        "input '" + op->input(0)->name() + "' is also read in the source's order");
    }
    return {};
  }

  int64_t num_converted() const { return num_converted_; }
  const std::vector<std::string>& reasons() const { return reasons_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  static std::string name_of(const Operation* op) {
    const std::string_view name = op->location().name();
    return std::string(op->def().name) + (name.empty() ? "" : " '" + std::string(name) + "'");
  }

  void count_transpose(const Tensor* result, std::string reason) {
    if (produced_by(result, OpKind::Transpose) != nullptr) reasons_.push_back(std::move(reason));
  }

  // Inputs of the graph change their order; what still reads the source's order reads a transpose.
  Status permute_inputs() {
    for (Tensor* input : plan_.permuted_inputs()) {
      const Perm perm = plan_.perm(*rank_of(input));
      const std::vector<Use> uses = input->uses().copy();
      TensorType type = input->type();
      type.shape = permuted(*type.shape, perm);
      note_interface("input", input->name(), type);
      graph_.set_type(input, std::move(type));
      EC_TRY(Tensor * restored, rewriter_.transpose(input, inverse(perm), {}));
      if (input->type().quant) graph_.set_quant(restored, input->type().quant);
      for (const Use& use : uses) graph_.set_operand(use.op, use.index, restored);
      for (size_t i = 0; i < graph_.outputs().size(); ++i)
        if (graph_.outputs()[i] == input) graph_.set_output(i, restored);
      restored_inputs_.push_back(restored->producer()->id());
      wanted_form_.resize(graph_.tensor_id_bound(), nullptr);
      wanted_form_[restored->id()] = input;
    }
    wanted_form_.resize(graph_.tensor_id_bound(), nullptr);
    return {};
  }

  void note_interface(std::string_view what, const std::string& name, const TensorType& type) {
    const std::string_view layout = plan_.wanted() == Layout::ChannelsLast ? "nhwc" : "nchw";
    graph_.metadata()["layout." + std::string(what) + "." + name] = layout;
    notes_.push_back(std::string(what) + " '" + name + "' is " + std::string(layout) +
                     " now: " + type.text());
  }

  // The tensor in the wanted order: as converted, or transposed here.
  Result<Tensor*> wanted_form(Tensor* tensor, const Operation* reader) {
    Tensor*& form = wanted_form_[tensor->id()];
    if (form != nullptr) return form;
    const Perm perm = plan_.perm(*rank_of(tensor));
    EC_TRY(form, add_transposed(rewriter_, tensor, perm, {reader}));
    if (tensor->type().quant && !form->type().quant) graph_.set_quant(form, tensor->type().quant);
    const std::string origin = tensor->is_input()              ? "input '" + tensor->name() + "'"
                               : tensor->producer() == nullptr ? "a constant"
                                                               : name_of(tensor->producer());
    count_transpose(form, origin + " gives the other order to " + name_of(reader));
    return form;
  }

  void set_replaced(const Operation* op) {
    replaced_.push_back(op->id());
    is_replaced_[op->id()] = true;
    ++num_converted_;
  }

  void set_converted(Tensor* tensor, Tensor* permuted) {
    wanted_form_[tensor->id()] = permuted;
    converted_.emplace_back(tensor, permuted);
  }

  Status convert(Operation* op) {
    const layout::Node& node = plan_.node(op);
    switch (node.form) {
      case Form::Spatial:
        return node.permuted ? convert_spatial(op) : ok_status();
      case Form::Flexible:
        return node.permuted ? convert_flexible(op) : ok_status();
      case Form::Shuffle:
        return node.permuted ? convert_shuffle(op) : ok_status();
      case Form::View:
        return node.permuted ? convert_view(op) : ok_status();
      case Form::Flatten:
        return node.permuted ? convert_flatten(op) : ok_status();
      case Form::ToWanted: {
        // The transposed tensor is the operand in the wanted order.
        if (!plan_.is_permuted(op->input(0))) {
          if (wanted_form_[op->input(0)->id()] == nullptr)
            wanted_form_[op->input(0)->id()] = op->output();
          return {};
        }
        EC_TRY(Tensor * form, wanted_form(op->input(0), op));
        equal_.emplace_back(op->output(), form);
        set_replaced(op);
        return {};
      }
      case Form::ToSource:
        // The operand is the result in the wanted order.
        wanted_form_[op->output()->id()] = op->input(0);
        return {};
      case Form::Transpose:
        return merge_transpose(op);
      case Form::Fixed:
      case Form::Inside:
        return {};
    }
    return {};
  }

  Status convert_spatial(Operation* op) {
    std::vector<Tensor*> inputs = op->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr) continue;
      const bool weights =
          (op->kind() == OpKind::Conv || op->kind() == OpKind::ConvTranspose) && i == 1;
      if (!plan_.is_data_input(op, i) && !weights) continue;
      EC_TRY(inputs[i], wanted_form(inputs[i], op));
    }
    OpSpec spec;
    spec.attrs = op->attrs();
    layout::set_layout(spec.attrs, plan_.wanted());
    spec.location = op->location();
    EC_TRY(const Operation* result,
           rewriter_.add_op(op->kind(), std::move(inputs), std::move(spec)));
    finish(op, result);
    return {};
  }

  Status convert_flexible(Operation* op) {
    std::vector<Tensor*> inputs = op->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!plan_.is_data_input(op, i)) continue;
      EC_TRY(inputs[i], wanted_form(inputs[i], op));
    }
    const size_t rank =
        layout::has_layout(op->output()) ? *rank_of(op->output()) : *rank_of(op->input(0));
    EC_TRY(const Operation* result,
           add_permuted(rewriter_, op, std::move(inputs), plan_.perm(rank)));
    finish(op, result);
    return {};
  }

  void finish(Operation* op, const Operation* result) {
    for (size_t i = 0; i < op->outputs().size(); ++i) {
      if (op->output(i)->type().quant)
        graph_.set_quant(result->output(i), op->output(i)->type().quant);
      if (plan_.is_data_output(op, i)) {
        name_permuted(op->output(i), result->output(i));
        set_converted(op->output(i), result->output(i));
      } else {
        equal_.emplace_back(op->output(i), result->output(i));
      }
    }
    set_replaced(op);
  }

  // The source's name stands for the tensor in the source's order.
  void name_permuted(const Tensor* source, Tensor* permuted) {
    graph_.rename(permuted,
                  source->name() + (plan_.wanted() == Layout::ChannelsLast ? "_nhwc" : "_nchw"));
  }

  // view [N,C,H,W] -> [N,f...,H,W], transpose of the factors, view back: the same at the end.
  Status convert_shuffle(Operation* op) {
    const auto chain = layout::shuffle_chain(op);
    EC_TRY(Tensor * x, wanted_form(op->input(0), op));
    const Shape& shape = *x->shape();
    const bool last = plan_.wanted() == Layout::ChannelsLast;
    const size_t channel = last ? shape.rank() - 1 : 1;
    const auto with_factors = [&](const std::vector<int64_t>& factors) {
      std::vector<Dim> dims(shape.begin(), shape.end());
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(channel));
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(channel), factors.begin(),
                  factors.end());
      return Shape(std::move(dims));
    };
    EC_TRY(Tensor * split, add_reshape(rewriter_, x, with_factors(chain->factors), {op}));
    if (split == nullptr) return Error(Code::Internal, "channels cannot be split");
    Perm perm = identity_perm(split->shape()->rank());
    for (size_t i = 0; i < chain->perm.size(); ++i)
      perm[channel + i] = chain->perm[i] + static_cast<int64_t>(channel);
    EC_TRY(Tensor * moved, rewriter_.transpose(split, perm, {chain->transpose}));
    const size_t source_channel = last ? 1 : chain->join->output()->shape()->rank() - 1;
    const Dim channels = (*chain->join->output()->shape())[source_channel];
    EC_TRY(Tensor * joined,
           add_reshape(rewriter_, moved, with_factors({channels.size()}), {chain->join}));
    if (joined == nullptr) return Error(Code::Internal, "channels cannot be joined");
    name_permuted(chain->join->output(), joined);
    set_converted(chain->join->output(), joined);
    for (const Operation* part : {chain->split, chain->transpose, chain->join}) set_replaced(part);
    return {};
  }

  // [N, C, H, W] as [N, C, H * W]: the same with the channels at the end.
  Status convert_view(Operation* op) {
    EC_TRY(Tensor * x, wanted_form(op->input(0), op));
    const Shape& shape = *op->output()->shape();
    EC_TRY(Tensor * view,
           add_reshape(rewriter_, x, permuted(shape, plan_.perm(shape.rank())), {op}));
    if (view == nullptr) return Error(Code::Internal, "spatial dimensions cannot be viewed anew");
    name_permuted(op->output(), view);
    set_converted(op->output(), view);
    set_replaced(op);
    return {};
  }

  // A flattened image times constant weights: the weights' rows move instead.
  Status convert_flatten(Operation* op) {
    Operation* product = layout::flattened_product(op);
    EC_TRY(Tensor * x, wanted_form(op->input(0), op));
    EC_TRY(Tensor * flat, add_reshape(rewriter_, x, *op->output()->shape(), {op}));
    if (flat == nullptr) return Error(Code::Internal, "image cannot be flattened");
    const Shape& source = *op->input(0)->shape();
    const bool transposed = product->attrs_as<MatMulAttrs>().transpose_b;
    Tensor* weights = product->input(1);
    const std::vector<int64_t> matrix = weights->shape()->sizes();
    // Rows as the image's dimensions; the columns stand before or behind them.
    std::vector<int64_t> split;
    Perm perm;
    const Perm image = plan_.perm(source.rank());
    if (transposed) split.push_back(matrix[0]), perm.push_back(0);
    for (size_t i = 1; i < source.rank(); ++i) {
      split.push_back(source[i].size());
      perm.push_back(image[i] - (transposed ? 0 : 1));
    }
    if (!transposed) {
      split.push_back(matrix[1]);
      perm.push_back(static_cast<int64_t>(source.rank()) - 1);
    }
    EC_TRY(weights, rewriter_.add_folded(OpKind::Reshape, {weights, rewriter_.ints(split)},
                                         ReshapeAttrs{.allow_zero = true}));
    EC_TRY(weights,
           rewriter_.add_folded(OpKind::Transpose, {weights}, TransposeAttrs{.perm = perm}));
    EC_TRY(weights, rewriter_.add_folded(OpKind::Reshape, {weights, rewriter_.ints(matrix)},
                                         ReshapeAttrs{.allow_zero = true}));
    std::vector<Tensor*> inputs = product->inputs();
    inputs[0] = flat;
    inputs[1] = weights;
    EC_TRY(Tensor * result,
           rewriter_.add(OpKind::MatMul, std::move(inputs), product->attrs(), {product}));
    equal_.emplace_back(product->output(), result);
    set_replaced(op);
    set_replaced(product);
    return {};
  }

  // Any transpose of a tensor that is now in the wanted order reads that order.
  Status merge_transpose(Operation* op) {
    Tensor* x = op->input(0);
    if (!plan_.is_permuted(x)) return {};
    EC_TRY(Tensor * form, wanted_form(x, op));
    const Perm perm = compose(inverse(plan_.perm(*rank_of(x))), *perm_of(op));
    EC_TRY(Tensor * result, add_transposed(rewriter_, form, perm, {op}));
    equal_.emplace_back(op->output(), result);
    set_replaced(op);
    return {};
  }

  Status restore(Tensor* tensor, Tensor* permuted) {
    const Operation* reader = nullptr;
    for (const Use& use : tensor->uses())
      if (use.op->id() >= is_replaced_.size() || !is_replaced_[use.op->id()]) reader = use.op;
    if (plan_.free_io()) {
      for (size_t i = 0; i < graph_.outputs().size(); ++i) {
        if (graph_.outputs()[i] != tensor) continue;
        note_interface("output", graph_.output_names()[i], permuted->type());
        graph_.set_output(i, permuted);
      }
    }
    if (reader == nullptr && !graph_.is_output(tensor)) return {};
    EC_TRY(Tensor * source,
           add_transposed(rewriter_, permuted, inverse(plan_.perm(*rank_of(tensor))),
                          {tensor->producer()}));
    if (tensor->type().quant) graph_.set_quant(source, tensor->type().quant);
    count_transpose(source, reader != nullptr ? name_of(reader) + " needs the source's order"
                                              : "output '" + tensor->name() + "'");
    graph_.replace_all_uses(tensor, source);
    return {};
  }

  Rewriter& rewriter_;
  Graph& graph_;
  const Plan& plan_;
  std::vector<Tensor*> wanted_form_;                    // by tensor id
  std::vector<std::pair<Tensor*, Tensor*>> converted_;  // source's tensor, permuted one
  std::vector<std::pair<Tensor*, Tensor*>> equal_;      // source's tensor, the same computed anew
  std::vector<uint32_t> replaced_;                      // ids, producers first
  std::vector<bool> is_replaced_;                       // by id
  std::vector<uint32_t> restored_inputs_;               // ids of transposes
  std::vector<std::string> reasons_, notes_;
  int64_t num_converted_ = 0;
};

class LayoutPass : public Pass {
 public:
  LayoutPass(Layout wanted, bool free_io) : wanted_(wanted), free_io_(free_io) {}
  std::string_view name() const override { return kLayoutPass.name; }

  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    // The operation around a nested graph gives and takes tensors in their own order.
    const Plan plan(graph, wanted_, free_io_ && context.depth == 0);
    Rewriter rewriter(graph, context);
    const int64_t before = count_transposes(graph);
    Applier applier(rewriter, plan);
    EC_CHECK_OK(applier.run());
    PassStats& stats = rewriter.stats();
    stats.visits = static_cast<int64_t>(graph.operation_id_bound());
    stats.changes = applier.num_converted();
    if (stats.changes == 0) return std::move(stats);
    const int64_t after = count_transposes(graph);
    const auto inserted = static_cast<int64_t>(applier.reasons().size());
    stats.count("operations converted", applier.num_converted());
    stats.count("transposes before", before);
    stats.count("transposes inserted", inserted);
    stats.count("transposes removed", before + inserted - after);
    stats.count("transposes left", after);
    for (const std::string& reason : applier.reasons())
      stats.notes.push_back("transpose inserted: " + reason);
    for (const std::string& note : applier.notes()) stats.notes.push_back(note);
    return std::move(stats);
  }

 private:
  static int64_t count_transposes(const Graph& graph) {
    int64_t count = 0;
    for (uint32_t id = 0; id < graph.operation_id_bound(); ++id)
      if (const Operation* op = graph.operation(id))
        count += op->kind() == OpKind::Transpose ? 1 : 0;
    return count;
  }

  Layout wanted_;
  bool free_io_;
};

constexpr PassOptionInfo kOptions[] = {
    {"to", "nhwc", "nhwc|nchw", "The wanted layout: channels last or channels first."},
    {"io", "keep", "keep|free",
     "Whether inputs and outputs of the graph keep their order, or may take the wanted one."}};

}  // namespace

const PassInfo kLayoutPass{
    .name = "layout",
    .summary = "Computes images in the wanted order of dimensions with the fewest transposes.",
    .details =
        "conv and conv_transpose (and, where it costs nothing, pools and normalisations) get the "
        "wanted layout; their weights are permuted now. Element-wise operations, concats, splits, "
        "slices, pads, reductions, softmax, resizes, channel shuffles and flattened images in "
        "front of constant weights follow along. Which ones do is a minimum cut over the elements "
        "that transposes would move. Graph inputs and outputs keep their order, or with io=free "
        "take the wanted one where that saves a transpose. The notes name each transpose inserted "
        "and the operation it is for.",
    .make = [](std::span<const PassOption> options) -> std::unique_ptr<Pass> {
      const bool last = option_value(options, kOptions[0]) == "nhwc";
      const bool free_io = option_value(options, kOptions[1]) == "free";
      return std::make_unique<LayoutPass>(last ? Layout::ChannelsLast : Layout::ChannelsFirst,
                                          free_io);
    },
    .options = kOptions};

}  // namespace ec::passes
