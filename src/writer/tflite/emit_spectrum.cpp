// RFFT2D and what reads its complex numbers. The graph has their parts along a last dimension of 2,
// files have a type for them: parts and magnitudes are operators on that type, all other readers
// get the parts packed into the dimension.
#include <algorithm>
#include <bit>

#include "writer/tflite/emitter.h"
#include "writer/tflite/operands.h"

namespace ec::tflite {
namespace {

using Op = BuiltinOperator;

// Length and axis of a forward transform when they are constant.
struct Transform {
  int64_t length = 0;
  int64_t axis = 0;
};
std::optional<Transform> transform_of(const Operation& op) {
  const ec::Tensor& x = *op.input(0);
  const auto axis = op.input(2) == nullptr ? std::optional(-2.0) : scalar_value(op.input(2));
  if (!axis || !x.shape() || op.attrs_as<DftAttrs>().inverse) return std::nullopt;
  Transform t{.length = 0, .axis = positive_axis(static_cast<int64_t>(*axis), x.shape()->rank())};
  const auto length = op.input(1) == nullptr ? std::nullopt : scalar_value(op.input(1));
  if (op.input(1) != nullptr && !length) return std::nullopt;
  const Dim& size = x.shape()->dims()[static_cast<size_t>(t.axis)];
  if (!length && !size.is_static()) return std::nullopt;
  t.length = length ? static_cast<int64_t>(*length) : size.size();
  if (t.length < 2 || !std::has_single_bit(static_cast<uint64_t>(t.length))) return std::nullopt;
  return t;
}

class SpectrumEmitter {
 public:
  SpectrumEmitter(OpEmitter& e, int64_t row_length) : e_(e), lengths_{1, row_length} {}

  Status emit() {
    result_ = e_.op().output();
    const auto rank = static_cast<int64_t>(e_.rank());
    if (const Operation* columns = e_.graph().only_reader(result_, OpKind::Dft))
      if (const auto t = transform_of(*columns);
          t && t->axis + 3 == rank && !columns->attrs_as<DftAttrs>().onesided) {
        lengths_[0] = t->length;
        is_plane_ = true;
        e_.graph().take_along(columns);
        result_ = columns->output();
      }
    EC_CHECK_OK(require_one_open_size(e_.input(0)));
    EC_CHECK_OK(require_one_open_size(*result_));
    transform();
    for (const Use& use : result_->uses()) read(*use.op);
    if (needs_parts_ || e_.graph().graph().is_output(result_)) pack();
    return {};
  }

 private:
  // The dimensions without the parts; a plane of one row where only rows are transformed.
  std::vector<Dim> plane(const ec::Tensor& tensor) const {
    std::vector<Dim> sizes = tensor.shape()->dims();
    sizes.pop_back();
    if (!is_plane_) sizes.insert(sizes.end() - 1, Dim(1));
    return sizes;
  }

  Status require_one_open_size(const ec::Tensor& tensor) const {
    const auto is_open = [](const Dim& dim) { return !dim.is_static(); };
    const bool several = std::ranges::count_if(tensor.shape()->dims(), is_open) > 1;
    return several ? e_.require_static(tensor) : Status();
  }

  // What RESHAPE takes: the one size that is open follows from the others.
  int32_t reshape_sizes(const std::vector<Dim>& dims) {
    std::vector<int64_t> sizes;
    for (const Dim& dim : dims) sizes.push_back(dim.is_static() ? dim.size() : -1);
    return e_.ints(sizes);
  }

  void transform() {
    const std::vector<Dim> from = plane(e_.input(0));
    sizes_ = plane(*result_);
    const int32_t x = e_.step(Op::RESHAPE, {e_.in(0), reshape_sizes(from)},
                              ec::TensorType(DType::F32, Shape(from)));
    numbers_ = e_.graph().add_tensor(result_->name() + "_complex", part_type());
    e_.graph().record().tensors[static_cast<size_t>(numbers_)].is_complex = true;
    e_.add(Op::RFFT2D, {x, e_.ints(lengths_)}, {numbers_});
  }

  ec::TensorType part_type() const { return ec::TensorType(DType::F32, Shape(sizes_)); }

  // A reader that the file has an operator for, or one that needs the packed form.
  void read(const Operation& reader) {
    const auto last = static_cast<int64_t>(result_->shape()->rank()) - 1;
    Op code = Op::RFFT2D;
    if (reader.kind() == OpKind::ReduceL2 && !reader.attrs_as<ReduceAttrs>().keep_dims) {
      const auto axes = int_values(reader.input(1));
      if (axes && axes->size() == 1 && positive_axis((*axes)[0], e_.rank()) == last)
        code = Op::COMPLEX_ABS;
    } else if (reader.kind() == OpKind::Gather && reader.input(0) == result_ &&
               reader.input(1)->shape() && reader.input(1)->shape()->rank() == 0 &&
               positive_axis(reader.attrs_as<GatherAttrs>().axis, e_.rank()) == last) {
      if (const auto part = scalar_value(reader.input(1))) code = *part == 0 ? Op::REAL : Op::IMAG;
    }
    if (code == Op::RFFT2D) {
      needs_parts_ = true;
      return;
    }
    e_.graph().take_along(&reader);
    const int32_t target = e_.graph().tensor(reader.output());
    if (is_plane_) return e_.add(code, {numbers_}, {target});
    const int32_t y = e_.step(code, {numbers_}, part_type());
    e_.add(Op::RESHAPE, {y, reshape_sizes(reader.output()->shape()->dims())}, {target});
  }

  void pack() {
    const int32_t real = e_.step(Op::REAL, {numbers_}, part_type());
    const int32_t imaginary = e_.step(Op::IMAG, {numbers_}, part_type());
    std::vector<Dim> packed = sizes_;
    packed.emplace_back(2);
    const Options opts =
        options(BuiltinOptions::PackOptions,
                CreatePackOptions(e_.fbb(), 2, static_cast<int32_t>(sizes_.size())));
    const int32_t target = e_.graph().tensor(result_);
    if (is_plane_) return e_.add(Op::PACK, {real, imaginary}, {target}, opts);
    const int32_t y =
        e_.step(Op::PACK, {real, imaginary}, ec::TensorType(DType::F32, Shape(packed)), opts);
    e_.add(Op::RESHAPE, {y, reshape_sizes(result_->shape()->dims())}, {target});
  }

  OpEmitter& e_;
  std::vector<int64_t> lengths_;  // rows and columns, as the operator takes them
  bool is_plane_ = false;         // columns are transformed, too
  const ec::Tensor* result_ = nullptr;
  std::vector<Dim> sizes_;
  int32_t numbers_ = 0;  // the complex tensor
  bool needs_parts_ = false;
};

Status emit_dft(OpEmitter& e) {
  const auto t = transform_of(e.op());
  const auto rank = static_cast<int64_t>(e.rank());
  const bool is_real = e.input(0).shape()->dims().back() == Dim(1);
  if (!t || !e.attrs<DftAttrs>().onesided || t->axis + 2 != rank || !is_real ||
      e.dtype() != DType::F32)
    return e.fail("a transform that is neither RFFT2D nor a product with a matrix",
                  std::string(kPipelineHint));
  return SpectrumEmitter(e, t->length).emit();
}

constexpr EmitRow kRows[] = {
    {OpKind::Dft, emit_dft},
};

}  // namespace

const std::span<const EmitRow> kEmitSpectrum = kRows;

}  // namespace ec::tflite
