// Thousands of damaged PyTorch archives, the same ones on every run: each must import, or be
// refused with a diagnostic; no crash, no hang, nothing executed, and a bound on memory. Half of
// the damage is inside the records (pickles, code, weights) with the archive around them sound.
// EC_MUTATIONS sets the number.
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <map>

#include "frontend/torch/archive_builder.h"
#include "frontend/torch/script/script.h"
#include "fuzz/model_mutator.h"
#include "fuzz/mutation_cases.h"
#include "ir/graph.h"

namespace ec::torch::testing {
namespace {

constexpr size_t kSlackBytes = size_t{256} << 20;

struct Seed {
  std::string bytes;
  ImportOptions options;
};

Seed seed(const std::string& name, std::map<std::string, std::vector<int64_t>> shapes) {
  Seed made;
  made.bytes = fuzz::read_file(std::string(EC_TORCH_MODELS) + "/" + name);
  made.options.input_shapes = std::move(shapes);
  return made;
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
    const std::string bytes =
        fuzz::mutate_model("mutated.pt", from.bytes, static_cast<uint64_t>(i) * 7919 + 17, what);
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
