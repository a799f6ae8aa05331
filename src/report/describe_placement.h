// The fields of placement reports.
#pragma once

#include "edgecompiler/report/placement.h"
#include "report/field.h"
#include "report/placement.h"

namespace ec::report {

template <>
struct Description<OpPlacement> {
  static constexpr std::string_view kName = "OpPlacement";
  static constexpr std::string_view kHelp = "Where one operation runs.";
  template <class Visitor>
  static void fields(Visitor& v, const OpPlacement& o) {
    v(Field("name", "name in the source model").titled("Node"), o.name);
    v(Field("op", "operation of the IR; empty where the importer does not know it")
          .titled("Operation"),
      o.op);
    v(Field("source_op", "operation in the source model's words").titled("Source"), o.source_op);
    v(Field("output", "type of its first output").titled("Output"), o.output_type);
    v(Field("placement", "where it runs").titled("Placement"),
      Choice{placement_name(o.placement), placement_names()});
    v(Field("status", "in the words of the device's own compiler, where it has one")
          .titled("Status"),
      o.status);
    v(Field("reason", "why it is not on the target").titled("Reason"), o.reason);
    v(Field("fix", "what to change in the model").titled("Fix"), o.fix);
  }
};

template <>
struct Description<DeviceEstimate> {
  static constexpr std::string_view kName = "DeviceEstimate";
  static constexpr std::string_view kHelp = "What a run on the device costs.";
  template <class Visitor>
  static void fields(Visitor& v, const DeviceEstimate& e) {
    v(Field("certainty", "how these numbers were found"), Constant{"estimated"});
    v(Field("parameter_bytes", "parameters of the device's part").bytes().estimated(),
      e.parameter_bytes);
    v(Field("on_chip_bytes", "parameters that stay in the device's memory").bytes().estimated(),
      e.on_chip_bytes);
    v(Field("streamed_bytes", "parameters that travel at every run").bytes().estimated(),
      e.streamed_bytes);
    v(Field("device_macs", "multiply-adds on the device").count().exact(), e.device_macs);
    v(Field("host_macs", "multiply-adds on the CPU beside it").count().exact(), e.host_macs);
    v(Field("latency_ms", "time of a run").milliseconds().estimated(), e.latency_ms);
    v(Field("latency_low_ms", "lower end of the estimate").milliseconds().estimated(),
      e.latency_low_ms);
    v(Field("latency_high_ms", "upper end of the estimate").milliseconds().estimated(),
      e.latency_high_ms);
    v(Field("conditions", "what the latency supposes").if_set(), e.conditions);
  }
};

template <>
struct Description<DeviceCompilerReport::Row> {
  static constexpr std::string_view kName = "DeviceCompilerRow";
  static constexpr std::string_view kHelp = "One line of the log of the device's compiler.";
  template <class Visitor>
  static void fields(Visitor& v, const DeviceCompilerReport::Row& r) {
    v(Field("op", "operator").titled("Operation"), r.op);
    v(Field("count", "how many of them").count().exact().titled("Count"), r.count);
    v(Field("status", "in the compiler's words").titled("Status"), r.status);
  }
};

template <>
struct Description<DeviceCompilerReport::Difference> {
  static constexpr std::string_view kName = "DeviceCompilerDifference";
  static constexpr std::string_view kHelp = "Where the prediction differs from the compiler.";
  template <class Visitor>
  static void fields(Visitor& v, const DeviceCompilerReport::Difference& d) {
    v(Field("op", "operator").titled("Operation"), d.op);
    v(Field("status", "in the compiler's words").titled("Status"), d.status);
    v(Field("predicted", "how many were predicted").count().titled("Predicted"), d.predicted);
    v(Field("compiled", "how many the compiler has").count().exact().titled("Compiled"),
      d.compiled);
  }
};

template <>
struct Description<DeviceCompilerReport> {
  static constexpr std::string_view kName = "DeviceCompilerReport";
  static constexpr std::string_view kHelp = "The log of the device's own compiler.";
  template <class Visitor>
  static void fields(Visitor& v, const DeviceCompilerReport& r) {
    v(Field("program", "name of the compiler"), r.program);
    v(Field("version", "its version"), r.version);
    v(Field("on_chip_bytes", "memory of the device that is used").bytes().exact(), r.on_chip_bytes);
    v(Field("on_chip_free_bytes", "memory of the device that is left").bytes().exact(),
      r.on_chip_free_bytes);
    v(Field("streamed_bytes", "parameters that travel at every run").bytes().exact(),
      r.streamed_bytes);
    v(Field("subgraphs", "parts for the device").count().exact(), r.subgraphs);
    v(Field("num_operations", "operators of the file").count().exact(), r.operations);
    v(Field("operations", "what became of them"), r.rows);
    v(Field("differences", "from what was predicted"), r.differences);
  }
};

template <>
struct Description<CompressedWeight> {
  static constexpr std::string_view kName = "CompressedWeight";
  static constexpr std::string_view kHelp = "A weight that the file holds in fewer bits.";
  template <class Visitor>
  static void fields(Visitor& v, const CompressedWeight& w) {
    v(Field("name", "name of the constant").titled("Weight"), w.name);
    v(Field("layer", "operation that reads it").titled("Layer"), w.layer);
    v(Field("form", "how it is stored").titled("Form"), w.form);
    v(Field("bytes_before", "in the precision of the program").bytes().exact().titled("Before"),
      w.bytes_before);
    v(Field("bytes_after", "in the file, with table, mask or scales")
          .bytes()
          .exact()
          .titled("After"),
      w.bytes_after);
    v(Field("sqnr_db", "of the weights: what is lost").decibels().measured().titled("SQNR"),
      w.sqnr_db);
  }
};

template <>
struct Description<OutputCost> {
  static constexpr std::string_view kName = "OutputCost";
  static constexpr std::string_view kHelp = "What a form of the file costs at one output.";
  template <class Visitor>
  static void fields(Visitor& v, const OutputCost& o) {
    v(Field("name", "name of the output").titled("Output"), o.name);
    v(Field("largest_error", "as a share of the output's largest value")
          .measured()
          .titled("Largest error"),
      o.largest_error);
    v(Field("sqnr_db", "signal to noise").decibels().measured().titled("SQNR"), o.sqnr_db);
  }
};

template <>
struct Description<FormCost> {
  static constexpr std::string_view kName = "FormCost";
  static constexpr std::string_view kHelp =
      "What a form of the file costs, against the model in single precision.";
  template <class Visitor>
  static void fields(Visitor& v, const FormCost& c) {
    v(Field("form", "what was measured").titled("Form"), c.form);
    v(Field("inputs", "what it was run on; empty where it was not measured").titled("Inputs"),
      c.inputs);
    v(Field("reason", "why it was not measured").if_set(), c.reason);
    v(Field("samples", "how many of them").count().exact().titled("Samples"), c.samples);
    v(Field("outputs", "one entry per output"), c.outputs);
  }
};

template <>
struct Description<Refusal> {
  static constexpr std::string_view kName = "Refusal";
  static constexpr std::string_view kHelp = "Why a target does not take a model at all.";
  template <class Visitor>
  static void fields(Visitor& v, const Refusal& r) {
    v(Field("code", "error code; `edgecompile explain CODE` tells more"), r.code);
    v(Field("message", "the reason"), r.message);
    v(Field("hint", "what to do"), r.hint);
  }
};

template <>
struct Description<PlacementReport> {
  static constexpr std::string_view kName = "PlacementReport";
  static constexpr std::string_view kHelp = "What runs where on one target.";
  template <class Visitor>
  static void fields(Visitor& v, const PlacementReport& r) {
    v(Field("model", "the model as it was named"), r.model);
    v(Field("target", "the target, with its variant").titled("Target"), r.target);
    v(Field("runs", "the target takes the model and every operation of it").titled("Runs"),
      r.runs());
    v(Field("native", "operations with a fast kernel, or on the device").count().titled("Native"),
      r.native);
    v(Field("reference", "operations with a slow kernel").count().titled("Reference"), r.reference);
    v(Field("host", "operations on the CPU beside the device").count().titled("On the CPU"),
      r.host);
    v(Field("unsupported", "operations that cannot run").count().titled("Unsupported"),
      r.unsupported);
    v(Field("predicted_form",
            "where the model is in floating point and its quantised form was judged: that form")
          .if_set(),
      r.predicted_form);
    v(Field("shapes_open", "sizes are not known: kernels were judged by kind"), r.shapes_open);
    v(Field("operations", "in order of execution"), r.operations);
    v(Field("cut_by", "index of the first operation that ended the device's part"), r.cut_by);
    v(Field("estimate", "what a run on the device costs"), r.estimate);
    v(Field("rewrites", "operations that were rewritten to run on the device").if_set(),
      r.rewrites);
    v(Field("compressed_weights", "weights that the file holds in fewer bits").if_set(),
      r.compressed_weights);
    v(Field("costs", "what precision and compressed weights cost at the outputs").if_set(),
      r.costs);
    v(Field("compiler", "the log of the device's own compiler, where it was run"), r.compiler);
    v(Field("refused", "why nothing was placed, where several targets are judged"), r.refused);
  }
};

template <>
struct Description<CheckReport> {
  static constexpr std::string_view kName = "CheckReport";
  static constexpr std::string_view kHelp = "One model on every target.";
  template <class Visitor>
  static void fields(Visitor& v, const CheckReport& r) {
    v(Field("model", "the model as it was named"), r.model);
    v(Field("targets", "one entry per target, in the order of `edgecompile targets`"), r.targets);
  }
};

}  // namespace ec::report
