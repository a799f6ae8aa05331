#include <fmt/format.h>

#include <algorithm>

#include "formats/hdf5/hdf5.h"
#include "formats/hdf5/header.h"
#include "support/strings.h"

namespace ec::hdf5 {
namespace {

// What all datasets may unpack to besides a few times the size of the file. Weights of pruned
// networks pack well.
constexpr uint64_t kUnpackBase = uint64_t{32} << 20, kUnpackRatio = 16;

struct Superblock {
  Image image;
  uint64_t root = 0;
};

Result<Superblock> read_superblock(const FileBytes& file) {
  uint64_t at = 0;
  // A block of the user's may stand in front, of 512 bytes or a power of two more.
  while (!Cursor(file, at).expect(kSignature)) {
    at = at == 0 ? 512 : 2 * at;
    if (at > file.size()) return corrupt("no signature");
  }
  Cursor c(file, at + kSignature.size());
  Superblock block;
  const uint8_t version = c.u8();
  if (version <= 1) {
    c.skip(4);
    block.image.offset_size = c.u8();
    block.image.length_size = c.u8();
    c.skip(version == 0 ? 9 : 13);
  } else if (version <= 3) {
    block.image.offset_size = c.u8();
    block.image.length_size = c.u8();
    c.skip(1);
  } else {
    return unsupported(fmt::format("a superblock of version {}", version));
  }
  for (const unsigned size : {block.image.offset_size, block.image.length_size})
    if (size != 2 && size != 4 && size != 8) return corrupt("addresses of an odd size");
  const uint64_t base = block.image.offset(c);
  block.image.offset(c);  // free space, or the extension
  block.image.offset(c);  // end of the file
  if (version <= 1) {
    block.image.offset(c);  // driver
    block.image.offset(c);  // name of the root
  }
  block.root = block.image.offset(c);
  if (!c.ok() || base > file.size()) return corrupt("the superblock ends early");
  block.image.file = file.part(base, file.size() - base);
  return block;
}

}  // namespace

struct File::State {
  Image image;
  std::map<Address, Header> headers;
  std::map<Address, std::map<std::string, Link, std::less<>>> groups;
  std::map<uint64_t, std::map<uint32_t, Bytes>> collections;  // of the global heap
  UnpackBudget budget;
  uint64_t text_left = 0;
  uint64_t held = 0;  // bytes of parsed structures, about

