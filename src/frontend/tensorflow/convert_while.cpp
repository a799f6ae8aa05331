// While: counted loops become loops with a number of iterations that collect their results, all
// others loops with a condition. Recurrent layers are recognised.
#include <algorithm>

#include "frontend/tensorflow/loop_form.h"
#include "frontend/tensorflow/nested_graph.h"
#include "frontend/tensorflow/recurrent_loop.h"
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

// What holds of a value in every iteration.
TensorType common_type(const TensorType& a, const TensorType& b) {
  TensorType type(a.dtype);
  if (!a.shape || !b.shape || a.shape->rank() != b.shape->rank()) return type;
  Shape shape;
  for (size_t i = 0; i < a.shape->rank(); ++i)
    shape.push_back((*a.shape)[i].same_size((*b.shape)[i]) ? (*a.shape)[i] : Dim::unknown());
  type.shape = std::move(shape);
  return type;
}

// Doubles do not hold all integers of 64 bits.
Result<ec::Tensor*> whole_number(OpBuilder& build, DType dtype, int64_t number) {
  EC_TRY(ec::Tensor * made, build.reshape(build.ints({number}), std::vector<int64_t>{}));
  return build.cast(made, dtype);
}

class LoopBuilder {
 public:
  LoopBuilder(OpContext& ctx, LoopForm form) : ctx_(ctx), form_(std::move(form)) {}

  Status convert() {
    EC_CHECK_OK(choose_carried());
    if (form_.is_counted()) {
      EC_CHECK_OK(count_iterations());
    } else {
      EC_TRY(first_, condition(ctx_.site(), ctx_.values()));
      if (first_ == nullptr) return ctx_.poison(), ok_status();
    }
    std::optional<NestedGraph> body;
    EC_CHECK_OK(settle(body));
    if (!body) return ctx_.poison(), ok_status();
    if (form_.is_counted()) {
      EC_TRY(const bool recognised, recognise(*body));
      if (recognised) return {};
    }
    return add_loop(*body);
  }

 private:
  // Tensors and lists that change from one iteration to the next.
  Status choose_carried() {
    carries_.assign(ctx_.num_inputs(), false);
    for (size_t i = 0; i < ctx_.num_inputs(); ++i) {
      const TfValue& value = ctx_.value(i);
      if (form_.stays[i] || (form_.is_counted() && form_.counts[i])) continue;
      if (form_.collects[i] != LoopForm::Collects::No) {
        collected_.push_back(i);
        continue;
      }
      ec::Tensor* initial = value.tensor;
      if (value.kind == TfValue::Kind::List) {
        EC_TRY(initial, initial_stack(ctx_.importer().list(value.id)));
      } else if (!value.is_tensor()) {
        return ctx_.unsupported("value " + std::to_string(i) + " of the loop is no tensor");
      }
      carries_[i] = true;
      carried_.push_back(i);
      initial_.push_back(initial);
    }
    return {};
  }

  Result<ec::Tensor*> initial_stack(const TensorList& list) {
    if (list.stack != nullptr) return list.stack;
    if (list.length == nullptr || !list.element || !list.element->is_static())
      return ctx_.unsupported("a list of the loop has elements whose shape is not known")
          .hint("give the shapes of the model's inputs with --input-shape");
    EC_TRY(ec::Tensor * length, ctx_.reshape(list.length, {1}));
    EC_TRY(ec::Tensor * sizes, ctx_.concat({length, ctx_.ints(list.element->sizes())}, 0));
    return ctx_.add(OpKind::Fill, {sizes, ctx_.scalar(list.dtype, 0.0)});
  }

  // The smallest distance between the counted values and their bounds.
  Status count_iterations() {
    for (const LoopForm::Bound& bound : form_.bounds) {
      const int64_t start = form_.starts[bound.counter];
      ec::Tensor* limit = nullptr;
      if (bound.number) {
        EC_TRY(limit, whole_number(ctx_, DType::I64, *bound.number));
      } else {
        if (!ctx_.value(bound.value).is_tensor())
          return ctx_.fail(Code::TypeMismatch, "a bound of the loop is no tensor");
        EC_TRY(limit, ctx_.cast(ctx_.in(bound.value), DType::I64));
        EC_TRY(limit, ctx_.reshape(limit, std::vector<int64_t>{}));
      }
      EC_TRY(ec::Tensor * from, whole_number(ctx_, DType::I64, start));
      EC_TRY(ec::Tensor * steps, ctx_.add(OpKind::Sub, {limit, from}));
      if (trips_ == nullptr) {
        trips_ = steps;
      } else {
        EC_TRY(trips_, ctx_.add(OpKind::Min, {trips_, steps}));
      }
    }
    EC_TRY(trips_, ctx_.add(OpKind::Max, {trips_, ctx_.scalar(DType::I64, 0.0)}));
    return {};
  }

