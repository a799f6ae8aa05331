// Branches, loops and state in packages: written, read back and run beside the graph.
#include "backend/metal/half_precision.h"
#include "backend/metal/measure/simulate_half.h"
#include "backend/metal/nested.h"
#include "backend/metal/package.h"
#include "backend/metal/place.h"
#include "backend/metal/states.h"
#include "ops/op_def.h"
#include "passes/harness.h"
#include "runtime/same_results.h"

namespace ec::metal {
namespace {

const coreml::Operation* find(const coreml::Block& block, std::string_view type) {
  for (const coreml::Operation& op : block.operations)
    if (op.type == type) return &op;
  return nullptr;
}

Result<CoremlProgram> try_write(const Graph& graph, int version = kCoremlIos16) {
  DiagnosticSink sink;
  CoremlWriteOptions options;
  options.lowest_version = version;
  return write_coreml(graph, options, sink);
}

struct Written {
  std::unique_ptr<CoremlProgram> program;
  const coreml::Block& main() const { return program->model.program->functions.at("main").block; }
};

// Writes the graph, reads the package and compares results of both, of several runs where state is
// kept.
Written round_trip(const Graph& graph, int version = kCoremlIos16) {
  auto program = try_write(graph, version);
  if (!program.ok()) {
    ADD_FAILURE() << program.error().message();
    return {};
  }
  Written written{std::make_unique<CoremlProgram>(std::move(*program))};
  auto read = read_package(package_files(*written.program, "m.mlpackage"));
  EXPECT_TRUE(read.ok()) << read.error().message();
  if (!read.ok()) return written;
  const auto single = graph.clone();
  EXPECT_TRUE(give_single_precision(*single).ok());
  const auto same = check_same_results(*single, *read);
  EXPECT_TRUE(same.ok()) << same.error().message();
  EXPECT_TRUE(same.ok() && same->ran);
  return written;
}
Written round_trip(std::string_view text, int version = kCoremlIos16) {
  return round_trip(*test::graph_from(text), version);
}
Written legalised(std::string_view text, int version = kCoremlIos16) {
  const test::Outcome outcome = test::optimise(text, "to-metal");
  return round_trip(*outcome.after, version);
}

std::string refusal_of(std::string_view text) {
  const auto program = try_write(*test::graph_from(text));
  return program.ok() ? "" : program.error().message();
}

// --- branches ------------------------------------------------------------------------------------

TEST(CoremlControlFlow, BranchesReadWhatIsAround) {
  const Written written = round_trip(R"(graph @g(%x: f32[3], %z: f32[3]) -> (y = %y, n = %n) {
    %a = const i64[1] dense[0] %s = reduce_sum(%x, %a) {keep_dims=false}
    %zero = const f32[] splat(0) %c = greater(%s, %zero)
    %y, %n = if(%c, %x, %z)
      body graph @then(%p: f32[3], %q: f32[3]) -> (r = %r, c = %k) {
        %k = const f32[2] dense[1,2] %r = add(%p, %q) }
      body graph @else(%p: f32[3], %q: f32[3]) -> (r = %r, c = %k) {
        %t = const f32[2] dense[3,4] %k = neg(%t) %r = identity(%p) }
  })");
  const coreml::Operation* cond = find(written.main(), "cond");
  ASSERT_NE(cond, nullptr);
  ASSERT_EQ(cond->blocks.size(), 2u);
  EXPECT_TRUE(cond->blocks[0].inputs.empty());
  EXPECT_EQ(cond->blocks[0].outputs.size(), 2u);
}

TEST(CoremlControlFlow, BranchesOfOtherSizesAreRefused) {
  const std::string message = refusal_of(R"(graph @g(%c: bool[], %x: f32[4]) -> (y = %y) {
    %y = if(%c, %x)
      body graph @then(%p: f32[4]) -> (r = %r) { %r = neg(%p) }
      body graph @else(%p: f32[4]) -> (r = %r) { %s = const f32[2] dense[1,2] %r = neg(%s) }
  })");
  EXPECT_NE(message.find("nested graph"), std::string::npos) << message;
}

// --- loops ---------------------------------------------------------------------------------------

