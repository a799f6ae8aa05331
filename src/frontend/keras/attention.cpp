// Attention layers. They are imported as products around a softmax, as other formats have them; the
// CPU's pipeline finds attention again.
#include "frontend/keras/attention.h"

#include <cmath>

#include "frontend/keras/table.h"

namespace ec::keras {
namespace {

Tensor* as_bool(LayerCall& c, Tensor* mask) { return c.cast(mask, DType::Bool); }

Tensor* both(LayerCall& c, Tensor* a, Tensor* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return c.add(OpKind::And, {a, b});
}

// Positions 0, 1, ... as i64[count].
Tensor* positions(LayerCall& c, Tensor* x, int64_t axis) {
  if (c.is_static(x, axis)) {
    const int64_t count = c.size(x, axis);
    if (!c.afford(c.product(count, 2))) return c.fail(Code::TooLarge, "a sequence is too long");
    Ints list;
    for (int64_t i = 0; i < count; ++i) list.push_back(i);
    return c.int_list(list);
  }
  Tensor* count = c.reshape(c.shape_list({Size(x, axis)}), {});
  return c.add(OpKind::Range, {c.scalar(DType::I64, 0), count, c.scalar(DType::I64, 1)});
}

// [1, T, S]: key j counts for query i when j <= i; within a window when |i - j| < window.
Tensor* position_mask(LayerCall& c, Tensor* query, Tensor* value, bool causal, int64_t window) {
  Tensor* row = c.unsqueeze(positions(c, query, 1), {0, 2});
  Tensor* column = c.unsqueeze(positions(c, value, 1), {0, 1});
  Tensor* mask = nullptr;
  if (causal) mask = c.add(OpKind::GreaterOrEqual, {row, column});
  if (window > 0) {
    Tensor* distance = c.add(OpKind::Abs, {c.minus(row, column)});
    mask = both(c, mask,
                c.add(OpKind::Less, {distance, c.scalar(DType::I64, static_cast<double>(window))}));
  }
  return mask;
}

// The mask that an argument has, or that was given beside it.
Tensor* mask_of(LayerCall& c, const Value& argument, size_t index, std::string_view name) {
  const Value& given = c.arg(index, name);
  if (given.is_tensor()) return as_bool(c, given.as_tensor());
  return argument.mask() == nullptr ? nullptr : as_bool(c, argument.mask());
}

// x [batch, length, in] times a kernel [in, heads, size], as [batch, heads, length, size].
Tensor* project(LayerCall& c, Tensor* x, const std::string& attribute, const std::string& name,
                bool bias, bool sigmoid = false) {
  auto weights = c.weights().child(attribute + "_dense|_" + attribute + "_dense", name);
  if (!weights.ok()) return c.remember(std::move(weights).error()), x;
  Names names = {"kernel"};
  if (bias) names.emplace_back("bias");
  c.variables(*weights, names);
  Tensor* kernel = c.weight("kernel");
  if (!c.ok() || c.rank(kernel) != 3)
    return c.fail(Code::ShapeMismatch, "a kernel of three dimensions is needed");
  const int64_t in = c.size(kernel, 0), heads = c.size(kernel, 1), size = c.size(kernel, 2);
  const int64_t columns = c.product(heads, size);
  Tensor* y = c.matmul(x, c.permuted(kernel, {0, 1, 2}, {in, columns}));
  if (bias) {
    Tensor* b = c.weight("bias");
    y = c.plus(y, c.reshape(b, {columns}));
  }
  if (sigmoid) y = c.add(OpKind::Sigmoid, {y});
  y = c.reshape(y, {Size(x, 0), Size(x, 1), Size(heads), Size(size)});
  return c.transpose(y, {0, 2, 1, 3});
}

// [batch, heads, length, size] times a kernel [heads, size, out...].
Tensor* project_back(LayerCall& c, Tensor* x, bool bias) {
  auto weights = c.weights().child("output_dense|_output_dense", "attention_output");
  if (!weights.ok()) return c.remember(std::move(weights).error()), x;
  Names names = {"kernel"};
  if (bias) names.emplace_back("bias");
  c.variables(*weights, names);
  Tensor* kernel = c.weight("kernel");
  const int64_t rank = c.rank(kernel);
  if (!c.ok() || rank < 3)
    return c.fail(Code::ShapeMismatch, "the output's kernel is " + kernel->type().text());
  const int64_t in = c.product(c.size(kernel, 0), c.size(kernel, 1));
  int64_t out = 1;
  Sizes result;
  Tensor* rows = c.transpose(x, {0, 2, 1, 3});
  Tensor* flat = c.reshape(rows, {Size(rows, 0), Size(rows, 1), Size(in)});
  result = {Size(flat, 0), Size(flat, 1)};
  Ints order = {0, 1};
  for (int64_t i = 2; i < rank; ++i) {
    out = c.product(out, c.size(kernel, i));
    result.emplace_back(c.size(kernel, i));
    order.push_back(i);
  }
  Tensor* y = c.matmul(flat, c.permuted(kernel, order, {in, out}));
  if (bias) y = c.plus(y, c.reshape(c.weight("bias"), {out}));
  return rank == 3 ? y : c.reshape(y, result);
}

struct Arguments {
  Tensor* query = nullptr;
  Tensor* value = nullptr;
  Tensor* key = nullptr;
  Tensor* mask = nullptr;  // [batch, T, S] or with heads; null for none
  Tensor* query_mask = nullptr;
};

Arguments arguments(LayerCall& c) {
  Arguments a;
  const Value& query = c.arg(0, "query");
  const Value& value = c.arg(1, "value");
  const Value& key = c.arg(2, "key");
  if (!query.is_tensor() || !value.is_tensor()) {
    c.fail(Code::BadArity, "a query and a value are needed");
    return a;
  }
  a.query = c.to_float(query.as_tensor());
  a.value = c.to_float(value.as_tensor());
  a.key = key.is_tensor() ? c.to_float(key.as_tensor()) : a.value;
  a.query_mask = mask_of(c, query, 3, "query_mask");
  if (a.query_mask != nullptr) a.mask = c.unsqueeze(a.query_mask, {2});
  if (Tensor* m = mask_of(c, value, 4, "value_mask")) a.mask = both(c, a.mask, c.unsqueeze(m, {1}));
  if (key.is_tensor())
    if (Tensor* m = mask_of(c, key, 5, "key_mask")) a.mask = both(c, a.mask, c.unsqueeze(m, {1}));
  const bool causal = c.arg(9, "use_causal_mask").as_bool(false);
  const int64_t window = c.integer("sliding_window", 0);
  if (causal || window > 0)
    a.mask = both(c, a.mask, position_mask(c, a.query, a.value, causal, window));
  if (c.arg(6, "attention_mask").is_tensor())
    a.mask = both(c, a.mask, as_bool(c, c.arg(6, "attention_mask").as_tensor()));
  return a;
}

// [batch, spatial..., features] as [batch, length, features].
Tensor* as_sequence(LayerCall& c, Tensor* x) {
  if (c.rank(x) == 3) return x;
  int64_t length = 1;
  for (int64_t i = 1; i + 1 < c.rank(x); ++i) length = c.product(length, c.size(x, i));
  return c.reshape(x, {Size(x, 0), Size(length), Size(x, c.rank(x) - 1)});
}

Value attention_layer(LayerCall& c, double head_size, int64_t repeats) {
  Arguments a = arguments(c);
  if (!c.ok()) return Value::failed();
  const bool bias = c.flag("use_bias", true);
  const int64_t rank = c.rank(a.query);
  if (c.has("attention_axes")) {
    const Ints axes = c.axes(c.ints("attention_axes"), rank);
    if (static_cast<int64_t>(axes.size()) != rank - 2)
      return c.unsupported("attention over some of several dimensions (attention_axes)");
  }
  if (rank > 3 && a.mask != nullptr)
    return c.unsupported("masked attention over several dimensions");
  const Sizes shape = c.sizes(a.query);
  Tensor* query = as_sequence(c, a.query);
  Tensor* q = project(c, query, "query", "query", bias);
  Tensor* k = project(c, as_sequence(c, a.key), "key", "key", bias);
  Tensor* v = project(c, as_sequence(c, a.value), "value", "value", bias);
  if (repeats > 1) {
    // Each head of keys and values serves several of the queries.
    const auto repeated = [&](Tensor* x) {
      const int64_t heads = c.size(x, 1), size = c.size(x, 3);
      Tensor* copies =
          c.add(OpKind::Tile, {c.unsqueeze(x, {2}), c.int_list({1, 1, repeats, 1, 1})});
      return c.reshape(copies,
                       {Size(x, 0), Size(c.product(heads, repeats)), Size(x, 2), Size(size)});
    };
    k = repeated(k);
    v = repeated(v);
  }
  Tensor* scores = c.matmul(c.times(q, 1 / std::sqrt(head_size)), k, true);
  Tensor* mask = a.mask;
  if (mask != nullptr && c.rank(mask) == 3) mask = c.unsqueeze(mask, {1});
  if (mask != nullptr) scores = c.where(mask, scores, c.like(scores, -3e38));
  Tensor* weights = c.softmax(scores, 3);
  Tensor* y = c.matmul(weights, v);
  if (c.flag("use_gate", false)) y = c.times(y, project(c, query, "gate", "gate", bias, true));
  y = project_back(c, y, bias);
  if (rank > 3) {
    Sizes result(shape.begin(), shape.end() - 1);
    for (int64_t i = 2; i < c.rank(y); ++i) result.emplace_back(y, i);
    y = c.reshape(y, result);
  }
  const Value output = Value::tensor(y, a.query_mask);
  if (!c.arg(7, "return_attention_scores").as_bool(false)) return output;
  if (rank > 3) return c.unsupported("scores of attention over several dimensions");
  return Value::list({output, Value::tensor(weights)});
}

Value multi_head(LayerCall& c) {
  return attention_layer(c, static_cast<double>(std::max<int64_t>(1, c.integer("key_dim"))), 1);
}

Value grouped(LayerCall& c) {
  const int64_t heads = c.integer("num_query_heads"), own = c.integer("num_key_value_heads");
  if (own < 1 || heads % own != 0)
    return c.fail(Code::BadAttribute, "the numbers of heads do not fit");
  return attention_layer(c, static_cast<double>(std::max<int64_t>(1, c.integer("head_dim"))),
                         heads / own);
}

// Attention and AdditiveAttention: a list of query, value and perhaps key.
Value plain(LayerCall& c, bool additive) {
  const auto& list = c.arg(0, "inputs").items();
  Tensors x = c.inputs();
  if (x.size() < 2 || x.size() > 3) return c.fail(Code::BadArity, "a query and a value are needed");
  for (Tensor*& t : x) t = c.to_float(t);
  Tensor* q = x[0];
  Tensor* v = x[1];
  Tensor* k = x.size() > 2 ? x[2] : v;
  const bool scaled = c.flag("use_scale", additive);
  const bool concat = c.text("score_mode", "dot") == "concat";
  Names names;
  if (scaled) names.emplace_back("scale");
  if (concat && !additive) names.emplace_back("concat_score_weight");
  c.variables(names);
  Tensor* scores = nullptr;
  if (additive || concat) {
    const int64_t rank = c.rank(q);
    Tensor* sum = c.plus(c.unsqueeze(q, {rank - 1}), c.unsqueeze(k, {c.rank(k) - 2}));
    if (!additive && scaled) sum = c.times(sum, c.weight("scale"));
    Tensor* t = c.add(OpKind::Tanh, {sum});
    if (additive && scaled) t = c.times(t, c.weight("scale"));
    scores = c.reduce(OpKind::ReduceSum, t, {rank}, false);
    if (!additive) scores = c.times(scores, c.weight("concat_score_weight"));
  } else {
    scores = c.matmul(q, k, true);
    if (scaled) scores = c.times(scores, c.weight("scale"));
  }
  // Masks of query and value: given as a list, or carried by the inputs.
  Tensor* query_mask = list.size() > 0 ? list[0].mask() : nullptr;
  Tensor* value_mask = list.size() > 1 ? list[1].mask() : nullptr;
  const auto& given = c.arg(1, "mask").items();
  if (given.size() >= 2) {
    query_mask = given[0].as_tensor();
    value_mask = given[1].as_tensor();
  }
  Tensor* mask = nullptr;
  if (value_mask != nullptr) mask = c.unsqueeze(as_bool(c, value_mask), {1});
  if (c.kwargs()["use_causal_mask"].as_bool(false))
    mask = both(c, mask, position_mask(c, q, v, true, 0));
  if (mask != nullptr) scores = c.where(mask, scores, c.minus(scores, 1e9));
  Tensor* weights = c.softmax(scores, c.rank(scores) - 1);
  Tensor* y = c.matmul(weights, v);
  if (query_mask != nullptr) y = c.where(c.unsqueeze(as_bool(c, query_mask), {2}), y, c.like(y, 0));
  const Value output = Value::tensor(y, query_mask);
  if (!c.kwargs()["return_attention_scores"].as_bool(false)) return output;
  return Value::list({output, Value::tensor(weights)});
}

Value dot_attention(LayerCall& c) { return plain(c, false); }
Value additive_attention(LayerCall& c) { return plain(c, true); }

constexpr LayerRow kRows[] = {
    {"MultiHeadAttention", multi_head, MaskRule::Own},
    {"GroupQueryAttention", grouped, MaskRule::Own},
    {"GroupedQueryAttention", grouped, MaskRule::Own},
    {"Attention", dot_attention, MaskRule::Own},
    {"AdditiveAttention", additive_attention, MaskRule::Own},
};

}  // namespace

Tensor* dot_product_attention(LayerCall& c, Tensor* query, Tensor* key, Tensor* value, Tensor* bias,
                              Tensor* mask, std::optional<double> scale, bool causal) {
  const double factor =
      scale ? *scale : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, c.size(query, 3))));
  const Ints heads_first = {0, 2, 1, 3};
  if (c.rank(query) != 4 || c.rank(key) != 4 || c.rank(value) != 4)
    return c.fail(Code::ShapeMismatch, "attention needs operands of four dimensions");
  Tensor* q = c.transpose(query, heads_first);
  Tensor* k = c.transpose(key, heads_first);
  Tensor* v = c.transpose(value, heads_first);
  Tensor* scores = c.times(c.matmul(q, k, true), factor);
  if (bias != nullptr) scores = c.plus(scores, bias);
  if (mask != nullptr) mask = as_bool(c, mask);
  if (causal) mask = both(c, mask, c.unsqueeze(position_mask(c, query, key, true, 0), {1}));
  if (mask != nullptr) scores = c.where(mask, scores, c.like(scores, -3e38));
  return c.transpose(c.matmul(c.softmax(scores, 3), v), heads_first);
}

const std::span<const LayerRow> kAttentionRows = kRows;

}  // namespace ec::keras
