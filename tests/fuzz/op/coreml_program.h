// Random ML Programs for generate_coreml_file.cpp: operations of the importer's own table with
// operands of every kind. Names of operators and parameters are right, everything else is as it
// comes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/coreml/package.h"
#include "frontend/coreml/table.h"
#include "fuzz/op/coreml_values.h"

namespace ec::fuzz {

// What a converter asks of a parameter.
struct CoremlParameter {
  enum class Kind : uint8_t {
    Tensor,
    Tensors,
    Integer,
    Integers,
    Number,
    Flag,
    Text,
    TypeName,
    List,
    State
  };
  std::string_view name;
  bool optional = false;
  std::vector<Kind> kinds;  // those that its family of converters asks for
};

struct CoremlOperator {
  const mil::OpRow* row;
  std::vector<CoremlParameter> parameters;
  std::vector<std::string_view> words;  // texts that its family knows
};

const std::vector<CoremlOperator>& coreml_operators_to_try();

class CoremlProgram {
 public:
  // Values may go to `weights`; null: there is no weight file.
  CoremlProgram(RandomSource& random, coreml::WeightFile* weights)
      : random_(random), values_(random), weights_(weights) {}

  CoremlValues& values() { return values_; }
  coreml::Function function(const CoremlOperator& subject, int opset);

 private:
  struct Known {
    enum class Kind : uint8_t { Tensor, List, State };
    std::string name;
    coreml::ValueType type;
    Kind kind = Kind::Tensor;
  };
  using Operands = std::vector<coreml::Binding>;

  std::string new_name() { return "v" + std::to_string(names_++); }
  const Known* any_known(Known::Kind kind);
  coreml::Binding constant(coreml::Value value);
  coreml::Binding tensor(coreml::DataType type, const std::vector<int64_t>& dims, bool computed);
  std::string input(coreml::DataType type, const std::vector<int64_t>& dims);
  void add_list();
  std::string state();

  // --- operands of one operation
  void add_operation(const CoremlOperator& op);
  void fit_first(const coreml::Binding& binding);
  Operands operand(const CoremlOperator& op, const CoremlParameter& parameter);
  coreml::Binding tensor_operand(const CoremlOperator& op, std::string_view parameter);
  bool hinted_dims(std::string_view op, std::string_view parameter, coreml::DataType& type,
                   std::vector<int64_t>& dims);
  std::vector<int64_t> numbers_for(std::string_view op, std::string_view parameter);
  std::string text_for(const CoremlOperator& op, std::string_view parameter);
  std::string equation();
  coreml::ValueType result_type(std::string_view op, size_t i);
  size_t usual_outputs(std::string_view op) const;
  const CoremlOperator& any_operator();

  // --- blocks
  void add_blocks(coreml::Operation& made);
  coreml::Block block(std::vector<coreml::NamedType> inputs, size_t outputs, bool condition);

  RandomSource& random_;
  CoremlValues values_;
  coreml::WeightFile* const weights_;
  int opset_ = 8, depth_ = 0;
  size_t names_ = 0;
  std::vector<Known> known_;
  std::vector<coreml::NamedType> inputs_;
  std::vector<coreml::Operation> operations_;  // of the block that is being made
  // The first operand of the operation that is being made: others shall fit it.
  coreml::ValueType first_;
  bool has_first_ = false;
  int64_t operands_ = 1;                             // of the list that the operation was given
  std::vector<coreml::ValueType> loop_types_;        // of the variables of the newest loop
  std::vector<int64_t> elements_;                    // the shape of the elements of the newest list
  coreml::DataType to_ = coreml::DataType::Float32;  // the type that the operation names
};

}  // namespace ec::fuzz
