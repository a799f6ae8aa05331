#include <gtest/gtest.h>

#include "ops/op_case.h"

namespace ec::test {
namespace {

TEST(State, KernelsPassTheirOperand) {
  for (const OpKind kind : {OpKind::ReadState, OpKind::WriteState})
    expect_case({kind, {f32({2}, {3, -4})}, {f32({2}, {3, -4})}, StateAttrs{"s"}});
}

TEST(State, NeedsAName) {
  EXPECT_FALSE(run_op(OpKind::ReadState, {f32({1}, {0})}, StateAttrs{}).ok());
}

}  // namespace
}  // namespace ec::test