constexpr std::string_view kCountedLoop = R"(graph @g(%x: f32[3], %step: f32[3]) -> (y = %y) {
  %n = const i64[] dense[4]
  %y = loop(%n, _, %x, %step) {num_carried=1}
    body graph @body(%i: i64[], %go: bool[], %v: f32[3], %s: f32[3]) -> (c = %go, v = %w) {
      %f = cast(%i) {to=f32} %m = mul(%s, %f) %w = add(%v, %m) }
})";

TEST(CoremlControlFlow, LoopsOfKnownLengthCarryNoCondition) {
  const Written written = round_trip(kCountedLoop);
  const coreml::Operation* loop = find(written.main(), "while_loop");
  ASSERT_NE(loop, nullptr);
  ASSERT_EQ(loop->blocks.size(), 2u);
  // The number of the iteration and what is carried; the step is read from outside.
  EXPECT_EQ(loop->blocks[1].inputs.size(), 2u);
  EXPECT_EQ(loop->blocks[0].outputs.size(), 1u);
}

TEST(CoremlControlFlow, ConditionsEndLoops) {
  const Written written = round_trip(R"(graph @g(%x: f32[2]) -> (y = %y) {
    %n = const i64[] dense[100] %go = const bool[] dense[1]
    %y = loop(%n, %go, %x) {num_carried=1}
      body graph @body(%i: i64[], %go: bool[], %v: f32[2]) -> (c = %c, v = %w) {
        %one = const f32[] splat(1) %w = add(%v, %one) %ten = const f32[] splat(10)
        %a = const i64[1] dense[0] %s = reduce_sum(%w, %a) {keep_dims=false} %c = less(%s, %ten) }
  })");
  const coreml::Operation* loop = find(written.main(), "while_loop");
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->blocks[1].inputs.size(), 3u);
  EXPECT_NE(find(loop->blocks[0], "logical_and"), nullptr);
}

TEST(CoremlControlFlow, CollectedResultsAreCarried) {
  for (const int version : {kCoremlIos16, kCoremlIos18}) {
    const Written written = legalised(R"(graph @g(%x: f32[2]) -> (y = %y, all = %all) {
      %n = const i64[] dense[5]
      %y, %all = loop(%n, _, %x) {num_carried=1}
        body graph @body(%i: i64[], %go: bool[], %v: f32[2]) -> (c = %go, v = %w, row = %r) {
          %one = const f32[] splat(1) %w = add(%v, %one) %r = mul(%w, %w) }
    })",
                                      version);
    const coreml::Operation* loop = find(written.main(), "while_loop");
    ASSERT_NE(loop, nullptr);
    EXPECT_NE(find(loop->blocks[1], version == kCoremlIos16 ? "scatter" : "slice_update"), nullptr);
  }
}

TEST(CoremlControlFlow, ScansAreLoops) {
  const Written written =
      legalised(R"(graph @g(%s: f32[2], %xs: f32[2,4], %k: f32[2]) -> (last = %l, all = %a) {
    %l, %a = scan(%s, %xs, %k) {num_states=1, num_scan_inputs=1, input_axes=[1],
                                input_directions=[1], output_axes=[1], output_directions=[0]}
      body graph @body(%v: f32[2], %x: f32[2], %c: f32[2]) -> (v = %w, row = %r) {
        %m = mul(%x, %c) %w = add(%v, %m) %r = neg(%w) }
  })");
  EXPECT_NE(find(written.main(), "while_loop"), nullptr);
}

TEST(CoremlControlFlow, LoopsAndBranchesNest) {
  const Written written = round_trip(R"(graph @g(%x: f32[2], %k: f32[2]) -> (y = %y) {
    %n = const i64[] dense[3]
    %y = loop(%n, _, %x, %k) {num_carried=1}
      body graph @body(%i: i64[], %go: bool[], %v: f32[2], %k2: f32[2]) -> (c = %go, v = %w) {
        %one = const i64[] dense[1] %odd = equal(%i, %one)
        %w = if(%odd, %v, %k2)
          body graph @then(%p: f32[2], %q: f32[2]) -> (r = %r) { %r = mul(%p, %q) }
          body graph @else(%p: f32[2], %q: f32[2]) -> (r = %r) { %r = add(%p, %q) } }
  })");
  const coreml::Operation* loop = find(written.main(), "while_loop");
  ASSERT_NE(loop, nullptr);
  EXPECT_NE(find(loop->blocks[1], "cond"), nullptr);
}

