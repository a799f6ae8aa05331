// Stand-ins for edgetpu_compiler on PATH: what it prints, what it writes, how it fails.
#include "backend/coral/compiler_process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/process.h"
#include "temporary_directory.h"

namespace ec::coral {
namespace {

namespace fs = std::filesystem;

class EdgeTpuCompiler : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::getenv("PATH");
    ::setenv("PATH", (folder_.path().string() + ":/usr/bin:/bin").c_str(), 1);
  }
  void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }
  void install(const std::string& script) {
    const fs::path file = folder_ / "edgetpu_compiler";
    std::ofstream(file) << "#!/bin/sh\n" << script;
    ::chmod(file.c_str(), 0755);
  }
  Result<CompiledByGoogle> run(int runtime = 14) {
    const std::string bytes = "model";
    const CompilerInput models[] = {{"my model", Blob::copy_of(std::as_bytes(std::span(bytes)))}};
    return run_edgetpu_compiler(models, runtime);
  }

  TemporaryDirectory folder_;
  std::string path_;
};

TEST_F(EdgeTpuCompiler, IsMissing) {
  const auto result = run();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::ToolFailed);
  EXPECT_NE(result.error().diagnostic().hint.find("edgetpu-compiler"), std::string::npos);
}

TEST_F(EdgeTpuCompiler, IsAskedAndBelieved) {
  // Arguments: -s -o FOLDER MODEL; the table is in the log file only.
  install(R"sh([ "$1$2" = "-s-o" ] && [ $# = 4 ] && [ "$(cat "$4")" = model ] || exit 9
echo "Edge TPU Compiler version 16.0.1"
echo "Model compiled successfully in 5 ms."
echo "Input model: $4"
echo "Number of Edge TPU subgraphs: 1"
printf 'Input model: x\nOperator  Count Status\n\nCONV_2D  3  Mapped to Edge TPU\n' > "$3/my model_edgetpu.log"
printf code > "$3/my model_edgetpu.tflite"
printf "$3" > "$(dirname "$0")/scratch"
)sh");
  const auto result = run();
  ASSERT_TRUE(result.ok()) << result.error().diagnostic().message;
  ASSERT_EQ(result->log.models.size(), 1u);
  ASSERT_EQ(result->log.models[0].rows.size(), 1u);
  EXPECT_EQ(result->log.models[0].rows[0].count, 3);
  ASSERT_EQ(result->files.size(), 1u);
  EXPECT_EQ(result->files[0], Blob::copy_of(std::as_bytes(std::span(std::string_view("code")))));
  std::ifstream scratch(folder_ / "scratch");
  std::string used;
  std::getline(scratch, used);
  EXPECT_FALSE(used.empty());
  EXPECT_FALSE(fs::exists(used)) << "the compiler's folder is left behind";
}

TEST_F(EdgeTpuCompiler, IsToldOfOlderRuntimes) {
  install(R"([ "$1$2$4$5" = "-s-o-m13" ] || exit 9
echo "Model compiled successfully in 5 ms."
printf code > "$3/my model_edgetpu.tflite"
)");
  EXPECT_TRUE(run(13).ok());
  EXPECT_FALSE(run(14).ok());
}

TEST_F(EdgeTpuCompiler, FailsInItsOwnWords) {
  install("echo 'Internal compiler error. Aborting!'; exit 1\n");
  EXPECT_NE(run().error().diagnostic().message.find("Internal compiler error"), std::string::npos);
  install("echo; echo 'libc++ is missing' >&2; exit 127\n");
  EXPECT_NE(run().error().diagnostic().message.find("libc++ is missing"), std::string::npos);
  install("kill -9 $$\n");
  EXPECT_NE(run().error().diagnostic().message.find("nothing"), std::string::npos);
  // Success without a file is none.
  install("echo 'Model compiled successfully in 5 ms.'\n");
  EXPECT_FALSE(run().ok());
}

TEST(Process, PassesArgumentsAsTheyAre) {
  const auto result = run_program("/bin/echo", {"a b", "$HOME", "c"});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output, "a b $HOME c\n");
  EXPECT_FALSE(run_program("/no/such/program", {}).ok());
}

}  // namespace
}  // namespace ec::coral
