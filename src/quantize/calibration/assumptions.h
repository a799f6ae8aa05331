// What is taken for granted about data, said where it may be wrong: such mistakes ruin an integer
// model without any other sign.
#pragma once

#include "quantize/calibration/sample_source.h"

namespace ec::quantize {

struct AssumedData {
  SampleSource* samples = nullptr;  // as they were opened
  const std::vector<ModelInput>* inputs = nullptr;
  Preprocessing preprocessing;
  bool normalisation_given = false;  // --mean, --std or --pixel-range, or the file says it
  bool resize_given = false;         // --resize, or the file says it
  bool finds_objects = false;        // the network is a detector
};

// One warning for each assumption that may be wrong:
// - pictures whose mean and std nobody gave, with what the network gets of them;
// - pictures that lose a part to the crop on their way to a detector.
void warn_of_preprocessing(const AssumedData& data, DiagnosticSink& sink);

// Whether outputs of these names and values are those of a detector.
bool finds_objects(const std::vector<std::string>& names, const std::vector<Value>& outputs,
                   const std::vector<ModelInput>& inputs, const Preprocessing& preprocessing);

// Ranges of so few samples miss what others need. `wanted`: 0 for all.
void warn_of_few_samples(size_t available, size_t wanted, DiagnosticSink& sink);

}  // namespace ec::quantize
