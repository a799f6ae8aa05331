// The measurements that a strategy made on samples, in order: recorded, and played back in place of
// the samples. Strategies decide by these values alone, so that the same answers give the
// same result.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quantize/measure/accuracy.h"
#include "quantize/ranges/calibrate.h"
#include "quantize/trial/trial.h"

namespace ec::quantize {

// Names and values of what decides the result beside the graph and the samples.
using MeasuredWith = std::map<std::string, std::string>;

// BadCalibrationData: the statistics are not those of this job, with the way out.
Error statistics_mismatch(std::string what);

class Measurements {
 public:
  Measurements();
  ~Measurements();
  Measurements(Measurements&&) noexcept;
  Measurements& operator=(Measurements&&) noexcept;

  // Reads a file that text() made; `file` is its name for errors. Errors: CorruptFile.
  static Result<Measurements> parse(std::string_view text, std::string file);
  static Result<Measurements> load(const std::string& path);
  std::string text() const;  // JSON

  bool playing() const { return playing_; }
  size_t num_samples() const;
  void set_num_samples(size_t count);

  // Recording: what it was made with. Playing back: BadCalibrationData where something differs.
  Status check(const Graph& graph, const MeasuredWith& with);
  // An option that describes the data (mean, std, layout ...), kept with the measurements; empty
  // where it was not given.
  const std::string& data_option(const std::string& name) const;
  void set_data_option(const std::string& name, std::string value);

  // Each calls `measure` and keeps the answer, or gives the next answer of the record.
  Result<CalibrationRun> calibration(const Graph& graph, const Plan& plan,
                                     const std::function<Result<CalibrationRun>()>& measure);
  Result<OutputError> output_error(const std::function<Result<OutputError>()>& measure);
  // What rounding for the samples made of `before`.
  Result<LayerWeights> weights(const LayerWeights& before,
                               const std::function<Result<LayerWeights>()>& measure);
  Result<AccuracyReport> accuracy(const Graph& graph,
                                  const std::function<Result<AccuracyReport>()>& measure);

 private:
  struct Record;
  std::unique_ptr<Record> record_;
  bool playing_ = false;
};

// Stands for samples that are not there: knows how many there were.
std::unique_ptr<SampleSource> played_back_samples(Measurements& measurements);
// Hands `source` on and has everything recorded that is measured on it; both outlive the result.
std::unique_ptr<SampleSource> recorded_samples(SampleSource& source, Measurements& measurements);

}  // namespace ec::quantize
