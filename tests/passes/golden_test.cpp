// Whole results of passes as text. Other tests compare the kinds of operations; here operands,
// attributes, types and names count too.
#include "passes/harness.h"

namespace ec::test {
namespace {

TEST(Golden, FuseConvBn) {
  expect_text(R"(graph @g(%x: f32[1,2,4,4]) -> (y = %y) {
    %k = const f32[1,2,1,1] dense[3,5] %s = const f32[1] dense[2] %b = const f32[1] dense[1]
    %m = const f32[1] dense[4] %v = const f32[1] dense[0.25]
    %c = conv(%x, %k)
    %y = batch_norm(%c, %s, %b, %m, %v) {epsilon=0}
  })",
              "fuse-conv-bn", R"(graph @g(%x: f32[1,2,4,4]) -> (y = %y) {
  %t0 = const f32[1,2,1,1] dense[12,20]
  %t1 = const f32[1] dense[-15]
  %y = conv(%x, %t0, %t1) : f32[1,1,4,4]
}
)");
}

TEST(Golden, FuseActivations) {
  expect_text(R"(graph @g(%x: f32[1,2,4,4]) -> (y = %y) {
    %k = const f32[3,2,1,1] splat(1) %low = const f32[] splat(-0.5) %high = const f32[] splat(2)
    %c = conv(%x, %k) {strides=[2,2]}
    %y = clip(%c, %low, %high)
  })",
              "fuse-activations", R"(graph @g(%x: f32[1,2,4,4]) -> (y = %y) {
  %k = const f32[3,2,1,1] splat(1)
  %y = conv(%x, %k) {strides=[2,2], activation=clip, act_alpha=-0.5, act_beta=2} : f32[1,3,2,2]
}
)");
}

TEST(Golden, SimplifyTransposes) {
  expect_text(R"(graph @g(%x: f32[2,3,4]) -> (y = %y) {
    %pads = const i64[6] dense[1,0,2,0,3,0] %value = const f32[] splat(7)
    %a = transpose(%x) {perm=[2,0,1]}
    %b = pad(%a, %pads, %value)
    %c = softmax(%b) {axis=0}
    %y = transpose(%c) {perm=[1,2,0]}
  })",
              "simplify-transposes", R"(graph @g(%x: f32[2,3,4]) -> (y = %y) {
  %value = const f32[] dense[7]
  %t2 = const i64[6] dense[0,2,1,3,0,0]
  %t3 = pad(%x, %t2, %value) : f32[5,5,5]
  %y = softmax(%t3) {axis=2} : f32[5,5,5]
}
)");
}

TEST(Golden, Layout) {
  expect_text(R"(graph @g(%x: f32[1,2,4,4]) -> (y = %y) {
    %k = const f32[3,2,1,1] dense[1,2,3,4,5,6] %bias = const f32[3] dense[1,2,3]
    %axes = const i64[1] dense[1]
    %c = conv(%x, %k, %bias)
    %p = max_pool(%c) {kernel=[2,2], strides=[2,2]}
    %y = reduce_mean(%p, %axes)
  })",
              "layout", R"(graph @g(%x: f32[1,2,4,4]) -> (y = %y) {
  %bias = const f32[3] dense[1,2,3]
  %t2 = const f32[3,1,1,2] dense[1,2,3,4,5,6]
  %t5 = const i64[1] dense[3]
  %t7 = const i64[4] dense[1,1,2,2]
  %t0 = transpose(%x) {perm=[0,2,3,1]} : f32[1,4,4,2]
  %c_nhwc = conv(%t0, %t2, %bias) {layout=nhwc} : f32[1,4,4,3]
  %p_nhwc = max_pool(%c_nhwc) {kernel=[2,2], strides=[2,2], layout=nhwc} : f32[1,2,2,3]
  %y_nhwc = reduce_mean(%p_nhwc, %t5) : f32[1,2,2,1]
  %y = reshape(%y_nhwc, %t7) : f32[1,1,2,2]
}
)");
}

TEST(Golden, SimplifySlices) {
  expect_text(R"(graph @g(%x: f32[8,4]) -> (y = %y) {
    %one = const i64[1] dense[1] %seven = const i64[1] dense[7] %two = const i64[1] dense[2]
    %three = const i64[1] dense[3] %axis = const i64[1] dense[0]
    %a = slice(%x, %one, %seven, %axis)
    %y = slice(%a, %two, %three, %axis)
  })",
              "simplify-slices", R"(graph @g(%x: f32[8,4]) -> (y = %y) {
  %t0 = const i64[1] dense[3]
  %t1 = const i64[1] dense[4]
  %t2 = const i64[1] dense[0]
  %y = slice(%x, %t0, %t1, %t2) : f32[1,4]
}
)");
}

TEST(Golden, FoldConstants) {
  expect_text(R"(graph @g(%x: f32[2]) -> (y = %y) {
    %a = const f32[2] dense[1,2] %b = const f32[2] dense[10,20]
    %s = add(%a, %b)
    %y = mul(%x, %s)
  })",
              "fold-constants", R"(graph @g(%x: f32[2]) -> (y = %y) {
  %s = const f32[2] dense[11,22]
  %y = mul(%x, %s) : f32[2]
}
)");
}

TEST(Golden, RecoverSoftmax) {
  expect_text(R"(graph @g(%x: f32[2,5]) -> (y = %y) {
    %axes = const i64[1] dense[1]
    %m = reduce_max(%x, %axes)
    %d = sub(%x, %m)
    %e = exp(%d)
    %s = reduce_sum(%e, %axes)
    %y = div(%e, %s)
  })",
              "recover-softmax", R"(graph @g(%x: f32[2,5]) -> (y = %y) {
  %y = softmax(%x) {axis=1} : f32[2,5]
}
)");
}

}  // namespace
}  // namespace ec::test
