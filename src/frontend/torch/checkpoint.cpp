#include "frontend/torch/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/torch/archive.h"
#include "formats/torch/pickle.h"
#include "support/strings.h"

namespace ec {
namespace {

using torch::Pickle;
using torch::PickleKind;
using torch::PickleNode;

constexpr std::string_view kTrace =
    "torch.jit.trace(model, torch.zeros(1, 3, 224, 224)).save(\"model.pt\")";

// The three lines, with the user's file in them.
std::string advice(std::string_view why, const std::string& load, const std::string& evaluate) {
  return fmt::format(
      "{}; in Python, with an example of your input's shape:\n"
      "      {}\n"
      "      {}\n"
      "      {}\n"
      "    or torch.export.save(torch.export.export(model, (example,)), \"model.pt2\")",
      why, load, evaluate, kTrace);
}

std::string quoted_name(const std::filesystem::path& path) {
  return "\"" + printable(path.filename().string()) + "\"";
}

DetectedFormat weights(const std::filesystem::path& path) {
  return {"a PyTorch state_dict (torch.save)",
          advice("it holds only weights, no computation", "model = MyModel()",
                 fmt::format("model.load_state_dict(torch.load({})); model.eval()",
                             quoted_name(path)))};
}

DetectedFormat checkpoint(const std::filesystem::path& path, const std::vector<std::string>& keys) {
  std::string list, key;
  for (size_t i = 0; i < keys.size() && i < 8; ++i)
    list += (i > 0 ? ", " : "") + ("'" + printable(keys[i], 60) + "'");
  for (const std::string_view usual : {"state_dict", "model_state_dict", "model", "net", "weights"})
    if (key.empty() && std::find(keys.begin(), keys.end(), usual) != keys.end()) key = usual;
  if (key.empty() && !keys.empty()) key = keys.front();
  return {fmt::format("a PyTorch checkpoint (torch.save of a dict with {})", list),
          advice("it holds weights, no computation", "model = MyModel()",
                 fmt::format("model.load_state_dict(torch.load({}, weights_only=False)[\"{}\"]); "
                             "model.eval()",
                             quoted_name(path), printable(key, 60)))};
}

DetectedFormat pickled(const std::filesystem::path& path, const std::string& type) {
  const std::string package = type.substr(0, type.find('.'));
  return {
      fmt::format("a pickled Python object of class '{}' (torch.save)", printable(type)),
      advice("it needs its author's Python classes",
             fmt::format("import torch{}", package == "torch" || package.empty()
                                               ? std::string()
                                               : ", " + printable(package, 60)),
             fmt::format("model = torch.load({}, weights_only=False).eval()", quoted_name(path)))};
}

}  // namespace

DetectedFormat describe_legacy_checkpoint(const std::filesystem::path& path) {
  return {"a PyTorch file in the form before 1.6 (torch.save)",
          advice("it holds weights or pickled classes, no computation", "model = MyModel()",
                 fmt::format("model.load_state_dict(torch.load({})); model.eval()",
                             quoted_name(path)))};
}

DetectedFormat describe_checkpoint(std::span<const std::byte> content,
                                   const std::filesystem::path& path) {
  const DetectedFormat plain = {"a PyTorch checkpoint (torch.save)", weights(path).hint};
  // The content outlives this call; nothing is kept of it.
  const Blob file(std::shared_ptr<const void>(content.data(), [](const void*) {}), content);
  const Result<torch::Archive> archive = torch::Archive::open(file);
  if (!archive.ok()) return plain;
  const Result<Blob> record = archive->read("data.pkl");
  if (!record.ok()) return plain;
  const Result<Pickle> pickle = Pickle::read(record->bytes(), torch::PickleMode::Describe);
  if (!pickle.ok()) {
    if (pickle.error().code() == Code::UnsafePickle)
      return {"a PyTorch file whose " + pickle.error().message(), pickle.error().diagnostic().hint};
    return plain;
  }
  const PickleNode& root = (*pickle)[pickle->root()];
  if (root.kind == PickleKind::Object) return pickled(path, root.text);
  if (root.kind == PickleKind::Opaque && !root.text.empty())
    return pickled(path, torch::dotted_name(root.text));
  if (root.kind != PickleKind::Dict) return plain;
  std::vector<std::string> keys;
  bool tensors = true;
  for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
    keys.push_back((*pickle)[root.items[i]].text);
    const PickleKind kind = (*pickle)[root.items[i + 1]].kind;
    tensors &= kind == PickleKind::Tensor || kind == PickleKind::Opaque;
  }
  return tensors ? weights(path) : checkpoint(path, keys);
}

}  // namespace ec
