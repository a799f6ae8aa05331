#include "frontend/keras/weights.h"

#include <algorithm>
#include <map>

#include "support/strings.h"

namespace ec::keras {
namespace {

// "dense_1/kernel:0" and "dense_1/kernel" alike.
std::string_view without_index(std::string_view name) {
  const size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(0, colon);
}
std::string_view last_part(std::string_view path) {
  const size_t slash = path.rfind('/');
  return without_index(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// A list of names; long ones are written in pieces (layer_names0, layer_names1, ...).
Result<std::vector<std::string>> names_attribute(const hdf5::File& file, hdf5::Address group,
                                                 const std::string& name) {
  EC_TRY(auto whole, file.texts_attribute(group, name));
  if (whole) return std::move(*whole);
  std::vector<std::string> names;
  for (size_t i = 0;; ++i) {
    EC_TRY(auto piece, file.texts_attribute(group, name + std::to_string(i)));
    if (!piece) return names;
    for (std::string& text : *piece) names.push_back(std::move(text));
  }
}

// "dense_12" is number 12 of "dense"; "dense" is number 0.
std::optional<int64_t> number_in_class(std::string_view name, std::string_view base) {
  if (name == base) return 0;
  if (!name.starts_with(base) || name.size() < base.size() + 2 || name[base.size()] != '_')
    return std::nullopt;
  const std::string_view digits = name.substr(base.size() + 1);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return parse_int(digits);
}

// Classes whose Python name is not the one in the configuration.
std::string python_class(const std::string& class_name) {
  if (class_name == "GroupQueryAttention") return "GroupedQueryAttention";
  if (class_name == "Model") return "Functional";
  return class_name;
}

}  // namespace

Result<Weights> Weights::of_h5(std::shared_ptr<const hdf5::File> file) {
  Weights weights;
  EC_TRY(const auto group, file->find(file->root(), "model_weights"));
  weights.group_ = group.value_or(file->root());
  weights.file_ = std::move(file);
  weights.top_ = true;
  return weights;
}

Weights Weights::of_archive(std::shared_ptr<const hdf5::File> file) {
  Weights weights;
  weights.group_ = file->root();
  weights.file_ = std::move(file);
  weights.archive_ = true;
  return weights;
}

Result<std::vector<Weights>> Weights::of_layers(const std::vector<LayerConfig>& layers,
                                                bool sequential, std::string_view container) const {
  std::vector<Weights> all(layers.size());
  for (Weights& own : all) {
    own.file_ = file_;
    own.archive_ = archive_;
  }
  if (!archive_) {
    for (size_t i = 0; i < layers.size(); ++i) {
      if (!top_) {
        // A model inside a model: one list, in which the names tell the layers apart.
        EC_TRY(all[i], child({}, layers[i].name));
        continue;
      }
      EC_TRY(const auto members, file_->links(*group_));
      const auto found = members->find(layers[i].name);
      // Names with slashes make groups inside groups.
      std::optional<hdf5::Address> group;
      if (found != members->end() || layers[i].name.find('/') != std::string::npos) {
        EC_TRY(group, file_->find(*group_, layers[i].name));
      }
      if (!group) continue;
      EC_TRY(const std::vector<std::string> names, names_attribute(*file_, *group, "weight_names"));
      for (const std::string& name : names) {
        EC_TRY(const auto dataset, file_->find(*group, name));
        if (!dataset)
          return Error(Code::CorruptFile, "weight '" + printable(name) + "' is not in the file")
              .node(layers[i].name, layers[i].class_name);
        all[i].entries_.push_back({name, *dataset});
      }
    }
    return all;
  }
  if (!group_) return all;
  std::optional<hdf5::Address> list;
  for (const std::string_view name : {container, std::string_view("layers"),
                                      std::string_view("_layer_checkpoint_dependencies")}) {
    if (list || name.empty()) continue;
    EC_TRY(list, file_->find(*group_, name));
  }
  if (!list) return all;
  EC_TRY(const auto* members, file_->links(*list));
  // From 3.6 on the groups know the names of their layers.
  std::map<std::string, hdf5::Address> by_name;
  for (const auto& [name, link] : *members) {
    if (link.kind != hdf5::LinkKind::Hard) continue;
    EC_TRY(const auto vars, file_->find(link.address, "vars"));
    if (!vars) continue;
    EC_TRY(auto text, file_->text_attribute(*vars, "name"));
    if (text) by_name[*text] = link.address;
  }
  // The k-th layer of a class has the k-th group of that class, whatever the numbers are: 2.12 and
  // 2.13 count layers with weights twice.
  std::map<std::string, std::vector<hdf5::Address>> by_class;
  std::map<std::string, size_t> used;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].is_operation || (sequential && layers[i].class_name == "InputLayer")) continue;
    const std::string base = snake_case(python_class(layers[i].class_name));
    if (!by_class.contains(base)) {
      std::map<int64_t, hdf5::Address> numbered;
      for (auto at = members->lower_bound(base); at != members->end(); ++at) {
        if (!at->first.starts_with(base)) break;
        if (const auto number = number_in_class(at->first, base))
          numbered[*number] = at->second.address;
      }
      for (const auto& [number, address] : numbered) by_class[base].push_back(address);
      if (numbered.empty()) by_class[base];
    }
    const size_t k = used[base]++;
    const auto named = by_name.find(layers[i].name);
    if (named != by_name.end())
      all[i].group_ = named->second;
    else if (k < by_class[base].size())
      all[i].group_ = by_class[base][k];
  }
  return all;
}

Result<Weights> Weights::child(std::string_view attribute, std::string_view name) const {
  Weights inner;
  inner.file_ = file_;
  inner.archive_ = archive_;
  if (archive_) {
    if (!group_) return inner;
    for (const std::string_view path : split(attribute, '|')) {
      if (inner.group_) break;
      EC_TRY(inner.group_, file_->find(*group_, path));
    }
    return inner;
  }
  if (name.empty()) {
    inner.entries_ = entries_;
    return inner;
  }
  for (const Entry& entry : entries_) {
    const auto parts = split(entry.path, '/');
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      if (parts[i] != name) continue;
      const auto begin = static_cast<size_t>(parts[i + 1].data() - entry.path.data());
      inner.entries_.push_back({entry.path.substr(begin), entry.address});
      break;
    }
  }
  return inner;
}

Weights Weights::part(size_t index, size_t count) const {
  Weights inner = *this;
  inner.entries_.clear();
  const size_t each = entries_.size() / count;
  for (size_t i = index * each; i < (index + 1) * each; ++i) inner.entries_.push_back(entries_[i]);
  return inner;
}

Result<std::vector<std::optional<hdf5::Address>>> Weights::find(const Names& names,
                                                                bool by_position) const {
  std::vector<std::optional<hdf5::Address>> found(names.size());
  if (archive_) {
    if (!group_) return found;
    EC_TRY(const auto vars, file_->find(*group_, "vars"));
    if (!vars) return found;
    for (size_t i = 0; i < names.size(); ++i) {
      EC_TRY(found[i], file_->find(*vars, std::to_string(i)));
    }
    return found;
  }
  bool all = true;
  for (size_t i = 0; i < names.size(); ++i) {
    for (const std::string_view name : split(names[i], '|'))
      for (const Entry& entry : entries_)
        if (!found[i] && last_part(entry.path) == name) found[i] = entry.address;
    all &= found[i].has_value();
  }
  // Names of other versions: by position, when the number fits.
  if (!all && by_position && entries_.size() == names.size())
    for (size_t i = 0; i < names.size(); ++i) found[i] = entries_[i].address;
  return found;
}

}  // namespace ec::keras
