#include "passes/layout/plan.h"

#include <algorithm>

#include "ops/op_def.h"
#include "passes/layout/min_cut.h"
#include "passes/match.h"

namespace ec::layout {

bool has_layout(const Tensor* tensor) {
  const auto rank = rank_of(tensor);
  return rank && *rank >= 3 && *rank <= 5;
}

std::optional<Layout> layout_of(const Operation* op) {
  if (op->def().layout != LayoutRule::FollowsInput) return std::nullopt;
  const FieldValue value = op->attrs().get(*op->attrs().schema().find("layout"));
  return std::get<std::string>(value) == EnumText<Layout>::kNames[1] ? Layout::ChannelsLast
                                                                     : Layout::ChannelsFirst;
}

void set_layout(Attrs& attrs, Layout layout) {
  attrs.set(*attrs.schema().find("layout"),
            std::string(EnumText<Layout>::kNames[static_cast<size_t>(layout)]));
}

std::optional<ShuffleChain> shuffle_chain(const Operation* op) {
  if (!is_view(op) || has_quant(op) || !has_layout(op->input(0))) return std::nullopt;
  ShuffleChain chain;
  chain.split = op->output()->producer();
  chain.transpose = only_user(op->output());
  if (chain.transpose == nullptr || chain.transpose->kind() != OpKind::Transpose)
    return std::nullopt;
  chain.join = only_user(chain.transpose->output());
  if (!is_view(chain.join) || chain.join->kind() == OpKind::Squeeze) return std::nullopt;
  const auto& x = op->input(0)->shape();
  const auto& middle = op->output()->shape();
  const auto& y = chain.join->output()->shape();
  const auto perm = perm_of(chain.transpose);
  if (!middle || !y || !perm || y->rank() != x->rank() || middle->rank() <= x->rank())
    return std::nullopt;
  // Batch and spatial dimensions stay at both ends; the channels are split into factors between.
  const size_t spatial = x->rank() - 2;
  const size_t factors = middle->rank() - 1 - spatial;
  const auto stays = [&](const Shape& shape) {
    if (!shape[0].same_size((*x)[0])) return false;
    for (size_t i = 0; i < spatial; ++i)
      if (!shape[shape.rank() - spatial + i].same_size((*x)[2 + i])) return false;
    return true;
  };
  if (!stays(*middle) || !stays(*y) || !(*y)[1].is_static()) return std::nullopt;
  for (size_t i = 0; i < perm->size(); ++i) {
    const bool factor = i >= 1 && i <= factors;
    const int64_t p = (*perm)[i];
    if (!factor && p != static_cast<int64_t>(i)) return std::nullopt;
    if (!factor) continue;
    chain.perm.push_back(p - 1);
    if (!(*middle)[i].is_static()) return std::nullopt;
    chain.factors.push_back((*middle)[i].size());
  }
  return chain;
}

bool is_spatial_view(const Operation* op) {
  if (!is_view(op) || has_quant(op) || !has_layout(op->input(0)) || !has_layout(op->output()))
    return false;
  const Shape &x = *op->input(0)->shape(), &y = *op->output()->shape();
  // With at most the batch open, one constant shape expresses it.
  for (size_t i = 1; i < y.rank(); ++i)
    if (!y[i].is_static()) return false;
  return x[0].same_size(y[0]) && x[1].same_size(y[1]);
}

Operation* flattened_product(const Operation* view) {
  if (!is_view(view) || has_quant(view) || !has_layout(view->input(0))) return nullptr;
  Operation* product = only_user(view->output());
  if (product == nullptr || product->kind() != OpKind::MatMul || has_quant(product)) return nullptr;
  const Shape& x = *view->input(0)->shape();
  const auto& flat = view->output()->shape();
  if (product->input(0) != view->output() || !flat || flat->rank() != 2) return nullptr;
  if (product->attrs_as<MatMulAttrs>().transpose_a || !is_constant(product->input(1)))
    return nullptr;
  if (rank_of(product->input(1)) != 2 || !flat->dims()[0].same_size(x[0])) return nullptr;
  for (size_t i = 1; i < x.rank(); ++i)
    if (!x[i].is_static()) return nullptr;
  return product;
}

Plan::Plan(Graph& graph, Layout wanted, bool free_io)
    : graph_(graph), wanted_(wanted), free_io_(free_io), nodes_(graph.operation_id_bound()) {
  const std::vector<Operation*> order = graph.topological();
  classify(order);
  decide(order);
}

Form Plan::form_of(const Operation* op) const {
  if (op->outputs().empty()) return Form::Fixed;
  if (op->kind() == OpKind::Transpose) {
    const auto p = perm_of(op);
    if (!p || !has_layout(op->input(0)) || has_quant(op)) return Form::Fixed;
    const Perm wanted = perm(p->size());
    const bool to = *p == wanted, back = *p == inverse(wanted);
    if (to && back) return leads_to_images(op->output()) ? Form::ToSource : Form::ToWanted;
    return to ? Form::ToWanted : back ? Form::ToSource : Form::Transpose;
  }
  if (!has_layout(op->input(0)) && !has_layout(op->output())) return Form::Fixed;
  if (const auto layout = layout_of(op)) {
    // The second result of max_pool holds indices into memory, which depend on the layout.
    if (*layout == wanted_ || op->outputs().size() != 1 || !has_layout(op->input(0)))
      return Form::Fixed;
    const bool filtered = op->kind() == OpKind::Conv || op->kind() == OpKind::ConvTranspose;
    if (filtered && !rank_of(op->input(1))) return Form::Fixed;
    const auto& quant = op->output()->type().quant;
    return quant && quant->per_channel() ? Form::Fixed : Form::Spatial;
  }
  if (wanted_ == Layout::ChannelsLast && shuffle_chain(op)) return Form::Shuffle;
  if (flattened_product(op) != nullptr) return Form::Flatten;
  if (wanted_ == Layout::ChannelsLast && is_spatial_view(op)) return Form::View;
  const auto rank = has_layout(op->output()) ? rank_of(op->output()) : rank_of(op->input(0));
  return permute_roles(op, perm(*rank)) ? Form::Flexible : Form::Fixed;
}

// With one spatial dimension both transposes are the same one. Which it is shows in what follows:
// operations on images, or something else.
bool Plan::leads_to_images(const Tensor* tensor) const {
  constexpr int kMaxSteps = 8;
  for (int i = 0; i < kMaxSteps; ++i) {
    if (tensor->uses().empty()) return false;
    const Operation* user = tensor->uses().front().op;
    if (const auto layout = layout_of(user)) return *layout != wanted_;
    if (user->outputs().size() != 1 || !permute_roles(user, perm(*rank_of(tensor)))) return false;
    tensor = user->output();
    if (!has_layout(tensor)) return false;
  }
  return false;
}

void Plan::classify(const std::vector<Operation*>& order) {
  for (const Operation* op : order) {
    Node& node = nodes_[op->id()];
    if (node.form == Form::Inside) continue;
    node.form = form_of(op);
    if (node.form == Form::Shuffle) {
      const auto chain = shuffle_chain(op);
      nodes_[chain->transpose->id()].form = Form::Inside;
      nodes_[chain->join->id()].form = Form::Inside;
    }
    if (node.form == Form::Flatten) nodes_[flattened_product(op)->id()].form = Form::Inside;
  }
}

bool Plan::is_data_input(const Operation* op, size_t i) const {
  const Tensor* input = op->input(i);
  if (input == nullptr || !has_layout(input)) return false;
  switch (node(op).form) {
    case Form::Spatial:
      return i == 0 || (op->kind() == OpKind::Conv && i == 3);
    case Form::Flexible: {
      const size_t rank =
          has_layout(op->output()) ? *rank_of(op->output()) : *rank_of(op->input(0));
      return permute_roles(op, perm(rank))->inputs[i] == PermuteRole::Data;
    }
    case Form::Shuffle:
    case Form::View:
    case Form::Flatten:
    case Form::ToWanted:
      return i == 0;
    default:
      return false;
  }
}

bool Plan::is_data_output(const Operation* op, size_t i) const {
  if (!has_layout(op->output(i))) return false;
  switch (node(op).form) {
    case Form::Spatial:
    case Form::View:
    case Form::ToSource:
      return true;
    case Form::Flexible: {
      const size_t rank =
          has_layout(op->output()) ? *rank_of(op->output()) : *rank_of(op->input(0));
      return permute_roles(op, perm(rank))->outputs[i] == PermuteRole::Data;
    }
    default:
      return false;
  }
}

bool Plan::is_permuted(const Tensor* tensor) const {
  const Operation* op = tensor->producer();
  if (op == nullptr) return false;
  // A permuted input of the graph, put back into the source's order after the plan was made.
  if (op->id() >= nodes_.size()) return true;
  if (node(op).form == Form::Inside && is_view(op)) {
    // The end of a shuffle.
    const Operation* first = op->input(0)->producer()->input(0)->producer();
    return node(first).permuted;
  }
  if (node(op).form == Form::ToSource) return true;
  return node(op).permuted && is_data_output(op, tensor->producer_index());
}

namespace {

// Elements that a transpose of the tensor moves; one when it is a reshape, which moves nothing
// but is an operation all the same.
int64_t transpose_cost(const Tensor* tensor, const Perm& perm) {
  constexpr int64_t kReshape = 2;
  if (tensor->is_constant()) return 0;
  const Shape& shape = *tensor->shape();
  if (keeps_order(shape, perm)) return kReshape;
  int64_t elements = 1;
  for (const Dim& dim : shape)
    elements = std::min<int64_t>(
        checked_mul(elements, dim.is_static() ? dim.size() : 1).value_or(MinCut::kInfinite / 1024),
        MinCut::kInfinite / 1024);
  // Each transpose costs something of its own.
  return elements + 256;
}

// Must compute in the wanted layout: that is what the layout is wanted for.
bool is_required(const Operation* op) {
  return op->kind() == OpKind::Conv || op->kind() == OpKind::ConvTranspose;
}

}  // namespace

// Nodes on the source's side are permuted. A tensor costs one transpose when any reader needs it
// in the order it is not produced in.
void Plan::decide(const std::vector<Operation*>& order) {
  MinCut cut;
  std::vector<int> variable(nodes_.size(), cut.sink());
  for (const Operation* op : order) {
    const Form form = node(op).form;
    if (form == Form::Flexible || form == Form::Spatial || form == Form::Shuffle ||
        form == Form::View || form == Form::Flatten) {
      const int v = variable[op->id()] = cut.add_node();
      if (form == Form::Spatial) cut.add_edge(cut.source(), v, is_required(op) ? cut.kInfinite : 1);
    }
    if (form == Form::Shuffle) variable[shuffle_chain(op)->join->id()] = variable[op->id()];
  }
  std::vector<std::pair<Tensor*, int>> inputs;
  if (free_io_)
    for (Tensor* input : graph_.inputs())
      if (has_layout(input)) inputs.emplace_back(input, cut.add_node());
  const auto produced_by_node = [&](const Tensor* tensor) {
    const Operation* op = tensor->producer();
    for (const auto& [input, v] : inputs)
      if (tensor == input) return v;
    if (op == nullptr) return cut.sink();
    if (node(op).form == Form::ToSource) return cut.source();
    if (node(op).form == Form::Inside) return is_view(op) ? variable[op->id()] : cut.sink();
    return is_data_output(op, tensor->producer_index()) ? variable[op->id()] : cut.sink();
  };
  for (const Tensor* tensor : graph_.tensors()) {
    if (!has_layout(tensor) || (tensor->is_constant() && tensor->uses().empty())) continue;
    int64_t cost = transpose_cost(tensor, perm(*rank_of(tensor)));
    // An image with one channel comes in the same order as one with three.
    if (free_io_ && tensor->is_input()) cost = std::max<int64_t>(cost, 1);
    if (cost == 0) continue;
    const int producer = produced_by_node(tensor);
    const int in_wanted = cut.add_node();  // a copy in the wanted order is read
    const int in_source = cut.add_node();  // a copy in the source's order is read
    cut.add_edge(in_wanted, producer, cost);
    cut.add_edge(producer, in_source, cost);
    const auto read_by = [&](int reader) {
      cut.add_edge(reader, in_wanted, cut.kInfinite);
      cut.add_edge(in_source, reader, cut.kInfinite);
    };
    if (graph_.is_output(tensor) && !free_io_) read_by(cut.sink());
    for (const Use& use : tensor->uses()) {
      const Form form = node(use.op).form;
      if (form == Form::Transpose || (form == Form::Inside && !is_data_input(use.op, use.index) &&
                                      use.op->kind() == OpKind::Transpose))
        continue;
      if (form == Form::ToWanted)
        read_by(cut.source());
      else
        read_by(is_data_input(use.op, use.index) ? variable[use.op->id()] : cut.sink());
    }
  }
  const std::vector<bool> permuted = cut.solve();
  for (const Operation* op : order) {
    const int v = variable[op->id()];
    if (v != cut.sink() && node(op).form != Form::Inside)
      nodes_[op->id()].permuted = permuted[static_cast<size_t>(v)];
  }
  for (const auto& [input, v] : inputs)
    if (permuted[static_cast<size_t>(v)]) permuted_inputs_.push_back(input);
}

}  // namespace ec::layout
