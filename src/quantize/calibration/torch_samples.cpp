#include "quantize/calibration/torch_samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/torch/tensor_data.h"
#include "quantize/calibration/array_samples.h"
#include "quantize/calibration/labels.h"
#include "support/input_file.h"
#include "support/strings.h"

namespace ec::quantize {
namespace {

using torch::PickleKind;
using torch::PickleNode;
using torch::PickleRef;

constexpr std::string_view kHint =
    "save plain tensors: torch.save(tensor, F), torch.save([tensor, ...], F) or "
    "torch.save({'input': tensor}, F)";

std::string_view kind_text(PickleKind kind) {
  switch (kind) {
    case PickleKind::Tensor:
      return "a tensor";
    case PickleKind::Tuple:
      return "a tuple";
    case PickleKind::List:
      return "a list";
    case PickleKind::Dict:
      return "a dict";
    case PickleKind::None:
      return "None";
    case PickleKind::Bool:
    case PickleKind::Int:
    case PickleKind::Float:
    case PickleKind::Complex:
      return "a number";
    case PickleKind::String:
      return "a text";
    default:
      return "an object";
  }
}

bool is_sequence(const PickleNode& node) {
  return node.kind == PickleKind::List || node.kind == PickleKind::Tuple;
}

bool is_number(const PickleNode& node) {
  return node.kind == PickleKind::Int || node.kind == PickleKind::Float ||
         node.kind == PickleKind::Bool;
}

npy::Array array_of_number(const PickleNode& node) {
  if (node.kind == PickleKind::Float)
    return array_of_bytes(DType::F64, {}, Blob::copy_of(std::span(&node.real, 1)));
  if (node.kind == PickleKind::Int)
    return array_of_bytes(DType::I64, {}, Blob::copy_of(std::span(&node.integer, 1)));
  const auto flag = static_cast<uint8_t>(node.flag);
  return array_of_bytes(DType::Bool, {}, Blob::copy_of(std::span(&flag, 1)));
}

Error wrong(std::string what) {
  return Error(Code::BadCalibrationData, std::move(what)).hint(std::string(kHint));
}

Result<npy::Array> array_of(const torch::TensorData& tensor) {
  const std::optional<DType> dtype = dtype_from_name(tensor.type->element);
  if (!dtype || tensor.quant)
    return wrong(fmt::format("a tensor of {} cannot be a sample", tensor.type->storage));
  return array_of_bytes(*dtype, tensor.sizes, tensor.bytes);
}

}  // namespace

Result<std::unique_ptr<TorchFile>> TorchFile::open(const std::filesystem::path& path) {
  EC_TRY(Blob file, read_file(path));
  Result<torch::Archive> archive = torch::Archive::open(std::move(file));
  if (!archive) {
    archive.error().diagnostic().hint = kHint;
    return std::move(archive).error();
  }
  if (!archive->has("data.pkl"))
    return wrong("the archive holds no data.pkl: it was not written by torch.save");
  if (archive->has("constants.pkl") || archive->has("code/"))
    return wrong("the file is a TorchScript model, not data");
  if (!archive->little_endian()) return wrong("the file was written on a big-endian machine");
  EC_TRY(const Blob bytes, archive->read("data.pkl"));
  Result<torch::Pickle> pickle = torch::Pickle::read(bytes.bytes());
  if (!pickle) {
    pickle.error().diagnostic().hint = "nothing was executed; " + std::string(kHint);
    return std::move(pickle).error();
  }
  return std::unique_ptr<TorchFile>(new TorchFile(std::move(*archive), std::move(*pickle)));
}

// (tensor of each input, label): a number, a tensor without dimensions, or one label for each row.
bool TorchFile::ends_with_label(const PickleNode& node, size_t inputs) const {
  if (!is_sequence(node) || node.items.size() != inputs + 1) return false;
  for (size_t i = 0; i < inputs; ++i)
    if (pickle_[node.items[i]].kind != PickleKind::Tensor) return false;
  const PickleNode& last = pickle_[node.items.back()];
  if (last.kind != PickleKind::Tensor) return is_number(last);
  const Result<npy::Array> labels = describe(node.items.back());
  const Result<npy::Array> first = describe(node.items[0]);
  if (!labels || !first || first->shape.empty()) return false;
  if (labels->shape.empty()) return true;
  // A list of integer vectors may be samples.
  const bool integers = labels->kind == 'i' || labels->kind == 'u';
  const bool told = node.kind == PickleKind::Tuple || labels->kind != first->kind;
  return integers && told && labels->shape.size() == 1 && first->shape.size() > 1 &&
         (labels->shape[0] == first->shape[0] || node.kind == PickleKind::Tuple);
}

Result<TorchFile::Record> TorchFile::record_of(PickleRef ref, size_t index,
                                               const std::vector<ModelInput>& inputs) const {
  const PickleNode& node = pickle_[ref];
  if (node.kind == PickleKind::Tensor) return Record{{{{}, ref}}, std::nullopt};
  Record record;
  const auto add = [&](std::string name, PickleRef item) -> Status {
    if (pickle_[item].kind != PickleKind::Tensor)
      return wrong(fmt::format("element {} holds {} where a tensor is needed", index,
                               kind_text(pickle_[item].kind)));
    record.tensors.push_back({std::move(name), item});
    return {};
  };
  const auto is_input = [&](const std::string& name) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const ModelInput& input) { return input.name == name; });
  };
  if (is_sequence(node)) {
    const bool labelled = ends_with_label(node, inputs.size());
    if (labelled) record.label = node.items.back();
    for (size_t i = 0; i + (labelled ? 1 : 0) < node.items.size(); ++i)
      EC_CHECK_OK(add({}, node.items[i]));
  } else if (node.kind == PickleKind::Dict) {
    for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const PickleNode& key = pickle_[node.items[i]];
      if (key.kind != PickleKind::String)
        return wrong(fmt::format("a key of element {} is {}, not the name of an input", index,
                                 kind_text(key.kind)));
      const PickleRef value = node.items[i + 1];
      const bool label = is_label_name(key.text) && !is_input(key.text) &&
                         node.items.size() / 2 > inputs.size() &&
                         (is_number(pickle_[value]) || pickle_[value].kind == PickleKind::Tensor);
      if (label)
        record.label = value;
      else
        EC_CHECK_OK(add(key.text, value));
    }
  } else {
    return wrong(
        fmt::format("element {} is {} where tensors are needed", index, kind_text(node.kind)));
  }
  if (record.tensors.empty()) return wrong(fmt::format("element {} holds no tensors", index));
  return record;
}

