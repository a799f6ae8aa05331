// The fields of what `inspect` tells.
#pragma once

#include "edgecompiler/report/model.h"
#include "report/field.h"

namespace ec::report {

template <>
struct Description<TensorQuantization> {
  static constexpr std::string_view kName = "TensorQuantization";
  static constexpr std::string_view kHelp = "real = scale * (stored - zero_point)";
  template <class Visitor>
  static void fields(Visitor& v, const TensorQuantization& q) {
    v(Field("scales", "one, or one per index along the axis"), q.scales);
    v(Field("zero_points", "in the order of the scales"), q.zero_points);
    v(Field("axis", "-1: one scale for the whole tensor"), q.axis);
  }
};

template <>
struct Description<InterfaceSummary> {
  static constexpr std::string_view kName = "InterfaceSummary";
  static constexpr std::string_view kHelp = "An input or an output.";
  template <class Visitor>
  static void fields(Visitor& v, const InterfaceSummary& s) {
    v(Field("name", "its name in the model").titled("Name"), s.name);
    v(Field("dtype", "element type").titled("Type"), s.dtype);
    v(Field("shape", "sizes; open ones by name; null where the rank is not known").titled("Shape"),
      Dims{s.dims ? &*s.dims : nullptr});
    v(Field("quantization", "where it is quantised"), s.quant);
  }
};

template <>
struct Description<OpSummary> {
  static constexpr std::string_view kName = "OpSummary";
  static constexpr std::string_view kHelp = "One kind of operation.";
  template <class Visitor>
  static void fields(Visitor& v, const OpSummary& o) {
    v(Field("op", "the operation").titled("Operation"), o.name);
    v(Field("count", "how many").count().exact().titled("Count"), o.count);
    v(Field("macs", "multiply-adds of all of them; null where they are not known")
          .count()
          .exact()
          .or_null()
          .titled("MACs"),
      o.macs);
    v(Field("supported", "false: an operation of the source model that cannot run here"),
      o.supported);
  }
};

template <>
struct Description<LayerSummary> {
  static constexpr std::string_view kName = "LayerSummary";
  static constexpr std::string_view kHelp = "One operation.";
  template <class Visitor>
  static void fields(Visitor& v, const LayerSummary& l) {
    v(Field("name", "name in the source model").titled("Node"), l.name);
    v(Field("op", "operation of the IR; the source's own where it is a custom one")
          .titled("Operation"),
      l.op);
    v(Field("source_op", "operation in the source model's words").titled("Source"), l.source_op);
    v(Field("output", "type of its first output").titled("Output"), l.output_type);
    v(Field("macs", "multiply-adds; null where they are not known")
          .count()
          .exact()
          .or_null()
          .titled("MACs"),
      l.macs);
    v(Field("parameters", "elements of constants that it reads first")
          .count()
          .exact()
          .titled("Parameters"),
      l.parameters);
    v(Field("problem", "why it cannot run here").if_set().titled("Problem"), l.problem);
  }
};

template <>
struct Description<QuantSummary> {
  static constexpr std::string_view kName = "QuantSummary";
  static constexpr std::string_view kHelp = "How much of a model is quantised.";
  template <class Visitor>
  static void fields(Visitor& v, const QuantSummary& q) {
    v(Field("tensors", "tensors with parameters").count().exact(), q.tensors);
    v(Field("per_channel", "of them with one scale per channel").count().exact(), q.per_channel);
    v(Field("quantize_ops", "quantize operations").count().exact(), q.quantize_ops);
    v(Field("dequantize_ops", "dequantize operations").count().exact(), q.dequantize_ops);
  }
};

template <>
struct Description<ModelSummary> {
  static constexpr std::string_view kName = "ModelSummary";
  static constexpr std::string_view kHelp = "What a model holds.";
  template <class Visitor>
  static void fields(Visitor& v, const ModelSummary& s) {
    v(Field("file", "the model as it was named"), s.file);
    v(Field("file_bytes", "size of the file").bytes().exact(), s.file_bytes);
    v(Field("format", "format of the file"), s.format);
    v(Field("name", "name of the graph"), s.name);
    v(Field("inputs", "in the model's order"), s.inputs);
    v(Field("outputs", "in the model's order"), s.outputs);
    v(Field("open_dimensions", "names of open sizes of the inputs"), s.open_dims);
    v(Field("operations", "nested graphs included").count().exact(), s.operations);
    v(Field("ops", "kinds of operations, the most frequent first"), s.ops);
    v(Field("parameters", "elements of all constants").count().exact(), s.parameters);
    v(Field("parameter_bytes", "their size").bytes().exact(), s.parameter_bytes);
    v(Field("parameter_types", "their number by element type"), s.parameter_types);
    v(Field("unsupported", "operations that cannot run here").count().exact(), s.unsupported);
    v(Field("macs", "multiply-adds of a run, as far as they are known; null where none are")
          .count()
          .exact()
          .or_null(),
      s.known_macs());
    v(Field("macs_unknown_operations", "operations whose multiply-adds are not known")
          .count()
          .exact(),
      s.macs_unknown);
    v(Field("has_nested_graphs", "bodies of control flow count once, however often they run"),
      s.has_bodies);
    v(Field("quantization", "how much is quantised"), s.quant);
    v(Field("metadata", "texts of the model"), s.metadata);
    v.rest("code for devices in the file, under the key of its back end", s.device_code);
    v(Field("layers", "operations in order of execution"), s.layers);
  }
};

}  // namespace ec::report
