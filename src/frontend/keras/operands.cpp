#include "frontend/keras/operands.h"

#include <algorithm>

#include "support/strings.h"

namespace ec::keras {
namespace {

DType wider(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) || is_float(b))
    return is_float(a) && is_float(b) ? DType::F32 : is_float(a) ? a : b;
  if (a == DType::Bool || b == DType::Bool) return a == DType::Bool ? b : a;
  const bool signs = is_signed_integer(a) == is_signed_integer(b);
  if (signs) return bit_width(a) >= bit_width(b) ? a : b;
  // An unsigned type fits a signed one that is wider.
  const DType u = is_signed_integer(a) ? b : a, s = is_signed_integer(a) ? a : b;
  if (bit_width(s) > bit_width(u)) return s;
  return bit_width(u) == 8 ? DType::I16 : bit_width(u) == 16 ? DType::I32 : DType::I64;
}

}  // namespace

std::optional<DType> dtype_of(const Value& value) {
  const std::string& name = value.is_dict() ? value["config"]["name"].as_text() : value.as_text();
  for (const auto& [text, dtype] : {std::pair{"float32", DType::F32},
                                    {"float16", DType::F32},
                                    {"bfloat16", DType::F32},
                                    {"float64", DType::F32},
                                    {"float", DType::F32},
                                    {"int8", DType::I8},
                                    {"uint8", DType::U8},
                                    {"int16", DType::I16},
                                    {"uint16", DType::U16},
                                    {"int32", DType::I32},
                                    {"int", DType::I32},
                                    {"uint32", DType::U32},
                                    {"int64", DType::I64},
                                    {"uint64", DType::U64},
                                    {"bool", DType::Bool}})
    if (name == text) return dtype;
  return std::nullopt;
}

Tensors in_one_type(LayerCall& c, Tensors all) {
  if (all.empty()) return all;
  DType type = all.front()->dtype();
  for (const Tensor* x : all) type = wider(type, x->dtype());
  for (Tensor*& x : all) x = c.cast(x, type);
  return all;
}

std::pair<Tensor*, Tensor*> operands(LayerCall& c, const Value& a, const Value& b, bool real) {
  const auto number_type = [&](const Value& number, const Value& other) {
    DType type = other.is_tensor() ? other.as_tensor()->dtype() : DType::F32;
    if (number.kind() == Value::Kind::Float && !is_float(type)) type = DType::F32;
    if (number.kind() == Value::Kind::Int && type == DType::Bool) type = DType::I32;
    return type;
  };
  Tensor* x = a.is_tensor() ? a.as_tensor() : c.optional_tensor(a, number_type(a, b));
  Tensor* y = b.is_tensor() ? b.as_tensor() : c.optional_tensor(b, number_type(b, a));
  if (x == nullptr || y == nullptr) {
    Tensor* none = c.fail(Code::BadArity, "an operand is missing");
    return {none, none};
  }
  DType type = wider(x->dtype(), y->dtype());
  if (real && !is_float(type)) type = DType::F32;
  return {c.cast(x, type), c.cast(y, type)};
}

Ints axes_of(LayerCall& c, const Value& value, int64_t rank) {
  if (!value.is_none()) return c.axes(c.ints_of(value, "axis"), rank);
  return c.in_order(rank);
}

// x[key]: numbers, slices, new axes, an ellipsis; one tensor of indices.
Tensor* subscript(LayerCall& c, Tensor* x, const Value& key) {
  std::vector<Value> keys = key.is_list() ? key.items() : std::vector{key};
  const int64_t rank = c.rank(x);
  const auto is_ellipsis = [](const Value& v) { return v.is("...") || v.is("Ellipsis"); };
  int64_t used = 0;
  bool ellipsis = false;
  for (const Value& k : keys) {
    if (is_ellipsis(k))
      ellipsis = true;
    else if (!k.is_none())
      ++used;
  }
  if (used > rank) return c.fail(Code::ShapeMismatch, "more indices than dimensions");
  if (!ellipsis) keys.push_back(Value::text("..."));
  Ints starts, ends, axes, steps, dropped, added;
  int64_t axis = 0, out = 0;
  Tensor* index = nullptr;
  int64_t index_axis = 0;
  for (const Value& k : keys) {
    if (is_ellipsis(k)) {
      const int64_t rest = rank - used;
      axis += rest;
      out += rest;
    } else if (k.is_none()) {
      added.push_back(out++);
    } else if (k.kind() == Value::Kind::Slice) {
      const Value &b = k.items()[0], &e = k.items()[1], &s = k.items()[2];
      const int64_t step = s.as_int(1);
      if (b.is_tensor() || e.is_tensor() || s.is_tensor() || step == 0)
        return c.unsupported("a slice whose bounds are tensors");
      if (!b.is_none() || !e.is_none() || step != 1) {
        axes.push_back(axis);
        steps.push_back(step);
        starts.push_back(b.is_none() ? (step > 0 ? 0 : INT64_MAX) : b.as_int());
        ends.push_back(e.is_none() ? (step > 0 ? INT64_MAX : INT64_MIN) : e.as_int());
      }
      ++axis;
      ++out;
    } else if (k.is_number()) {
      const int64_t i = k.as_int();
      axes.push_back(axis);
      steps.push_back(1);
      starts.push_back(i);
      ends.push_back(i == -1 || i == INT64_MAX ? INT64_MAX : i + 1);
      dropped.push_back(axis++);
    } else if (k.is_tensor() && index == nullptr && !added.size()) {
      index = k.as_tensor();
      index_axis = axis++;
      ++out;
    } else {
      return c.unsupported("an index of this kind");
    }
  }
  if (index != nullptr) {
    if (!dropped.empty() || !is_integer(index->dtype()))
      return c.unsupported("an index of this kind");
    x = c.gather(x, index, index_axis);
    if (!axes.empty()) return c.unsupported("tensors and slices as indices of one tensor");
    return x;
  }
  if (!axes.empty())
    x = c.add(OpKind::Slice,
              {x, c.int_list(starts), c.int_list(ends), c.int_list(axes), c.int_list(steps)});
  x = c.squeeze(x, dropped);
  return c.unsqueeze(x, added);
}

}  // namespace ec::keras
