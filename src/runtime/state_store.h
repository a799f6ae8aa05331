// The state that a session keeps from one run to the next: the value of every write_state, by name.
// What a run writes counts once the run has ended well; a run that fails leaves the state as it
// was.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ops/value.h"

namespace ec {

class StateStore {
 public:
  // Null: nothing was written since the start or the last reset.
  const Value* find(std::string_view name) const {
    const auto it = kept_.find(name);
    return it == kept_.end() ? nullptr : &it->second;
  }
  void stage(const std::string& name, Value value) {
    staged_.insert_or_assign(name, std::move(value));
  }
  void commit() {
    for (auto& [name, value] : staged_) kept_.insert_or_assign(name, std::move(value));
    staged_.clear();
  }
  void discard() { staged_.clear(); }
  void reset() {
    kept_.clear();
    staged_.clear();
  }

 private:
  std::map<std::string, Value, std::less<>> kept_, staged_;
};

}  // namespace ec
