#include "backend/coral/compiler_log.h"

#include <gtest/gtest.h>

namespace ec::coral {
namespace {

constexpr std::string_view kLog = R"(Edge TPU Compiler version 16.0.384591198
Started a compilation timeout timer of 180 seconds.

Model compiled successfully in 517 ms.

Input model: ssd.tflite
Input size: 7.31MiB
Output model: ssd_edgetpu.tflite
Output size: 7.52MiB
On-chip memory used for caching model parameters: 6.89MiB
On-chip memory remaining for caching model parameters: 1.00KiB
Off-chip memory used for streaming uncached model parameters: 175.00KiB
Number of Edge TPU subgraphs: 1
Total number of operations: 4
Operation log: ssd_edgetpu.log

Model successfully compiled but not all operations are supported by the Edge TPU.
Number of operations that will run on Edge TPU: 2
Number of operations that will run on CPU: 2

Operator                       Count      Status

CUSTOM                         1          Operation is working on an unsupported data type
CONV_2D                        2          Mapped to Edge TPU
ADD                            1          More than one subgraph is not supported
Compilation child process completed within timeout period.
Compilation succeeded!
)";

TEST(CoralCompilerLog, TellsFiguresAndRows) {
  const CompilerLog log = parse_log(kLog);
  EXPECT_EQ(log.version, "16.0.384591198");
  EXPECT_TRUE(log.succeeded);
  ASSERT_EQ(log.models.size(), 1u);
  const LoggedModel& model = log.models[0];
  EXPECT_EQ(model.input, "ssd.tflite");
  EXPECT_EQ(model.output, "ssd_edgetpu.tflite");
  EXPECT_EQ(model.on_chip_bytes, 7224689);  // 6.89 MiB
  EXPECT_EQ(model.on_chip_free_bytes, 1024);
  EXPECT_EQ(model.streamed_bytes, 175 * 1024);
  EXPECT_EQ(model.subgraphs, 1);
  EXPECT_EQ(model.operations, 4);
  ASSERT_EQ(model.rows.size(), 3u);
  EXPECT_EQ(model.rows[0].op, "CUSTOM");
  EXPECT_EQ(model.rows[1].count, 2);
  EXPECT_EQ(model.rows[2].status, "More than one subgraph is not supported");
}

TEST(CoralCompilerLog, TellsFailure) {
  const CompilerLog log =
      parse_log("Edge TPU Compiler version 2.1\nInternal compiler error. Aborting! \n");
  EXPECT_FALSE(log.succeeded);
  EXPECT_EQ(log.failure, "Internal compiler error. Aborting!");
  EXPECT_TRUE(log.models.empty());
}

TEST(CoralCompilerLog, TakesAnything) {
  EXPECT_TRUE(parse_log("").models.empty());
  EXPECT_TRUE(parse_log("Input model:\nOperator Status\nX\nX 1\nX y z\n").models[0].rows.empty());
  EXPECT_EQ(parse_size("5.00KiB"), 5120);
  EXPECT_EQ(parse_size("12B"), 12);
  for (const char* text : {"", "KiB", "1.2.3MiB", "1e9MiB", "99999999999999GiB", "3 MiB"})
    EXPECT_FALSE(parse_size(text).has_value()) << text;
}

TEST(CoralCompilerLog, TellsWhereThePredictionDiffers) {
  Partition predicted;
  for (const auto& [op, status] : {std::pair{"CONV_2D", Status::Mapped},
                                   {"CONV_2D", Status::Mapped},
                                   {"ADD", Status::Mapped},
                                   {"CUSTOM", Status::DataType}})
    predicted.operators.push_back({.op = op, .node = {}, .verdict = {status, {}, {}, {}}});
  const std::vector<Difference> differences = compare(predicted, parse_log(kLog).models[0]);
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].op, "ADD");
  EXPECT_EQ(differences[0].status, "Mapped to Edge TPU");
  EXPECT_EQ(differences[0].predicted, 1);
  EXPECT_EQ(differences[0].compiled, 0);
  EXPECT_EQ(differences[1].status, "More than one subgraph is not supported");
  EXPECT_EQ(differences[1].compiled, 1);
}

}  // namespace
}  // namespace ec::coral
