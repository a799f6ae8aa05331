#include "fuzz/wire_mutator.h"

#include <algorithm>
#include <array>

namespace ec::fuzz {
namespace {

bool read_varint(const std::string& file, size_t& at, size_t end, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at >= end) return false;
    const auto byte = static_cast<unsigned char>(file[at++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

// Values that break careless size arithmetic.
constexpr std::array<uint64_t, 14> kHostileNumbers = {0,
                                                      1,
                                                      2,
                                                      7,
                                                      127,
                                                      128,
                                                      65536,
                                                      0x7fffffff,
                                                      0x80000000,
                                                      0xffffffff,
                                                      uint64_t{1} << 40,
                                                      0x7fffffffffffffff,
                                                      0x8000000000000000,
                                                      0xffffffffffffffff};

const std::array<std::string, 12> kHostileTexts = {
    "",   "..",     "../../etc/passwd",    "/etc/passwd", "Conv",        "If",
    "\n", "offset", "9223372036854775807", "-1",          "./././model", std::string(3000, 'A')};

}  // namespace

std::string encode_varint(uint64_t value) {
  std::string out;
  while (value >= 0x80) {
    out += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  return out + static_cast<char>(value);
}

void WireMutator::collect(const std::string& file, size_t begin, size_t end,
                          std::vector<size_t>& parents, std::vector<Field>& fields, int depth) {
  // First see whether the range parses as a message at all: payloads may be strings or weights.
  std::vector<Field> found;
  for (size_t at = begin; at < end;) {
    Field field{at, 0, 0, 0, parents};
    uint64_t tag = 0;
    if (!read_varint(file, at, end, tag) || (tag >> 3) == 0 || (tag >> 3) > 1000) return;
    field.wire_type = static_cast<int>(tag & 7);
    uint64_t length = 0;
    field.header_end = at;
    if (field.wire_type == 0) {
      if (!read_varint(file, at, end, length)) return;
    } else if (field.wire_type == 2) {
      if (!read_varint(file, at, end, length) || length > end - at) return;
      field.header_end = at;
      at += static_cast<size_t>(length);
    } else if (field.wire_type == 5 || field.wire_type == 1) {
      const size_t width = field.wire_type == 5 ? 4 : 8;
      if (end - at < width) return;
      at += width;
    } else {
      return;
    }
    field.end = at;
    found.push_back(field);
  }
  for (const Field& field : found) {
    const size_t index = fields.size();
    if (index > 20000) return;
    fields.push_back(field);
    const bool may_nest = field.wire_type == 2 && field.end - field.header_end >= 2 && depth < 12 &&
                          field.end - field.header_end < (1u << 20);
    if (!may_nest) continue;
    parents.push_back(index);
    collect(file, field.header_end, field.end, parents, fields, depth + 1);
    parents.pop_back();
  }
}

std::string WireMutator::replace(const std::string& file, const std::vector<Field>& fields,
                                 size_t index, const std::string& bytes) {
  size_t begin = fields[index].begin;
  size_t end = fields[index].end;
  std::string text = bytes;
  for (size_t p = fields[index].parents.size(); p-- > 0;) {
    const Field& parent = fields[fields[index].parents[p]];
    const std::string body = file.substr(parent.header_end, begin - parent.header_end) + text +
                             file.substr(end, parent.end - end);
    size_t at = parent.begin;
    uint64_t tag = 0;
    read_varint(file, at, file.size(), tag);
    text = encode_varint(tag) + encode_varint(body.size()) + body;
    begin = parent.begin;
    end = parent.end;
  }
  return file.substr(0, begin) + text + file.substr(end);
}

std::string WireMutator::damage_bytes(std::string file, std::string& what) {
  switch (pick(5)) {
    case 0:
      what = "truncated";
      return file.substr(0, pick(file.size()));
    case 1: {
      what = "bits flipped";
      for (size_t n = 1 + pick(8); n > 0; --n)
        file[pick(file.size())] ^= static_cast<char>(1 << pick(8));
      return file;
    }
    case 2: {
      what = "bytes overwritten";
      const size_t at = pick(file.size());
      for (size_t i = at; i < std::min(file.size(), at + 1 + pick(16)); ++i)
        file[i] = static_cast<char>(random_());
      return file;
    }
    case 3: {
      what = "piece removed";
      const size_t at = pick(file.size());
      return file.erase(at, 1 + pick(64));
    }
    default: {
      what = "piece repeated";
      const size_t at = pick(file.size());
      const std::string piece = file.substr(at, 1 + pick(64));
      for (size_t n = 1 + pick(4); n > 0; --n) file.insert(at, piece);
      return file;
    }
  }
}

std::string WireMutator::damage_structure(const std::string& file, std::string& what) {
  std::vector<Field> fields;
  std::vector<size_t> parents;
  collect(file, 0, file.size(), parents, fields, 0);
  if (fields.empty()) return damage_bytes(file, what);
  const size_t index = pick(fields.size());
  const Field& field = fields[index];
  size_t at = field.begin;
  uint64_t tag = 0;
  read_varint(file, at, file.size(), tag);
  const std::string whole = file.substr(field.begin, field.end - field.begin);
  const std::string payload = file.substr(field.header_end, field.end - field.header_end);
  switch (pick(7)) {
    case 0:
      what = "field removed";
      return replace(file, fields, index, "");
    case 1: {
      what = "field repeated";
      std::string many;
      for (size_t n = 2 + pick(30); n > 0; --n) many += whole;
      return replace(file, fields, index, many);
    }
    case 2: {
      what = "number replaced";
      const uint64_t number = kHostileNumbers[pick(kHostileNumbers.size())];
      if (field.wire_type == 0)
        return replace(file, fields, index, encode_varint(tag) + encode_varint(number));
      if (field.wire_type != 2) break;
      std::string numbers;
      for (size_t n = 1 + pick(6); n > 0; --n)
        numbers += encode_varint(kHostileNumbers[pick(kHostileNumbers.size())]);
      return replace(file, fields, index,
                     encode_varint(tag) + encode_varint(numbers.size()) + numbers);
    }
    case 3: {
      what = "length lies";
      if (field.wire_type != 2) break;
      const uint64_t length = pick(2) == 0 ? kHostileNumbers[pick(kHostileNumbers.size())]
                                           : payload.size() + 1 + pick(9);
      return replace(file, fields, index, encode_varint(tag) + encode_varint(length) + payload);
    }
    case 4: {
      what = "text replaced";
      if (field.wire_type != 2) break;
      const std::string& text = kHostileTexts[pick(kHostileTexts.size())];
      return replace(file, fields, index, encode_varint(tag) + encode_varint(text.size()) + text);
    }
    case 5: {
      what = "payload of another field";  // names become cycles, types become nonsense
      const Field& other = fields[pick(fields.size())];
      if (field.wire_type != 2 || other.wire_type != 2) break;
      const std::string text = file.substr(other.header_end, other.end - other.header_end);
      return replace(file, fields, index, encode_varint(tag) + encode_varint(text.size()) + text);
    }
    default: {
      what = "nested in itself";
      if (field.wire_type != 2) break;
      std::string text = payload;
      for (size_t n = 1 + pick(200); n > 0 && text.size() < 200000; --n)
        text = payload + encode_varint(tag) + encode_varint(text.size()) + text;
      return replace(file, fields, index, encode_varint(tag) + encode_varint(text.size()) + text);
    }
  }
  return damage_bytes(file, what);
}

bool WireMutator::change_number(std::string& file, const std::vector<Field>& fields, size_t index) {
  const Field& field = fields[index];
  size_t at = field.begin;
  uint64_t tag = 0;
  read_varint(file, at, file.size(), tag);
  if (field.wire_type != 0 && field.wire_type != 2) return false;
  std::vector<uint64_t> numbers;
  at = field.header_end;
  while (at < field.end && numbers.size() < 64) {
    uint64_t number = 0;
    if (!read_varint(file, at, field.end, number)) return false;
    numbers.push_back(number);
  }
  if (numbers.empty() || at != field.end) return false;
  uint64_t& number = numbers[pick(numbers.size())];
  number = pick(4) == 0 ? kHostileNumbers[pick(kHostileNumbers.size())]
                        : (pick(2) == 0 ? number : 0) + static_cast<uint64_t>(pick(9)) - 4;
  if (pick(8) == 0) numbers.push_back(number);
  if (pick(8) == 0) numbers.pop_back();
  std::string text;
  if (field.wire_type == 0) {
    text = encode_varint(tag) + encode_varint(numbers.empty() ? 0 : numbers.front());
  } else {
    std::string packed;
    for (const uint64_t n : numbers) packed += encode_varint(n);
    text = encode_varint(tag) + encode_varint(packed.size()) + packed;
  }
  file = replace(file, fields, index, text);
  return true;
}

std::string WireMutator::change_meaning(const std::string& file, std::string& what) {
  std::vector<Field> fields;
  std::vector<size_t> parents;
  collect(file, 0, file.size(), parents, fields, 0);
  if (fields.empty() || pick(3) == 0) return damage_structure(file, what);
  what = "number changed";
  std::string changed = file;
  for (int tries = 0; tries < 20; ++tries)
    if (change_number(changed, fields, pick(fields.size()))) return changed;
  return damage_structure(file, what);
}

std::string WireMutator::mutate(const std::string& file, std::string& what) {
  if (file.empty()) return file;
  std::string mutated = pick(3) == 0 ? damage_bytes(file, what) : damage_structure(file, what);
  if (pick(4) == 0 && !mutated.empty()) {
    std::string second;
    mutated = pick(2) == 0 ? damage_bytes(mutated, second) : damage_structure(mutated, second);
    what += ", " + second;
  }
  return mutated;
}

}  // namespace ec::fuzz
