// Counters by name in memory that several processes share. Nothing is allocated and nothing is
// locked: a process may die at any moment.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace ec::fuzz {

class Tally {
 public:
  // Names beyond the length are cut; what finds no place is not counted.
  void add(std::string_view name) {
    name = name.substr(0, kLength - 1);
    const size_t start = std::hash<std::string_view>()(name) % entries_.size();
    for (size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[(start + i) % entries_.size()];
      State seen = State::Free;
      if (entry.state.compare_exchange_strong(seen, State::Claimed)) {
        std::memcpy(entry.name, name.data(), name.size());
        entry.state = State::Named;
        seen = State::Named;
      }
      // Claimed: another process is about to name it, or died there. A name may then take two
      // entries; figures() adds them up.
      if (seen != State::Named || name != entry.name) continue;
      ++entry.count;
      return;
    }
  }

  std::map<std::string, uint64_t> figures() const {
    std::map<std::string, uint64_t> list;
    for (const Entry& entry : entries_)
      if (entry.state == State::Named) list[entry.name] += entry.count;
    return list;
  }

 private:
  static constexpr size_t kLength = 64;
  enum class State : uint8_t { Free, Claimed, Named };
  struct Entry {
    std::atomic<State> state{State::Free};
    char name[kLength] = {};
    std::atomic<uint64_t> count{0};
  };
  std::array<Entry, 1024> entries_;
};

}  // namespace ec::fuzz