  Result<const std::map<uint32_t, Bytes>*> collection(uint64_t address) {
    const auto known = collections.find(address);
    if (known != collections.end()) return &known->second;
    Cursor c = image.at(address);
    if (!c.expect("GCOL")) return corrupt("a text is not where it should be");
    c.skip(4);
    const uint64_t size = image.length(c);
    Cursor whole = image.at(address);
    const Bytes bytes = whole.take(size);
    if (!c.ok() || !whole.ok()) return corrupt("a heap of texts leaves the file");
    const uint64_t item = 8 + image.length_size;
    Cursor items(bytes, 8 + image.length_size);
    std::map<uint32_t, Bytes> found;
    while (items.left() >= item) {
      const uint64_t origin = items.at();
      const uint32_t index = items.u16();
      items.skip(6);
      const uint64_t length = image.length(items);
      if (index == 0) break;  // free space
      const Bytes object = items.take(length);
      if (!items.ok()) return corrupt("a heap of texts ends early");
      found[index] = object;
      items.align(origin);
    }
    return &(collections[address] = std::move(found));
  }
};

File::File(std::unique_ptr<State> state) : state_(std::move(state)) {}
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;
File::~File() = default;

Result<File> File::open(FileBytes bytes) {
  EC_TRY(Superblock block, read_superblock(bytes));
  auto state = std::make_unique<State>();
  state->image = std::move(block.image);
  state->budget.left = kUnpackBase + kUnpackRatio * bytes.size();
  state->text_left = kUnpackBase + 4 * bytes.size();
  File file(std::move(state));
  file.root_ = block.root;
  EC_TRY(const Header* root, file.header(block.root));
  static_cast<void>(root);
  return file;
}

Result<const Header*> File::header(Address object) const {
  const auto known = state_->headers.find(object);
  if (known != state_->headers.end()) return &known->second;
  EC_TRY(Header header, read_header(state_->image, object));
  uint64_t held = sizeof(Header);
  for (const Attribute& attribute : header.attributes)
    held += sizeof(Attribute) + attribute.name.size();
  for (const Link& link : header.links) held += sizeof(Link) + link.name.size();
  state_->held += held;
  // Headers that overlap could ask for far more than the file.
  if (state_->held > kUnpackBase + kUnpackRatio * state_->image.size())
    return corrupt("objects overlap");
  if (header.attribute_heap != kUndefined && header.attribute_tree != kUndefined)
    EC_CHECK_OK(read_dense(state_->image, header.attribute_heap, header.attribute_tree, true,
                           [&](Bytes message) -> Status {
                             EC_TRY(Attribute attribute, read_attribute(state_->image, message));
                             header.attributes.push_back(std::move(attribute));
                             return {};
                           }));
  return &(state_->headers[object] = std::move(header));
}

Result<const std::map<std::string, Link, std::less<>>*> File::links(Address group) const {
  const auto known = state_->groups.find(group);
  if (known != state_->groups.end()) return &known->second;
  EC_TRY(const Header* header, this->header(group));
  std::vector<Link> all = header->links;
  if (header->tree != kUndefined && header->heap != kUndefined) {
    EC_TRY(all, read_symbol_table(state_->image, header->tree, header->heap));
  } else if (header->link_heap != kUndefined && header->link_tree != kUndefined) {
    EC_CHECK_OK(read_dense(state_->image, header->link_heap, header->link_tree, false,
                           [&](Bytes message) -> Status {
                             EC_TRY(Link link, read_link(state_->image, message));
                             all.push_back(std::move(link));
                             return {};
                           }));
  }
  std::map<std::string, Link, std::less<>> by_name;
  for (Link& link : all) {
    std::string name = link.name;
    if (!by_name.emplace(std::move(name), std::move(link)).second)
      return corrupt("a group names two objects alike");
  }
  return &(state_->groups[group] = std::move(by_name));
}

Result<std::optional<Address>> File::find(Address group, std::string_view path) const {
  for (const std::string_view name : split(path, '/')) {
    if (name.empty()) continue;
    EC_TRY(const auto* members, links(group));
    const auto found = members->find(name);
    if (found == members->end()) return std::optional<Address>();
    if (found->second.kind == LinkKind::External)
      return unsupported(fmt::format("'{}' is a link to another file; such links are not followed",
                                     printable(path)));
    if (found->second.kind == LinkKind::Soft)
      return unsupported(fmt::format("'{}' is a soft link", printable(path)));
    group = found->second.address;
  }
  return std::optional<Address>(group);
}

Result<std::optional<Array>> File::attribute(Address object, std::string_view name) const {
  EC_TRY(const Header* header, this->header(object));
  const auto found = std::find_if(header->attributes.begin(), header->attributes.end(),
                                  [&](const Attribute& a) { return a.name == name; });
  if (found == header->attributes.end()) return std::optional<Array>();
  Array array{found->type, found->shape, {}};
  if (!found->data.empty()) {
    EC_TRY(array.data, state_->image.blob(found->data));
  }
  return std::optional<Array>(std::move(array));
}

Result<bool> File::is_dataset(Address object) const {
  EC_TRY(const Header* header, this->header(object));
  return header->layout.has_value();
}

Result<Array> File::dataset(Address object) const {
  EC_TRY(const Header* header, this->header(object));
  return read_dataset(state_->image, *header, state_->budget);
}

Result<std::vector<std::string>> File::texts(const Array& array) const {
  std::vector<std::string> texts;
  const auto charge = [&](size_t size) -> Status {
    const uint64_t bytes = size + sizeof(std::string);
    if (bytes > state_->text_left)
      return Error(Code::TooLarge, "HDF5: the texts are larger than their file");
    state_->text_left -= bytes;
    return {};
  };
  if (array.type.kind == Type::Kind::Text) {
    for (size_t at = 0; at + array.type.size <= array.data.size(); at += array.type.size) {
      std::string_view text = until_zero(
          {reinterpret_cast<const char*>(array.data.bytes().data()) + at, array.type.size});
      EC_CHECK_OK(charge(text.size()));
      texts.emplace_back(text);
    }
    return texts;
  }
  if (array.type.kind != Type::Kind::VlenText || array.type.size != 8 + state_->image.offset_size)
    return corrupt("text was expected");
  Cursor c(array.data.bytes());
  while (c.left() >= array.type.size) {
    const uint32_t length = c.u32();
    const uint64_t address = state_->image.offset(c);
    const uint32_t index = c.u32();
    if (length == 0) {
      texts.emplace_back();
      continue;
    }
    EC_TRY(const auto* objects, state_->collection(address));
    const auto found = objects->find(index);
    if (found == objects->end() || found->second.size() < length)
      return corrupt("a text is not where it should be");
    EC_CHECK_OK(charge(length));
    texts.emplace_back(until_zero({reinterpret_cast<const char*>(found->second.data()), length}));
  }
  return texts;
}

Result<std::optional<std::vector<std::string>>> File::texts_attribute(Address object,
                                                                      std::string_view name) const {
  EC_TRY(const std::optional<Array> array, attribute(object, name));
  if (!array) return std::optional<std::vector<std::string>>();
  // An empty list has no type of text: NumPy makes it float64.
  if (array->data.empty()) return std::optional(std::vector<std::string>());
  EC_TRY(std::vector<std::string> texts, this->texts(*array));
  return std::optional(std::move(texts));
}

Result<std::optional<std::string>> File::text_attribute(Address object,
                                                        std::string_view name) const {
  EC_TRY(std::optional<std::vector<std::string>> texts, texts_attribute(object, name));
  if (!texts || texts->empty()) return std::optional<std::string>();
  return std::optional(std::move(texts->front()));
}

}  // namespace ec::hdf5
