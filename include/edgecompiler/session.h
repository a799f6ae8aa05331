// Running a model on the CPU, or on a device that the file was compiled for.
//
//   ec::InferenceSession session("model.onnx");
//   std::vector<float> pixels(1 * 3 * 224 * 224);
//   const size_t bytes = pixels.size() * sizeof(float);
//   auto results = session.run({{"input", "f32", {1, 3, 224, 224}, pixels.data(), bytes}});
//   const float* scores = results[0].as<float>();
//
// Functions throw the exceptions of error.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edgecompiler/error.h"

namespace ec {

struct ModelRef;

struct InferenceOptions {
  // Sizes for inputs, by name or by position ("0"); they may fix open dimensions only.
  std::map<std::string, std::vector<int64_t>> input_shapes;
  // Sizes for open dimensions by their name in the model.
  std::map<std::string, int64_t> dims;
  // Worker threads; 0: one per core.
  int threads = 1;
  // false: run the graph as imported.
  bool optimize = true;
  // Reference kernels only: slow, simple, what everything else is compared with.
  bool reference = false;
  // Files that hold a device's code run on the device with its target or with "auto"; other models
  // run on the CPU. Empty: the CPU.
  std::string target;
};

// What an input takes or an output gives.
struct TensorInfo {
  std::string name;
  std::string dtype;              // "f32", "i8", ...
  bool has_shape = true;          // false: not even the rank is known
  std::vector<int64_t> shape;     // -1 where open
  std::vector<std::string> dims;  // sizes as text; names of open ones
  std::vector<float> scales;      // quantised: real = scale * (stored - zero_point)
  std::vector<int32_t> zero_points;
  int32_t quantized_axis = -1;  // -1: one scale for the whole tensor
};

// An input of a run; `data` stays the caller's.
struct InputTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  const void* data = nullptr;
  size_t bytes = 0;
};

// A result of a run; owns its data.
struct OutputTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::shared_ptr<const void> data;
  size_t bytes = 0;

  template <class T>
  const T* as() const {
    return static_cast<const T*>(data.get());
  }
};

// Latencies in milliseconds, measured here.
struct BenchmarkResult {
  int64_t iterations = 0;
  double mean_ms = 0, p50_ms = 0, p95_ms = 0, p99_ms = 0, min_ms = 0, max_ms = 0;
  double throughput_fps = 0;
};

class InferenceSession {
 public:
  // Reads, optimises and prepares the model (any format that the library reads).
  explicit InferenceSession(const std::string& path, const InferenceOptions& options = {});
  // The same for a model that is in memory; the bytes are copied.
  InferenceSession(const void* model, size_t bytes, const InferenceOptions& options = {});
  ~InferenceSession();
  InferenceSession(InferenceSession&&) noexcept;
  InferenceSession& operator=(InferenceSession&&) noexcept;

  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;

  // Every input once, in any order; results in output order. May be called from several threads;
  // runs are done one after the other.
  std::vector<OutputTensor> run(const std::vector<InputTensor>& inputs);

  // Measures `iterations` runs after `warmup` others, on the given inputs or on random values of a
  // fixed seed.
  BenchmarkResult benchmark(int64_t iterations = 100, int64_t warmup = 10,
                            const std::vector<InputTensor>& inputs = {});

  // Sets state that the model keeps from run to run (LSTM, SVDF, variables, buffers) back to its
  // initial values.
  void reset();

  // Frees the model; later runs throw. Closing twice is fine.
  void close() noexcept;

 private:
  struct Impl;
  static void open(Impl& impl, const ModelRef& model, const InferenceOptions& options);

  std::unique_ptr<Impl> impl_;
};

}  // namespace ec
