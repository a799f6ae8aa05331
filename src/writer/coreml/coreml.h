// Graph to Core ML model. The graph must be in the form that ML Programs have (`legalise-mil` of
// the back end brings it there); what is not is a diagnostic each, all of them in one run. The
// types of the graph are the types of the program: floats of 16 and 32 bits stay, integers are
// int32. The same graph gives the same model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/coreml/model.h"
#include "formats/coreml/package.h"
#include "ir/graph.h"
#include "support/result.h"
#include "writer/coreml/stored.h"

namespace ec {

// Versions of the specification, which name the oldest system that takes the package.
inline constexpr int kCoremlIos16 = 7, kCoremlIos17 = 8, kCoremlIos18 = 9, kCoremlIos26 = 10;

// An input that takes pixels.
struct CoremlImageInput {
  std::string name;  // of the graph's input
  coreml::ColorSpace color = coreml::ColorSpace::Rgb;
};

// An input with open sizes: the default, and ranges or whole shapes that applications may give.
struct CoremlFlexibleInput {
  std::string name;  // of the graph's input
  std::vector<int64_t> shape;
  std::vector<coreml::SizeRange> ranges;
  std::vector<std::vector<int64_t>> shapes;
};

struct CoremlWriteOptions {
  int lowest_version = kCoremlIos16, highest_version = kCoremlIos26;
  coreml::Metadata metadata;
  std::vector<CoremlImageInput> images;
  std::vector<CoremlFlexibleInput> flexible;
  // Names of the classes: the first output that has as many elements becomes a classifier's.
  std::vector<std::string> labels;
  CoremlStoredConstants stored;  // constants of the graph in fewer bits
};

// What the program holds, for reports.
struct CoremlSummary {
  // Operations by name with their number, most frequent first; constants are not counted.
  std::vector<std::pair<std::string, int64_t>> operators;
  int64_t num_operators = 0, num_constants = 0;
  int version = kCoremlIos16;
  // The operation that needs this version and why; empty where the lowest one serves.
  std::string version_reason;
  // Names that are no identifiers of programs, with what they are called there.
  std::vector<std::pair<std::string, std::string>> renamed;
};

struct CoremlProgram {
  coreml::Model model;
  coreml::WeightFile weights;
  CoremlSummary summary;
};

// Errors: the first operation that cannot be written; all are in `sink`.
Result<CoremlProgram> write_coreml(const Graph& graph, const CoremlWriteOptions& options,
                                   DiagnosticSink& sink);

// "iOS 16", "iOS 26": the system of a version.
std::string_view coreml_system(int version);

}  // namespace ec
