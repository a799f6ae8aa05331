// Tree ensembles of ai.onnx.ml. All trees are walked at once: a table of node numbers, one per row
// and tree, moves down one level per step; leaves point to themselves.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "frontend/onnx/table.h"
#include "ops/convert.h"

namespace ec::onnx {
namespace {

enum Mode : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };

struct Forest {
  struct Item {
    Mode mode = kLeaf;
    int64_t feature = 0;
    double split = 0;
    int64_t if_true = 0, if_false = 0;
    bool nan_is_true = false;
  };
  std::vector<Item> items;  // inner nodes and leaves
  std::vector<int64_t> roots;
  int64_t targets = 1;
  std::vector<std::vector<std::pair<int64_t, double>>> leaf_weights;  // by item: target, weight
  std::vector<float> base;
  enum Aggregate : uint8_t { Average, Sum, Min, Max } aggregate = Sum;
};

constexpr size_t kMaxItems = size_t{1} << 20;

// Levels below the roots; an error when a node can reach itself or does not exist.
Result<int64_t> depth_of(const NodeContext& ctx, const Forest& forest) {
  const auto n = static_cast<int64_t>(forest.items.size());
  for (const Forest::Item& item : forest.items)
    if (item.if_true < 0 || item.if_true >= n || item.if_false < 0 || item.if_false >= n ||
        item.feature < 0)
      return ctx.fail(Code::BadAttribute, "a tree node refers to a node that does not exist");
  // Each level moves every node that is still on the way; more levels than nodes is a circle.
  std::vector<int64_t> here(forest.items.size(), 0);
  std::vector<int64_t> level;
  for (const int64_t root : forest.roots) {
    if (root < 0 || root >= n) return ctx.fail(Code::BadAttribute, "a tree has no root");
    if (forest.items[static_cast<size_t>(root)].mode != kLeaf) level.push_back(root);
  }
  int64_t depth = 0;
  constexpr int64_t kMaxLevels = 256;
  while (!level.empty()) {
    if (++depth > kMaxLevels)
      return ctx.fail(Code::BadAttribute, "a tree is deeper than " + std::to_string(kMaxLevels));
    std::vector<int64_t> next;
    for (const int64_t i : level) {
      const Forest::Item& item = forest.items[static_cast<size_t>(i)];
      for (const int64_t child : {item.if_true, item.if_false}) {
        if (forest.items[static_cast<size_t>(child)].mode == kLeaf) continue;
        int64_t& mark = here[static_cast<size_t>(child)];
        if (mark != depth) next.push_back(child);
        mark = depth;
      }
    }
    level = std::move(next);
  }
  return depth;
}

template <class T, class F>
ec::Tensor* column(NodeContext& ctx, const Forest& forest, F&& field) {
  const auto count = forest.items.size();
  const auto values = std::make_unique<T[]>(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(field(forest.items[i]));
  return ctx.graph().add_constant<T>("", Shape{static_cast<int64_t>(count)},
                                     std::span<const T>(values.get(), count));
}

// The branch that each row takes in each tree.
Result<ec::Tensor*> decide(NodeContext& ctx, const Forest& forest, ec::Tensor* at,
                           ec::Tensor* value, ec::Tensor* split) {
  constexpr OpKind kKinds[] = {OpKind::LessOrEqual, OpKind::Less,  OpKind::GreaterOrEqual,
                               OpKind::Greater,     OpKind::Equal, OpKind::Equal};
  bool used[6] = {}, nan = false;
  for (const Forest::Item& item : forest.items) {
    if (item.mode < 6) used[item.mode] = true;
    nan = nan || item.nan_is_true;
  }
  ec::Tensor* result = nullptr;
  for (uint8_t mode = 0; mode < 6; ++mode) {
    if (!used[mode]) continue;
    EC_TRY(ec::Tensor * here, ctx.add(kKinds[mode], {value, split}));
    if (mode == kNeq) {
      EC_TRY(here, ctx.add(OpKind::Not, {here}));
    }
    if (result == nullptr) {
      result = here;
      continue;
    }
    ec::Tensor* flags =
        column<bool>(ctx, forest, [&](const Forest::Item& item) { return item.mode == mode; });
    EC_TRY(ec::Tensor * applies, ctx.add(OpKind::Gather, {flags, at}, GatherAttrs{}));
    EC_TRY(result, ctx.add(OpKind::Where, {applies, here, result}));
  }
  if (result == nullptr) return ctx.fail(Code::BadAttribute, "the trees have no inner nodes");
  if (!nan) return result;
  ec::Tensor* flags =
      column<bool>(ctx, forest, [](const Forest::Item& item) { return item.nan_is_true; });
  EC_TRY(ec::Tensor * follow, ctx.add(OpKind::Gather, {flags, at}, GatherAttrs{}));
  EC_TRY(ec::Tensor * missing, ctx.add(OpKind::IsNan, {value}));
  return ctx.add(OpKind::Where, {missing, follow, result});
}

// The leaf that each row reaches in each tree, [rows, trees].
Result<ec::Tensor*> walk(NodeContext& ctx, const Forest& forest, ec::Tensor* x) {
  EC_TRY(const int64_t depth, depth_of(ctx, forest));
  const auto trees = static_cast<int64_t>(forest.roots.size());
  using Item = Forest::Item;
  ec::Tensor* features = column<int64_t>(ctx, forest, [](const Item& i) { return i.feature; });
  ec::Tensor* yes = column<int64_t>(ctx, forest, [](const Item& i) { return i.if_true; });
  ec::Tensor* no = column<int64_t>(ctx, forest, [](const Item& i) { return i.if_false; });
  ec::Tensor* splits = column<double>(ctx, forest, [](const Item& i) { return i.split; });
  EC_TRY(splits, ctx.cast(splits, x->dtype()));
  ShapeAttrs first;
  first.end = 1;
  EC_TRY(ec::Tensor * rows, ctx.add(OpKind::Shape, {x}, first));
  EC_TRY(ec::Tensor * shape, ctx.add(OpKind::Concat, {rows, ctx.ints({trees})}, AxisAttrs{}));
  EC_TRY(ec::Tensor * at, ctx.add(OpKind::Expand, {ctx.ints(forest.roots), shape}));
  GatherAttrs by_column;
  by_column.axis = 1;
  for (int64_t level = 0; level < depth; ++level) {
    EC_TRY(ec::Tensor * feature, ctx.add(OpKind::Gather, {features, at}, GatherAttrs{}));
    EC_TRY(ec::Tensor * value, ctx.add(OpKind::GatherElements, {x, feature}, by_column));
    EC_TRY(ec::Tensor * split, ctx.add(OpKind::Gather, {splits, at}, GatherAttrs{}));
    EC_TRY(ec::Tensor * branch, decide(ctx, forest, at, value, split));
    EC_TRY(ec::Tensor * if_true, ctx.add(OpKind::Gather, {yes, at}, GatherAttrs{}));
    EC_TRY(ec::Tensor * if_false, ctx.add(OpKind::Gather, {no, at}, GatherAttrs{}));
    EC_TRY(at, ctx.add(OpKind::Where, {branch, if_true, if_false}));
  }
  return at;
}

// Weights of the reached leaves, joined over the trees: [rows, targets].
Result<ec::Tensor*> score(NodeContext& ctx, const Forest& forest, ec::Tensor* leaves, DType dtype) {
  const auto items = static_cast<int64_t>(forest.items.size());
  const auto cells = checked_mul(items, forest.targets);
  constexpr int64_t kMaxCells = int64_t{1} << 24;
  if (forest.targets < 1 || !cells || *cells > kMaxCells)
    return ctx.fail(Code::TooLarge, "the ensemble has too many leaves and targets");
  const bool extreme = forest.aggregate == Forest::Min || forest.aggregate == Forest::Max;
  const double infinity = std::numeric_limits<double>::infinity();
  const double nothing = forest.aggregate == Forest::Min   ? infinity
                         : forest.aggregate == Forest::Max ? -infinity
                                                           : 0.0;
  std::vector<double> weights(static_cast<size_t>(*cells), nothing);
  for (size_t i = 0; i < forest.leaf_weights.size(); ++i) {
    for (const auto& [target, weight] : forest.leaf_weights[i]) {
      if (target < 0 || target >= forest.targets)
        return ctx.fail(Code::BadAttribute, "a leaf has a target that does not exist");
      double& cell = weights[i * static_cast<size_t>(forest.targets) + static_cast<size_t>(target)];
      cell = extreme ? weight : cell + weight;
    }
  }
  ec::Tensor* table = ctx.graph().add_constant<double>("", Shape{items, forest.targets},
                                                       std::span<const double>(weights));
  EC_TRY(table, ctx.cast(table, dtype));
  EC_TRY(ec::Tensor * each, ctx.add(OpKind::Gather, {table, leaves}, GatherAttrs{}));
  constexpr OpKind kKinds[] = {OpKind::ReduceMean, OpKind::ReduceSum, OpKind::ReduceMin,
                               OpKind::ReduceMax};
  ReduceAttrs drop;
  drop.keep_dims = false;
  EC_TRY(ec::Tensor * y, ctx.add(kKinds[forest.aggregate], {each, ctx.ints({1})}, drop));
  if (extreme) {
    EC_TRY(ec::Tensor * none, ctx.add(OpKind::IsInf, {y}, IsInfAttrs{}));
    EC_TRY(y, ctx.add(OpKind::Where, {none, ctx.scalar(dtype, 0.0), y}));
  }
  if (forest.base.empty()) return y;
  ec::Tensor* base = ctx.graph().add_constant<float>(
      "", Shape{static_cast<int64_t>(forest.base.size())}, std::span<const float>(forest.base));
  EC_TRY(base, ctx.cast(base, dtype));
  return ctx.add(OpKind::Add, {y, base});
}

Status finish(NodeContext& ctx, ec::Tensor* y, size_t transform) {
  AxisAttrs last;
  last.axis = -1;
  if (transform == 1) return ctx.finish(OpKind::Softmax, {y}, last);
  if (transform == 2) return ctx.finish(OpKind::Sigmoid, {y});
  if (transform != 0) return ctx.unsupported("this post_transform is not supported");
  ctx.set(0, y);
  return {};
}

// --- TreeEnsemble (version 5) -------------------------------------------------------------------

Result<std::vector<double>> tensor_values(NodeContext& ctx, std::string_view name) {
  if (!ctx.has_attr(name)) return std::vector<double>{};
  const Bytes message = ctx.attr_message(name, AttributeType::Tensor);
  EC_CHECK_OK(ctx.attr_status());
  EC_TRY(const ec::Tensor* tensor, ctx.constant(message));
  const std::vector<int64_t> sizes = tensor->shape()->sizes();
  std::vector<double> values(static_cast<size_t>(ec::count_elements(sizes)));
  load<double>(ConstView{tensor->dtype(), sizes, tensor->data().bytes().data(), nullptr}, values);
  return values;
}

// A set membership test as a chain of comparisons that share the true branch.
void expand_members(Forest& forest, size_t node, std::span<const double> members) {
  Forest::Item item = forest.items[node];
  item.mode = kEq;
  const int64_t otherwise = item.if_false;
  size_t at = node;
  for (size_t i = 0; i < members.size(); ++i) {
    item.split = members[i];
    const bool last = i + 1 == members.size();
    item.if_false = last ? otherwise : static_cast<int64_t>(forest.items.size());
    forest.items[at] = item;
    if (last) break;
    at = forest.items.size();
    forest.items.emplace_back();
  }
  // An empty set: never true.
  if (members.empty()) {
    item.if_true = otherwise;
    forest.items[node] = item;
  }
}

Status expand_all_members(NodeContext& ctx, Forest& forest, const std::vector<double>& members) {
  size_t at = 0;
  const size_t nodes = forest.items.size();
  for (size_t i = 0; i < nodes; ++i) {
    if (forest.items[i].mode != kMember) continue;
    const size_t begin = at;
    while (at < members.size() && !std::isnan(members[at])) ++at;
    if (at >= members.size())
      return ctx.fail(Code::BadAttribute, "attribute 'membership_values' is too short");
    expand_members(forest, i, std::span(members).subspan(begin, at - begin));
    ++at;
  }
  return {};
}

Result<Forest> read_forest(NodeContext& ctx) {
  Forest forest;
  const std::vector<int64_t> features = ctx.attr_ints("nodes_featureids");
  const std::vector<int64_t> yes = ctx.attr_ints("nodes_truenodeids");
  const std::vector<int64_t> no = ctx.attr_ints("nodes_falsenodeids");
  const std::vector<int64_t> yes_leaf = ctx.attr_ints("nodes_trueleafs");
  const std::vector<int64_t> no_leaf = ctx.attr_ints("nodes_falseleafs");
  const std::vector<int64_t> nan = ctx.attr_ints("nodes_missing_value_tracks_true");
  const std::vector<int64_t> targets = ctx.attr_ints("leaf_targetids");
  forest.roots = ctx.attr_ints("tree_roots");
  forest.targets = ctx.attr_int("n_targets", 1);
  const int64_t aggregate = ctx.attr_int("aggregate_function", 1);
  ctx.ignore_attr("nodes_hitrates");
  EC_TRY(const std::vector<double> modes, tensor_values(ctx, "nodes_modes"));
  EC_TRY(const std::vector<double> splits, tensor_values(ctx, "nodes_splits"));
  EC_TRY(const std::vector<double> weights, tensor_values(ctx, "leaf_weights"));
  EC_TRY(const std::vector<double> members, tensor_values(ctx, "membership_values"));
  EC_CHECK_OK(ctx.attr_status());
  const size_t n = features.size(), leaves = weights.size();
  if (n == 0 || n > kMaxItems || leaves > kMaxItems || yes.size() != n || no.size() != n ||
      yes_leaf.size() != n || no_leaf.size() != n || modes.size() != n || splits.size() != n ||
      (!nan.empty() && nan.size() != n) || targets.size() != leaves || aggregate < 0 ||
      aggregate > 3 || forest.roots.empty())
    return ctx.fail(Code::BadAttribute, "the lists of tree nodes have different lengths");
  forest.aggregate = static_cast<Forest::Aggregate>(aggregate);
  // Leaves are items after the nodes.
  const auto child = [&](int64_t id, int64_t is_leaf) {
    return is_leaf != 0 ? static_cast<int64_t>(n) + id : id;
  };
  for (size_t i = 0; i < n; ++i) {
    if (modes[i] < 0 || modes[i] > static_cast<double>(kMember) ||
        (yes_leaf[i] != 0 && yes[i] < 0) || (no_leaf[i] != 0 && no[i] < 0))
      return ctx.fail(Code::BadAttribute, "a tree node is not valid");
    forest.items.push_back({static_cast<Mode>(modes[i]), features[i], splits[i],
                            child(yes[i], yes_leaf[i]), child(no[i], no_leaf[i]),
                            !nan.empty() && nan[i] != 0});
  }
  for (size_t i = 0; i < leaves; ++i) {
    const auto self = static_cast<int64_t>(n + i);
    forest.items.push_back({kLeaf, 0, 0.0, self, self, false});
  }
  EC_CHECK_OK(expand_all_members(ctx, forest, members));
  forest.leaf_weights.resize(forest.items.size());
  for (size_t i = 0; i < leaves; ++i)
    forest.leaf_weights[n + i].push_back({targets[i], weights[i]});
  return forest;
}

Status tree_ensemble(NodeContext& ctx) {
  EC_TRY(const Forest forest, read_forest(ctx));
  const int64_t transform = ctx.attr_int("post_transform", 0);
  EC_TRY(ec::Tensor * leaves, walk(ctx, forest, ctx.in(0)));
  EC_TRY(ec::Tensor * y, score(ctx, forest, leaves, ctx.dtype()));
  return finish(ctx, y, static_cast<size_t>(transform));
}

// --- TreeEnsembleRegressor (before version 5) ---------------------------------------------------

constexpr std::string_view kOldModes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                          "BRANCH_EQ",  "BRANCH_NEQ", "",           "LEAF"};

Result<Forest> read_regressor(NodeContext& ctx) {
  Forest forest;
  const std::vector<int64_t> tree = ctx.attr_ints("nodes_treeids");
  const std::vector<int64_t> id = ctx.attr_ints("nodes_nodeids");
  const std::vector<int64_t> features = ctx.attr_ints("nodes_featureids");
  const std::vector<int64_t> yes = ctx.attr_ints("nodes_truenodeids");
  const std::vector<int64_t> no = ctx.attr_ints("nodes_falsenodeids");
  const std::vector<int64_t> nan = ctx.attr_ints("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = ctx.attr_strings("nodes_modes");
  const std::vector<float> splits = ctx.attr_floats("nodes_values");
  const std::vector<int64_t> leaf_tree = ctx.attr_ints("target_treeids");
  const std::vector<int64_t> leaf_id = ctx.attr_ints("target_nodeids");
  const std::vector<int64_t> leaf_target = ctx.attr_ints("target_ids");
  const std::vector<float> leaf_weight = ctx.attr_floats("target_weights");
  constexpr std::string_view kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  forest.aggregate =
      static_cast<Forest::Aggregate>(ctx.attr_choice("aggregate_function", kAggregates, 1));
  forest.base = ctx.attr_floats("base_values");
  forest.targets = ctx.attr_int("n_targets", 1);
  ctx.ignore_attr("nodes_hitrates");
  EC_CHECK_OK(ctx.attr_status());
  const size_t n = tree.size();
  if (n == 0 || n > kMaxItems || id.size() != n || features.size() != n || yes.size() != n ||
      no.size() != n || modes.size() != n || splits.size() != n ||
      (!nan.empty() && nan.size() != n) || leaf_id.size() != leaf_tree.size() ||
      leaf_target.size() != leaf_tree.size() || leaf_weight.size() != leaf_tree.size())
    return ctx.fail(Code::BadAttribute, "the lists of tree nodes have different lengths");
  std::map<std::pair<int64_t, int64_t>, int64_t> position;
  for (size_t i = 0; i < n; ++i) {
    position[{tree[i], id[i]}] = static_cast<int64_t>(i);
    if (i == 0 || tree[i] != tree[i - 1]) forest.roots.push_back(static_cast<int64_t>(i));
  }
  const auto find = [&](int64_t t, int64_t node) {
    const auto it = position.find({t, node});
    return it == position.end() ? -1 : it->second;
  };
  for (size_t i = 0; i < n; ++i) {
    const auto* mode = std::find(std::begin(kOldModes), std::end(kOldModes), modes[i]);
    if (mode == std::end(kOldModes))
      return ctx.fail(Code::BadAttribute, "a tree node has an unknown mode");
    const bool leaf = *mode == "LEAF";
    const auto self = static_cast<int64_t>(i);
    forest.items.push_back({leaf ? kLeaf : static_cast<Mode>(mode - std::begin(kOldModes)),
                            leaf ? 0 : features[i], splits[i], leaf ? self : find(tree[i], yes[i]),
                            leaf ? self : find(tree[i], no[i]), !nan.empty() && nan[i] != 0});
  }
  forest.leaf_weights.resize(n);
  for (size_t i = 0; i < leaf_tree.size(); ++i) {
    const int64_t at = find(leaf_tree[i], leaf_id[i]);
    if (at < 0) return ctx.fail(Code::BadAttribute, "a weight belongs to no tree node");
    forest.leaf_weights[static_cast<size_t>(at)].push_back({leaf_target[i], leaf_weight[i]});
  }
  return forest;
}

Status tree_ensemble_regressor(NodeContext& ctx) {
  constexpr std::string_view kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                              "PROBIT"};
  EC_TRY(const Forest forest, read_regressor(ctx));
  const size_t transform = ctx.attr_choice("post_transform", kTransforms, 0);
  EC_TRY(ec::Tensor * x, ctx.cast(ctx.in(0), DType::F32));
  EC_TRY(ec::Tensor * leaves, walk(ctx, forest, x));
  EC_TRY(ec::Tensor * y, score(ctx, forest, leaves, DType::F32));
  return finish(ctx, y, transform);
}

constexpr Arity k1{1, 1};

constexpr OpRow kRows[] = {
    {"TreeEnsemble", 5, kLatest, k1, k1, tree_ensemble},
    {"TreeEnsembleRegressor", 1, kLatest, k1, k1, tree_ensemble_regressor},
};

}  // namespace

const std::span<const OpRow> kTreeRows = kRows;

}  // namespace ec::onnx
