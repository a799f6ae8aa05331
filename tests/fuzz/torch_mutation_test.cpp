// Thousands of damaged PyTorch archives, the same ones on every run: each must import, or be
// refused with a diagnostic; no crash, no hang, nothing executed, and a bound on memory. Half of
// the damage is inside the records (pickles, code, weights) with the archive around them sound.
// EC_MUTATIONS sets the number.
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <map>

#include "formats/torch/archive.h"
#include "frontend/torch/archive_builder.h"
#include "frontend/torch/script/script.h"
#include "fuzz/flat_mutator.h"
#include "fuzz/mutation_cases.h"
#include "ir/graph.h"

namespace ec::torch::testing {
namespace {

constexpr size_t kSlackBytes = size_t{256} << 20;

struct Seed {
  std::string bytes;
  Records records;
  ImportOptions options;
};

Seed seed(const std::string& name, std::map<std::string, std::vector<int64_t>> shapes) {
  Seed made;
  made.bytes = fuzz::read_file(std::string(EC_TORCH_MODELS) + "/" + name);
  made.options.input_shapes = std::move(shapes);
  const auto archive = zip::Archive::open(blob_of(made.bytes));
  EXPECT_TRUE(archive.ok()) << name;
  for (const zip::Entry& entry : archive->entries()) {
    const auto record = archive->read(entry);
    EXPECT_TRUE(record.ok()) << entry.name;
    made.records.emplace_back(
        entry.name,
        std::string(reinterpret_cast<const char*>(record->bytes().data()), record->size()));
  }
  return made;
}

// Numbers, names and lines of source code.
class CodeMutator {
 public:
  explicit CodeMutator(uint64_t seed) : random_(seed) {}

  std::string mutate(const std::string& code, std::string& what) {
    std::vector<std::string> lines;
    std::istringstream stream(code);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    if (lines.empty()) return code;
    for (size_t i = 0, count = 1 + pick(3); i < count; ++i) {
      std::string& line = lines[pick(lines.size())];
      switch (pick(6)) {
        case 0:
          what += "removed line; ";
          line.clear();
          break;
        case 1:
          what += "copied line; ";
          line = lines[pick(lines.size())];
          break;
        case 2: {
          what += "number; ";
          const size_t at = line.find_first_of("0123456789");
          static const char* const kNumbers[] = {
              "0",  "-1",   "9223372036854775807", "1e308", "3", "1000000", "nan", "None",
              "[]", "\"x\""};
          if (at != std::string::npos) {
            const size_t end = line.find_first_not_of("0123456789.", at);
            line.replace(at, std::min(end, line.size()) - at, kNumbers[pick(10)]);
          }
          break;
        }
        case 3: {
          what += "function; ";
          const size_t at = line.find("torch.");
          static const char* const kNames[] = {"add",   "append", "cat",   "reshape", "slice",
                                               "copy_", "size",   "index", "pop",     "conv2d"};
          if (at != std::string::npos) {
            const size_t end = line.find('(', at);
            if (end != std::string::npos) line.replace(at + 6, end - at - 6, kNames[pick(10)]);
          }
          break;
        }
        case 4:
          what += "indentation; ";
          line = (pick(2) == 0 ? "  " : "") + line.substr(std::min(line.size(), pick(3)));
          break;
        default:
          what += "byte; ";
          if (!line.empty()) line[pick(line.size())] = "()[],:=.x"[pick(9)];
          break;
      }
    }
    std::string made;
    for (const std::string& line : lines) made += line + "\n";
    return made;
  }
  size_t pick(size_t count) { return static_cast<size_t>(random_() % count); }

