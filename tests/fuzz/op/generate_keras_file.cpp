// Keras models whose layers and operations are made from the importer's own tables: names of
// classes and of keys in configurations are right, everything else is as it comes. Files of Keras 3
// (archives) and of Keras 2 (HDF5), with weights whose sizes fit more often than not.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "frontend/keras/config.h"
#include "frontend/keras/table.h"
#include "frontend/torch/archive_builder.h"
#include "fuzz/op/generate.h"
#include "fuzz/op/hdf5_writer.h"

namespace ec::fuzz {
namespace {

using Json = nlohmann::ordered_json;
using Sizes = std::vector<int64_t>;

struct KeyName {
  std::string_view family, kind, name;
};
// Written when the build is configured: what each file of converters asks for.
constexpr KeyName kKeyNames[] = {
#include "keras_key_names.inc"
};

struct LayerClass {
  std::string name;
  std::string_view family;
  bool is_operation = false, takes_list = false;
};

const std::vector<LayerClass>& classes() {
  static const std::vector<LayerClass> kClasses = [] {
    struct Family {
      std::string_view name;
      std::span<const keras::LayerRow> rows;
      bool is_operation = false;
    };
    std::vector<LayerClass> list;
    for (const Family& family : {Family{"activation", keras::kActivationRows},
                                 {"attention", keras::kAttentionRows},
                                 {"convolution", keras::kConvolutionRows},
                                 {"core", keras::kCoreRows},
                                 {"merge", keras::kMergeRows},
                                 {"normalization", keras::kNormalizationRows},
                                 {"pooling", keras::kPoolRows},
                                 {"preprocessing", keras::kPreprocessingRows},
                                 {"quantize", keras::kQuantizeRows},
                                 {"recurrent", keras::kRecurrentRows},
                                 {"reshape", keras::kReshapeRows},
                                 {"spectrogram", keras::kSpectrogramRows},
                                 {"functions", keras::kFunctions},
                                 {"math_operations", keras::kMathOperations, true},
                                 {"array_operations", keras::kArrayOperations, true},
                                 {"nn_operations", keras::kNnOperations, true}})
      for (const keras::LayerRow& row : family.rows) {
        static const std::vector<std::string_view> kJoining = {
            "Attention", "AdditiveAttention", "Concatenate", "Stack", "Hstack", "Vstack"};
        const bool joins =
            family.name == "merge" || std::ranges::find(kJoining, row.name) != kJoining.end();
        list.push_back({std::string(row.name), family.name, family.is_operation, joins});
      }
    return list;
  }();
  return kClasses;
}

std::vector<const KeyName*> keys_of(std::string_view family) {
  std::vector<const KeyName*> keys;
  for (const KeyName& key : kKeyNames) {
    const bool own = key.family == family || (family == "recurrent" && key.family == "cell");
    if (own && key.kind != "function") keys.push_back(&key);
  }
  return keys;
}

std::string random_bytes(RandomSource& random, Hdf5Writer::Type type, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) {
    char element[8] = {};
    const float real = static_cast<float>(random.pick(-8, 8)) / 8;
    const int64_t whole = random.pick(-3, 5);
    const double wide = static_cast<double>(real);
    if (type == Hdf5Writer::Type::F32)
      std::memcpy(element, &real, sizeof real);
    else if (type == Hdf5Writer::Type::F64)
      std::memcpy(element, &wide, sizeof wide);
    else
      std::memcpy(element, &whole, sizeof whole);
    bytes.append(element, Hdf5Writer::element_size(type));
  }
  return bytes;
}

class FileGenerator {
 public:
  explicit FileGenerator(RandomSource& random) : random_(random), old_(random.chance(25)) {
    for (int64_t& size : sizes_) size = random_.pick(1, 4);
    for (int64_t& size : image_) size = random_.pick(3, 8);
    units_ = random_.pick(1, 4);
  }

