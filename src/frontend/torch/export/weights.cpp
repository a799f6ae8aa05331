#include "frontend/torch/export/weights.h"

#include "support/strings.h"

namespace ec::torch::exported {

Result<Weights> Weights::open(const Archive& archive, const std::string& name) {
  Weights weights(archive);
  for (const char* kind : {"weights", "constants"}) {
    const std::string folder = "data/" + std::string(kind) + "/";
    const std::string list = folder + name + "_" + kind + "_config.json";
    if (archive.has(list)) EC_CHECK_OK(weights.add_list(folder, list));
    const std::string pickle = folder + name + ".pt";  // torch 2.8
    if (archive.has(pickle)) EC_CHECK_OK(weights.add_pickle(pickle));
  }
  for (const char* record : {"serialized_state_dict.pt", "serialized_constants.pt"})  // to 2.7
    if (archive.has(record)) EC_CHECK_OK(weights.add_pickle(record));
  return weights;
}

Status Weights::add_list(const std::string& folder, const std::string& record) {
  EC_TRY(const std::string text, archive_->read_text(record));
  EC_TRY(auto records, decode_weights(text, archive_->file_size()));
  for (auto& [name, entry] : records) raw_[name] = Raw{std::move(entry), folder};
  return {};
}

Status Weights::add_pickle(const std::string& record) {
  EC_TRY(Blob file, archive_->map(record));
  if (file.empty()) return {};
  EC_TRY(Archive inner, Archive::open(std::move(file)));
  EC_TRY(const Blob bytes, inner.read("data.pkl"));
  EC_TRY(Pickle pickle, Pickle::read(bytes.bytes()));
  if (pickle[pickle.root()].kind != PickleKind::Dict)
    return Error(Code::CorruptFile, "the weights are no dictionary");
  pickles_.push_back(std::make_unique<Pickled>(std::move(inner), std::move(pickle)));
  return {};
}

bool Weights::has(const std::string& name) const {
  if (raw_.contains(name)) return true;
  for (const auto& file : pickles_)
    if (file->pickle.find(file->pickle[file->pickle.root()], name) != nullptr) return true;
  return false;
}

Result<TensorData> Weights::read(const std::string& name) {
  if (const auto found = raw_.find(name); found != raw_.end()) return read_raw(found->second);
  for (const auto& file : pickles_) {
    const PickleNode* node = file->pickle.find(file->pickle[file->pickle.root()], name);
    if (node == nullptr) continue;
    if (node->kind != PickleKind::Tensor)
      return Error(Code::UnsupportedType, "weight '" + printable(name) + "' is no tensor");
    return file->reader.read(*node);
  }
  return Error(Code::UndefinedName, "the archive has no weight '" + printable(name) + "'");
}

Result<TensorData> Weights::read_raw(const Raw& raw) {
  if (raw.record.pickled)
    return Error(Code::UnsupportedOpForm,
                 "a weight is stored as a pickled tensor of a special class")
        .hint(
            "call program = program.run_decompositions() before torch.export.save, which stores "
            "its parts as plain tensors");
  const auto scalar_type = scalar_type_of_export(raw.record.meta.dtype);
  TensorData data;
  data.type = scalar_type ? find_element_type(static_cast<int>(*scalar_type)) : nullptr;
  if (data.type == nullptr || data.type->element.empty())
    return Error(Code::UnsupportedType, "element type number " +
                                            std::to_string(raw.record.meta.dtype) +
                                            " of torch.export is not supported");
  StridedView view;
  view.item_size = data.type->bytes;
  const auto known = [](const std::vector<SizeDef>& defs) -> Result<std::vector<int64_t>> {
    std::vector<int64_t> values;
    for (const SizeDef& def : defs) {
      if (!def.value) return Error(Code::CorruptFile, "a weight has an open size");
      values.push_back(*def.value);
    }
    return values;
  };
  EC_TRY(view.sizes, known(raw.record.meta.sizes));
  EC_TRY(view.strides, known(raw.record.meta.strides));
  if (view.sizes.size() != view.strides.size())
    return Error(Code::CorruptFile, "sizes and strides of a weight do not pair");
  view.offset = raw.record.meta.offset.value.value_or(0);
  data.sizes = view.sizes;
  data.storage_key = raw.folder + raw.record.path;
  EC_TRY(view.storage, archive_->map(data.storage_key));
  const auto count = Shape::of(view.sizes).num_elements();
  if (!count) return Error(Code::TooLarge, "a weight is too large");
  if (*count == 0) return data;
  EC_TRY(data.bytes, row_major_bytes(view, budget_));
  return data;
}

}  // namespace ec::torch::exported