Result<std::vector<TorchFile::Record>> TorchFile::records(
    const std::vector<ModelInput>& inputs) const {
  const PickleNode& root = pickle_[pickle_.root()];
  std::vector<Record> records;
  const bool all_tensors =
      is_sequence(root) && std::all_of(root.items.begin(), root.items.end(), [&](PickleRef item) {
        return pickle_[item].kind == PickleKind::Tensor;
      });
  if (!is_sequence(root) || (all_tensors && inputs.size() > 1) ||
      ends_with_label(root, inputs.size())) {
    EC_TRY(Record one, record_of(pickle_.root(), 0, inputs));
    records.push_back(std::move(one));
    return records;
  }
  if (root.items.empty()) return wrong("the file holds an empty list");
  for (size_t i = 0; i < root.items.size(); ++i) {
    EC_TRY(Record record, record_of(root.items[i], i, inputs));
    records.push_back(std::move(record));
  }
  return records;
}

Result<npy::Array> TorchFile::read(PickleRef tensor) const {
  if (is_number(pickle_[tensor])) return array_of_number(pickle_[tensor]);
  // A reader of its own: what it copies for odd strides is counted for one tensor alone.
  EC_TRY(const torch::TensorData data,
         torch::TensorReader(archive_, pickle_, "data").read(pickle_[tensor]));
  return array_of(data);
}

Result<npy::Array> TorchFile::describe(PickleRef tensor) const {
  EC_TRY(const torch::TensorData data,
         torch::TensorReader(archive_, pickle_, "data").describe(pickle_[tensor]));
  return array_of(data);
}

}  // namespace ec::quantize
