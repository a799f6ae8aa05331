// The fields of what quantisation tells.
#pragma once

#include "edgecompiler/report/quantization.h"
#include "report/field.h"

namespace ec::report {

// The numbers that every comparison of two tensors has.
template <class Visitor>
void error_fields(Visitor& v, const ErrorSummary& e) {
  v(Field("sqnr_db", "signal to quantisation noise, at most 120")
        .decibels()
        .measured()
        .titled("SQNR"),
    e.sqnr_db);
  v(Field("cosine", "cosine of the angle between both").measured().titled("Cosine"), e.cosine);
  v(Field("rmse", "root mean square of the error").measured().titled("RMSE"), e.rmse);
}

template <>
struct Description<LayerError> {
  static constexpr std::string_view kName = "LayerError";
  static constexpr std::string_view kHelp = "What quantisation costs at one tensor.";
  template <class Visitor>
  static void fields(Visitor& v, const LayerError& l) {
    v(Field("name", "name in the source model").titled("Node"), l.name);
    v(Field("op", "operation; \"input\" for an input of the model").titled("Operation"), l.op);
    v(Field("tensor", "name of the tensor").titled("Tensor"), l.tensor);
    error_fields(v, l.error);
    v(Field("max_error", "largest error").measured().titled("Largest error"), l.error.max_error);
    v(Field("rmse_in_steps", "root mean square of the error in steps of the scale")
          .measured()
          .titled("Error / step"),
      l.rmse_in_steps());
    v(Field("clip_rate", "share of values outside the integer range")
          .share()
          .measured()
          .titled("Clipped"),
      l.error.clip_rate);
    v(Field("own_share", "share of the error at the outputs that this layer makes alone")
          .share()
          .measured()
          .titled("Share"),
      l.own_share);
    v(Field("cause", "what stands out").if_set(), l.cause);
    v(Field("advice", "what to do about it").if_set(), l.advice);
    v(Field("scale", "of the integers"), l.scale);
    v(Field("zero_point", "of the integers"), l.zero_point);
  }
};

template <>
struct Description<PartError> {
  static constexpr std::string_view kName = "PartError";
  static constexpr std::string_view kHelp =
      "What quantisation costs at one part of an output, against the part's own size.";
  template <class Visitor>
  static void fields(Visitor& v, const PartError& p) {
    v(Field("name", "the output and the indices of the part").titled("Part of an output"), p.name);
    v(Field("meaning", "scores: those that a threshold may let through are judged; values: all")
          .titled("Meaning"),
      p.meaning);
    error_fields(v, p.error);
    v(Field("max_error", "largest error").measured().titled("Largest error"), p.error.max_error);
    v(Field("scores_float", "scores above 0.25 in the float model").measured().if_set(),
      p.scores_float);
    v(Field("scores_quantized", "scores above 0.25 in the quantised model").measured().if_set(),
      p.scores_quantized);
    v(Field("scores_both", "scores above 0.25 in both").measured().if_set(), p.scores_both);
    v(Field("decision_agreement", "how alike both sets are, 1 where they are equal")
          .share()
          .measured()
          .if_set()
          .titled("Same above 0.25"),
      p.decision_agreement);
  }
};

// Without what `evaluate` adds.
struct QuantizedOutput {
  const OutputError* error = nullptr;
};

template <>
struct Description<QuantizedOutput> {
  static constexpr std::string_view kName = "OutputAccuracy";
  static constexpr std::string_view kHelp = "What quantisation costs at one output.";
  template <class Visitor>
  static void fields(Visitor& v, const QuantizedOutput& o) {
    const OutputError none;
    const OutputError& e = o.error != nullptr ? *o.error : none;
    v(Field("name", "name of the output").titled("Output"), e.name);
    error_fields(v, e.error);
    v(Field("max_error", "largest error").measured().titled("Largest error"), e.error.max_error);
    v(Field("top1_agreement", "share of score lists whose largest has the same index")
          .share()
          .measured()
          .titled("Same top-1"),
      e.top1_agreement);
    v(Field("parts", "boxes, scores and the like, where the output holds several"), e.parts);
  }
};

template <>
struct Description<OutputError> {
  static constexpr std::string_view kName = "OutputError";
  static constexpr std::string_view kHelp = "How far an output is from the reference's.";
  template <class Visitor>
  static void fields(Visitor& v, const OutputError& o) {
    v(Field("name", "name of the output").titled("Output"), o.name);
    error_fields(v, o.error);
    v(Field("mean_error", "mean of the absolute error").measured().titled("Mean error"),
      o.error.mean_error);
    v(Field("max_error", "largest error").measured().titled("Largest error"), o.error.max_error);
    v(Field("top1_agreement", "share of score lists whose largest has the same index")
          .share()
          .measured()
          .titled("Same top-1"),
      o.top1_agreement);
  }
};

template <>
struct Description<TaskSummary> {
  static constexpr std::string_view kName = "TaskSummary";
  static constexpr std::string_view kHelp =
      "What the outputs mean, and how far the answers agree with the reference's.";
  static constexpr std::string_view kNames[] = {"unknown",      "classification", "detection",
                                                "segmentation", "keypoints",      "regression",
                                                "sequence"};
  template <class Visitor>
  static void fields(Visitor& v, const TaskSummary& t) {
    v(Field("name", "the task"), Choice{t.name, kNames});
    v(Field("head", "form of a detector's outputs").if_set(), t.head);
    v(Field("reason", "why the outputs are taken for that"), t.reason);
    v(Field("agreement", "1: the same answers as the reference; with a reference")
          .share()
          .measured(),
      t.agreement);
    std::vector<std::pair<std::string, double>> figures;
    for (const TaskFigure& figure : t.figures) figures.emplace_back(figure.name, figure.value);
    v(Field("figures", "numbers by their names; with a reference").measured(), figures);
  }
};

template <>
struct Description<AccuracySummary> {
  static constexpr std::string_view kName = "AccuracySummary";
  static constexpr std::string_view kHelp = "The quantised model against the float model.";
  template <class Visitor>
  static void fields(Visitor& v, const AccuracySummary& a) {
    std::vector<QuantizedOutput> outputs;
    for (const OutputError& output : a.outputs) outputs.push_back({&output});
    std::vector<std::string> worst;
    for (const size_t layer : a.worst_layers) worst.push_back(a.layers[layer].name);
    v(Field("samples", "that both ran on").count().exact(), a.samples);
    v(Field("held_out", "the samples took no part in calibration"), a.held_out);
    v(Field("inputs", "what rounding the inputs alone costs"), a.inputs);
    v(Field("outputs", "in the model's order"), outputs);
    v(Field("task", "the answers of both, where the outputs are those of a known task"), a.task);
    v(Field("worst_layers", "names of those that cost most, the worst first"), worst);
    v(Field("layers", "in order of execution"), a.layers);
  }
};

template <>
struct Description<KeptInFloat> {
  static constexpr std::string_view kName = "KeptInFloat";
  static constexpr std::string_view kHelp = "An operation that stays in floating point.";
  template <class Visitor>
  static void fields(Visitor& v, const KeptInFloat& k) {
    v(Field("name", "name in the source model").titled("Node"), k.name);
    v(Field("op", "the operation").titled("Operation"), k.op);
    v(Field("reason", "why").titled("Reason"), k.reason);
  }
};

template <>
struct Description<StoredWeightSummary> {
  static constexpr std::string_view kName = "StoredWeight";
  static constexpr std::string_view kHelp = "A constant that is stored with fewer bits.";
  template <class Visitor>
  static void fields(Visitor& v, const StoredWeightSummary& w) {
    v(Field("name", "name of the tensor"), w.name);
    v(Field("type", "element type in the file"), w.type);
    v(Field("bytes_before", "in the model").bytes().exact(), w.bytes_before);
    v(Field("bytes_after", "in the file, scales included").bytes().exact(), w.bytes_after);
    v(Field("sqnr_db", "what is lost").decibels().measured(), w.sqnr_db);
  }
};

template <>
struct Description<MethodGain> {
  static constexpr std::string_view kName = "MethodGain";
  static constexpr std::string_view kHelp = "What a method did to the SQNR of the outputs.";
  template <class Visitor>
  static void fields(Visitor& v, const MethodGain& g) {
    v(Field("method", "the method").titled("Method"), g.method);
    v(Field("applied", "whether it is used").titled("Used"), g.applied);
    v(Field("before_db", "without it").decibels().simulated().titled("Before"), g.before_db);
    v(Field("after_db", "with it").decibels().simulated().titled("After"), g.after_db);
    v(Field("note", "what it changed").titled("What"), g.note);
  }
};

template <>
struct Description<RaisedLayer> {
  static constexpr std::string_view kName = "RaisedLayer";
  static constexpr std::string_view kHelp = "A layer with more bits for the asked accuracy.";
  template <class Visitor>
  static void fields(Visitor& v, const RaisedLayer& r) {
    v(Field("name", "name in the source model").titled("Node"), r.name);
    v(Field("op", "the operation").titled("Operation"), r.op);
    v(Field("to", "what it computes with").titled("To"), r.to);
    v(Field("work_share", "its share of all multiplications").share().estimated().titled("Work"),
      r.work_share);
    v(Field("on_cpu", "it leaves the device").titled("On the CPU"), r.leaves_device);
  }
};

template <>
struct Description<StepTime> {
  static constexpr std::string_view kName = "StepTime";
  static constexpr std::string_view kHelp = "Time of one step of quantisation.";
  template <class Visitor>
  static void fields(Visitor& v, const StepTime& s) {
    v(Field("step", "the step").titled("Step"), s.step);
    v(Field("ms", "how long it took").milliseconds().measured().titled("Time"), s.milliseconds);
  }
};

template <>
struct Description<QuantizationReport> {
  static constexpr std::string_view kName = "QuantizationReport";
  static constexpr std::string_view kHelp = "What quantisation did and what it cost.";
  template <class Visitor>
  static void fields(Visitor& v, const QuantizationReport& r) {
    v(Field("strategy", "name of the strategy"), r.strategy);
    v(Field("target", "whose rules it followed"), r.target);
    v(Field("method", "how ranges were found"), r.method);
    v(Field("io_type", "element type of inputs and outputs"), r.io_type);
    v(Field("preprocessing", "how images became inputs; empty where the samples were none"),
      r.preprocessing);
    v(Field("calibration_samples", "that ranges were measured on").count().exact(),
      r.calibration_samples);
    v(Field("integer_operations", "operations on integers").count().exact(), r.integer_operations);
    v(Field("float_operations", "operations on real numbers that stay in floating point")
          .count()
          .exact(),
      r.float_operations);
    v(Field("kept_in_float", "which, with reasons"), r.kept_in_float);
    v(Field("widened_weights", "weights whose scales were widened for the target"),
      r.widened_weights);
    v(Field("stored_weights", "constants that are stored with fewer bits"), r.stored_weights);
    v(Field("methods", "what was tried, and its gain"), r.methods);
    v(Field("raised", "layers with more bits for the asked accuracy"), r.raised);
    v(Field("accuracy", "against the float model"), r.accuracy);
    v(Field("steps", "the timeline"), r.steps);
  }
};

}  // namespace ec::report