TEST(CoremlControlFlow, NestedGraphsComputeInHalfPrecisionBetweenTheirBorders) {
  auto graph = test::graph_from(kCountedLoop);
  ASSERT_TRUE(give_half_precision(*graph, {}).ok());
  EXPECT_TRUE(verify(*graph).empty());
  const Operation* loop = nullptr;
  for (const Operation* op : graph->topological())
    if (op->kind() == OpKind::Loop) loop = op;
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->output()->dtype(), DType::F32);
  const Graph& body = *loop->bodies()[0];
  EXPECT_EQ(body.outputs()[1]->dtype(), DType::F32);
  for (const Operation* op : body.topological())
    if (op->kind() == OpKind::Mul || op->kind() == OpKind::Add) {
      EXPECT_EQ(op->output()->dtype(), DType::F16);
    }
  auto simulated = graph->clone();
  const auto rounded = simulate_half(*simulated);
  ASSERT_TRUE(rounded.ok());
  EXPECT_TRUE(verify(*simulated).empty());
  // No editor sees nested graphs: there the rounding is done by operations.
  EXPECT_TRUE(rounded->empty());
  auto program = try_write(*graph);
  EXPECT_TRUE(program.ok()) << program.error().message();
}

TEST(CoremlControlFlow, ConstantsStandInsideOfBodies) {
  auto graph = test::graph_from(R"(graph @g(%x: f32[3]) -> (y = %y) {
    %n = const i64[] dense[4] %k = const f32[3] dense[0.1,0.2,0.3]
    %y = loop(%n, _, %x, %k) {num_carried=1}
      body graph @body(%i: i64[], %go: bool[], %v: f32[3], %s: f32[3]) -> (c = %go, v = %w) {
        %w = add(%v, %s) }
  })");
  const auto before = graph->clone();
  sink_constants(*graph);
  EXPECT_TRUE(verify(*graph).empty());
  test::expect_same_results(*before, *graph);
  ASSERT_TRUE(give_half_precision(*graph, {}).ok());
  const Written written = round_trip(*graph);
  // Nothing reads the one outside.
  for (const coreml::Operation& op : written.main().operations)
    for (const coreml::NamedType& output : op.outputs) {
      EXPECT_NE(output.name, "k");
    }
}

TEST(CoremlControlFlow, CastsOfInputsEnterNestedGraphs) {
  const test::Outcome outcome = test::optimise(R"(graph @g(%c: bool[], %x: f32[2]) -> (y = %y) {
    %d = cast(%x) {to=f64}
    %y = if(%c, %d)
      body graph @then(%p: f64[2]) -> (r = %r) { %r = neg(%p) }
      body graph @else(%p: f64[2]) -> (r = %r) { %r = identity(%p) }
  })",
                                               "legalise-mil");
  EXPECT_EQ(outcome.count(OpKind::If), 1);
}

TEST(CoremlControlFlow, ResultsOfAnUnknownNumberOfIterationsAreRefused) {
  const std::string message = refusal_of(R"(graph @g(%n: i64[], %x: f32[2]) -> (all = %all) {
    %y, %all = loop(%n, _, %x) {num_carried=1}
      body graph @body(%i: i64[], %go: bool[], %v: f32[2]) -> (c = %go, v = %w, row = %r) {
        %w = neg(%v) %r = identity(%w) }
  })");
  EXPECT_NE(message.find("number of iterations"), std::string::npos) << message;
}

// --- updates at computed places ------------------------------------------------------------------

