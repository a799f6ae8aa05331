#include <gtest/gtest.h>

#include "ir/text.h"
#include "op_case.h"
#include "ops/kernel.h"

namespace ec::test {
namespace {

std::unique_ptr<Graph> graph_of(const std::string& text) {
  auto parsed = parse(text);
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.error().message();
    return std::make_unique<Graph>();
  }
  EXPECT_TRUE(verify(**parsed).empty()) << verify(**parsed)[0].message;
  // Types inside bodies survive the text form.
  auto again = parse(print(**parsed));
  EXPECT_TRUE(again.ok() && **again == **parsed) << print(**parsed);
  return std::move(parsed).value();
}

std::string error_of(const std::string& text) {
  auto parsed = parse(text);
  return parsed.ok() ? "parsed" : parsed.error().message();
}

void expect_run(const Graph& graph, const std::vector<Value>& inputs,
                const std::vector<Value>& expected) {
  const auto results = interpret(graph, inputs);
  ASSERT_TRUE(results.ok()) << results.error().message();
  count_as_run(graph);
  ASSERT_EQ(results->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) expect_equal((*results)[i], expected[i]);
}

std::string run_error(const Graph& graph, const std::vector<Value>& inputs) {
  const auto results = interpret(graph, inputs);
  return results.ok() ? "ran" : results.error().message();
}

std::string type_of(const Graph& graph, std::string_view name) {
  const Tensor* tensor = graph.find_tensor(name);
  return tensor == nullptr ? "no such tensor" : tensor->type().text();
}

// --- if
// -------------------------------------------------------------------------------------------

TEST(If, RunsOneBranch) {
  const auto graph = graph_of(R"(
graph @g(%c: bool[], %x: f32[2]) -> (y = %y) {
  %y = if(%c, %x)
    body graph @yes(%a: f32[2]) -> (r = %r) {
      %r = add(%a, %a)
    }
    body graph @no(%a: f32[2]) -> (r = %r) {
      %r = neg(%a)
    }
})");
  EXPECT_EQ(type_of(*graph, "y"), "f32[2]");
  const Value x = f32({2}, {1, -2});
  expect_run(*graph, {boolean({}, {1}), x}, {f32({2}, {2, -4})});
  expect_run(*graph, {boolean({}, {0}), x}, {f32({2}, {-1, 2})});
}

constexpr const char* kBranches = R"(
graph @g(%c: bool[], %x: f32[N,3], %z: f32[4,3]) -> (y = %y) {
  %y = if(%c, %x, %z)
    body graph @yes(%a: f32[*], %b: f32[*]) -> (r = %a) {
    }
    body graph @no(%a: f32[*], %b: f32[*]) -> (r = %b) {
    }
})";

TEST(If, JoinsTypesOfTheBranches) {
  const auto graph = graph_of(kBranches);
  EXPECT_EQ(type_of(*graph, "y"), "f32[?,3]");
  // The bodies know what enters them.
  const Operation* op = graph->find_tensor("y")->producer();
  EXPECT_EQ(op->bodies()[0]->inputs()[0]->type().text(), "f32[N,3]");
}

TEST(If, KnownConditionDecidesTheType) {
  const auto graph = graph_of(R"(
graph @g(%x: f32[2,3]) -> (y = %y) {
  %c = const bool[] dense[0]
  %y = if(%c, %x)
    body graph @yes(%a: f32[2,3]) -> (r = %a) {
    }
    body graph @no(%a: f32[2,3]) -> (r = %r) {
      %r = transpose(%a)
    }
})");
  EXPECT_EQ(type_of(*graph, "y"), "f32[3,2]");
}

// What exporters write for "squeeze if the size is one": one branch does not fit the static shape.
constexpr const char* kSqueezeOrNot = R"(
graph @g(%c: bool[], %x: f32[2,3]) -> (y = %y) {
  %y = if(%c, %x)
    body graph @yes(%a: f32[*]) -> (r = %r) {
      %axes = const i64[1] dense[0]
      %r = squeeze(%a, %axes)
    }
    body graph @no(%a: f32[*]) -> (r = %r) {
      %r = relu(%a)
    }
})";

TEST(If, BranchThatCannotRunDoesNotCount) {
  const auto graph = graph_of(kSqueezeOrNot);
  EXPECT_EQ(type_of(*graph, "y"), "f32[2,3]");
  const Value x = f32({2, 3}, {-1, 1, 2, 3, 4, 5});
  expect_run(*graph, {boolean({}, {0}), x}, {f32({2, 3}, {0, 1, 2, 3, 4, 5})});
  EXPECT_NE(run_error(*graph, {boolean({}, {1}), x}).find("not 1"), std::string::npos);
}

