#include "ir/graph.h"

#include <algorithm>
#include <cassert>

#include "ops/convert.h"
#include "ops/infer.h"
#include "ops/op_def.h"
#include "support/deferred_bytes.h"
#include "support/utf8.h"

namespace ec {
namespace {

// Kernels know two truth values; in files every other byte means true as well.
Blob zeros_and_ones(Blob data) {
  (void)read_deferred(data);  // what cannot be read is told when the weights are needed
  const auto other = [](std::byte value) { return value > std::byte{1}; };
  if (std::ranges::none_of(data.bytes(), other)) return data;
  Buffer buffer = Buffer::allocate(data.size());
  if (!buffer.ok()) return data;
  std::ranges::transform(data.bytes(), buffer.data(), [](std::byte value) {
    return value == std::byte{0} ? std::byte{0} : std::byte{1};
  });
  return std::move(buffer).to_blob();
}

}  // namespace

void Location::merge(const Location& other) {
  // A merge beyond this keeps the first names: a hundred thousand equal operations that become one
  // would else cost billions of comparisons.
  constexpr size_t kMaxNodes = 256;
  for (const std::string& node : other.nodes) {
    if (nodes.size() >= kMaxNodes) break;
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
  if (op_type.empty()) op_type = other.op_type;
}

const Blob& Tensor::data() const {
  // A file that cannot be read leaves zeros; whoever reads the model asks its files for faults.
  static_cast<void>(read_deferred(data_));
  if (!data_.is_aligned(element_size(type_.dtype))) data_ = data_.aligned();
  return data_;
}

const OpDef& Operation::def() const { return op_def(kind_); }

Graph::Graph(std::string name) : name_(valid_utf8(std::move(name))) {}
Graph::~Graph() = default;

std::string Graph::unique_name(std::string base) const {
  if (!base.empty() && !by_name_.contains(base)) return base;
  // The next free suffix is remembered per base, so that many equal names stay linear.
  uint32_t& next = next_suffix_[base];
  while (true) {
    std::string candidate =
        base.empty() ? "t" + std::to_string(next) : base + "_" + std::to_string(next + 1);
    ++next;
    if (!by_name_.contains(candidate)) return candidate;
  }
}

Tensor* Graph::new_tensor(std::string name, TensorType type, bool named_by_source) {
  auto tensor = std::unique_ptr<Tensor>(new Tensor());
  tensor->id_ = static_cast<uint32_t>(tensors_.size());
  // Every reader of names, from JSON to Python, expects text.
  tensor->name_ = unique_name(valid_utf8(std::move(name)));
  tensor->named_by_source_ = named_by_source;
  tensor->type_ = std::move(type);
  by_name_.emplace(tensor->name_, tensor.get());
  tensors_.push_back(std::move(tensor));
  return tensors_.back().get();
}

Tensor* Graph::add_input(std::string name, TensorType type) {
  Tensor* tensor = new_tensor(std::move(name), std::move(type), true);
  tensor->is_input_ = true;
  inputs_.push_back(tensor);
  return tensor;
}

Tensor* Graph::add_constant(std::string name, TensorType type, Blob data) {
  assert(type.num_bytes() && static_cast<size_t>(*type.num_bytes()) == data.size());
  const bool named = !name.empty();
  Tensor* tensor = new_tensor(std::move(name), std::move(type), named);
  tensor->is_constant_ = true;
  tensor->data_ =
      tensor->dtype() == DType::Bool ? zeros_and_ones(std::move(data)) : std::move(data);
  return tensor;
}

Tensor* Graph::add_ints(std::string name, std::span<const int64_t> values) {
  return add_constant<int64_t>(std::move(name), Shape{static_cast<int64_t>(values.size())}, values);
}

Tensor* Graph::add_scalar(std::string name, DType dtype, double value) {
  Buffer buffer = Buffer::allocate(element_size(dtype));
  store<double>(MutableView{dtype, {}, buffer.data(), nullptr}, std::span<const double>(&value, 1));
  return add_constant(std::move(name), TensorType(dtype, Shape{}), std::move(buffer).to_blob());
}

Result<Operation*> Graph::add_typed(OpKind kind, std::vector<Tensor*> inputs, OpSpec spec,
                                    std::vector<TensorType> types) {
  const OpDef& def = op_def(kind);
  const std::string op_text =
      spec.location.op_type.empty() ? std::string(def.name) : spec.location.op_type;
  const auto bad_arity = [&](const char* what, size_t n, Arity arity) {
    return Error(Code::BadArity,
                 std::string(def.name) + " takes " + std::to_string(arity.min) +
                     (arity.max < 0 ? " or more" : " to " + std::to_string(arity.max)) + " " +
                     what + ", got " + std::to_string(n))
        .node(std::string(spec.location.name()), op_text);
  };
  if (!def.inputs().accepts(inputs.size())) return bad_arity("inputs", inputs.size(), def.inputs());
  if (!def.outputs().accepts(types.size()))
    return bad_arity("outputs", types.size(), def.outputs());
  for (size_t i = 0; i < static_cast<size_t>(def.inputs().min); ++i)
    if (inputs[i] == nullptr)
      return Error(Code::BadArity, std::string(def.name) + " needs input " + std::to_string(i))
          .node(std::string(spec.location.name()), op_text);
  if (&spec.attrs.schema() != &def.attrs()) {
    if (!spec.attrs.is<NoAttrs>())
      return Error(Code::Internal,
                   std::string(def.name) + " was given " + std::string(spec.attrs.schema().name))
          .node(std::string(spec.location.name()), op_text);
    spec.attrs = Attrs::defaults_of(def.attrs());
  }
  auto owned = std::unique_ptr<Operation>(new Operation());
  Operation* op = owned.get();
  op->id_ = static_cast<uint32_t>(operations_.size());
  op->kind_ = kind;
  op->attrs_ = std::move(spec.attrs);
  op->inputs_ = std::move(inputs);
  op->bodies_ = std::move(spec.bodies);
  for (std::string& node : spec.location.nodes) node = valid_utf8(std::move(node));
  spec.location.op_type = valid_utf8(std::move(spec.location.op_type));
  op->location_ = std::move(spec.location);
  op->graph_ = this;
  operations_.push_back(std::move(owned));
  ++live_operations_;
  for (uint32_t i = 0; i < op->inputs_.size(); ++i) add_use(op, i);
  for (size_t i = 0; i < types.size(); ++i) {
    std::string name =
        i < spec.output_names.size() ? std::move(spec.output_names[i]) : std::string();
    const bool named = !name.empty();
    Tensor* tensor = new_tensor(std::move(name), std::move(types[i]), named);
    tensor->producer_ = op;
    tensor->producer_index_ = static_cast<uint32_t>(i);
    op->outputs_.push_back(tensor);
  }
  return op;
}

Result<Operation*> Graph::add(OpKind kind, std::vector<Tensor*> inputs, OpSpec spec) {
  const size_t num_outputs = spec.num_outputs;
  EC_TRY(Operation * op,
         add_typed(kind, std::move(inputs), std::move(spec), std::vector<TensorType>(num_outputs)));
  if (Status status = infer_operation(*op); !status.ok()) {
    erase(op);
    return std::move(status).error();
  }
  return op;
}

Result<Tensor*> Graph::add_single(OpKind kind, std::vector<Tensor*> inputs, Attrs attrs,
                                  Location location) {
  OpSpec spec;
  spec.attrs = std::move(attrs);
  spec.location = std::move(location);
  EC_TRY(Operation * op, add(kind, std::move(inputs), std::move(spec)));
  return op->output();
}

void Graph::add_output(std::string name, Tensor* tensor) {
  outputs_.push_back(tensor);
  output_names_.push_back(valid_utf8(std::move(name)));
  ++output_count_[tensor];
}

void Graph::set_output(size_t index, Tensor* tensor) {
  if (--output_count_[outputs_[index]] == 0) output_count_.erase(outputs_[index]);
  outputs_[index] = tensor;
  ++output_count_[tensor];
}

bool Graph::is_output(const Tensor* tensor) const { return output_count_.contains(tensor); }

Tensor* Graph::find_tensor(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::vector<Operation*> Graph::topological() const {
  // Depth-first over operands, operations in creation order; explicit stack, so that deep graphs
  // cannot overflow. Operations on a cycle are left out; verify() reports them.
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(operations_.size(), kNew);
  std::vector<Operation*> order;
  order.reserve(live_operations_);
  std::vector<std::pair<Operation*, size_t>> stack;
  for (const auto& root : operations_) {
    if (!root || state[root->id_] != kNew) continue;
    stack.emplace_back(root.get(), 0);
    state[root->id_] = kOpen;
    while (!stack.empty()) {
      auto& [op, next] = stack.back();
      Operation* child = nullptr;
      while (next < op->inputs_.size() && child == nullptr) {
        const Tensor* input = op->inputs_[next++];
        if (input != nullptr && input->producer_ != nullptr && state[input->producer_->id_] == kNew)
          child = input->producer_;
      }
      if (child != nullptr) {
        state[child->id_] = kOpen;
        stack.emplace_back(child, 0);
      } else {
        state[op->id_] = kDone;
        order.push_back(op);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::vector<Tensor*> Graph::tensors() const {
  std::vector<Tensor*> live;
  for (const auto& tensor : tensors_)
    if (tensor) live.push_back(tensor.get());
  return live;
}

void Graph::add_use(Operation* op, uint32_t index) {
  if (Tensor* tensor = op->inputs_[index]) tensor->uses_.add({op, index});
}

void Graph::remove_use(Operation* op, uint32_t index) {
  if (Tensor* tensor = op->inputs_[index]) tensor->uses_.remove({op, index});
}

void Graph::set_operand(Operation* op, size_t index, Tensor* tensor) {
  if (index >= op->inputs_.size()) op->inputs_.resize(index + 1, nullptr);
  remove_use(op, static_cast<uint32_t>(index));
  op->inputs_[index] = tensor;
  add_use(op, static_cast<uint32_t>(index));
}

void Graph::set_operands(Operation* op, std::vector<Tensor*> inputs) {
  for (uint32_t i = 0; i < op->inputs_.size(); ++i) remove_use(op, i);
  op->inputs_ = std::move(inputs);
  for (uint32_t i = 0; i < op->inputs_.size(); ++i) add_use(op, i);
}

void Graph::set_kind(Operation* op, OpKind kind, Attrs attrs) {
  op->kind_ = kind;
  op->attrs_ = std::move(attrs);
}

void Graph::set_constant_data(Tensor* tensor, TensorType type, Blob data) {
  assert(tensor->is_constant_);
  tensor->type_ = std::move(type);
  tensor->data_ =
      tensor->dtype() == DType::Bool ? zeros_and_ones(std::move(data)) : std::move(data);
}

void Graph::rename(Tensor* tensor, std::string name) {
  by_name_.erase(tensor->name_);
  // An invented name gives way to the source's.
  if (const auto it = by_name_.find(name); it != by_name_.end() && !it->second->named_by_source_) {
    Tensor* other = it->second;
    by_name_.erase(it);
    std::string free;
    do free = unique_name({});
    while (free == name);
    other->name_ = std::move(free);
    by_name_.emplace(other->name_, other);
  }
  tensor->name_ = unique_name(valid_utf8(std::move(name)));
  tensor->named_by_source_ = true;
  by_name_.emplace(tensor->name_, tensor);
}

void Graph::replace_all_uses(Tensor* from, Tensor* to) {
  if (from == to) return;
  for (const Use& use : from->uses_) {
    use.op->inputs_[use.index] = to;
    to->uses_.add(use);
  }
  from->uses_.clear();
  if (is_output(from))
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i] == from) set_output(i, to);
  if (from->named_by_source_ && !from->is_input_ && !to->named_by_source_) {
    by_name_.erase(from->name_);
    by_name_.erase(to->name_);
    std::swap(from->name_, to->name_);
    std::swap(from->named_by_source_, to->named_by_source_);
    by_name_.emplace(from->name_, from);
    by_name_.emplace(to->name_, to);
  }
}

void Graph::erase(Operation* op) {
  for (uint32_t i = 0; i < op->inputs_.size(); ++i) remove_use(op, i);
  for (Tensor* tensor : op->outputs_) {
    assert(tensor->uses_.empty() && !is_output(tensor));
    by_name_.erase(tensor->name_);
    tensors_[tensor->id_].reset();
  }
  --live_operations_;
  operations_[op->id_].reset();
}

void Graph::erase(Tensor* tensor) {
  assert(is_unused(tensor) && tensor->producer_ == nullptr);
  by_name_.erase(tensor->name_);
  tensors_[tensor->id_].reset();
}

void Graph::erase_input(size_t index) {
  Tensor* tensor = inputs_[index];
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(index));
  erase(tensor);
}

void Graph::erase_output(size_t index) {
  if (--output_count_[outputs_[index]] == 0) output_count_.erase(outputs_[index]);
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(index));
  output_names_.erase(output_names_.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace ec