  void generate(const LayerClass& subject, Model& model) {
    // An image and a sequence suit more layers than any shape does.
    rank_ = subject.name.find("3D") != std::string::npos   ? 5
            : subject.name.find("2D") != std::string::npos ? 4
            : subject.name.find("1D") != std::string::npos ? 3
                                                           : random_.pick(1, 5);
    if (subject.family == "recurrent" || subject.family == "attention")
      rank_ = subject.name.starts_with("ConvLSTM")             ? rank_ + 1
              : subject.name.find("Cell") != std::string::npos ? 2
                                                               : 3;
    if (subject.name.find("DotProduct") != std::string::npos || subject.name.starts_with("Depth") ||
        subject.name.starts_with("SpaceTo"))
      rank_ = 4;
    if (random_.chance(10)) rank_ = random_.pick(0, 6);
    for (int64_t i = random_.pick(1, 3); i > 0; --i) add_input();
    if (random_.chance(25)) add_layer(random_.one_of(classes()));
    add_layer(subject);
    for (int64_t i = random_.chance(60) ? 0 : random_.pick(1, 2); i > 0; --i)
      add_layer(random_.one_of(classes()));
    write(model);
  }

 private:
  // --- numbers and words
  // --------------------------------------------------------------------------
  int64_t number() {
    if (random_.chance(88)) return random_.pick(-2, 5);
    return random_.one_of<int64_t>({INT64_MIN, INT64_MAX, INT64_MAX - 1, int64_t{1} << 40,
                                    int64_t{1} << 31, -(int64_t{1} << 31), 1000, -1000, 65536,
                                    1 << 20, 4096, 1 << 24});
  }
  double real() {
    if (random_.chance(80)) return static_cast<double>(random_.pick(-8, 8)) / 4;
    return random_.one_of<double>({0.0, -0.0, 1e30, -1e30, 1e-30, 1.5e308, 1e-7});
  }
  Json ints() {
    const int64_t form = random_.pick(0, 99);
    if (form < 40) return number();
    Json list = Json::array();
    if (form < 55) {  // a permutation
      for (int64_t i = 0; i < rank_; ++i) list.push_back(i);
      for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random_.index(i)]);
      return list;
    }
    if (form < 70) {  // the shape, or what it may be reshaped to
      if (random_.chance(50)) list.push_back(-1);
      for (int64_t i = random_.pick(0, 1); i < rank_; ++i) list.push_back(size(i));
      return list;
    }
    for (size_t i = random_.index(5); i > 0; --i) list.push_back(number());
    return list;
  }
  Json small_ints() {
    if (random_.chance(50)) return random_.pick(1, 3);
    Json list = Json::array();
    for (int64_t i = random_.chance(80) ? rank_ - 2 : random_.pick(0, 4); i > 0; --i)
      list.push_back(random_.pick(1, 3));
    return list;
  }
  Json nested(int depth) {
    Json list = Json::array();
    for (size_t i = random_.index(4); i > 0; --i)
      list.push_back(depth > 0 && random_.chance(60) ? nested(depth - 1)
                     : random_.chance(80)            ? Json(number())
                                                     : Json(real()));
    return list;
  }
  Json anything() {
    switch (random_.pick(0, 8)) {
      case 0:
        return nullptr;
      case 1:
        return random_.chance(50);
      case 2:
        return real();
      case 3:
        return word("");
      case 4:
        return nested(2);
      case 5:
        return Json{{"class_name", word("")}, {"config", {{"name", word("")}}}};
      case 6:
        return number();
      default:
        return ints();
    }
  }

  std::string word(std::string_view key) {
    static const std::map<std::string_view, std::vector<std::string>> kWords = {
        {"activation", {"relu", "softmax", "tanh", "glu", "sparsemax", "linear", "squareplus"}},
        {"recurrent_activation", {"sigmoid", "hard_sigmoid", "elu", "softmax"}},
        {"data_format", {"channels_first", "channels_last"}},
        {"padding", {"valid", "same", "causal"}},
        {"interpolation",
         {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"}},
        {"mode",
         {"constant", "reflect", "edge", "wrap", "log", "psd", "real", "imag", "stft", "angle"}},
        {"output_mode", {"multi_hot", "one_hot", "count", "int"}},
        {"merge_mode", {"concat", "sum", "mul", "ave"}},
        {"score_mode", {"dot", "concat"}},
        {"window", {"hann", "hamming", ""}},
        {"dtype", {"float32", "int32", "bool", "int64", "uint8", "int8", "float16", "uint64"}},
        {"equation", {"abc,cd->abd", "ab,bc->ac", "...x,xy->...y", "a,a->", "abc,cde->abde", ","}},
        {"subscripts", {"ab,bc->ac", "abc,abd->acd", "ij->ji", "ii->i", "...a->...", "a,b->ab"}}};
    static const std::vector<std::string> kOthers = {"",     "nosuch",  "same",
                                                     "relu", "float32", "..."};
    const auto own = kWords.find(key);
    return own == kWords.end() || random_.chance(6) ? random_.one_of(kOthers)
                                                    : random_.one_of(own->second);
  }

  // Sizes behind the batch: features last, as Keras has them.
  int64_t size(int64_t axis) const {
    const bool spatial = axis > 0 && axis + 1 < rank_;
    return (spatial ? image_ : sizes_)[static_cast<size_t>(axis == rank_ - 1 ? 6 : axis) % 7];
  }

  // --- calls
  // --------------------------------------------------------------------------------------
  void add_input() {
    Json shape = Json::array();
    const int64_t rank = random_.chance(80) ? rank_ : random_.pick(0, 5);
    const bool open = random_.chance(40);
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t odd = random_.pick(0, 199);
      Json one = size(i + rank_ - rank);
      if ((i == 0 && open) || odd < 3)
        one = nullptr;
      else if (odd < 6)
        one = 0;
      else if (odd < 8)
        one = number();
      else if (odd < 12)
        one = 1;
      shape.push_back(one);
    }
    const std::string dtype = random_.chance(70) ? "float32"
                              : random_.chance(95)
                                  ? random_.one_of({"int32", "bool", "uint8", "int64"})
                                  : word("dtype");
    const std::string name = "in" + std::to_string(inputs_++);
    layers_.push_back({{"module", "keras.layers"},
                       {"class_name", "InputLayer"},
                       {"config", {{"batch_shape", shape}, {"dtype", dtype}, {"name", name}}},
                       {"registered_name", nullptr},
                       {"name", name},
                       {"inbound_nodes", Json::array()}});
    results_.push_back(name);
  }

  Json tensor() {
    const std::string& name = random_.chance(55) ? results_.back() : random_.one_of(results_);
    const int64_t odd = random_.pick(0, 199);
    const Json place = {name, odd == 0 ? number() : 0, odd == 1 || odd == 2 ? odd : 0};
    if (old_) return place;
    return {{"class_name", random_.chance(99) ? "__keras_tensor__" : "__nothing__"},
            {"config", {{"shape", {nullptr}}, {"dtype", "float32"}, {"keras_history", place}}}};
  }
  Json tensors() {
    Json list = Json::array();
    const int64_t count = random_.chance(75) ? 2 : random_.chance(90) ? random_.pick(1, 4) : 0;
    for (int64_t i = 0; i < count; ++i) list.push_back(tensor());
    return list;
  }
  Json slice() {
    Json config = Json::object();
    for (const char* part : {"start", "stop", "step"})
      config[part] = random_.chance(50) ? Json(nullptr) : Json(number());
    return old_ ? config : Json{{"class_name", "__slice__"}, {"config", config}};
  }
  Json subscript() {
    Json list = Json::array();
    for (size_t i = random_.index(4); i > 0; --i) {
      const int64_t form = random_.pick(0, 9);
      list.push_back(form < 4   ? slice()
                     : form < 7 ? Json(number())
                     : form < 8 ? Json(nullptr)
                     : form < 9 ? Json("...")
                                : tensor());
    }
    return list;
  }
  // Numbers for each place of a shape, as kernels and weights of operations are given.
  Json block(int64_t rank, int64_t axis) {
    if (axis == rank) return random_.chance(50) ? Json(random_.pick(0, 2)) : Json(real());
    Json list = Json::array();
    for (int64_t i = std::min<int64_t>(size(axis + rank_ - rank), 3); i > 0; --i)
      list.push_back(block(rank, axis + 1));
    return list;
  }
  Json operand(bool first, bool list, std::string_view name) {
    if (name == "key" || name == "slice_spec") return subscript();
    if (first && random_.chance(list ? 90 : 8)) return tensors();
    if (random_.chance(first ? 97 : 65)) return tensor();
    const int64_t form = random_.pick(0, 99);
    if (form < 40) return block(random_.chance(50) ? rank_ : random_.pick(0, 4), 0);
    return form < 60 ? nested(2) : form < 80 ? Json(number()) : anything();
  }

  Json call_of(const LayerClass& subject, const std::vector<const KeyName*>& keys) {
    std::vector<std::string_view> names;
    for (const KeyName* key : keys)
      if (key->kind == "arg" || key->kind == "kwargs") names.push_back(key->name);
    Json args = Json::array(), kwargs = Json::object();
    const bool subscripts = subject.name == "GetItem";
    // Kernels and places that are computed are refused.
    static const std::vector<std::string_view> kConstants = {"Conv", "DepthwiseConv", "Slice"};
    const bool constant = std::ranges::find(kConstants, subject.name) != kConstants.end();
    const bool is_cell = subject.name.find("Cell") != std::string::npos;
    const int64_t least = is_cell ? 2 : subject.name.ends_with("Attention") ? 3 : constant ? 2 : 1;
    for (int64_t i = 0, n = random_.chance(99) ? random_.pick(least, 3) : 0; i < n; ++i)
      args.push_back(i == 1 && is_cell ? tensors()
                     : i == 1 && constant && random_.chance(85)
                         ? (subject.name == "Slice" ? ints() : block(rank_, 0))
                         : operand(i == 0, subject.takes_list, i == 1 && subscripts ? "key" : ""));
    for (const std::string_view name : names)
      if (random_.chance(args.empty() ? 60 : 12))
        kwargs[std::string(name)] = operand(false, false, name);
    if (!old_) return {{"args", args}, {"kwargs", kwargs}};
    // In Keras 2 all tensors are one list, and the other arguments stand beside the first.
    Json call = Json::array();
    for (const Json& arg : args) {
      const bool is_place = arg.is_array() && arg.size() == 3 && arg[0].is_string();
      const bool is_list = arg.is_array() && !arg.empty() && arg[0].is_array();
      if (is_place)
        call.push_back(arg);
      else if (is_list)
        for (const Json& item : arg) call.push_back(item);
      else
        call.push_back({"_CONSTANT_VALUE", -1, arg});
    }
    for (Json& item : call)
      if (item.size() == 3 && item[0] != "_CONSTANT_VALUE") {
        item.push_back(kwargs);
        break;
      }
    return call;
  }

  // --- layers
  // -------------------------------------------------------------------------------------
  Json value_of(const KeyName& key) {
    const std::string_view name = key.name, kind = key.kind;
    if (random_.chance(2)) return anything();
    if (name == "layer" || name == "backward_layer" || name == "cell") return inner(name);
    if (name == "cells" || name == "layers") {
      Json list = Json::array();
      for (size_t i = random_.index(3); i > 0; --i) list.push_back(inner(name));
      return list;
    }
    if (name == "function") {
      std::vector<std::string_view> functions;
      for (const KeyName& one : kKeyNames)
        if (one.kind == "function") functions.push_back(one.name);
      return random_.chance(10) ? "__operators__.getitem" : Json(random_.one_of(functions));
    }
    if (name == "activation" && random_.chance(10)) return inner(name);
    if (name == "mean" || name == "variance" || name == "scale" || name == "bin_boundaries")
      return random_.chance(50) ? Json(real()) : numbers();
    if (name.starts_with("num_") && random_.chance(70)) return random_.pick(1, 3);
    if (name.ends_with("freq") || name == "sampling_rate") return random_.pick(0, 20000);
    if (name == "height" || name == "width" || name == "fft_length" || name == "frame_length")
      return random_.chance(70) ? random_.pick(1, 9) : number();
    if (kind == "integer") return number();
    if (kind == "ints" || kind == "amounts") return random_.chance(80) ? ints() : nested(2);
    if (kind == "window") return random_.chance(80) ? small_ints() : ints();
    if (kind == "flag") return random_.chance(40);
    if (kind == "number" || kind == "factors")
      return random_.chance(80) ? Json(real()) : anything();
    const std::string text = word(name);
    if (kind == "text" || random_.chance(text.empty() || text == "nosuch" ? 0 : 60)) return text;
    const int64_t form = random_.pick(0, 9);
    return form < 4 ? ints() : form < 6 ? Json(number()) : form < 7 ? nullptr : anything();
  }
  Json numbers() {
    Json list = Json::array();
    for (int64_t i = random_.chance(80) ? size(rank_ - 1) : random_.pick(0, 5); i > 0; --i)
      list.push_back(real());
    return list;
  }

  // A layer that stands in the configuration of another.
  Json inner(std::string_view key) {
    static const std::vector<std::string> kCells = {"LSTMCell", "GRUCell", "SimpleRNNCell",
                                                    "StackedRNNCells"};
    static const std::vector<std::string> kSequences = {"LSTM", "GRU", "SimpleRNN", "ConvLSTM1D"};
    const LayerClass* subject = &random_.one_of(classes());
    const auto named = [&](const std::vector<std::string>& names) {
      const std::string& name = random_.one_of(names);
      subject = &*std::ranges::find(classes(), name, &LayerClass::name);
    };
    if (key.starts_with("cell") && random_.chance(85)) named(kCells);
    if (key.ends_with("layer") && random_.chance(40)) named(kSequences);
    if (depth_ >= 2) return nullptr;
    ++depth_;
    const std::string name = "inner" + std::to_string(random_.pick(0, 2));
    Json layer = {{"module", subject->is_operation ? "keras.ops" : "keras.layers"},
                  {"class_name", subject->name},
                  {"config", config_of(*subject, name)},
                  {"registered_name", nullptr}};
    --depth_;
    return layer;
  }

  Json config_of(const LayerClass& subject, const std::string& name) {
    Json config = {{"name", name}, {"trainable", true}};
    std::map<std::string_view, std::vector<const KeyName*>> by_name;
    for (const KeyName* key : keys_of(subject.family))
      if (key->kind != "arg" && key->kind != "kwargs") by_name[key->name].push_back(key);
    for (const auto& [key, kinds] : by_name) {
      static const std::vector<std::string_view> kNeeded = {"layer",
                                                            "cell",
                                                            "function",
                                                            "pool_size",
                                                            "axes",
                                                            "num_classes",
                                                            "block_size",
                                                            "key_dim",
                                                            "num_query_heads",
                                                            "num_key_value_heads",
                                                            "head_dim",
                                                            "frame_length",
                                                            "num_tokens",
                                                            "height",
                                                            "width",
                                                            "n",
                                                            "shape",
                                                            "k",
                                                            "subscripts",
                                                            "equation",
                                                            "size",
                                                            "output_size",
                                                            "axis1",
                                                            "axis2"};
      static const std::vector<std::string_view> kRefused = {
          "time_major",           "stateful",  "max_freq", "attn_logits_soft_cap",
          "crop_to_aspect_ratio", "lora_rank", "ragged"};
      const bool needed = std::ranges::find(kNeeded, key) != kNeeded.end();
      const bool refused = std::ranges::find(kRefused, key) != kRefused.end();
      // Layers in the configuration of any other class make a model of it.
      if (key == "layers" && !subject.name.starts_with("Pipe") && random_.chance(95)) continue;
      if (random_.chance(needed ? 96 : refused ? 8 : 50)) {
        const KeyName* kind = random_.one_of(kinds);
        for (const KeyName* other : kinds)
          if ((kind->kind == "has" || kind->kind == "config") && random_.chance(70)) kind = other;
        config[std::string(key)] = value_of(*kind);
      }
    }
    for (const char* key : {"units", "filters"})
      if (random_.chance(98)) config[key] = units_;
    if (random_.chance(30)) config["data_format"] = word("data_format");
    if (!subject.is_operation && old_) config["dtype"] = "float32";
    if (random_.chance(5))
      config["dtype"] = {{"class_name", "QuantizedDTypePolicy"},
                         {"config", {{"mode", random_.chance(70) ? "int8" : "int4"}}}};
    return config;
  }

  void add_layer(const LayerClass& subject) {
    const std::string name = "l" + std::to_string(layers_.size());
    const auto keys = keys_of(subject.family);
    Json layer = {{"module", subject.is_operation ? "keras.src.ops.numpy" : "keras.layers"},
                  {"class_name", subject.name},
                  {"config", config_of(subject, name)},
                  {"registered_name", nullptr},
                  {"name", name},
                  {"inbound_nodes", Json::array()}};
    layer["inbound_nodes"].push_back(call_of(subject, keys));
    layers_.push_back(std::move(layer));
    if (!subject.is_operation) add_weights(subject, name);
    results_.push_back(name);
    made_.push_back(name);
  }

  // --- weights
  // ------------------------------------------------------------------------------------ Sizes of
  // the variables of a class, in Keras's order.
  std::vector<Sizes> variables(const std::string& c) {
    const int64_t in = size(rank_ - 1), u = units_;
    const auto contains = [&](std::string_view part) { return c.find(part) != std::string::npos; };
    const int64_t gates = contains("GRU") ? 3 : contains("SimpleRNN") ? 1 : 4;
    Sizes kernel;
    for (int64_t i = 2; i < rank_; ++i) kernel.push_back(random_.pick(1, 3));
    const auto spatial = [&](int64_t a, int64_t b) {
      Sizes all = kernel;
      all.insert(all.end(), {a, b});
      return all;
    };
    if (contains("ConvLSTM")) {
      if (!kernel.empty()) kernel.pop_back();
      return {spatial(in, 4 * u), spatial(u, 4 * u), {4 * u}};
    }
    if (contains("LSTM") || contains("SimpleRNN"))
      return {{in, gates * u}, {u, gates * u}, {gates * u}};
    if (contains("GRU")) return {{in, 3 * u}, {u, 3 * u}, {2, 3 * u}};
    if (contains("Separable")) return {spatial(in, 1), spatial(in, u), {u}};
    if (contains("Depthwise")) return {spatial(in, 1), {in}};
    if (contains("Transpose")) return {spatial(u, in), {u}};
    if (contains("Conv")) return {spatial(in, u), {u}};
    if (contains("Batch")) return {{in}, {in}, {in}, {in}};
    if (contains("Normalization")) return std::vector<Sizes>(contains("RMS") ? 1 : 2, {in});
    if (contains("Embedding")) return {{8, u}, {u, 8}};
    if (contains("PReLU")) return {{in}};
    if (contains("Quantize")) return {{}, {}, {}};
    if (contains("STFT")) return {{4, 1, 3}, {4, 1, 3}};
    if (contains("EinsumDense") && random_.chance(50)) return {{in, u, 2}, {u, 2}};
    return {{in, u}, {u}};
  }

  void add_weight(const std::string& path, Sizes shape) {
    if (random_.chance(3)) shape.resize(random_.index(5), random_.pick(0, 4));
    if (!shape.empty() && random_.chance(4))
      shape[random_.index(shape.size())] = random_.pick(0, 5);
    int64_t count = 1;
    for (const int64_t one : shape) count *= one;
    if (count > 4000) return;
    using enum Hdf5Writer::Type;
    const Hdf5Writer::Type type =
        random_.chance(95) ? F32 : random_.one_of({F16, F64, I8, I32, U8});
    h5_.add_dataset(path, type, shape, random_bytes(random_, type, static_cast<size_t>(count)));
  }

  void add_weights(const LayerClass& subject, const std::string& name) {
    static const std::vector<std::string> kParts = {"cell", "layer", "forward_layer",
                                                    "backward_layer"};
    if (old_) return add_old_weights(subject, name);
    const std::string base = keras::snake_case(subject.name);
    const int64_t k = groups_[base]++;
    const std::string group = "layers/" + base + (k > 0 ? "_" + std::to_string(k) : "");
    const auto add = [&](const std::string& path, const std::vector<Sizes>& shapes) {
      for (size_t i = 0; i < shapes.size(); ++i)
        if (random_.chance(97)) add_weight(path + "/vars/" + std::to_string(i), shapes[i]);
    };
    if (subject.name.ends_with("HeadAttention") || subject.name.ends_with("QueryAttention")) {
      const int64_t in = size(rank_ - 1);
      for (const char* part : {"query", "key", "value", "gate"})
        add(group + "/" + part + "_dense", {{in, 2, units_}, {2, units_}});
      return add(group + "/output_dense", {{2, units_, in}, {in}});
    }
    std::string inner = subject.name;
    const Json& config = layers_.back()["config"];
    static const std::vector<std::string_view> kWrappers = {
        "RNN", "TimeDistributed", "Bidirectional", "SpectralNormalization", "QuantizeWrapper"};
    if (std::ranges::find(kWrappers, subject.name) != kWrappers.end())
      for (const char* key : {"layer", "cell"})
        if (config.contains(key) && config[key].is_object()) inner = config[key]["class_name"];
    const std::vector<Sizes> shapes = variables(inner);
    add(group, shapes);
    if (subject.family != "recurrent" && subject.family != "quantize" && inner == subject.name)
      return;
    for (const std::string& part : kParts) {
      add(group + "/" + part, shapes);
      add(group + "/" + part + "/cell", shapes);
    }
  }

  void add_old_weights(const LayerClass& subject, const std::string& name) {
    std::vector<std::string> names;
    const std::vector<Sizes> shapes = variables(subject.name);
    for (size_t i = 0; i < shapes.size(); ++i) {
      names.push_back(name + "/v" + std::to_string(i) + ":0");
      add_weight("model_weights/" + name + "/" + names.back(), shapes[i]);
    }
    h5_.add_texts("model_weights/" + name, "weight_names", names, true);
  }

  // --- the whole
  // ----------------------------------------------------------------------------------
  void write(Model& model) {
    Json inputs = Json::array(), outputs = Json::array();
    for (int64_t i = 0; i < inputs_; ++i) inputs.push_back({"in" + std::to_string(i), 0, 0});
    for (const std::string& name : made_)
      if (name == made_.back() || random_.chance(40)) outputs.push_back({name, 0, 0});
    const Json config = {{"module", "keras"},
                         {"class_name", "Functional"},
                         {"config",
                          {{"name", "m"},
                           {"trainable", true},
                           {"layers", layers_},
                           {"input_layers", inputs},
                           {"output_layers", outputs}}},
                         {"registered_name", "Functional"}};
    // Words that are no UTF-8 are replaced: nothing is thrown.
    const std::string text = config.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    h5_.add_group(old_ ? "model_weights" : "layers");
    if (old_) {
      h5_.add_texts("", "keras_version", {random_.chance(70) ? "2.12.0" : "3.1.0"}, false);
      h5_.add_texts("", "model_config", {text}, false);
      model.file_name = "fuzz.h5";
      model.files = {{"", h5_.file()}};
      return;
    }
    const std::string version = random_.one_of({"3.15.1", "3.5.0", "3.7.0", ""});
    model.file_name = "fuzz.keras";
    model.files = {
        {"", torch::testing::zip({{"metadata.json", R"({"keras_version": ")" + version + "\"}"},
                                  {"config.json", text},
                                  {"model.weights.h5", h5_.file()}})}};
  }

  RandomSource& random_;
  bool old_;
  int64_t rank_ = 3, units_ = 2, inputs_ = 0;
  int64_t sizes_[7] = {}, image_[7] = {};
  int depth_ = 0;
  Json layers_ = Json::array();
  std::vector<std::string> results_, made_;
  std::map<std::string, int64_t> groups_;
  Hdf5Writer h5_;
};

}  // namespace

void generate_keras_file(RandomSource& random, Model& model) {
  const LayerClass& subject = random.one_of(classes());
  model.file_subject = "keras " + subject.name;
  FileGenerator(random).generate(subject, model);
}

}  // namespace ec::fuzz