TEST(If, ShapeArithmeticPassesThrough) {
  const auto graph = graph_of(R"(
graph @g(%c: bool[], %x: f32[N,3]) -> (y = %y) {
  %s = shape(%x)
  %t = if(%c, %s)
    body graph @yes(%a: i64[2]) -> (r = %a) {
    }
    body graph @no(%a: i64[2]) -> (r = %r) {
      %r = identity(%a)
    }
  %y = reshape(%x, %t)
})");
  EXPECT_EQ(type_of(*graph, "y"), "f32[N,3]");
}

TEST(If, Errors) {
  EXPECT_NE(error_of(R"(
graph @g(%c: bool[], %x: f32[2]) -> (y = %y) {
  %y = if(%c, %x)
    body graph @yes(%a: f32[2]) -> (r = %a) {
    }
    body graph @no(%a: f32[2]) -> (r = %r) {
      %r = cast(%a) {to=i8}
    }
})")
                .find("different element types"),
            std::string::npos);
  EXPECT_NE(error_of(R"(
graph @g(%c: bool[], %x: f32[2]) -> (y = %y) {
  %y = if(%c, %x)
    body graph @yes(%a: f32[2]) -> (r = %a) {
    }
})")
                .find("1 nested graphs, needs 2"),
            std::string::npos);
  EXPECT_NE(error_of(R"(
graph @g(%c: bool[], %x: f32[2]) -> (y = %y) {
  %y = if(%c, %x)
    body graph @yes(%a: f32[2]) -> (r = %a) {
    }
    body graph @no() -> () {
    }
})")
                .find("takes 0 inputs"),
            std::string::npos);
  EXPECT_NE(error_of(R"(
graph @g(%c: f32[], %x: f32[2]) -> (y = %y) {
  %y = if(%c, %x)
    body graph @yes(%a: f32[2]) -> (r = %a) {
    }
    body graph @no(%a: f32[2]) -> (r = %a) {
    }
})")
                .find("must be boolean"),
            std::string::npos);
}

// --- loop
// -----------------------------------------------------------------------------------------

// Sum of 0 .. n-1 added to x, with every partial sum.
constexpr const char* kSums = R"(
graph @g(%n: i64[], %x: f32[2], %step: f32[]) -> (sum = %sum, all = %all) {
  %sum, %all = loop(%n, _, %x, %step) {num_carried=1}
    body graph @body(%i: i64[], %c: bool[], %s: f32[*], %d: f32[*]) -> (c = %c, s = %t, p = %t) {
      %f = cast(%i)
      %g = mul(%f, %d)
      %t = add(%s, %g)
    }
})";

TEST(Loop, CarriesAndStacks) {
  const auto graph = graph_of(kSums);
  EXPECT_EQ(type_of(*graph, "sum"), "f32[2]");
  EXPECT_EQ(type_of(*graph, "all"), "f32[?,2]");
  const Value x = f32({2}, {10, 20}), step = scalar(DType::F32, 2);
  expect_run(*graph, {scalar(DType::I64, 3), x, step},
             {f32({2}, {16, 26}), f32({3, 2}, {10, 20, 12, 22, 16, 26})});
  expect_run(*graph, {scalar(DType::I64, 0), x, step}, {x, f32({0, 2}, {})});
  expect_run(*graph, {scalar(DType::I64, -5), x, step}, {x, f32({0, 2}, {})});
}

TEST(Loop, KnownTripCountGivesTheSize) {
  const auto graph = graph_of(R"(
graph @g(%x: f32[2]) -> (sum = %sum, all = %all) {
  %n = const i64[] dense[5]
  %true = const bool[] dense[1]
  %sum, %all = loop(%n, %true, %x) {num_carried=1}
    body graph @body(%i: i64[], %c: bool[], %s: f32[2]) -> (c = %k, s = %s, p = %s) {
      %k = identity(%c)
    }
})");
  EXPECT_EQ(type_of(*graph, "all"), "f32[5,2]");
}

