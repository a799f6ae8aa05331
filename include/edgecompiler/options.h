// Options of a compilation. Every field is also a command-line option and a Python keyword of the
// same name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ec {

struct CompileOptions {
  std::string target = "cpu";
  // Where the result goes: a file, or a directory. Empty: beside the model as NAME_TARGET.EXT.
  std::string output;

  // Sizes for inputs, by name or by position ("0"); they may fix open dimensions only.
  std::map<std::string, std::vector<int64_t>> input_shapes;
  // Sizes for open dimensions by their name in the model.
  std::map<std::string, int64_t> dims;

  // Targets that choose their own order of dimensions: inputs and outputs keep the model's order.
  bool keep_io_layout = false;

  // A pipeline as text ("fold-constants,fuse-activations"); empty: the default list.
  std::string passes;
  std::vector<std::string> disable_pass;
  // Prints the graph to the error stream after these passes ("all" for every one).
  std::vector<std::string> print_after;
  // Directory that receives the graph after each phase as .ecir text.
  std::string dump_phases;
  // Last phase to run: "import", "optimize" or the name of a pass. Empty: all of them.
  std::string stop_after;

  // Anything that does not run on the target's device is an error.
  bool strict = false;
  // The Edge TPU runtime on the device: older ones run fewer operations.
  int edgetpu_runtime = 14;
  // What decides which operations the Edge TPU runs: "fitted" (the published table corrected by
  // compiled files) or "published" (the table alone).
  std::string edgetpu_rules = "fitted";

  // Threads of a session; 0: one per core.
  int threads = 1;
  // Run with the reference kernels only: slow, simple, what everything else is compared with.
  bool reference = false;
};

}  // namespace ec
