#include "frontend/output_names.h"

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace ec {

void make_output_names_unique(Graph& graph) {
  const std::vector<Tensor*> outputs = graph.outputs();
  std::vector<std::string> names = graph.output_names();
  std::unordered_set<std::string> taken;
  std::vector<size_t> unnamed;
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i].empty() || !taken.insert(names[i]).second) unnamed.push_back(i);
  if (unnamed.empty()) return;
  std::unordered_map<std::string, size_t> used;  // how often a name was given before
  for (const size_t i : unnamed) {
    const std::string base = names[i].empty() ? "output" : names[i];
    names[i] = base;
    for (size_t& count = used[base]; !taken.insert(names[i]).second;)
      names[i] = base + "_" + std::to_string(++count + 1);
  }
  for (size_t i = outputs.size(); i-- > 0;) graph.erase_output(i);
  for (size_t i = 0; i < outputs.size(); ++i) graph.add_output(std::move(names[i]), outputs[i]);
}

}  // namespace ec
