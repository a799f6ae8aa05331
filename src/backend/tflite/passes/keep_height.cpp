// keep-height-one: what lies between convolutions over one dimension stays an image of height 1.
//
//   reshape(relu(reshape(conv(%x), [N,W,C])), [N,1,W,C])   ->   relu(conv(%x))
#include <algorithm>
#include <vector>

#include "analysis/alias_sets.h"
#include "backend/tflite/passes/height_one.h"
#include "backend/tflite/passes/legalise.h"
#include "ops/op_def.h"

namespace ec::passes {
namespace {

bool is_line(const Tensor* tensor) {
  return tensor != nullptr && !tensor->is_constant() && rank_of(tensor) == 3;
}

// A view of an image of height 1 as a line, and of a line as such an image.
bool lowers(const Operation* op) {
  return op != nullptr && is_view(op) && !has_quant(op) && is_line(op->output()) &&
         rank_of(op->input(0)) == 4 &&
         same_shape(with_height(*op->output()->shape()), *op->input(0)->shape());
}
bool raises(const Operation* op) {
  return is_view(op) && !has_quant(op) && is_line(op->input(0)) && rank_of(op->output()) == 4 &&
         same_shape(with_height(*op->input(0)->shape()), *op->output()->shape());
}

// Operations that compute the same on images of height 1: element by element, or joined.
bool takes_height(const Operation* op) {
  const OpDef& def = op->def();
  const bool joins = op->kind() == OpKind::Concat;
  if (op->outputs().size() != 1 || !is_line(op->output()) || has_quant(op)) return false;
  if ((!def.traits.elementwise && !joins) || def.traits.random) return false;
  if (!joins && def.attrs().find("axis") != nullptr) return false;
  return std::ranges::any_of(op->inputs(), is_line) &&
         std::ranges::all_of(op->inputs(), [&](const Tensor* tensor) {
           const auto rank = rank_of(tensor);
           return rank && (joins ? *rank == 3 : *rank <= 3);
         });
}

bool is_activation(const Operation* op) {
  return op != nullptr && (op->kind() == OpKind::Relu || op->kind() == OpKind::Clip);
}

// Lines that operations tie together become images all at once, or none does.
class Ties {
 public:
  explicit Ties(const Graph& graph)
      : graph_(graph), sets_(graph.tensor_id_bound()), gain_(graph.tensor_id_bound(), 0) {
    const std::vector<Operation*> order = graph.topological();
    for (const Operation* op : order)
      if (takes_height(op))
        for (const Tensor* input : op->inputs())
          if (is_line(input)) sets_.join(op->output()->id(), input->id());
    for (const Tensor* input : graph.inputs()) count(input);
    for (const Operation* op : order)
      for (const Tensor* output : op->outputs()) count(output);
  }

  // Whether the file has fewer operations with the operation's lines as images.
  bool pays(const Operation* op) { return gain_[sets_.root(op->output()->id())] > 0; }

 private:
  // Operations that go where the tensor is an image, less those that come. An activation that no
  // view keeps from its convolution becomes part of that.
  void count(const Tensor* tensor) {
    if (!is_line(tensor)) return;
    const Operation* producer = tensor->producer();
    int64_t gain = 0;
    if (lowers(producer))
      gain += is_activation(only_user(tensor)) ? 2 : 1;
    else if (producer == nullptr || !takes_height(producer))
      --gain;
    const auto& uses = tensor->uses();
    const auto raised = [](const Use& use) { return raises(use.op); };
    const auto other = [](const Use& use) { return !raises(use.op) && !takes_height(use.op); };
    if (std::ranges::any_of(uses, raised)) ++gain;
    if (graph_.is_output(tensor) || std::ranges::any_of(uses, other)) --gain;
    gain_[sets_.root(tensor->id())] += gain;
  }

  const Graph& graph_;
  AliasSets sets_;
  std::vector<int64_t> gain_;  // by root
};

Status give_height(Rewriter& r, Operation* op) {
  Replacement p(r, op);
  std::vector<Tensor*> inputs = op->inputs();
  for (Tensor*& input : inputs)
    if (rank_of(input) == 3) input = raised(p, input);
  Attrs attrs = op->attrs();
  if (op->kind() == OpKind::Concat) {
    int64_t& axis = attrs.edit<AxisAttrs>().axis;
    axis = positive_axis(axis, 3);
    if (axis > 0) ++axis;
  }
  Tensor* y = p.op(op->kind(), std::move(inputs), std::move(attrs));
  Result<bool> replaced = p.replace(lowered(p, y, *op->output()->shape()));
  return replaced.ok() ? Status() : std::move(replaced).error();
}

class KeepHeightOnePass : public Pass {
 public:
  std::string_view name() const override { return kKeepHeightOnePass.name; }
  Result<PassStats> run(Graph& graph, PassContext& context) const override {
    Ties ties(graph);
    std::vector<Operation*> found;
    for (Operation* op : graph.topological())
      if (takes_height(op) && ties.pays(op)) found.push_back(op);
    Rewriter rewriter(graph, context);
    for (Operation* op : found) EC_CHECK_OK(give_height(rewriter, op));
    if (!found.empty())
      rewriter.stats().count("kept as images", static_cast<int64_t>(found.size()));
    return rewriter.stats();
  }
};

}  // namespace

const PassInfo kKeepHeightOnePass{
    .name = "keep-height-one",
    .summary =
        "Keeps lines between one-dimensional convolutions in the form of images of height 1.",
    .details =
        "TFLite's convolutions and pools have two spatial dimensions, so those over one are images "
        "of height 1 between two reshapes. Element-wise operations and concatenations between "
        "them take images, too, where that leaves fewer reshapes; the clean-up behind removes the "
        "pairs, and activations become part of the convolutions.",
    .make = [](std::span<const PassOption>) -> std::unique_ptr<Pass> {
      return std::make_unique<KeepHeightOnePass>();
    }};

}  // namespace ec::passes
