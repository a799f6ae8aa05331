#include "formats/npy/npy.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "formats/zip/zip.h"
#include "support/file.h"
#include "temporary_directory.h"

namespace ec {
namespace {

namespace fs = std::filesystem;

Blob blob_of(const std::string& text) { return Blob::copy_of(std::as_bytes(std::span(text))); }

std::string file_with(const std::string& dictionary, const std::string& data, char major = 1) {
  std::string text = dictionary;
  const size_t begin = major == 1 ? 10 : 12;
  text.append((64 - (begin + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string out("\x93NUMPY");
  out += major;
  out += '\0';
  const auto size = static_cast<uint32_t>(text.size());
  out.append(reinterpret_cast<const char*>(&size), major == 1 ? 2 : 4);
  return out + text + data;
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string out;
  for (const T value : values) out.append(reinterpret_cast<const char*>(&value), sizeof value);
  return out;
}

template <class T>
std::vector<T> values_of(const npy::Array& array) {
  std::vector<T> values(array.data.size() / sizeof(T));
  std::memcpy(values.data(), array.data.bytes().data(), array.data.size());
  return values;
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const std::string data = bytes_of<float>({1, 2, 3, 4, 5, 6});
  for (const char major : {'\1', '\2', '\3'}) {
    const auto array = npy::parse(blob_of(
        file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data, major)));
    ASSERT_TRUE(array.ok()) << array.error().message();
    EXPECT_EQ(array->kind, 'f');
    EXPECT_EQ(array->item_size, 4);
    EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(values_of<float>(*array), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Npy, ScalarsAndEmptyArrays) {
  const auto scalar = npy::parse(blob_of(file_with(
      "{'descr': '<i8', 'fortran_order': False, 'shape': (), }", bytes_of<int64_t>({7}))));
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(values_of<int64_t>(*scalar), std::vector<int64_t>{7});
  const auto empty = npy::parse(
      blob_of(file_with("{'descr': '|b1', 'fortran_order': False, 'shape': (0, 5), }", "")));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->shape, (std::vector<int64_t>{0, 5}));
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  // The array [[1,2,3],[4,5,6]] by columns.
  const auto array =
      npy::parse(blob_of(file_with("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
                                   bytes_of<int16_t>({1, 4, 2, 5, 3, 6}))));
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(values_of<int16_t>(*array), (std::vector<int16_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, BigEndianIsSwapped) {
  const auto array =
      npy::parse(blob_of(file_with("{'descr': '>u4', 'fortran_order': False, 'shape': (2,), }",
                                   std::string("\0\0\1\2\0\0\0\5", 8))));
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(values_of<uint32_t>(*array), (std::vector<uint32_t>{258, 5}));
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string data(64, '\0');
  for (const std::string dictionary :
       {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (17,), }",
        "{'descr': '<f4', 'fortran_order': False, }", "{'descr': '<f4'", "", "[]"}) {
    const auto array = npy::parse(blob_of(file_with(dictionary, data)));
    ASSERT_FALSE(array.ok()) << dictionary;
    EXPECT_EQ(array.error().code(), Code::BadArrayFile);
  }
}

TEST(Npy, EveryTruncationAndManyMutationsEndInAnError) {
  const std::string good = file_with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                                     bytes_of<float>({1, 2, 3, 4, 5, 6}));
  for (size_t n = 0; n < good.size(); ++n)
    EXPECT_FALSE(npy::parse(blob_of(good.substr(0, n))).ok()) << n;
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 1 + i % 4; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    (void)npy::parse(blob_of(bad)).ok();
  }
}

TEST(Npy, SavesAndLoadsAllTypes) {
  const TemporaryDirectory directory;
  for (const auto& [kind, size] : std::vector<std::pair<char, int64_t>>{{'b', 1},
                                                                        {'i', 1},
                                                                        {'i', 2},
                                                                        {'i', 4},
                                                                        {'i', 8},
                                                                        {'u', 1},
                                                                        {'u', 2},
                                                                        {'u', 4},
                                                                        {'u', 8},
                                                                        {'f', 2},
                                                                        {'f', 4},
                                                                        {'f', 8},
                                                                        {'V', 1},
                                                                        {'V', 2}}) {
    std::string data(static_cast<size_t>(6 * size), '\1');
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i);
    const npy::Array array{kind, size, {3, 2}, blob_of(data)};
    const fs::path path = directory.path() / "x.npy";
    ASSERT_TRUE(npy::save(path, array).ok());
    EXPECT_EQ(npy::header(kind, size, array.shape).size() % 64, 0u);
    const auto back = npy::load(path);
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(back->kind, kind);
    EXPECT_EQ(back->item_size, size);
    EXPECT_EQ(back->shape, array.shape);
    EXPECT_TRUE(back->data == array.data);
  }
}

TEST(Npy, HeaderTextIsNumpys) {
  const std::vector<int64_t> none, one{3}, two{3, 4};
  EXPECT_NE(npy::header('f', 4, none).find("'shape': ()"), std::string::npos);
  EXPECT_NE(npy::header('f', 4, one).find("'shape': (3,)"), std::string::npos);
  EXPECT_NE(
      npy::header('f', 4, two).find("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"),
      std::string::npos);
  EXPECT_NE(npy::header('b', 1, one).find("'|b1'"), std::string::npos);
}

// A zip file with one entry, as zipfile writes it.
std::string zip_of(const std::string& name, const std::string& content, bool deflated) {
  std::string packed = content;
  if (deflated) {
    packed.resize(compressBound(content.size()) + 64);
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
  }
  const auto u16 = [](size_t v) {
    return std::string{static_cast<char>(v & 255), static_cast<char>(v >> 8)};
  };
  const auto u32 = [&](size_t v) { return u16(v & 0xffff) + u16(v >> 16); };
  const uint32_t crc = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
  const std::string common = u16(20) + u16(0) + u16(deflated ? 8 : 0) + u32(0) + u32(crc) +
                             u32(packed.size()) + u32(content.size()) + u16(name.size()) + u16(0);
  const std::string local = "PK\3\4" + common + name + packed;
  const std::string central =
      "PK\1\2" + u16(20) + common + u16(0) + u16(0) + u16(0) + u32(0) + u32(0) + name;
  return local + central + "PK\5\6" + u16(0) + u16(0) + u16(1) + u16(1) + u32(central.size()) +
         u32(local.size()) + u16(0);
}

TEST(Zip, ReadsStoredAndDeflated) {
  const std::string content(5000, 'a');
  for (const bool deflated : {false, true}) {
    const auto archive = zip::Archive::open(blob_of(zip_of("dir/a.txt", content, deflated)));
    ASSERT_TRUE(archive.ok()) << archive.error().message();
    ASSERT_EQ(archive->entries().size(), 1u);
    const auto bytes = archive->read(*archive->find("dir/a.txt"));
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    EXPECT_TRUE(*bytes == blob_of(content));
    EXPECT_EQ(archive->find("other"), nullptr);
  }
}

TEST(Zip, DamageIsAnError) {
  for (const bool deflated : {false, true}) {
    std::string content(300, 'a');
    for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * i);
    const std::string good = zip_of("a", content, deflated);
    for (size_t n = 0; n < good.size(); ++n)
      EXPECT_FALSE(zip::Archive::open(blob_of(good.substr(0, n))).ok()) << n;
    std::mt19937 random(2);
    for (int i = 0; i < 20000; ++i) {
      std::string bad = good;
      for (int k = 0; k < 1 + i % 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
      const auto archive = zip::Archive::open(blob_of(bad));
      if (!archive.ok()) continue;
      for (const zip::Entry& entry : archive->entries()) {
        const auto bytes = archive->read(entry);
        // A changed byte of the content never passes the checksum.
        if (bytes.ok()) {
          EXPECT_TRUE(bytes->size() == 0 || *bytes == blob_of(content));
        }
      }
    }
  }
}

TEST(Npz, LoadsByName) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "x.npz";
  const std::string array = file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
                                      bytes_of<float>({1, 2}));
  ASSERT_TRUE(write_file(path, std::string_view(zip_of("x.npy", array, true))).ok());
  const auto names = npy::npz_names(path);
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, std::vector<std::string>{"x"});
  EXPECT_TRUE(npy::load_from_npz(path, "x").ok());
  EXPECT_TRUE(npy::load_from_npz(path, "").ok());
  const auto missing = npy::load_from_npz(path, "y");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), Code::BadArrayFile);
  EXPECT_NE(missing.error().message().find("x.npy"), std::string::npos);
}

}  // namespace
}  // namespace ec
