#include "backend/coral/partition.h"

#include <gtest/gtest.h>

#include "model_builder.h"

namespace ec::coral {
namespace {

using testing::ModelBuilder;
using tflite::BuiltinOperator;
using Type = tflite::TensorType;

Partition place(ModelBuilder& model) {
  Result<tflite::ModelFile> file = model.finish();
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().diagnostic().message);
  return file.ok() ? partition(*file, {}) : Partition{};
}

std::vector<Status> statuses(const Partition& p) {
  std::vector<Status> list;
  for (const PlacedOperator& op : p.operators) list.push_back(op.verdict.status);
  return list;
}

TEST(CoralPartition, WholeModelMaps) {
  ModelBuilder m;
  const int32_t x = m.tensor("x", {1, 4}), a = m.tensor("a", {1, 4}), y = m.tensor("y", {1, 4});
  m.op(BuiltinOperator::LOGISTIC, {x}, {a});
  m.op(BuiltinOperator::TANH, {a}, {y});
  const Partition p = place(m);
  EXPECT_EQ(p.mapped, 2u);
  EXPECT_FALSE(p.cut_by.has_value());
}

TEST(CoralPartition, WhatFollowsABlockerIsStranded) {
  ModelBuilder m;
  const int32_t x = m.tensor("x", {1, 4}), a = m.tensor("a", {1, 4}), b = m.tensor("b", {1, 4}),
                y = m.tensor("y", {1, 4});
  m.op(BuiltinOperator::LOGISTIC, {x}, {a});
  m.op(BuiltinOperator::ELU, {a}, {b});
  m.op(BuiltinOperator::TANH, {b}, {y});
  const Partition p = place(m);
  EXPECT_EQ(statuses(p), (std::vector{Status::Mapped, Status::NotSupported, Status::LaterGroup}));
  EXPECT_EQ(p.mapped, 1u);
  EXPECT_EQ(p.cut_by, 1u);
  EXPECT_NE(p.operators[2].verdict.reason.find("ELU 'b'"), std::string::npos);
  EXPECT_FALSE(p.operators[2].verdict.fix.empty());
}

// As MoveNet: a prologue on the CPU, and operators listed after a blocker that do not depend on it.
TEST(CoralPartition, PrologueAndIndependentOperatorsDoNotCut) {
  ModelBuilder m;
  const int32_t x = m.tensor("x", {1, 4}, Type::FLOAT32), q = m.tensor("q", {1, 4}),
                a = m.tensor("a", {1, 4}), cut = m.tensor("cut", {1, 4}, Type::FLOAT32),
                b = m.tensor("b", {1, 4}), c = m.tensor("c", {1, 4});
  m.op(BuiltinOperator::QUANTIZE, {x}, {q});
  m.op(BuiltinOperator::LOGISTIC, {q}, {a});
  m.op(BuiltinOperator::DEQUANTIZE, {a}, {cut});
  m.op(BuiltinOperator::TANH, {q}, {b});
  m.op(BuiltinOperator::ADD, {a, b}, {c});
  const Partition p = place(m);
  EXPECT_EQ(statuses(p), (std::vector{Status::DataType, Status::Mapped, Status::NotSupported,
                                      Status::Mapped, Status::Mapped}));
  EXPECT_EQ(p.mapped, 3u);
  EXPECT_EQ(p.cut_by, 2u);
}

TEST(CoralPartition, FirstGroupCountsNotTheLargest) {
  ModelBuilder m;
  std::vector<int32_t> t;
  for (int i = 0; i < 6; ++i) t.push_back(m.tensor("t" + std::to_string(i), {1, 4}));
  m.op(BuiltinOperator::TANH, {t[0]}, {t[1]});
  m.op(BuiltinOperator::ELU, {t[1]}, {t[2]});
  for (size_t i = 2; i < 5; ++i) m.op(BuiltinOperator::TANH, {t[i]}, {t[i + 1]});
  EXPECT_EQ(place(m).mapped, 1u);
}

TEST(CoralPartition, NothingOnTheDevice) {
  ModelBuilder m;
  const int32_t x = m.tensor("x", {1, 4}, Type::FLOAT32), y = m.tensor("y", {1, 4}, Type::FLOAT32);
  m.op(BuiltinOperator::TANH, {x}, {y});
  const Partition p = place(m);
  EXPECT_EQ(p.mapped, 0u);
  EXPECT_EQ(p.operators[0].verdict.status, Status::DataType);
  EXPECT_NE(p.operators[0].verdict.fix.find("--quantize"), std::string::npos);
}

}  // namespace
}  // namespace ec::coral
