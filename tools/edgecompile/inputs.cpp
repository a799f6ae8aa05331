#include "inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/arrays.h"
#include "driver/quantize_request.h"
#include "quantize/calibration/assumptions.h"
#include "quantize/calibration/sample_files.h"
#include "quantize/fold_input/preprocessing_keys.h"
#include "runtime/fill.h"
#include "support/budget.h"
#include "support/strings.h"

namespace ec::cli {
namespace {

// One value of --input.
struct InputArgument {
  std::string name;   // empty: the model's inputs in order
  std::string value;  // x.npy, x.npz, cat.jpg, "random", "zeros" or "ones"
};

// NAME=FILE, or FILE alone.
Result<InputArgument> parse_input(std::string_view text) {
  const size_t equals = text.find('=');
  const bool named = equals != std::string_view::npos;
  InputArgument input{std::string(named ? text.substr(0, equals) : ""),
                      std::string(named ? text.substr(equals + 1) : text)};
  if (input.value.empty() || (named && input.name.empty()))
    return usage_error(fmt::format("--input needs NAME=FILE.npy, not '{}'", printable(text)),
                       "write -i input=x.npy, or -i random");
  return input;
}

// How pictures become inputs: what is given counts, then what the model's file says.
class Pictures {
 public:
  static Result<Pictures> create(const Options& options, const OpenedSession& opened, Verb verb,
                                 DiagnosticSink& sink) {
    Pictures pictures;
    pictures.sink_ = &sink;
    if (!kReadsImages.has(verb)) return pictures;
    EC_TRY(const Options resolved, default_registry().options().resolve(options, verb, {}));
    EC_TRY(pictures.preprocessing_, preprocessing_of(resolved));
    pictures.taken_ = true;
    const bool any = is_any_given(options, {"mean", "std", "pixel-range", "color", "resize"});
    const auto recorded =
        quantize::recorded_preprocessing(opened.metadata, quantize::kPreprocessingKey);
    if (!any && recorded) {
      const std::optional<Layout> layout = pictures.preprocessing_.layout;
      pictures.preprocessing_ = *recorded;
      pictures.preprocessing_.layout = layout;
    }
    pictures.known_ = (!any && recorded) || is_any_given(options, {"mean", "std", "pixel-range"});
    return pictures;
  }

  Result<Value> value(const std::string& file, const quantize::ModelInput& input) const {
    if (!taken_)
      return Error(Code::Usage, "pictures as inputs are for `run`")
          .hint("give a .npy file, or random, zeros or ones");
    const std::vector<quantize::ModelInput> inputs = {input};
    EC_TRY(const std::unique_ptr<quantize::SampleSource> samples,
           quantize::open_sample_files({file}, inputs, preprocessing_));
    quantize::AssumedData assumed{samples.get(), &inputs, preprocessing_, known_, true, false};
    quantize::warn_of_preprocessing(assumed, *sink_);
    EC_TRY(std::vector<Value> values, samples->read(0));
    return std::move(values.front());
  }

 private:
  static bool is_any_given(const Options& options, std::initializer_list<std::string_view> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return options.is_given(name); });
  }

  quantize::Preprocessing preprocessing_;
  bool taken_ = false, known_ = false;
  DiagnosticSink* sink_ = nullptr;
};

class Gatherer {
 public:
  Gatherer(const Session& session, uint64_t seed, Pictures pictures)
      : session_(session), seed_(seed), pictures_(std::move(pictures)) {}

  Status add(const InputArgument& argument) {
    if (const std::optional<Fill> fill = fill_from_name(argument.value))
      return argument.name.empty() ? fill_rest(*fill) : fill_one(argument.name, *fill);
    if (argument.name.empty() && is_npz(argument.value)) return add_npz(argument.value);
    EC_TRY(const std::string name, name_of(argument));
    if (quantize::file_kind(argument.value) == quantize::FileKind::Image)
      return add_picture(name, argument.value);
    npy::Array array;
    if (is_npz(argument.value)) {
      EC_TRY(array, npy::load_from_npz(argument.value, name));
    } else {
      EC_TRY(array, npy::load(argument.value));
    }
    return add_array(name, array, argument.value);
  }

  Status fill_rest(Fill fill) {
    for (const TensorDescription& input : session_.inputs())
      if (!has(input.name)) EC_CHECK_OK(fill_one(input.name, fill));
    return {};
  }

  std::vector<NamedValue> take() { return std::move(values_); }

