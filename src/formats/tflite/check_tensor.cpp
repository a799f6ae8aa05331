#include "formats/tflite/check_tensor.h"

#include <cmath>

namespace ec::tflite {
namespace {

class TensorChecker {
 public:
  TensorChecker(const ModelFile& file, const SubGraph& graph, int32_t index, DiagnosticSink& sink)
      : file_(file),
        tensor_(*graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index))),
        label_(tensor_label(graph, index)),
        sink_(sink) {}

  void run() {
    check_type();
    if (tensor_.buffer() >= file_.model().buffers()->size())
      return fault(Code::CorruptFile,
                   "buffer " + std::to_string(tensor_.buffer()) + " does not exist");
    if (!check_shape()) return;
    check_data();
    check_quantization();
  }

 private:
  void fault(Code code, const std::string& message) {
    sink_.report(Error(code, label_ + ": " + message)
                     .hint("the file breaks the rules of its format: export or copy it again"));
  }

  void check_type() {
    const auto number = static_cast<int>(tensor_.type());
    if (number < 0 || number > static_cast<int>(TensorType::UINT4))
      fault(Code::UnsupportedType, "element type " + std::to_string(number) + " is not known");
  }

  bool check_shape() {
    constexpr size_t kMaxRank = 64;
    const size_t rank = size_of(tensor_.shape());
    if (rank > kMaxRank) return fault(Code::TooLarge, std::to_string(rank) + " dimensions"), false;
    if (!count_elements(tensor_.shape()))
      return fault(Code::TooLarge, "a size of the shape is negative or the product does not fit"),
             false;
    const size_t signature = size_of(tensor_.shape_signature());
    if (signature != 0 && signature != rank)
      return fault(Code::CorruptFile, "shape and shape signature have different ranks"), false;
    for (uint32_t i = 0; i < signature; ++i)
      if (tensor_.shape_signature()->Get(i) < -1)
        return fault(Code::CorruptFile, "the shape signature has a negative size"), false;
    return true;
  }

  void check_data() {
    const std::optional<Blob> data = file_.constant_data(tensor_);
    const int bits = element_bits(tensor_.type());
    const std::optional<int64_t> count = count_elements(tensor_.shape());
    if (!data || !count || bits == 0 || tensor_.sparsity() != nullptr) return;
    const auto elements = static_cast<uint64_t>(*count);
    if (elements > UINT64_MAX / 128) return fault(Code::TooLarge, "its size does not fit");
    const uint64_t bytes = (elements * static_cast<uint64_t>(bits) + 7) / 8;
    if (data->size() != bytes)
      fault(Code::BadTensorData, "its shape needs " + std::to_string(bytes) + " bytes of " +
                                     std::string(tensor_type_name(tensor_.type())) +
                                     ", the buffer has " + std::to_string(data->size()));
  }

  void check_quantization() {
    const QuantizationParameters* quant = tensor_.quantization();
    const size_t scales = quant != nullptr ? size_of(quant->scale()) : 0;
    if (scales == 0) return;
    for (const float scale : *quant->scale())
      if (!std::isfinite(scale) || scale < 0)
        return fault(Code::BadQuantParams, "a scale is " + std::to_string(scale));
    const size_t zeros = size_of(quant->zero_point());
    if (zeros != scales && zeros > 1)
      return fault(Code::BadQuantParams, std::to_string(scales) + " scales and " +
                                             std::to_string(zeros) + " zero points");
    for (uint32_t i = 0; i < zeros; ++i)
      if (quant->zero_point()->Get(i) < INT32_MIN || quant->zero_point()->Get(i) > INT32_MAX)
        return fault(Code::BadQuantParams, "a zero point does not fit 32 bits");
    if (scales > 1 && !quantized_axis(tensor_))
      fault(Code::BadQuantParams, std::to_string(scales) + " scales do not fit dimension " +
                                      std::to_string(quant->quantized_dimension()));
  }

  const ModelFile& file_;
  const Tensor& tensor_;
  const std::string label_;
  DiagnosticSink& sink_;
};

}  // namespace

std::optional<int64_t> count_elements(const flatbuffers::Vector<int32_t>* shape) {
  int64_t count = 1;
  for (uint32_t i = 0; i < size_of(shape); ++i) {
    const int32_t size = shape->Get(i);
    if (size < 0 || __builtin_mul_overflow(count, int64_t{size}, &count)) return std::nullopt;
  }
  return count;
}

std::optional<int32_t> quantized_axis(const Tensor& tensor) {
  const QuantizationParameters& quant = *tensor.quantization();
  const auto fits = [&](int32_t axis) {
    return axis >= 0 && static_cast<size_t>(axis) < size_of(tensor.shape()) &&
           static_cast<size_t>(tensor.shape()->Get(static_cast<flatbuffers::uoffset_t>(axis))) ==
               quant.scale()->size();
  };
  if (fits(quant.quantized_dimension())) return quant.quantized_dimension();
  if (size_of(tensor.shape()) == 1 && fits(0)) return 0;
  return std::nullopt;
}

void check_tensor(const ModelFile& file, const SubGraph& graph, int32_t index,
                  DiagnosticSink& sink) {
  TensorChecker(file, graph, index, sink).run();
}

}  // namespace ec::tflite
