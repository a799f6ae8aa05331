// The fields of what `compile`, `optimize` and `quantize` tell.
#pragma once

#include "edgecompiler/report/compile.h"
#include "report/describe_model.h"
#include "report/describe_placement.h"
#include "report/describe_quantization.h"
#include "report/field.h"
#include "report/summary.h"

namespace ec::report {

template <>
struct Description<PassReport> {
  static constexpr std::string_view kName = "PassReport";
  static constexpr std::string_view kHelp = "One pass of the pipeline.";
  template <class Visitor>
  static void fields(Visitor& v, const PassReport& p) {
    v(Field("name", "the pass").titled("Pass"), p.name);
    v(Field("runs", "how often it ran").count().exact().titled("Runs"), p.runs);
    v(Field("changes", "rewrites made").count().exact().titled("Changes"), p.changes);
    v(Field("milliseconds", "how long it took").milliseconds().measured().titled("Time"),
      p.milliseconds);
    v(Field("counters", "what the changes were").titled("What"), p.counters);
    v(Field("notes", "sentences about them"), p.notes);
  }
};

template <>
struct Description<PhaseTime> {
  static constexpr std::string_view kName = "PhaseTime";
  static constexpr std::string_view kHelp = "Time of one phase.";
  template <class Visitor>
  static void fields(Visitor& v, const PhaseTime& p) {
    v(Field("name", "the phase").titled("Phase"), p.phase);
    v(Field("milliseconds", "how long it took").milliseconds().measured().titled("Time"),
      p.milliseconds);
  }
};

template <>
struct Description<SelfCheck> {
  static constexpr std::string_view kName = "SelfCheck";
  static constexpr std::string_view kHelp = "The file read back and run against the graph.";
  template <class Visitor>
  static void fields(Visitor& v, const SelfCheck& s) {
    v(Field("ran", "whether both were run"), s.ran);
    v(Field("reason", "why not"), s.reason);
    v(Field("largest_error", "between floats, relative to the largest value of the output")
          .measured(),
      s.largest_error);
    v(Field("shapes", "of the inputs with open sizes, one entry for each run"), s.shapes);
  }
};

template <>
struct Description<Artifact> {
  static constexpr std::string_view kName = "Artifact";
  static constexpr std::string_view kHelp = "A written file.";
  template <class Visitor>
  static void fields(Visitor& v, const Artifact& a) {
    v(Field("path", "where it is").titled("File"), a.path);
    v(Field("bytes", "its size").bytes().exact().titled("Size"), a.bytes);
    v(Field("sha256", "hash of its content").titled("SHA-256"), a.sha256);
  }
};

template <>
struct Description<SegmentReport> {
  static constexpr std::string_view kName = "SegmentReport";
  static constexpr std::string_view kHelp = "One file of a model that is cut into several.";
  template <class Visitor>
  static void fields(Visitor& v, const SegmentReport& s) {
    v(Field("output", "the file"), s.output);
    v(Field("output_bytes", "its size").bytes().exact(), s.output_bytes);
    v(Field("output_sha256", "hash of its content"), s.output_sha256);
    v(Field("placement", "what runs where in it"), s.placement);
  }
};

template <>
struct Description<Provenance> {
  static constexpr std::string_view kName = "Provenance";
  static constexpr std::string_view kHelp = "What the written files were made from.";
  template <class Visitor>
  static void fields(Visitor& v, const Provenance& p) {
    v(Field("compiler", "name and version"), p.compiler);
    v(Field("options_sha256", "hash of the options that decide the files' content"),
      p.options_sha256);
    v(Field("source_sha256", "hash of the model's file").if_set(), p.source_sha256);
  }
};

template <>
struct Description<OptionReport> {
  static constexpr std::string_view kName = "OptionReport";
  static constexpr std::string_view kHelp = "A value that the job worked with.";
  static constexpr std::string_view kSources[] = {"default", "file", "caller"};
  template <class Visitor>
  static void fields(Visitor& v, const OptionReport& o) {
    v(Field("value", "as written on the command line").titled("Value"), o.value);
    v(Field("source", "where it comes from").titled("From"), Choice{o.source, kSources});
  }
};

// An input or an output of the written file beside that of the model.
struct InterfaceChange {
  const InterfaceSummary* before = nullptr;
  const InterfaceSummary* after = nullptr;
};

template <>
struct Description<InterfaceChange> {
  static constexpr std::string_view kName = "CompiledInterface";
  static constexpr std::string_view kHelp = "An input or an output as it is after the job.";
  template <class Visitor>
  static void fields(Visitor& v, const InterfaceChange& c) {
    const InterfaceSummary none;
    const InterfaceSummary& after = c.after != nullptr ? *c.after : none;
    v(Field("name", "its name"), after.name);
    v(Field("dtype", "element type"), after.dtype);
    v(Field("shape", "sizes; open ones by name; null where the rank is not known"),
      Dims{after.dims ? &*after.dims : nullptr});
    v(Field("source_shape", "the same in the model"),
      Dims{c.before != nullptr && c.before->dims ? &*c.before->dims : nullptr});
  }
};

inline std::vector<InterfaceChange> interface_changes(const std::vector<InterfaceSummary>& before,
                                                      const std::vector<InterfaceSummary>& after) {
  std::vector<InterfaceChange> changes;
  for (size_t i = 0; i < after.size(); ++i)
    changes.push_back({i < before.size() ? &before[i] : nullptr, &after[i]});
  return changes;
}

template <>
struct Description<CompileReport> {
  static constexpr std::string_view kName = "CompileReport";
  static constexpr std::string_view kHelp = "What `compile`, `optimize` and `quantize` tell.";
  template <class Visitor>
  static void fields(Visitor& v, const CompileReport& r) {
    v(Field("model", "the model as it was named"), r.model);
    v(Field("target", "the target, with its variant; none for optimize").if_set(), r.target);
    v(Field("output", "the written file; null: nothing was written").or_null(), r.output);
    v(Field("output_bytes", "its size").bytes().exact(), r.output_bytes);
    v(Field("operations_before", "operations of the model").count().exact(), r.before.operations);
    v(Field("operations_after", "operations after the job").count().exact(), r.after.operations);
    v(Field("macs_before", "multiply-adds of the model; null where they are not known")
          .count()
          .exact()
          .or_null(),
      r.before.known_macs());
    v(Field("macs_after", "multiply-adds after the job; null where they are not known")
          .count()
          .exact()
          .or_null(),
      r.after.known_macs());
    v(Field("parameter_bytes_before", "parameters of the model").bytes().exact(),
      r.before.parameter_bytes);
    v(Field("parameter_bytes_after", "parameters after the job").bytes().exact(),
      r.after.parameter_bytes);
    v(Field("inputs", "after the job"), interface_changes(r.before.inputs, r.after.inputs));
    v(Field("outputs", "after the job"), interface_changes(r.before.outputs, r.after.outputs));
    v(Field("interface_layouts", "order of dimensions by input and output, where it is known")
          .if_set(),
      interface_layouts(r.after));
    v(Field("output_sha256", "hash of the first file").if_set(), r.output_sha256);
    v(Field("artifacts", "every written file").if_set(), r.artifacts);
    v(Field("provenance", "what the files were made from"), r.provenance);
    v(Field("self_check", "the file read back and run"), r.self_check);
    v(Field("operators", "operators of the file's format by name").if_set(), r.operators);
    v(Field("num_operators", "how many operators").count().exact().if_set(), r.num_operators);
    v(Field("placement", "what runs where"), r.placement);
    v(Field("quantization", "what quantisation did and what it cost"), r.quantization);
    v(Field("load_milliseconds", "reading the model").milliseconds().measured(),
      r.milliseconds("import"));
    v(Field("pass_milliseconds", "all passes").milliseconds().measured(), r.pass_milliseconds);
    v(Field("save_milliseconds", "making, checking and writing the files")
          .milliseconds()
          .measured(),
      r.milliseconds("emit") + r.milliseconds("self-check") + r.milliseconds("commit"));
    v(Field("phases", "the timeline"), r.phases);
    v(Field("stopped_after", "phase or pass that --stop-after named").if_set(), r.stopped_after);
    std::vector<std::pair<std::string, OptionReport>> options;
    for (const OptionReport& option : r.options) options.emplace_back(option.name, option);
    v(Field("options", "every option by name"), options);
    v(Field("passes", "in the order of the pipeline"), r.passes);
    v(Field("segments", "the files of a model that is cut into several").if_set(), r.segments);
  }
};

// Several models that were compiled together.
struct CompiledTogether {
  std::vector<CompileReport> models;
};

template <>
struct Description<CompiledTogether> {
  static constexpr std::string_view kName = "CompiledTogether";
  static constexpr std::string_view kHelp = "Several models that were compiled together.";
  template <class Visitor>
  static void fields(Visitor& v, const CompiledTogether& c) {
    v(Field("models", "in the order of the command line"), c.models);
  }
};

}  // namespace ec::report
