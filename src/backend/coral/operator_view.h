// One operator of a TFLite file with what the rules of the device ask about: types, shapes,
// constants, options.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/tflite/model_file.h"

namespace ec::coral {

class OperatorView {
 public:
  OperatorView(const tflite::ModelFile& file, const tflite::SubGraph& graph,
               const tflite::Operator& op)
      : file_(&file), graph_(&graph), op_(&op) {}

  const tflite::Operator& op() const { return *op_; }
  tflite::BuiltinOperator code() const;
  bool is_custom() const { return code() == tflite::BuiltinOperator::CUSTOM; }
  std::string name() const;   // "CONV_2D"
  std::string label() const;  // the first result's name: what the user knows the operator by

  size_t num_inputs() const { return tflite::size_of(op_->inputs()); }
  size_t num_outputs() const { return tflite::size_of(op_->outputs()); }
  // Null: the operand is absent.
  const tflite::Tensor* input(size_t i) const;
  const tflite::Tensor* output(size_t i = 0) const;
  bool is_constant(size_t i) const;
  std::vector<int64_t> shape(const tflite::Tensor& tensor) const;
  std::vector<int64_t> input_shape(size_t i) const;
  std::vector<int64_t> output_shape(size_t i = 0) const;
  // A constant int32 or int64 operand's elements.
  std::optional<std::vector<int64_t>> input_integers(size_t i) const;
  // Whether all bytes of a constant operand stand for zero.
  bool is_zero(size_t i) const;
  // Multiply-accumulates of one run.
  int64_t macs() const;
  // Bytes of constant operands that the device keeps: weights and biases.
  int64_t parameter_bytes() const;

 private:
  const tflite::ModelFile* file_;
  const tflite::SubGraph* graph_;
  const tflite::Operator* op_;
};

std::string shape_text(std::span<const int64_t> shape);  // "1x224x224x3"

}  // namespace ec::coral
