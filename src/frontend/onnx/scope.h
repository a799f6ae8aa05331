// Names of an ONNX graph and what they stand for. Scopes of nested graphs chain to the graph around
// them; reading a name from there makes the capture explicit, level by level, as the IR's closed
// bodies need it.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/onnx/model.h"
#include "ir/graph.h"

namespace ec::onnx {

// What a name stands for. Sequences and optionals exist only at import: they are resolved to
// tensors, element by element, where their lengths are known.
struct Binding {
  enum class Kind : uint8_t {
    Absent,       // an optional input that is not given, or an empty optional
    Tensor,       //
    Sequence,     // of known length
    Initializer,  // not yet read from the file
    Poisoned      // its producer failed: consumers are skipped without another message
  };
  Kind kind = Kind::Absent;
  ec::Tensor* tensor = nullptr;
  std::shared_ptr<const std::vector<Binding>> items;
  const NamedTensor* initializer = nullptr;
  bool sparse = false;  // of an initializer

  static Binding of(ec::Tensor* t) {
    Binding b;
    b.kind = Kind::Tensor;
    b.tensor = t;
    return b;
  }
  static Binding of(std::vector<Binding> elements) {
    Binding b;
    b.kind = Kind::Sequence;
    b.items = std::make_shared<const std::vector<Binding>>(std::move(elements));
    return b;
  }
  static Binding poisoned() {
    Binding b;
    b.kind = Kind::Poisoned;
    return b;
  }
  bool is(Kind k) const { return kind == k; }
};

struct Capture {
  ec::Tensor* outer;
  ec::Tensor* inner;  // an input of the body
};

class Scope {
 public:
  Scope(ec::Graph& graph, Scope* parent) : graph_(graph), parent_(parent) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The types that the file declares for intermediate values: hints where inference knows nothing.
  void set_declared(const Graph* declared) { declared_ = declared; }
  const ValueInfo* declared(std::string_view name);

  ec::Graph& graph() const { return graph_; }
  Scope* parent() const { return parent_; }

  bool defines(std::string_view name) const { return names_.contains(name); }
  // Up to a few thousand names that can be read here, sorted: for messages.
  std::vector<std::string_view> known_names() const;
  void bind(std::string_view name, Binding binding) { names_[name] = std::move(binding); }
  // Looks in this scope only; null when the name is not defined here.
  Binding* find(std::string_view name) {
    const auto it = names_.find(name);
    return it == names_.end() ? nullptr : &it->second;
  }
  // A tensor of an enclosing graph, as seen in this one: constants are repeated (the bytes are
  // shared), other tensors become inputs of this graph.
  ec::Tensor* capture(ec::Tensor* outer);
  const std::vector<Capture>& captures() const { return captures_; }

 private:
  ec::Graph& graph_;
  Scope* parent_;
  std::unordered_map<std::string_view, Binding> names_;
  std::vector<Capture> captures_;
  const Graph* declared_ = nullptr;
  std::unordered_map<std::string_view, const ValueInfo*> declared_by_name_;  // built when asked
  std::unordered_map<const ec::Tensor*, ec::Tensor*> captured_;
};

}  // namespace ec::onnx
