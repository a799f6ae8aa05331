// The fields of what `run`, `bench` and `evaluate` tell.
#pragma once

#include "edgecompiler/report/run.h"
#include "report/describe_quantization.h"
#include "report/field.h"

namespace ec::report {

template <>
struct Description<ResultSummary> {
  static constexpr std::string_view kName = "ResultSummary";
  static constexpr std::string_view kHelp = "A result of a run.";
  template <class Visitor>
  static void fields(Visitor& v, const ResultSummary& r) {
    v(Field("name", "name of the output").titled("Output"), r.name);
    v(Field("dtype", "element type").titled("Type"), r.dtype);
    v(Field("shape", "sizes").titled("Shape"), r.shape);
    v(Field("file", "that holds the values; null: not written").or_null().titled("File"), r.file);
    v(Field("min", "smallest finite element").measured().titled("Min"), r.min);
    v(Field("max", "largest finite element").measured().titled("Max"), r.max);
    v(Field("max_at", "position of the first largest element").measured().titled("At"), r.max_at);
    v(Field("mean", "of the finite elements").measured().titled("Mean"), r.mean);
    v(Field("not_finite", "elements that are not finite").count().measured(), r.not_finite);
  }
};

template <>
struct Description<RunReport> {
  static constexpr std::string_view kName = "RunReport";
  static constexpr std::string_view kHelp = "One run of a model.";
  template <class Visitor>
  static void fields(Visitor& v, const RunReport& r) {
    v(Field("model", "the model as it was named"), r.model);
    v(Field("outputs", "in the model's order"), r.outputs);
    v(Field("open_milliseconds", "until the model was ready").milliseconds().measured(),
      r.open_milliseconds);
    v(Field("run_milliseconds", "the run").milliseconds().measured(), r.run_milliseconds);
    v(Field("device", "what ran it"), r.device);
    v(Field("threads", "worker threads").count().exact(), r.threads);
  }
};

template <>
struct Description<OpTime> {
  static constexpr std::string_view kName = "OpTime";
  static constexpr std::string_view kHelp = "Time of one operation, mean over the runs.";
  static constexpr std::string_view kKernels[] = {"fast", "reference"};
  template <class Visitor>
  static void fields(Visitor& v, const OpTime& o) {
    v(Field("name", "name in the source model").titled("Node"), o.name);
    v(Field("op", "the operation").titled("Operation"), o.op);
    v(Field("kernel", "which kernel ran").titled("Kernel"),
      Choice{kKernels[o.fast ? 0 : 1], kKernels});
    v(Field("output", "type of its first output").titled("Output"), o.output_type);
    v(Field("milliseconds", "mean of the runs").milliseconds().measured().titled("Time"),
      o.milliseconds);
    v(Field("share_percent", "of the sum over all operations").percent().measured().titled("Share"),
      o.share_percent);
    v(Field("macs", "multiply-adds; null where sizes are open")
          .count()
          .exact()
          .or_null()
          .titled("MACs"),
      o.macs);
    v(Field("gmac_per_second", "billions of multiply-adds per second").measured().titled("GMAC/s"),
      o.gmac_per_second);
  }
};

template <>
struct Description<BenchReport> {
  static constexpr std::string_view kName = "BenchReport";
  static constexpr std::string_view kHelp = "Latency, throughput and memory of a model.";
  template <class Visitor>
  static void fields(Visitor& v, const BenchReport& r) {
    v(Field("model", "the model as it was named"), r.model);
    v(Field("iterations", "runs that were measured").count().exact(), r.iterations);
    v(Field("device", "what ran it"), r.device);
    v(Field("threads", "worker threads").count().exact(), r.threads);
    v(Field("mean_ms", "mean latency").milliseconds().measured().titled("Mean"), r.mean_ms);
    v(Field("p50_ms", "median latency").milliseconds().measured().titled("Median"), r.p50_ms);
    v(Field("p95_ms", "95 of 100 runs are as fast").milliseconds().measured().titled("p95"),
      r.p95_ms);
    v(Field("p99_ms", "99 of 100 runs are as fast").milliseconds().measured().titled("p99"),
      r.p99_ms);
    v(Field("min_ms", "fastest run").milliseconds().measured().titled("Min"), r.min_ms);
    v(Field("max_ms", "slowest run").milliseconds().measured().titled("Max"), r.max_ms);
    v(Field("throughput_fps", "runs per second").per_second().measured().titled("Throughput"),
      r.throughput_fps);
    v(Field("open_ms", "until the model was ready").milliseconds().measured(), r.open_ms);
    v(Field("arena_bytes", "memory of activations").bytes().exact(), r.memory.arena_bytes);
    v(Field("arena_lower_bound", "the most that is live at once").bytes().exact(),
      r.memory.arena_lower_bound);
    v(Field("packed_bytes", "packed copies of weights, folded values").bytes().exact(),
      r.memory.packed_bytes);
    v(Field("per_op", "the slowest first; with --per-op").if_set(), r.per_op);
  }
};

template <>
struct Description<ConfusionCount> {
  static constexpr std::string_view kName = "ConfusionCount";
  static constexpr std::string_view kHelp = "How often one class was taken for another.";
  template <class Visitor>
  static void fields(Visitor& v, const ConfusionCount& c) {
    v(Field("label", "the right class").titled("Class"), c.label);
    v(Field("predicted", "the class with the largest score").titled("Taken for"), c.predicted);
    v(Field("count", "how often").count().measured().titled("Times"), c.count);
  }
};

template <>
struct Description<EvaluatedModel> {
  static constexpr std::string_view kName = "EvaluatedModel";
  static constexpr std::string_view kHelp = "One of the models that were run on the data.";
  static constexpr std::string_view kFrom[] = {"options", "file", "other file", "nothing"};
  template <class Visitor>
  static void fields(Visitor& v, const EvaluatedModel& m) {
    v(Field("path", "the model as it was named").titled("Model"), m.path);
    v(Field("top1", "share of samples whose right class has the largest score; with labels")
          .share()
          .measured()
          .titled("Top-1"),
      m.top1);
    v(Field("top5", "share of samples whose right class is among the five largest; with labels")
          .share()
          .measured()
          .titled("Top-5"),
      m.top5);
    v(Field("map50", "average precision at IoU 0.5, mean of the classes; with labels of boxes")
          .share()
          .measured()
          .titled("AP at IoU 0.5"),
      m.map50);
    v(Field("map50_95", "the same, mean of IoU 0.5 to 0.95")
          .share()
          .measured()
          .titled("AP at 0.5 to 0.95"),
      m.map50_95);
    v(Field("preprocessing", "how images became inputs"), m.preprocessing);
    v(Field("preprocessing_from", "who said so"), Choice{m.preprocessing_from, kFrom});
    v(Field("device", "what ran it"), m.device);
    v(Field("run_milliseconds", "mean of a run").milliseconds().measured().titled("Mean run"),
      m.run_milliseconds);
    v(Field("confusion", "pairs of classes that occurred; with --confusion"), m.confusion);
  }
};

template <>
struct Description<ChangedAnswersSummary> {
  static constexpr std::string_view kName = "ChangedAnswers";
  static constexpr std::string_view kHelp = "Answers that one model has right, the other wrong.";
  template <class Visitor>
  static void fields(Visitor& v, const ChangedAnswersSummary& c) {
    v(Field("put_right", "wrong in the reference, right here").count().measured(), c.put_right);
    v(Field("put_wrong", "right in the reference, wrong here").count().measured(), c.put_wrong);
    v(Field("chance", "how likely equal models differ as much (exact McNemar test)").share(),
      c.chance);
  }
};

template <>
struct Description<EvaluateReport> {
  static constexpr std::string_view kName = "EvaluateReport";
  static constexpr std::string_view kHelp = "A model on data, beside a reference.";
  template <class Visitor>
  static void fields(Visitor& v, const EvaluateReport& r) {
    v(Field("data", "the data as it was named"), r.data);
    v(Field("samples", "that were run").count().exact(), r.samples);
    v(Field("labels", "where they come from").if_set(), r.labels);
    std::optional<int64_t> offset;
    if (r.labelled()) offset = r.label_offset;
    v(Field("label_offset", "what is added to a label to give the index of its score"), offset);
    v(Field("score_output", "output whose scores are compared with the labels").if_set(),
      r.score_output);
    v(Field("classes", "names by label").if_set(), r.classes);
    v(Field("box_labels", "file of labelled boxes").if_set(), r.box_labels);
    std::optional<int64_t> unlabelled;
    if (!r.box_labels.empty()) unlabelled = r.unlabelled_pictures;
    v(Field("unlabelled_pictures", "pictures that it does not name").count().exact(), unlabelled);
    v(Field("task", "what the outputs mean"), r.task);
    v(Field("model", "the model"), r.model);
    v(Field("reference", "what it is compared with"), r.reference);
    std::optional<std::vector<OutputError>> outputs;
    if (r.reference) outputs = r.outputs;
    v(Field("outputs", "how far the outputs are apart; with a reference"), outputs);
    v(Field("changed_answers", "with labels and a reference"), r.changed);
  }
};

}  // namespace ec::report
