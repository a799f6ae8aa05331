// Options of a compilation. Every field is also a command-line option and a Python keyword of the
// same name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

  // Quantisation: "none"; "ptq" (also "int8"): 8-bit integers with ranges measured on examples;
  // "a16w8": the same with 16-bit activations.
  std::string quantize;
  // Examples of the model's input: a picture, a folder of pictures or arrays, a .npy or .npz file,
  // a .txt list of files, or "random".
  std::string calibration_data;
  // What was measured on them: written to a file, or read from one in place of the data.
  std::string save_statistics, statistics;
  // How many of them to use; 0: all, at most 1000.
  int64_t calibration_samples = 0;
  // How ranges are chosen: "auto" (the default), "minmax", "average", "percentile", "mse", "kl".
  std::string calibration_method;
  // The share of values that "percentile" holds, in percent; 0: 99.999.
  double calibration_percentile = 0;
  // Scales of weights: "per-channel" where the target has them (the default), or "per-tensor".
  std::string weights;
  // Methods that change the numbers to keep accuracy, each "auto" (where it was measured to help,
  // the default), "on" or "off".
  std::string equalize, balance, correct_bias, adapt_rounding, precise_outputs;
  // "normal" or "high": more ranges tried, takes longer.
  std::string effort;
  // What the outputs must keep against the float model, without labels: the share of samples whose
  // top-1 may change; the least SQNR in dB. Negative: not asked. Layers are raised to a wider type
  // until it holds.
  double max_drop = -1, min_sqnr = -1;
  // Pictures become (pixel - mean) / std; one value, or one per channel. Empty: 0 and 1.
  std::vector<double> mean, std;
  // The largest pixel value before mean and std: "1", "255" or "auto" (255 where a mean or std is
  // above 1).
  std::string pixel_range;
  // Order of dimensions of the model's image input: "nchw", "nhwc" or "auto".
  std::string input_layout;
  // Order of channels that the model was trained on: "rgb" or "bgr".
  std::string color;
  // How pictures get the input's size: "crop", "crop:256" (shorter side, then the middle) or
  // "stretch".
  std::string resize;
  // Makes mean, std, colour order and layout part of the model, which then takes bytes: uint8 RGB
  // pixels, channels last.
  bool fold_preprocessing = false;
  // Interface of the quantised model: "float", "int8", "uint8" or, with 16-bit activations,
  // "int16". Empty: what the target has.
  std::string io_type;
  // Operations to leave in floating point: patterns of names in the model, with * and ?.
  std::vector<std::string> keep_float;

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
  // The Edge TPU runtime on the device, 10 to 14: older ones run fewer operations. 0: the newest.
  int edgetpu_runtime = 0;
  // What decides which operations the Edge TPU runs: "fitted" (the published table corrected by
  // compiled files; the default) or "published" (the table alone).
  std::string edgetpu_rules;
  // Runs Google's edgetpu_compiler on the result, where it is installed: the output is Edge TPU
  // code, NAME_edgetpu.tflite.
  bool edgetpu_compiler = false;
  // Cuts the model into this many files, one per Edge TPU of a pipeline. 0: one file.
  int segments = 0;

  // Threads to compute with; 0: one per core. Not given: one for sessions, one per core to
  // quantise.
  std::optional<int> threads;
  // Run with the reference kernels only: slow, simple, what everything else is compared with.
  bool reference = false;
};

}  // namespace ec