TEST(Loop, BodyConditionStops) {
  const auto graph = graph_of(R"(
graph @g(%n: i64[], %go: bool[]) -> (v = %v, all = %all) {
  %one = const i64[] dense[1]
  %v, %all = loop(%n, %go, %one) {num_carried=1}
    body graph @body(%i: i64[], %c: bool[], %v: i64[]) -> (c = %k, v = %w, p = %v) {
      %limit = const i64[] dense[100]
      %w = add(%v, %v)
      %k = less(%w, %limit)
    }
})");
  EXPECT_EQ(type_of(*graph, "all"), "i64[?]");
  const Value many = scalar(DType::I64, 1000), yes = boolean({}, {1}), no = boolean({}, {0});
  expect_run(*graph, {many, yes}, {i64({}, {128}), i64({7}, {1, 2, 4, 8, 16, 32, 64})});
  expect_run(*graph, {scalar(DType::I64, 2), yes}, {i64({}, {4}), i64({2}, {1, 2})});
  expect_run(*graph, {many, no}, {i64({}, {1}), i64({0}, {})});
}

TEST(Loop, GrowingValuesGetOpenTypes) {
  const auto graph = graph_of(R"(
graph @g(%n: i64[], %x: f32[1,3]) -> (y = %y) {
  %y = loop(%n, _, %x) {num_carried=1}
    body graph @body(%i: i64[], %c: bool[], %s: f32[1,3]) -> (c = %c, s = %t) {
      %t = concat(%s, %s) {axis=0}
    }
})");
  EXPECT_EQ(type_of(*graph, "y"), "f32[?,3]");
  const auto results =
      interpret(*graph, std::vector<Value>{scalar(DType::I64, 3), f32({1, 3}, {1, 2, 3})});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].shape, (Sizes{8, 3}));
}

TEST(Loop, RankMayChange) {
  const auto graph = graph_of(R"(
graph @g(%n: i64[], %x: f32[3]) -> (y = %y) {
  %y = loop(%n, _, %x) {num_carried=1}
    body graph @body(%i: i64[], %c: bool[], %s: f32[3]) -> (c = %c, s = %t) {
      %axes = const i64[1] dense[0]
      %t = unsqueeze(%s, %axes)
    }
})");
  EXPECT_EQ(type_of(*graph, "y"), "f32[*]");
}

TEST(Loop, TypesSettleAcrossCarriedValues) {
  // Each value takes the one before it, so openness travels one value per round.
  const auto graph = graph_of(R"(
graph @g(%n: i64[], %x: f32[3], %open: f32[?]) -> (a = %a, e = %e) {
  %a, %b, %c, %d, %e = loop(%n, _, %x, %x, %x, %x, %x, %open) {num_carried=5}
    body graph @body(%i: i64[], %k: bool[], %p: f32[3], %q: f32[3], %r: f32[3], %s: f32[3], %t: f32[3], %o: f32[?]) -> (k = %k, p = %o, q = %p, r = %q, s = %r, t = %s) {
    }
})");
  EXPECT_EQ(type_of(*graph, "a"), "f32[?]");
  EXPECT_EQ(type_of(*graph, "e"), "f32[?]");
}

TEST(Loop, DeeplyNestedLoopsStayCheap) {
  // Every level grows its value: an exact search at each level would double the work per level.
  std::string text = "graph @g(%n: i64[], %x: f32[1]) -> (y = %y) {\n";
  constexpr int kDepth = 40;
  for (int i = 0; i < kDepth; ++i)
    text +=
        "%y = loop(%n, _, %x, %n) {num_carried=1}\n"
        "body graph @b(%i: i64[], %c: bool[], %x: f32[1], %n: i64[]) -> (c = %c, x = %z) {\n";
  text += "%y = identity(%x)\n";
  for (int i = 0; i < kDepth; ++i) text += "%z = concat(%y, %y)\n}\n";
  auto parsed = parse(text + "}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(type_of(**parsed, "y"), "f32[*]");
}

TEST(Loop, ShapeContracts) {
  const auto graph = graph_of(R"(
graph @g(%n: i64[], %x: f32[1]) -> (y = %y, all = %all) {
  %y, %all = loop(%n, _, %x) {num_carried=1}
    body graph @body(%i: i64[], %c: bool[], %s: f32[1]) -> (c = %c, s = %t, p = %t) {
      %t = concat(%s, %s) {axis=0}
    }
})");
  EXPECT_NE(run_error(*graph, {scalar(DType::I64, 2), f32({1}, {1})}).find("changes its shape"),
            std::string::npos);
  EXPECT_NE(error_of(R"(
graph @g(%n: i64[], %x: f32[1]) -> (y = %y) {
  %y = loop(%n, _, %x) {num_carried=1}
    body graph @body(%i: i64[], %c: bool[], %s: f32[1]) -> (c = %c, s = %t) {
      %t = cast(%s) {to=f16}
    }
})")
                .find("different element types"),
            std::string::npos);
  EXPECT_NE(error_of(R"(
graph @g(%n: i64[], %x: f32[1]) -> (y = %y) {
  %y = loop(%n, _, %x) {num_carried=2}
    body graph @body(%i: i64[], %c: bool[], %s: f32[1]) -> (c = %c, s = %s) {
    }
})")
                .find("carries 2 values"),
            std::string::npos);
  EXPECT_NE(error_of(R"(
graph @g(%n: i64[], %x: f32[1]) -> (y = %y) {
  %y = loop(%n, _, %x) {num_carried=1}
    body graph @body(%i: i64[], %c: bool[], %s: f32[1]) -> (c = %c) {
    }
})")
                .find("gives 1 results"),
            std::string::npos);
  EXPECT_NE(error_of(R"(
graph @g(%n: i64[], %x: f32[1]) -> (y = %y) {
  %y = loop(%n, _, %x) {num_carried=1}
    body graph @body(%i: i64[], %c: bool[], %s: f32[1]) -> (c = %i, s = %s) {
    }
})")
                .find("condition must be boolean"),
            std::string::npos);
}

// --- scan
// -----------------------------------------------------------------------------------------

std::string scan_text(const std::string& attrs, const std::string& x) {
  return "graph @g(%h: f32[2], %x: f32" + x + R"() -> (last = %last, all = %all) {
  %last, %all = scan(%h, %x) {num_states=1, num_scan_inputs=1)" +
         attrs + R"(}
    body graph @body(%s: f32[*], %e: f32[*]) -> (s = %t, p = %t) {
      %t = add(%s, %e)
    }
})";
}

