// Groups whose members are in a symbol table: a tree of nodes that name objects, and a heap with
// the names.
#include <set>

#include "formats/hdf5/header.h"

namespace ec::hdf5 {
namespace {

class SymbolTable {
 public:
  SymbolTable(const Image& image, Bytes names) : image_(image), names_(names) {}

  Result<std::vector<Link>> read(uint64_t root) {
    std::vector<std::pair<uint64_t, int>> pending = {{root, -1}};
    while (!pending.empty()) {
      const auto [address, level] = pending.back();
      pending.pop_back();
      if (!seen_.insert(address).second) return corrupt("a group's tree has a circle");
      Cursor c = image_.at(address);
      if (!c.expect("TREE") || c.u8() != 0)
        return corrupt("a group's tree is not where it should be");
      const int own = c.u8();
      // Children are one level down; the leaves point at symbol nodes.
      if (level >= 0 && own != level - 1) return corrupt("a group's tree has mixed levels");
      const unsigned entries = c.u16();
      c.skip(2 * image_.offset_size);
      for (unsigned i = 0; i < entries && c.ok(); ++i) {
        c.skip(image_.length_size);  // the key
        const uint64_t child = image_.offset(c);
        if (!c.ok()) break;
        if (own > 0) {
          pending.emplace_back(child, own);
        } else {
          EC_CHECK_OK(read_node(child));
        }
      }
      if (!c.ok()) return corrupt("a group's tree ends early");
    }
    return std::move(links_);
  }

 private:
  Status read_node(uint64_t address) {
    if (!seen_.insert(address).second) return corrupt("a group's tree has a circle");
    Cursor c = image_.at(address);
    if (!c.expect("SNOD")) return corrupt("a group's node is not where it should be");
    c.skip(2);
    const unsigned count = c.u16();
    for (unsigned i = 0; i < count; ++i) {
      Link link;
      const uint64_t name = image_.offset(c);
      link.address = image_.offset(c);
      if (c.u32() == 2) link.kind = LinkKind::Soft;
      c.skip(20);
      if (!c.ok() || name >= names_.size()) return corrupt("a group's node ends early");
      const Bytes rest = names_.subspan(name);
      link.name = until_zero({reinterpret_cast<const char*>(rest.data()), rest.size()});
      // Names may overlap in the heap, so that a small file could ask for much.
      held_ += link.name.size() + sizeof(Link);
      if (held_ > 4 * image_.size() + (1 << 20)) return corrupt("a group's names overlap");
      links_.push_back(std::move(link));
    }
    return {};
  }

  const Image& image_;
  Bytes names_;
  std::set<uint64_t> seen_;
  std::vector<Link> links_;
  uint64_t held_ = 0;
};

}  // namespace

Result<std::vector<Link>> read_symbol_table(const Image& image, uint64_t tree, uint64_t heap) {
  Cursor c = image.at(heap);
  if (!c.expect("HEAP")) return corrupt("a group's heap is not where it should be");
  c.skip(4);
  const uint64_t size = image.length(c);
  image.length(c);  // free list
  Cursor names = image.at(image.offset(c));
  const Bytes segment = names.take(size);
  if (!c.ok() || !names.ok()) return corrupt("a group's heap leaves the file");
  return SymbolTable(image, segment).read(tree);
}

}  // namespace ec::hdf5
