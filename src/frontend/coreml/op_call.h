// What a converter sees of one operation: parameters by name, declared results, and the graph to
// build into. Problems are remembered (GraphBuilder).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/coreml/model.h"
#include "frontend/coreml/importer.h"
#include "frontend/coreml/scope.h"
#include "frontend/graph_builder.h"

namespace ec::mil {

class OpCall : public GraphBuilder {
 public:
  OpCall(Importer& importer, Scope& scope, const coreml::Operation& op, Location location)
      : GraphBuilder(scope.site.graph, std::move(location)),
        importer_(importer),
        scope_(scope),
        op_(op),
        results_(op.outputs.size()) {}

  Importer& importer() const { return importer_; }
  Scope& scope() const { return scope_; }
  const coreml::Operation& source() const { return op_; }
  int opset() const { return scope_.opset; }

  // --- parameters -------------------------------------------------------------------------------
  bool has(std::string_view parameter) const;
  // The tensor of a parameter; an error where it is absent or no tensor.
  Tensor* in(std::string_view parameter);
  Tensor* maybe(std::string_view parameter);  // null: absent
  // The same with the element type of another: constants may be stored in a wider type.
  Tensor* like_type(std::string_view parameter, const Tensor* x);
  Tensors list(std::string_view parameter);  // of a parameter with several values
  // What a parameter stands for; null: absent.
  const MilValue* value(std::string_view parameter, size_t i = 0) const;
  // Its value in the file; null: absent or computed.
  const coreml::Value* stored(std::string_view parameter) const;
  // Integers that have to be known; several values of one each count as a list.
  Ints ints(std::string_view parameter);
  Ints ints(std::string_view parameter, Ints otherwise);
  // Nothing where they are computed.
  std::optional<Ints> known(std::string_view parameter);
  int64_t integer(std::string_view parameter);
  int64_t integer(std::string_view parameter, int64_t otherwise);
  double number(std::string_view parameter);
  double number(std::string_view parameter, double otherwise);
  bool flag(std::string_view parameter, bool otherwise);
  std::string text(std::string_view parameter, std::string_view otherwise);
  DType dtype(std::string_view parameter, std::string_view otherwise);
  // Integers as i64[n], for operands of the IR that are.
  Tensor* as_i64(Tensor* x);
  // An axis of x, by a parameter.
  int64_t axis_of(const Tensor* x, std::string_view parameter, int64_t otherwise);
  // All axes where the parameter is absent.
  Ints axes_of(const Tensor* x, std::string_view parameter);

  // Whether constants of so many elements may be made; an error otherwise.
  bool afford(int64_t elements);

  // --- results ----------------------------------------------------------------------------------
  size_t num_outputs() const { return op_.outputs.size(); }
  DType declared_dtype(size_t i = 0);
  void bind(size_t i, MilValue value);
  void bind(size_t i, Tensor* tensor) { bind(i, MilValue::of(tensor)); }
  std::vector<MilValue>& results() { return results_; }
  // The results cannot be had, and why was reported already.
  void poison() { poisoned_ = true; }
  bool is_poisoned() const { return poisoned_; }

 private:
  Tensor* tensor_of(const MilValue& value, std::string_view parameter);

  Importer& importer_;
  Scope& scope_;
  const coreml::Operation& op_;
  std::vector<MilValue> results_;
  bool poisoned_ = false;
};

// The elements of a stored value of integers or booleans; nothing: something else.
std::optional<Ints> stored_ints(const coreml::Value& value);
std::optional<double> stored_number(const coreml::Value& value);

}  // namespace ec::mil
