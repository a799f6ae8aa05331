#include "fuzz/op/generate.h"

#include <algorithm>
#include <limits>

#include "frontend/default_sizes.h"
#include "fuzz/op/recipes.h"

namespace ec::fuzz {
namespace {

constexpr int64_t kMostElements = 4096;
constexpr int kTries = 12;
constexpr int kMostDepth = 2;

bool has_bodies(OpKind kind) {
  return kind == OpKind::If || kind == OpKind::Loop || kind == OpKind::Scan;
}
// State lives in the outermost graph; operations of other programs cannot be run.
bool fits_in_body(OpKind kind, int depth) {
  if (kind == OpKind::ReadState || kind == OpKind::WriteState || kind == OpKind::Custom)
    return false;
  return depth < kMostDepth || !has_bodies(kind);
}

OpKind any_kind(Builder& b) {
  static const std::vector<OpKind> kUsual = {
      OpKind::Add,     OpKind::Mul,        OpKind::Relu,    OpKind::Conv,   OpKind::Transpose,
      OpKind::Reshape, OpKind::MatMul,     OpKind::Sigmoid, OpKind::Concat, OpKind::MaxPool,
      OpKind::Slice,   OpKind::ReduceMean, OpKind::Cast,    OpKind::Clip,   OpKind::Softmax,
      OpKind::Gather,  OpKind::Pad,        OpKind::AvgPool, OpKind::Sub,    OpKind::Gemm};
  const auto all = all_ops();
  while (true) {
    const OpKind kind =
        b.random().chance(40) ? b.random().one_of(kUsual) : all[b.random().index(all.size())]->kind;
    if (!b.options().is_body || fits_in_body(kind, b.options().depth)) return kind;
  }
}

// Results beyond the limit would make a model about memory; those are made by the wild level.
bool is_small(const Operation& op) {
  return std::all_of(op.outputs().begin(), op.outputs().end(), [](const Tensor* output) {
    if (!output->shape()) return true;
    int64_t known = 1;
    for (const Dim& dim : *output->shape()) {
      if (!dim.is_static()) continue;
      const auto product = checked_mul(known, dim.size());
      if (!product) return false;
      known = *product;
    }
    return known <= kMostElements;
  });
}

// Offers a call to inference; null: it was refused.
Operation* offer(Builder& b, Call call, bool any_size) {
  OpSpec spec;
  spec.attrs = std::move(call.attrs);
  spec.location = Location("node" + std::to_string(b.graph().operation_id_bound()));
  spec.num_outputs = call.outputs;
  spec.bodies = std::move(call.bodies);
  Result<Operation*> op = b.graph().add(call.kind, std::move(call.inputs), std::move(spec));
  if (!op.ok()) return nullptr;
  if (!any_size && !is_small(**op)) {
    b.graph().erase(*op);
    return nullptr;
  }
  b.give_parameters(**op);
  for (Tensor* output : (*op)->outputs()) b.keep(output);
  return *op;
}

Operation* add_legal(Builder& b, OpKind kind, int tries) {
  for (int i = 0; i < tries; ++i) {
    Call call{kind};
    if (const Recipe* recipe = find_recipe(kind))
      recipe->fill(b, call);
    else
      fill_wild(b, call);
    if (Operation* op = offer(b, std::move(call), false)) return op;
  }
  return nullptr;
}

Operation* add_disturbed(Builder& b, OpKind kind) {
  Call call{kind};
  if (const Recipe* recipe = find_recipe(kind)) recipe->fill(b, call);
  disturb_call(b, call);
  return offer(b, std::move(call), false);
}

Operation* add_wild(Builder& b, OpKind kind) {
  Call call{kind};
  fill_wild(b, call);
  return offer(b, std::move(call), true);
}

// Everything that nothing reads is a result, and at times what is read, too.
void choose_outputs(Builder& b) {
  Graph& graph = b.graph();
  size_t count = 0;
  for (Tensor* tensor : graph.tensors()) {
    if (tensor->producer() == nullptr) continue;
    if (!tensor->uses().empty() && !b.random().chance(8)) continue;
    if (tensor->uses().empty() && tensor->producer()->kind() == OpKind::WriteState) continue;
    graph.add_output("y" + std::to_string(count++), tensor);
  }
  if (count > 0) return;
  // Files without results are refused by every reader.
  for (Tensor* tensor : graph.tensors())
    if (!tensor->is_constant() || b.random().chance(50)) return graph.add_output("y", tensor);
  Tensor* made = b.given(b.random_value(DType::F32, {2}), false);
  graph.add_output("y", made);
}

// What refused calls left behind.
void drop_unused(Graph& graph, std::vector<Value>& values) {
  for (size_t i = graph.inputs().size(); i-- > 0;) {
    if (!graph.is_unused(graph.inputs()[i])) continue;
    graph.erase_input(i);
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (Tensor* tensor : graph.tensors())
    if (tensor->is_constant() && graph.is_unused(tensor)) graph.erase(tensor);
}

// One of the open sizes becomes immense, wherever it stands: tables, masks and states as large as a
// tensor show. Such a model has no values. Where inference refuses the size the model stays.
void enlarge(Builder& b, Model& model) {
  std::vector<std::string> symbols;
  for (const Tensor* input : model.graph->inputs())
    for (const Dim& dim : *input->shape())
      if (dim.is_symbol()) symbols.emplace_back(dim.symbol_name());
  if (symbols.empty()) return;
  const std::string chosen = b.random().one_of(symbols);
  const int64_t size = b.random().one_of<int64_t>(
      {1 << 16, 1 << 20, 1 << 24, 1 << 28, 1 << 30, std::numeric_limits<int32_t>::max()});
  GivenShapes shapes;
  for (const Tensor* input : model.graph->inputs()) {
    std::vector<int64_t> sizes = b.sizes_of(input).value_or(Sizes(input->shape()->rank(), 1));
    for (size_t d = 0; d < sizes.size(); ++d) {
      const Dim& dim = (*input->shape())[d];
      if (dim.is_symbol() && dim.symbol_name() == chosen) sizes[d] = size;
    }
    shapes[input->name()] = std::move(sizes);
  }
  std::unique_ptr<Graph> large = model.graph->clone();
  DiagnosticSink sink;
  if (!bind_shapes(*large, shapes, sink).ok() || !verify(*large).empty()) return;
  model.graph = std::move(large);
  model.inputs.clear();
}

Level choose_level(RandomSource& random) {
  const int64_t draw = random.pick(0, 99);
  return draw < 55   ? Level::Legal
         : draw < 75 ? Level::Near
         : draw < 88 ? Level::Wild
         : draw < 97 ? Level::File
         : draw < 98 ? Level::Immense
                     : Level::Recorded;
}

// Of files of nodes that follow no rule.
const std::vector<void (*)(RandomSource&, Model&)> kFileGenerators = {
    generate_onnx_file,  generate_tensorflow_file,  generate_coreml_file,
    generate_keras_file, generate_torchscript_file, generate_torch_export_file,
};

BuilderOptions choose_options(RandomSource& random, Model& model) {
  BuilderOptions options;
  options.values = &model.inputs;
  if (random.chance(12))
    options.real = random.one_of({DType::F16, DType::F64, DType::BF16});
  else if (random.chance(15))
    options.stored = random.one_of({DType::I8, DType::I8, DType::U8, DType::I16});
  options.open_sizes = model.level == Level::Immense || random.chance(20);
  return options;
}

}  // namespace

void add_operations(Builder& b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) add_legal(b, any_kind(b), 2);
}

Model generate(uint64_t seed, const GenerateOptions& options) {
  RandomSource random(seed);
  Model model;
  const Level level = choose_level(random);
  model.level = options.level.value_or(level);
  const auto all = all_ops();
  model.subject = options.subjects.empty() ? all[random.index(all.size())]->kind
                                           : random.one_of(options.subjects);
  if (model.level == Level::Recorded && !generate_recorded(random, options.recorded, model))
    model.level = Level::File;
  if (model.level == Level::Recorded) return model;
  if (model.level == Level::File) {
    if (!random.chance(70) || !generate_damaged(random, options, model))
      random.one_of(kFileGenerators)(random, model);
    return model;
  }
  model.graph = std::make_unique<Graph>("fuzz");
  Builder b(*model.graph, random, choose_options(random, model));
  const int64_t before = random.chance(50) ? 0 : random.pick(1, 3);
  const int64_t behind = random.chance(40) ? 0 : random.pick(1, 4);
  const auto add = [&](OpKind kind, bool subject) {
    model.tried.push_back(kind);
    Operation* op = nullptr;
    if (model.level == Level::Wild)
      op = add_wild(b, kind);
    else if (model.level == Level::Near && (subject || random.chance(30)))
      op = add_disturbed(b, kind);
    else
      op = add_legal(b, kind, kTries);
    if (op != nullptr) model.taken.push_back(kind);
  };
  for (int64_t i = 0; i < before; ++i) add(any_kind(b), false);
  // A disturbed call is refused more often than not: offer it several times.
  const size_t taken = model.taken.size();
  const int offers = model.level == Level::Legal ? 1 : 6;
  for (int i = 0; i < offers && model.taken.size() == taken; ++i) add(model.subject, true);
  for (int64_t i = 0; i < behind; ++i) add(any_kind(b), false);
  choose_outputs(b);
  if (random.chance(90)) drop_unused(*model.graph, model.inputs);
  if (model.level == Level::Immense) enlarge(b, model);
  return model;
}

}  // namespace ec::fuzz
