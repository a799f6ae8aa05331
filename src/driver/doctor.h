// What this machine and this build offer.
#pragma once

#include <string>
#include <vector>

namespace ec {

struct Fact {
  std::string key;  // stable, for JSON: "cpu_model"
  std::string label;
  std::string value;
};

std::vector<Fact> doctor_facts();

}  // namespace ec
