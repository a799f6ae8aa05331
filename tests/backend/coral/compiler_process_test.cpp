// Stand-ins for edgetpu_compiler on PATH: what it prints, what it writes, how it fails.
#include "backend/coral/compiler_process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "support/process.h"

namespace ec::coral {
namespace {

namespace fs = std::filesystem;

class EdgeTpuCompiler : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/edgetpu_XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = std::getenv("PATH");
    ::setenv("PATH", (folder_.string() + ":/usr/bin:/bin").c_str(), 1);
  }
  void TearDown() override {
    ::setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }
  void install(const std::string& script) {
    const fs::path file = folder_ / "edgetpu_compiler";
    std::ofstream(file) << "#!/bin/sh\n" << script;
    ::chmod(file.c_str(), 0755);
  }
  Result<CompiledByGoogle> run() {
    return run_edgetpu_compiler(folder_ / "my model.tflite", folder_, 13);
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(EdgeTpuCompiler, IsMissing) {
  const auto result = run();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::ToolFailed);
  EXPECT_NE(result.error().diagnostic().hint.find("edgetpu-compiler"), std::string::npos);
}

TEST_F(EdgeTpuCompiler, IsAskedAndBelieved) {
  // Arguments: -s -m 13 -o FOLDER MODEL; the table is in the log file only.
  install(R"([ "$1$2$3$4" = "-s-m13-o" ] || exit 9
echo "Edge TPU Compiler version 16.0.1"
echo "Model compiled successfully in 5 ms."
echo "Input model: $6"
echo "Number of Edge TPU subgraphs: 1"
printf 'Input model: x\nOperator  Count Status\n\nCONV_2D  3  Mapped to Edge TPU\n' > "$5/my model_edgetpu.log"
echo code > "$5/my model_edgetpu.tflite"
)");
  const auto result = run();
  ASSERT_TRUE(result.ok()) << result.error().diagnostic().message;
  ASSERT_EQ(result->log.models.size(), 1u);
  ASSERT_EQ(result->log.models[0].rows.size(), 1u);
  EXPECT_EQ(result->log.models[0].rows[0].count, 3);
  EXPECT_TRUE(fs::exists(result->file));
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
