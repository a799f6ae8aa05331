// HDF5 files, read only: what h5py writes for Keras and what other tools make of such files.
// Superblocks 0 to 3, object headers of both versions, groups by symbol table, by link messages and
// dense, attributes likewise, contiguous, compact and chunked data with deflate, shuffle and
// fletcher32. ADR 27 tells why there is a reader of our own.
//
// Every address, count and size is checked against the file. Structures that point at each other in
// a circle are refused; links to other files are never followed; what leaves its stored form is
// charged to the size of the file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/blob.h"
#include "support/file_bytes.h"
#include "support/result.h"

namespace ec::hdf5 {

inline constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";

struct Type {
  enum class Kind : uint8_t { Integer, Float, Text, VlenText, Opaque, Other };
  Kind kind = Kind::Other;
  uint32_t size = 0;  // bytes of an element
  bool is_signed = false;
  bool big_endian = false;
  // Floats: whether the bits are those of IEEE 754 for their size, or of bfloat16.
  bool ieee = false, bfloat = false;
  bool boolean = false;  // h5py stores bool as an enumeration of two values
};

// Elements in row-major order as they stand in the file. Data stored in one piece are a slice of
// the file.
struct Array {
  Type type;
  std::vector<int64_t> shape;
  Blob data;
};

enum class LinkKind : uint8_t { Hard, Soft, External };
struct Link {
  std::string name;
  LinkKind kind = LinkKind::Hard;
  uint64_t address = 0;  // of the object, hard links
};

// Objects are named by the address of their header.
using Address = uint64_t;

class Header;  // the messages of an object

class File {
 public:
  static Result<File> open(FileBytes file);
  File(File&&) noexcept;
  File& operator=(File&&) noexcept;
  ~File();

  Address root() const { return root_; }
  // The members of a group by name; empty for a dataset.
  Result<const std::map<std::string, Link, std::less<>>*> links(Address group) const;
  // The object at a path ("a/b/c") below a group; nothing where there is none. Soft links and
  // external links are errors that name them.
  Result<std::optional<Address>> find(Address group, std::string_view path) const;
  Result<std::optional<Array>> attribute(Address object, std::string_view name) const;
  Result<bool> is_dataset(Address object) const;
  Result<Array> dataset(Address object) const;

  // The elements of text of either kind, without padding.
  Result<std::vector<std::string>> texts(const Array& array) const;
  // Text of an attribute of one element; nothing where there is no such attribute.
  Result<std::optional<std::string>> text_attribute(Address object, std::string_view name) const;
  Result<std::optional<std::vector<std::string>>> texts_attribute(Address object,
                                                                  std::string_view name) const;

 private:
  struct State;
  explicit File(std::unique_ptr<State> state);
  Result<const Header*> header(Address object) const;

  std::unique_ptr<State> state_;
  Address root_ = 0;
};

}  // namespace ec::hdf5