 private:
  std::mt19937_64 random_;
};

std::string mutate(const Seed& seed, int index, std::string& what) {
  const auto number = static_cast<uint64_t>(index) * 7919 + 17;
  CodeMutator code(number);
  fuzz::FlatMutator bytes(number);
  if (code.pick(4) == 0) return bytes.mutate(seed.bytes, what);
  Records records = seed.records;
  size_t which = code.pick(records.size());
  // Mostly what is interpreted: weights and source ranges break little.
  const auto interpreted = [&](const std::string& name) {
    return name.ends_with(".py") || name.ends_with("data.pkl") || name.ends_with("constants.pkl");
  };
  while (!interpreted(records[which].first) && code.pick(8) != 0) which = code.pick(records.size());
  auto& [name, content] = records[which];
  what = name + ": ";
  if (code.pick(20) == 0) {
    what += "removed";
    records.erase(records.begin() + static_cast<std::ptrdiff_t>(which));
  } else if (name.ends_with(".py")) {
    content = code.mutate(content, what);
  } else if (!content.empty()) {
    content = bytes.mutate(content, what);
  }
  return zip(records);
}

std::string outcome_of(const Blob& file, const ImportOptions& options, const std::string& label) {
  DiagnosticSink sink;
  const auto graph = import_torchscript(file, "mutated.pt", options, sink);
  // What `inspect` sees of the same file.
  KeptOperations kept(KeptOperations::Scope::Everything);
  ImportOptions shown = options;
  shown.kept = &kept;
  DiagnosticSink seen;
  fuzz::expect_shown(import_torchscript(file, "mutated.pt", shown, seen), seen, graph, label);
  return fuzz::outcome_of(graph, sink, label);
}

TEST(TorchMutations, AreImportedOrRefused) {
  const Seed seeds[] = {
      seed("control_scripted.pt", {{"x", {2, 4}}}),
      seed("mixed_traced.pt", {{"ids", {4}}}),
      seed("convnet_scripted.pt", {{"x", {1, 3, 16, 16}}}),
      seed("quantized_scripted.pt", {{"x", {1, 3, 12, 12}}}),
      seed("visionops_traced.pt", {}),
  };
  for (const Seed& sound : seeds)
    EXPECT_EQ(outcome_of(blob_of(sound.bytes), sound.options, "a sound file"), "imported");
  fuzz::Outcomes outcomes;
  for (int i = 0; i < fuzz::mutation_count(2000); ++i) {
    const Seed& from = seeds[static_cast<size_t>(i) % std::size(seeds)];
    std::string what;
    const std::string bytes = mutate(from, i, what);
    const std::string label = "case " + std::to_string(i) + " (" + what + ")";
    const fuzz::LimitedCase limits;
    ++outcomes[outcome_of(blob_of(bytes), from.options, label)];
    limits.expect_memory(bytes.size(), label, 5, kSlackBytes);
  }
  fuzz::print(outcomes);
}

// An entry that unpacks to a hundred times the size of the file.
TEST(TorchMutations, BombsDoNotGoOff) {
  const std::string zeros(size_t{80} << 20, ' ');
  std::string packed(compressBound(zeros.size()), '\0');
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(zeros.data()));
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);

  const auto bomb = [&](uint32_t claimed) {
    std::string file = zip({{"m/data.pkl", pickle(object("M", {}))},
                            {"m/constants.pkl", pickle(")")},
                            {"m/version", "3\n"},
                            {"m/code/__torch__.py", packed}});
    // Method and size of the last entry, in the directory.
    const size_t entry = file.rfind("PK\x01\x02");
    const std::string size = little_endian(claimed);
    file[entry + 10] = 8;
    file.replace(entry + 24, 4, size);
    return file;
  };
  for (const uint32_t claimed : {static_cast<uint32_t>(zeros.size()), 0xfffffffeu, 1000u}) {
    const fuzz::AllocationMeter meter;
    EXPECT_NE(outcome_of(blob_of(bomb(claimed)), {}, "a bomb"), "imported");
    EXPECT_LE(meter.peak(), size_t{70} << 20);
  }
}

TEST(TorchMutations, HostilePicklesExecuteNothing) {
  const std::string mark = std::string(::testing::TempDir()) + "/executed";
  std::remove(mark.c_str());
  const auto archive = [&](const std::string& data, const std::string& constants) {
    return zip({{"m/data.pkl", data},
                {"m/constants.pkl", constants},
                {"m/version", "3\n"},
                {"m/code/__torch__.py", "class M(Module):\n  pass\n"}});
  };
  const std::string call = global("os", "system") + tuple({text("touch " + mark)}) + "R";
  const std::string empty = pickle(")");
  EXPECT_EQ(outcome_of(blob_of(archive(pickle(call), empty)), {}, "data"), "EC1021");
  EXPECT_EQ(outcome_of(blob_of(archive(pickle(object("M", {})), pickle(call))), {}, "constants"),
            "EC1021");
  // Huge counts, and objects inside each other.
  EXPECT_EQ(outcome_of(blob_of(archive("\x80\x02X\xff\xff\xff\xff.", empty)), {}, "count"),
            "EC1006");
  std::string deep = "]";
  for (int i = 0; i < 200'000; ++i) deep += "]";
  for (int i = 0; i < 200'000; ++i) deep += "a";
  EXPECT_NE(
      outcome_of(blob_of(archive(pickle(object("M", {{"training", deep}})), empty)), {}, "depth"),
      "imported");
  EXPECT_FALSE(std::filesystem::exists(mark));
}

}  // namespace
}  // namespace ec::torch::testing
