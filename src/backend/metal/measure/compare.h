// How far an output of one run is from that of another.
#pragma once

#include <string>

#include "edgecompiler/report/placement.h"
#include "ops/value.h"

namespace ec::metal {

class OutputComparison {
 public:
  // One sample's values, in the same order.
  void add(const Value& expected, const Value& actual);
  OutputCost cost(std::string name) const;

 private:
  double largest_ = 0, error_ = 0, signal_ = 0, noise_ = 0;
};

}  // namespace ec::metal