TEST(CoremlControlFlow, UpdatesAtComputedPlacesAreClamped) {
  constexpr std::string_view kRows =
      R"(graph @g(%x: f32[5,3], %u: f32[2,3], %at: i32[2]) -> (y = %y) {
    %y = dynamic_update_slice(%x, %u, %at)
  })";
  EXPECT_NE(find(round_trip(kRows).main(), "scatter"), nullptr);
  EXPECT_NE(find(round_trip(kRows, kCoremlIos18).main(), "slice_update"), nullptr);
  const Written part = round_trip(
      "graph @g(%x: f32[5,3], %u: f32[2,2], %at: i32[2]) -> (y = %y) { %y = "
      "dynamic_update_slice(%x, %u, %at) }");
  EXPECT_EQ(part.program->summary.version, kCoremlIos18);
  round_trip(
      "graph @g(%x: f32[5,3], %u: f32[2,2]) -> (y = %y) { %at = const i32[2] dense[9,-1] %y = "
      "dynamic_update_slice(%x, %u, %at) }");
}

// --- state ---------------------------------------------------------------------------------------

std::string counter(std::string_view type, std::string_view initial) {
  return "graph @g(%x: " + std::string(type) + ") -> (y = %y) { %zero = const " +
         std::string(type) + " " + std::string(initial) +
         " %s = read_state(%zero) {name=\"sum\"} %y = add(%s, %x) %w = write_state(%y) "
         "{name=\"sum\"} }";
}

TEST(CoremlState, IsKeptInHalfPrecisionFromZeros) {
  auto graph = test::graph_from(counter("f32[2]", "splat(0)"));
  const auto told = give_half_states(*graph);
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->size(), 1u);
  EXPECT_TRUE(verify(*graph).empty());
  const Written written = round_trip(*graph);
  EXPECT_EQ(written.program->summary.version, kCoremlIos18);
  EXPECT_NE(written.program->summary.version_reason.find("state"), std::string::npos);
  const coreml::Interface& interface = written.program->model.interface;
  ASSERT_EQ(interface.states.size(), 1u);
  EXPECT_EQ(interface.states[0].name, "sum");
  EXPECT_EQ(interface.inputs.size(), 1u);
  const auto& inputs = written.program->model.program->functions.at("main").inputs;
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[1].type.kind, coreml::ValueType::Kind::State);
  EXPECT_NE(find(written.main(), "read_state"), nullptr);
  EXPECT_TRUE(find(written.main(), "write_state")->outputs.empty());
}

TEST(CoremlState, OtherStartsAreDifferences) {
  auto graph = test::graph_from(counter("f32[2]", "dense[1,-2]"));
  const auto before = graph->clone();
  const auto told = give_half_states(*graph);
  ASSERT_TRUE(told.ok() && told->size() == 1u);
  EXPECT_NE((*told)[0].find("zeros"), std::string::npos);
  round_trip(*graph);
  test::expect_same_results(*before, *graph);
}

TEST(CoremlState, NumbersAloneBecomeLists) {
  auto graph = test::graph_from(counter("f32[]", "splat(0)"));
  ASSERT_TRUE(give_half_states(*graph).ok());
  EXPECT_TRUE(verify(*graph).empty());
  for (const Operation* op : graph->topological())
    if (op->kind() == OpKind::ReadState) {
      EXPECT_EQ(op->output()->shape()->rank(), 1u);
    }
}

TEST(CoremlState, IntegersThatHalfPrecisionCannotHoldAreRefused) {
  auto graph = test::graph_from(counter("i32[2]", "dense[0,0]"));
  ASSERT_TRUE(give_half_states(*graph).ok());
  const auto program = try_write(*graph);
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.error().message().find("state"), std::string::npos);
}

TEST(CoremlState, IsReadBeforeItIsWritten) {
  // The write does not depend on the read, which stands behind it.
  auto graph = test::graph_from(R"(graph @g(%x: f16[2]) -> (y = %y) {
    %zero = const f16[2] dense[0,0] %w = write_state(%x) {name="last"}
    %y = read_state(%zero) {name="last"}
  })");
  const Written written = round_trip(*graph);
  std::string kinds;
  for (const coreml::Operation& op : written.main().operations) kinds += op.type + " ";
  EXPECT_EQ(kinds, "read_state write_state ");
}

TEST(CoremlState, OlderSystemsRefuse) {
  DiagnosticSink sink;
  CoremlWriteOptions options;
  options.highest_version = kCoremlIos17;
  auto graph = test::graph_from(counter("f16[2]", "dense[0,0]"));
  const auto refused = write_coreml(*graph, options, sink);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("iOS 18"), std::string::npos);
}

}  // namespace
}  // namespace ec::metal
