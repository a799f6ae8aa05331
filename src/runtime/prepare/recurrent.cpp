// LSTM and GRU with their usual activations and constant weights: one product for the inputs of all
// steps, then one small product per step.
#include "runtime/kernels/gemm.h"
#include "runtime/prepare/prepare.h"

namespace ec::prepare {

namespace {

enum : size_t { kX, kW, kR, kB, kLens, kH0, kC0, kP };

using kernels::BinaryOp;
using kernels::KernelTable;
using kernels::PackedGemm;
using kernels::UnaryOp;

struct Layer {
  const KernelTable* table = nullptr;
  bool lstm = true;
  int64_t time = 0, batch = 0, input = 0, hidden = 0, directions = 1, gates = 4;
  bool reverse_only = false;
  bool has_h0 = false, has_c0 = false;
  std::vector<std::unique_ptr<PackedGemm>> inputs, recurrences;  // by direction
  size_t pre_bytes = 0, step_bytes = 0, state_bytes = 0, work_bytes = 0;

  size_t scratch_bytes() const { return pre_bytes + step_bytes + 3 * state_bytes + work_bytes; }
  bool backwards(int64_t d) const { return reverse_only || d == 1; }

  void unary(UnaryOp op, const float* x, float* y, int64_t n) const {
    table->unary[static_cast<size_t>(op)](x, y, n, 0.0F, 0.0F);
  }
  void binary(BinaryOp op, const float* a, const float* b, float* y, int64_t n) const {
    table->binary[static_cast<size_t>(op)].vv(a, b, y, n);
  }

  // Gates i, o, f, c of one sequence; `s` holds their sums.
  void step_lstm(float* s, float* h, float* c, float* spare) const {
    const int64_t n = hidden;
    unary(UnaryOp::Sigmoid, s, s, 3 * n);
    unary(UnaryOp::Tanh, s + 3 * n, s + 3 * n, n);
    binary(BinaryOp::Mul, s + 2 * n, c, c, n);
    binary(BinaryOp::Mul, s, s + 3 * n, spare, n);
    binary(BinaryOp::Add, c, spare, c, n);
    unary(UnaryOp::Tanh, c, spare, n);
    binary(BinaryOp::Mul, s + n, spare, h, n);
  }

  // Gates z, r, h; `pre` is the product with the input, `s` the one with the state.
  void step_gru(const float* pre, float* s, float* h, float* spare) const {
    const int64_t n = hidden;
    binary(BinaryOp::Add, pre, s, s, 2 * n);
    unary(UnaryOp::Sigmoid, s, s, 2 * n);
    binary(BinaryOp::Mul, s + n, s + 2 * n, spare, n);
    binary(BinaryOp::Add, pre + 2 * n, spare, spare, n);
    unary(UnaryOp::Tanh, spare, spare, n);
    // (1 - z) * candidate + z * h
    binary(BinaryOp::Sub, h, spare, h, n);
    binary(BinaryOp::Mul, s, h, h, n);
    binary(BinaryOp::Add, h, spare, h, n);
  }

  void run_direction(int64_t d, const RunArgs& args) const {
    auto* pre = reinterpret_cast<float*>(args.scratch);
    auto* s = reinterpret_cast<float*>(args.scratch + pre_bytes);
    auto* h = reinterpret_cast<float*>(args.scratch + pre_bytes + step_bytes);
    auto* c = reinterpret_cast<float*>(args.scratch + pre_bytes + step_bytes + state_bytes);
    auto* spare = reinterpret_cast<float*>(args.scratch + pre_bytes + step_bytes + 2 * state_bytes);
    std::byte* work = args.scratch + scratch_bytes() - work_bytes;
    const int64_t width = gates * hidden;
    const int64_t state = batch * hidden;
    const auto at = static_cast<size_t>(d);
    start(h, has_h0 ? args.in(kH0) + d * state : nullptr, state);
    start(c, has_c0 ? args.in(kC0) + d * state : nullptr, state);
    inputs[at]->run(args.in(kX), input, time * batch, pre, width, nullptr, args.pool, work);
    for (int64_t i = 0; i < time; ++i) {
      const int64_t t = backwards(d) ? time - 1 - i : i;
      const float* now = pre + t * batch * width;
      recurrences[at]->run(h, hidden, batch, s, width, lstm ? now : nullptr, args.pool, work);
      for (int64_t b = 0; b < batch; ++b) {
        if (lstm) {
          step_lstm(s + b * width, h + b * hidden, c + b * hidden, spare);
        } else {
          step_gru(now + b * width, s + b * width, h + b * hidden, spare);
        }
      }
      std::copy(h, h + state, args.out(0) + (t * directions + d) * state);
    }
    if (args.outputs.size() > 1) std::copy(h, h + state, args.out(1) + d * state);
    if (args.outputs.size() > 2) std::copy(c, c + state, args.out(2) + d * state);
  }