  // The condition of these values; null: reported.
  Result<ec::Tensor*> condition(Site& site, std::vector<TfValue> values) {
    const auto results = ctx_.importer().call(*form_.condition, site, std::move(values),
                                              std::string(ctx_.location().name()) + "/",
                                              ctx_.frame().depth + 1, &ctx_.source());
    if (!results) return static_cast<ec::Tensor*>(nullptr);
    if (!results->front().is_tensor())
      return ctx_.fail(Code::TypeMismatch, "the condition is no tensor");
    OpBuilder build(site.graph, ctx_.location());
    EC_TRY(ec::Tensor * more, build.cast(results->front().tensor, DType::Bool));
    return build.reshape(more, std::vector<int64_t>{});
  }

  // The values as an iteration sees them.
  Result<std::vector<TfValue>> inner_values(NestedGraph& nested,
                                            const std::vector<TensorType>& types) {
    std::vector<TfValue> values(ctx_.num_inputs());
    ec::Tensor* iteration = nested.graph->add_input("iteration", TensorType(DType::I64, Shape{}));
    nested.graph->add_input("condition", TensorType(DType::Bool, Shape{}));
    for (size_t k = 0; k < carried_.size(); ++k) {
      ec::Tensor* input = nested.graph->add_input("", types[k]);
      const TfValue& outer = ctx_.value(carried_[k]);
      if (outer.kind == TfValue::Kind::List) {
        TensorList list = ctx_.importer().list(outer.id);
        list.stack = input;
        list.length = nullptr;
        values[carried_[k]] = TfValue::list(ctx_.importer().add_list(std::move(list)));
      } else {
        values[carried_[k]] = TfValue::of(input, outer.complex);
      }
    }
    OpBuilder build(*nested.graph, ctx_.location());
    for (size_t i = 0; i < values.size(); ++i) {
      if (carries_[i]) continue;
      const TfValue& outer = ctx_.value(i);
      if (form_.collects[i] != LoopForm::Collects::No) {
        TensorList list;
        list.dtype = ctx_.importer().list(outer.id).dtype;
        list.collects = true;
        values[i] = TfValue::list(ctx_.importer().add_list(std::move(list)));
      } else if (form_.is_counted() && form_.counts[i]) {
        EC_TRY(ec::Tensor * count, build.cast(iteration, outer.tensor->dtype()));
        if (form_.starts[i] != 0) {
          EC_TRY(ec::Tensor * start, whole_number(build, outer.tensor->dtype(), form_.starts[i]));
          EC_TRY(count, build.add(OpKind::Add, {count, start}));
        }
        values[i] = TfValue::of(count);
      }
    }
    // Captures come behind all other inputs.
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].kind == TfValue::Kind::None)
        values[i] = capture(ctx_.importer(), nested, ctx_.value(i));
    return values;
  }

  // One iteration. Nothing: reported.
  Result<std::optional<NestedGraph>> build_body(const std::vector<TensorType>& types) {
    std::optional<NestedGraph> nested;
    nested.emplace(ctx_.importer(), "body");
    EC_TRY(std::vector<TfValue> values, inner_values(*nested, types));
    const std::string prefix(ctx_.location().name());
    auto next = ctx_.importer().call(*form_.body, nested->site, values, prefix + "/",
                                     ctx_.frame().depth + 1, &ctx_.source());
    if (!next) return std::optional<NestedGraph>();
    OpBuilder build(*nested->graph, ctx_.location());
    ec::Tensor* more = nullptr;
    if (form_.is_counted()) {
      more = build.scalar(DType::Bool, 1.0);
    } else {
      for (size_t i = 0; i < values.size(); ++i)
        if (form_.stays[i]) (*next)[i] = values[i];
      EC_TRY(more, condition(nested->site, *next));
      if (more == nullptr) return std::optional<NestedGraph>();
    }
    nested->graph->add_output("condition", more);
    for (const size_t i : carried_) {
      const TfValue& before = ctx_.value(i);
      if ((*next)[i].kind != before.kind || (*next)[i].complex != before.complex)
        return ctx_.fail(Code::TypeMismatch,
                         "value " + std::to_string(i) + " of the loop changes its type");
      ec::Tensor* result = (*next)[i].tensor;
      if ((*next)[i].kind == TfValue::Kind::List)
        result = ctx_.importer().list((*next)[i].id).stack;
      if (result == nullptr)
        return ctx_.unsupported("value " + std::to_string(i) + " of the loop is no tensor");
      nested->graph->add_output("value" + std::to_string(i), result);
    }
    for (const size_t i : collected_) {
      ec::Tensor* item = (*next)[i].kind == TfValue::Kind::List
                             ? ctx_.importer().list((*next)[i].id).written
                             : nullptr;
      if (item == nullptr) return ctx_.unsupported("a list of the loop is not written");
      nested->graph->add_output("element" + std::to_string(i), item);
    }
    return nested;
  }

  // Shapes may differ from one iteration to the next: weaken the types until they hold.
  Status settle(std::optional<NestedGraph>& body) {
    std::vector<TensorType> types;
    for (const ec::Tensor* tensor : initial_) types.push_back(tensor->type());
    constexpr int kAttempts = 3;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      body.reset();
      EC_TRY(auto built, build_body(types));
      if (!built) return {};
      body.emplace(std::move(*built));
      bool stable = true;
      for (size_t k = 0; k < types.size(); ++k) {
        const TensorType& result = body->graph->outputs()[k + 1]->type();
        if (result.dtype != types[k].dtype)
          return ctx_.fail(Code::TypeMismatch, "a value of the loop changes its type");
        TensorType weaker = common_type(types[k], result);
        stable = stable && weaker.shape == types[k].shape;
        types[k] = attempt + 2 < kAttempts ? std::move(weaker) : TensorType(types[k].dtype);
      }
      if (stable) break;
    }
    return {};
  }

  // Values that no operation computes: those that stay, and those that count.
  Status set_known_results() {
    for (size_t i = 0; i < ctx_.num_inputs(); ++i) {
      if (form_.stays[i]) {
        EC_CHECK_OK(ctx_.set_value(i, ctx_.value(i)));
      } else if (form_.is_counted() && form_.counts[i]) {
        EC_TRY(ec::Tensor * steps, ctx_.cast(trips_, ctx_.dtype(i)));
        EC_TRY(ec::Tensor * count, ctx_.add(OpKind::Add, {ctx_.in(i), steps}));
        EC_CHECK_OK(ctx_.set(i, count));
      }
    }
    return {};
  }

  Status set_carried(size_t k, ec::Tensor* result) {
    const size_t i = carried_[k];
    const TfValue& outer = ctx_.value(i);
    if (outer.kind != TfValue::Kind::List) return ctx_.set(i, result, outer.complex);
    TensorList list = ctx_.importer().list(outer.id);
    list.stack = result;
    return ctx_.set_value(i, TfValue::list(ctx_.importer().add_list(std::move(list))));
  }

  // `stack`: one element for each iteration.
  Status set_collected(size_t k, ec::Tensor* stack) {
    const size_t i = collected_[k];
    TensorList list = ctx_.importer().list(ctx_.value(i).id);
    list.stack = stack;
    if (form_.collects[i] == LoopForm::Collects::Last) {
      EC_TRY(list.stack, ctx_.slice(stack, 0, -1, INT64_MAX));
    }
    return ctx_.set_value(i, TfValue::list(ctx_.importer().add_list(std::move(list))));
  }

  Result<bool> recognise(const NestedGraph& body) {
    RecurrentLoop loop;
    loop.body = body.graph.get();
    loop.initial = initial_;
    loop.captures = body.captures;
    loop.trips = trips_;
    EC_TRY(const auto results, recurrent_layer(ctx_, loop));
    if (!results) return false;
    EC_CHECK_OK(set_known_results());
    for (size_t k = 0; k < carried_.size(); ++k) EC_CHECK_OK(set_carried(k, results->carried[k]));
    for (size_t k = 0; k < collected_.size(); ++k)
      EC_CHECK_OK(set_collected(k, results->collected[k]));
    return true;
  }

  Status add_loop(NestedGraph& body) {
    LoopAttrs attrs;
    attrs.num_carried = static_cast<int64_t>(carried_.size());
    OpSpec spec;
    spec.attrs = attrs;
    spec.location = ctx_.location();
    spec.num_outputs = carried_.size() + collected_.size();
    spec.bodies.push_back(std::move(body.graph));
    std::vector<ec::Tensor*> inputs = {trips_, first_};
    inputs.insert(inputs.end(), initial_.begin(), initial_.end());
    inputs.insert(inputs.end(), body.captures.begin(), body.captures.end());
    EC_TRY(Operation * op, ctx_.graph().add(OpKind::Loop, std::move(inputs), std::move(spec)));
    EC_CHECK_OK(set_known_results());
    for (size_t k = 0; k < carried_.size(); ++k) EC_CHECK_OK(set_carried(k, op->output(k)));
    for (size_t k = 0; k < collected_.size(); ++k)
      EC_CHECK_OK(set_collected(k, op->output(carried_.size() + k)));
    return {};
  }

  OpContext& ctx_;
  LoopForm form_;
  std::vector<size_t> carried_, collected_;  // values of the loop
  std::vector<bool> carries_;                // by value
  std::vector<ec::Tensor*> initial_;         // of those that are carried
  ec::Tensor* trips_ = nullptr;
  ec::Tensor* first_ = nullptr;  // the condition before the first iteration
};

Status convert_while(OpContext& ctx) {
  EC_TRY(LoopForm form, loop_form(ctx));
  return LoopBuilder(ctx, std::move(form)).convert();
}

constexpr OpRow kRows[] = {
    {"While", {1, kMany}, convert_while, Takes::Anything},
    {"StatelessWhile", {1, kMany}, convert_while, Takes::Anything},
};

}  // namespace

const std::span<const OpRow> kWhileRows = kRows;

}  // namespace ec::tf
