// The fields of the lists.
#pragma once

#include <map>

#include "edgecompiler/report/lists.h"
#include "report/field.h"

namespace ec::report {

template <>
struct Description<TargetFile> {
  static constexpr std::string_view kName = "TargetFile";
  static constexpr std::string_view kHelp = "A kind of file that a target writes.";
  template <class Visitor>
  static void fields(Visitor& v, const TargetFile& f) {
    v(Field("extension", "how its name ends"), f.extension);
    v(Field("summary", "what it is"), f.summary);
  }
};

template <>
struct Description<TargetVariant> {
  static constexpr std::string_view kName = "TargetVariant";
  static constexpr std::string_view kHelp = "A form of a target: TARGET:VARIANT.";
  template <class Visitor>
  static void fields(Visitor& v, const TargetVariant& t) {
    v(Field("name", "what follows the colon"), t.name);
    v(Field("summary", "what it is"), t.summary);
  }
};

template <>
struct Description<TargetOption> {
  static constexpr std::string_view kName = "TargetOption";
  static constexpr std::string_view kHelp = "An option of one target.";
  template <class Visitor>
  static void fields(Visitor& v, const TargetOption& o) {
    v(Field("name", "without the dashes"), o.name);
    v(Field("argument", "what stands for its value in --help"), o.argument);
    v(Field("default", "as written on the command line"), o.default_value);
    v(Field("values", "what it may be"), o.values);
    v(Field("help", "what it does"), o.help);
  }
};

template <>
struct Description<TargetEntry> {
  static constexpr std::string_view kName = "TargetEntry";
  static constexpr std::string_view kHelp = "One target.";
  template <class Visitor>
  static void fields(Visitor& v, const TargetEntry& t) {
    v(Field("name", "for --target"), t.name);
    v(Field("available", "it is in this build"), t.available);
    v(Field("extension", "of the file that it usually writes"), t.extension);
    v(Field("summary", "what it is"), t.summary);
    v(Field("files", "kinds of files that it writes"), t.files);
    v(Field("variants", "forms of the target"), t.variants);
    v(Field("options", "its own options"), t.options);
  }
};

template <>
struct Description<TargetList> {
  static constexpr std::string_view kName = "TargetList";
  static constexpr std::string_view kHelp = "All targets.";
  template <class Visitor>
  static void fields(Visitor& v, const TargetList& l) {
    v(Field("targets", "the first is the default"), l.targets);
  }
};

template <>
struct Description<PassOptionEntry> {
  static constexpr std::string_view kName = "PassOption";
  static constexpr std::string_view kHelp = "An option of a pass.";
  template <class Visitor>
  static void fields(Visitor& v, const PassOptionEntry& o) {
    v(Field("key", "its name"), o.key);
    v(Field("default", "its value where none is given"), o.default_value);
    v(Field("choices", "what it may be"), o.choices);
    v(Field("summary", "what it does"), o.summary);
  }
};

template <>
struct Description<PassEntry> {
  static constexpr std::string_view kName = "PassEntry";
  static constexpr std::string_view kHelp = "One pass.";
  template <class Visitor>
  static void fields(Visitor& v, const PassEntry& p) {
    v(Field("name", "for --passes"), p.name);
    v(Field("summary", "what it does"), p.summary);
    v(Field("details", "when it does so"), p.details);
    v(Field("options", "written as NAME{key=value}"), p.options);
  }
};

template <>
struct Description<PipelineEntry> {
  static constexpr std::string_view kName = "PipelineEntry";
  static constexpr std::string_view kHelp = "A list of passes that has a name.";
  template <class Visitor>
  static void fields(Visitor& v, const PipelineEntry& p) {
    v(Field("name", "for --passes"), p.name);
    v(Field("summary", "what it is for"), p.summary);
    v(Field("passes", "in order, separated by commas"), p.passes);
    v(Field("until_nothing_changes", "it is repeated"), p.until_nothing_changes);
  }
};

template <>
struct Description<StepEntry> {
  static constexpr std::string_view kName = "StrategyStep";
  static constexpr std::string_view kHelp = "A step of a strategy of quantisation.";
  template <class Visitor>
  static void fields(Visitor& v, const StepEntry& s) {
    v(Field("name", "in reports"), s.name);
    v(Field("summary", "what it does"), s.summary);
  }
};

template <>
struct Description<StrategyEntry> {
  static constexpr std::string_view kName = "StrategyEntry";
  static constexpr std::string_view kHelp = "A strategy of quantisation.";
  template <class Visitor>
  static void fields(Visitor& v, const StrategyEntry& s) {
    v(Field("name", "for --quantize"), s.name);
    v(Field("summary", "what it gives"), s.summary);
    v(Field("steps", "in order"), s.steps);
  }
};

template <>
struct Description<PassList> {
  static constexpr std::string_view kName = "PassList";
  static constexpr std::string_view kHelp = "Passes, pipelines and strategies.";
  template <class Visitor>
  static void fields(Visitor& v, const PassList& l) {
    v(Field("passes", "all passes"), l.passes);
    v(Field("pipelines", "lists of passes with names"), l.pipelines);
    v(Field("strategies", "of quantisation"), l.strategies);
  }
};

template <>
struct Description<CodeEntry> {
  static constexpr std::string_view kName = "CodeEntry";
  static constexpr std::string_view kHelp = "A code of errors and warnings.";
  template <class Visitor>
  static void fields(Visitor& v, const CodeEntry& c) {
    v(Field("code", "as it is printed"), c.code);
    v(Field("name", "inside the program"), c.name);
    v(Field("title", "in one line"), c.title);
    v(Field("explanation", "in full"), c.explanation);
    v(Field("exit_code", "of the program where this is the first error"), c.exit_code);
  }
};

template <>
struct Description<CodeList> {
  static constexpr std::string_view kName = "CodeList";
  static constexpr std::string_view kHelp = "All codes.";
  template <class Visitor>
  static void fields(Visitor& v, const CodeList& l) {
    v(Field("codes", "in order"), l.codes);
  }
};

template <>
struct Description<MachineReport> {
  static constexpr std::string_view kName = "MachineReport";
  static constexpr std::string_view kHelp = "What `doctor` finds.";
  template <class Visitor>
  static void fields(Visitor& v, const MachineReport& m) {
    v(Field("version", "of the program"), m.version);
    v(Field("system", "operating system and processor family"), m.system);
    v(Field("cpu_model", "the processor"), m.cpu_model);
    v(Field("cpu_threads", "hardware threads").count().exact(), m.cpu_threads);
    v(Field("kernels", "instruction sets with kernels here, the used one first"), m.kernels);
    v(Field("l2_bytes", "level-2 cache").bytes().exact(), m.l2_bytes);
    v(Field("memory_bytes", "memory").bytes().exact(), m.memory_bytes);
    v(Field("memory_free_bytes", "memory that nothing uses").bytes().measured(),
      m.memory_free_bytes);
    v(Field("formats_read", "formats of models"), m.formats_read);
    v(Field("formats_written", "formats of models and files"), m.formats_written);
    v(Field("targets", "in this build"), m.targets);
    v(Field("targets_absent", "known, and not in this build"), m.targets_absent);
    std::map<std::string, std::string> devices;
    for (const Fact& fact : m.devices) devices[fact.key] = fact.value;
    v(Field("devices", "drivers, devices and compilers by name"), devices);
  }
};

}  // namespace ec::report