 private:
  static void start(float* state, const float* given, int64_t n) {
    if (given != nullptr) {
      std::copy(given, given + n, state);
    } else {
      std::fill(state, state + n, 0.0F);
    }
  }
};

bool usual_form(const OpInstance& op) {
  const auto& attrs = op.attrs<RecurrentAttrs>();
  if (!attrs.activations.empty() || attrs.clip != 0.0F || attrs.input_forget || attrs.batch_first ||
      attrs.dynamic_quantize_inputs)
    return false;
  if (op.op.kind() == OpKind::Gru && !attrs.linear_before_reset) return false;
  for (const size_t i : {kW, kR, kB})
    if (op.has(i) && op.input(i).constant == nullptr) return false;
  return !op.has(kLens) && !op.has(kP) && all_f32(op);
}

// A GRU's candidate gate keeps the two biases apart: the recurrent one is scaled by the reset gate.
void pack_direction(Layer& layer, const OpInstance& op, int64_t d, const PrepareContext& ctx) {
  const int64_t width = layer.gates * layer.hidden;
  const float* w = op.input(kW).f32() + d * width * layer.input;
  const float* r = op.input(kR).f32() + d * width * layer.hidden;
  std::vector<float> input_bias(static_cast<size_t>(width), 0.0F);
  std::vector<float> step_bias(static_cast<size_t>(width), 0.0F);
  if (op.has(kB)) {
    const float* b = op.input(kB).f32() + d * 2 * width;
    for (int64_t i = 0; i < width; ++i) {
      const bool apart = !layer.lstm && i >= 2 * layer.hidden;
      input_bias[static_cast<size_t>(i)] = b[i] + (apart ? 0.0F : b[width + i]);
      step_bias[static_cast<size_t>(i)] = apart ? b[width + i] : 0.0F;
    }
  }
  layer.inputs.push_back(std::make_unique<PackedGemm>(ctx.table, layer.input, width,
                                                      kernels::MatrixRef{w, 1, layer.input}, 1.0F,
                                                      input_bias.data(), kernels::Epilogue{}));
  layer.recurrences.push_back(std::make_unique<PackedGemm>(
      ctx.table, layer.hidden, width, kernels::MatrixRef{r, 1, layer.hidden}, 1.0F,
      step_bias.data(), kernels::Epilogue{}));
}

}  // namespace

Prepared recurrent(const OpInstance& op, const PrepareContext& ctx) {
  if (!usual_form(op)) return nullptr;
  const auto& attrs = op.attrs<RecurrentAttrs>();
  auto layer = std::make_shared<Layer>();
  layer->table = &ctx.table;
  layer->lstm = op.op.kind() == OpKind::Lstm;
  layer->gates = layer->lstm ? 4 : 3;
  layer->time = op.input(kX).shape[0];
  layer->batch = op.input(kX).shape[1];
  layer->input = op.input(kX).shape[2];
  layer->hidden = op.input(kR).shape[2];
  layer->directions = op.input(kW).shape[0];
  layer->reverse_only = attrs.direction == Direction::Reverse;
  layer->has_h0 = op.has(kH0);
  layer->has_c0 = op.has(kC0);
  size_t packed = 0;
  for (int64_t d = 0; d < layer->directions; ++d) {
    pack_direction(*layer, op, d, ctx);
    packed += layer->inputs.back()->packed_bytes() + layer->recurrences.back()->packed_bytes();
  }
  const auto floats = [](int64_t n) { return align_up(static_cast<size_t>(n) * sizeof(float)); };
  const int64_t width = layer->gates * layer->hidden;
  layer->pre_bytes = floats(layer->time * layer->batch * width);
  layer->step_bytes = floats(layer->batch * width);
  layer->state_bytes = floats(layer->batch * layer->hidden);
  layer->work_bytes =
      std::max(layer->inputs[0]->scratch_bytes(layer->time * layer->batch, ctx.threads),
               layer->recurrences[0]->scratch_bytes(layer->batch, ctx.threads));
  return make_op(
      [layer](const RunArgs& args) {
        for (int64_t d = 0; d < layer->directions; ++d) layer->run_direction(d, args);
      },
      layer->scratch_bytes(), 0, packed);
}

}  // namespace ec::prepare