 private:
  static bool is_npz(const std::string& path) { return to_lower(path).ends_with(".npz"); }

  bool has(const std::string& name) const {
    return std::any_of(values_.begin(), values_.end(),
                       [&](const NamedValue& value) { return value.name == name; });
  }
  const TensorDescription* find(const std::string& name) const {
    for (const TensorDescription& input : session_.inputs())
      if (input.name == name) return &input;
    return nullptr;
  }

  // A file without a name belongs to the first input that has no value yet.
  Result<std::string> name_of(const InputArgument& argument) const {
    if (!argument.name.empty()) return argument.name;
    for (const TensorDescription& input : session_.inputs())
      if (!has(input.name)) return input.name;
    return Error(Code::UnknownInput,
                 fmt::format("the model has {} inputs, and there is also '{}'",
                             session_.inputs().size(), printable(argument.value)))
        .hint("leave it out, or name the input: -i NAME=FILE");
  }

  // An unknown name gets a value all the same: the session refuses it and lists the inputs.
  Status add_array(const std::string& name, const npy::Array& array, const std::string& file) {
    const TensorDescription* input = find(name);
    Result<Value> value = value_from_array(array, input ? input->type.dtype : DType::F32);
    if (!value) return std::move(value).error().file(file);
    values_.push_back({name, std::move(*value)});
    return {};
  }

  Status add_picture(const std::string& name, const std::string& file) {
    const TensorDescription* input = find(name);
    if (!input) {
      values_.push_back({name, Value()});
      return {};
    }
    TensorType type = input->type;
    // Quantised inputs take real numbers; the session rounds them.
    if (type.quant) type.dtype = DType::F32;
    type.quant.reset();
    if (const auto shape = session_.default_shape(*input)) type.shape = Shape::of(*shape);
    Result<Value> value = pictures_.value(file, {name, std::move(type)});
    if (!value) return std::move(value).error().file(file);
    values_.push_back({name, std::move(*value)});
    return {};
  }

  Status fill_one(const std::string& name, Fill fill) {
    const TensorDescription* input = find(name);
    if (!input) {
      values_.push_back({name, Value()});
      return {};
    }
    const auto shape = session_.default_shape(*input);
    if (!shape)
      return Error(Code::DynamicShape, fmt::format("input '{}' is {}: its size is not known",
                                                   printable(name), input->type.text()))
          .hint(fmt::format("give it with --input-shape {}:{}, or pass an array with -i {}=x.npy",
                            name, example_shape(input->type), name));
    const auto bytes = TensorType(input->type.dtype, Shape::of(*shape)).num_bytes();
    filled_ += static_cast<size_t>(bytes.value_or(0));
    EC_CHECK_OK(check_room(filled_));
    EC_TRY(Value value, make_value(input->type.dtype, *shape, fill, seed_ + values_.size()));
    values_.push_back({name, std::move(value)});
    return {};
  }

  static std::string example_shape(const TensorType& type) {
    if (!type.shape) return "1x3x224x224";
    std::string text;
    for (const Dim& dim : *type.shape)
      text += fmt::format("{}{}", text.empty() ? "" : "x", dim.is_static() ? dim.size() : 1);
    return text;
  }

  Status add_npz(const std::string& path) {
    EC_TRY(const std::vector<std::string> names, npy::npz_names(path));
    for (const std::string& name : names) {
      EC_TRY(const npy::Array array, npy::load_from_npz(path, name));
      EC_CHECK_OK(add_array(name, array, path));
    }
    return {};
  }

  const Session& session_;
  uint64_t seed_;
  size_t filled_ = 0;  // bytes of the values that were made here
  Pictures pictures_;
  std::vector<NamedValue> values_;
};

}  // namespace

Result<std::vector<NamedValue>> gather_inputs(const Options& options, const OpenedSession& opened,
                                              Verb verb, DiagnosticSink& sink) {
  EC_TRY(Pictures pictures, Pictures::create(options, opened, verb, sink));
  Gatherer gatherer(*opened.session, static_cast<uint64_t>(options.integer("seed")),
                    std::move(pictures));
  for (const std::string& text : options.texts("input")) {
    EC_TRY(const InputArgument argument, parse_input(text));
    EC_CHECK_OK(gatherer.add(argument));
  }
  if (!options.has("input")) EC_CHECK_OK(gatherer.fill_rest(Fill::Random));
  return gatherer.take();
}

}  // namespace ec::cli