TEST(Scan, RunningSums) {
  const auto graph = graph_of(scan_text("", "[3,2]"));
  EXPECT_EQ(type_of(*graph, "last"), "f32[2]");
  EXPECT_EQ(type_of(*graph, "all"), "f32[3,2]");
  expect_run(*graph, {f32({2}, {0, 0}), f32({3, 2}, {1, 2, 3, 4, 5, 6})},
             {f32({2}, {9, 12}), f32({3, 2}, {1, 2, 4, 6, 9, 12})});
}

TEST(Scan, AxesAndDirections) {
  const auto graph = graph_of(scan_text(
      ", input_axes=[1], input_directions=[1], output_axes=[-1], output_directions=[1]", "[2,N]"));
  EXPECT_EQ(type_of(*graph, "all"), "f32[2,N]");
  expect_run(*graph, {f32({2}, {0, 0}), f32({2, 3}, {1, 2, 3, 4, 5, 6})},
             {f32({2}, {6, 15}), f32({2, 3}, {6, 5, 3, 15, 11, 6})});
  expect_run(*graph, {f32({2}, {7, 8}), f32({2, 0}, {})}, {f32({2}, {7, 8}), f32({2, 0}, {})});
}

TEST(Scan, Errors) {
  EXPECT_NE(error_of(scan_text(", input_axes=[2]", "[3,2]")).find("axis 2"), std::string::npos);
  EXPECT_NE(error_of(scan_text(", input_axes=[0,0]", "[3,2]")).find("differs in length"),
            std::string::npos);
  EXPECT_NE(error_of(scan_text(", output_axes=[2]", "[3,2]")).find("axis 2"), std::string::npos);
  EXPECT_NE(error_of(scan_text("", "[]")).find("axis 0"), std::string::npos);
  EXPECT_NE(error_of(R"(
graph @g(%x: f32[3], %y: f32[4]) -> (z = %z) {
  %z = scan(%x, %y) {num_scan_inputs=2}
    body graph @body(%a: f32[], %b: f32[]) -> (s = %t) {
      %t = add(%a, %b)
    }
})")
                .find("sizes 3 and 4 differ"),
            std::string::npos);
  EXPECT_NE(error_of(R"(
graph @g(%x: f32[3]) -> (z = %z) {
  %z = scan(%x) {num_scan_inputs=9}
    body graph @body(%a: f32[]) -> (s = %a) {
    }
})")
                .find("9 sequences"),
            std::string::npos);
}

TEST(Scan, SequencesOfUnequalLengthAtRunTime) {
  const auto graph = graph_of(R"(
graph @g(%x: f32[N], %y: f32[M]) -> (z = %z) {
  %z = scan(%x, %y) {num_scan_inputs=2}
    body graph @body(%a: f32[], %b: f32[]) -> (s = %t) {
      %t = add(%a, %b)
    }
})");
  EXPECT_NE(run_error(*graph, {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}), "ran");
  expect_run(*graph, {f32({2}, {1, 2}), f32({2}, {3, 4})}, {f32({2}, {4, 6})});
}

}  // namespace
}  // namespace ec::test
