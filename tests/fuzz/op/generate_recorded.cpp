// Recorded models of other frameworks with something in one of their files changed: what the
// readers of all formats make of them goes the way of every model.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "fuzz/model_mutator.h"
#include "fuzz/op/generate.h"

namespace ec::fuzz {
namespace {

namespace fs = std::filesystem;

// Larger ones would be about their weights.
constexpr size_t kMostBytes = size_t{1} << 20;

// TorchScript files state no shapes.
const std::map<std::string, std::map<std::string, std::vector<int64_t>>> kInputShapes = {
    {"control_scripted.pt", {{"x", {2, 4}}}},
    {"convnet_scripted.pt", {{"x", {1, 3, 16, 16}}}},
    {"mixed_traced.pt", {{"ids", {4}}}},
    {"quantized_scripted.pt", {{"x", {1, 3, 12, 12}}}}};

struct Recorded {
  std::string name;
  std::vector<ModelFile> files;
  size_t bytes = 0;
};

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_model_folder(const fs::path& path) {
  return path.extension() == ".mlpackage" || fs::exists(path / "saved_model.pb");
}

bool is_model_file(const fs::path& path) {
  static const std::vector<std::string> kEndings = {
      ".pt", ".pt2", ".pth", ".keras", ".h5", ".pb", ".mlmodel", ".tflite", ".onnx", ".ecir"};
  return std::ranges::find(kEndings, path.extension().string()) != kEndings.end();
}

// All models below a folder, in the order of their names.
std::vector<Recorded> models_below(const fs::path& folder) {
  std::vector<Recorded> models;
  const auto add = [&](Recorded model) {
    if (model.bytes > 0 && model.bytes <= kMostBytes) models.push_back(std::move(model));
  };
  const auto read = [](Recorded& model, const std::string& name, const fs::path& path) {
    const uintmax_t size = fs::file_size(path);
    model.bytes += size;
    if (model.bytes <= kMostBytes) model.files.push_back({name, content_of(path)});
  };
  std::error_code gone;
  for (auto it = fs::recursive_directory_iterator(folder, gone);
       it != fs::recursive_directory_iterator(); it.increment(gone)) {
    Recorded model{it->path().filename().string(), {}};
    if (it->is_directory() && is_model_folder(it->path())) {
      it.disable_recursion_pending();
      for (const auto& entry : fs::recursive_directory_iterator(it->path()))
        if (entry.is_regular_file())
          read(model, entry.path().lexically_relative(it->path()).string(), entry.path());
      std::ranges::sort(model.files, {}, &ModelFile::name);
    } else if (it->is_regular_file() && is_model_file(it->path())) {
      // Many ONNX models have the same name in folders of their own.
      if (model.name == "model.onnx")
        model.name = it->path().parent_path().filename().string() + ".onnx";
      read(model, "", it->path());
    } else {
      continue;
    }
    add(std::move(model));
  }
  std::ranges::sort(models, {}, &Recorded::name);
  return models;
}

const std::vector<Recorded>& recorded_models(const std::string& folder) {
  static std::map<std::string, std::vector<Recorded>> read;
  auto& models = read[folder];
  if (models.empty()) models = models_below(folder);
  return models;
}

}  // namespace

bool generate_recorded(RandomSource& random, const std::string& folder, Model& model) {
  const std::vector<Recorded>& models = recorded_models(folder);
  if (models.empty()) return false;
  const Recorded& source = random.one_of(models);
  model.files = source.files;
  model.file_name = source.name;
  model.file_subject = source.name;
  if (const auto shapes = kInputShapes.find(source.name); shapes != kInputShapes.end())
    model.input_shapes = shapes->second;
  for (int64_t i = random.chance(70) ? 1 : 2; i > 0; --i) {
    // Three of four go into what describes the model, not into its weights.
    const auto describes = [](const ModelFile& file) {
      return file.name.ends_with(".pb") || file.name.ends_with(".mlmodel");
    };
    const auto description = std::ranges::find_if(model.files, describes);
    ModelFile& file = description != model.files.end() && random.chance(75)
                          ? *description
                          : model.files[random.index(model.files.size())];
    std::string what;
    if (!file.bytes.empty())
      file.bytes = mutate_model(file.name.empty() ? source.name : file.name, file.bytes,
                                random.next(), what);
  }
  return true;
}

}  // namespace ec::fuzz
