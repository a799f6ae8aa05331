// Programs written by hand: what they compute of numbers and containers, and what they are refused
// for. Their results are constants of the graph.
#include <gtest/gtest.h>

#include "frontend/torch/archive_builder.h"
#include "frontend/torch/script/script.h"
#include "ops/attrs.h"

namespace ec::torch::testing {
namespace {

std::string program(const std::string& lines, const std::string& more = {}) {
  return "class M(Module):\n  training : bool\n  def forward(self: __torch__.M) -> int:\n" + lines +
         more;
}

Result<std::unique_ptr<Graph>> import(const std::string& archive,
                                      const ImportOptions& options = {}) {
  DiagnosticSink sink;
  return import_torchscript(blob_of(archive), "m.pt", options, sink);
}

// The integers that a program without tensors returns.
std::vector<int64_t> results(const std::string& code) {
  const auto graph = import(script_archive(code));
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : format_diagnostic(graph.error().diagnostic()));
  std::vector<int64_t> values;
  if (graph.ok())
    for (const Tensor* output : (*graph)->outputs())
      values.push_back(output->is_constant() ? output->values<int64_t>()[0] : -999);
  return values;
}

Diagnostic refusal(const std::string& code) {
  const auto graph = import(script_archive(code));
  EXPECT_FALSE(graph.ok());
  return graph.ok() ? Diagnostic{} : graph.error().diagnostic();
}

using Ints = std::vector<int64_t>;

TEST(Interpreter, Arithmetic) {
  EXPECT_EQ(results(program("    a = torch.floordiv(-7, 2)\n"
                            "    b = torch.remainder(-7, 3)\n"
                            "    c = int(torch.div(7, 2))\n"
                            "    d = torch.add(torch.mul(3, 4), torch.neg(2))\n"
                            "    e = torch.ceil(2.2000000000000002)\n"
                            "    return (a, b, c, d, e)\n")),
            (Ints{-4, 2, 3, 10, 3}));
}

TEST(Interpreter, LoopsAndBranches) {
  EXPECT_EQ(results(program("    n = 0\n"
                            "    _2 = True\n"
                            "    while _2:\n"
                            "      n0 = torch.add(n, 3)\n"
                            "      _2, n = torch.lt(n0, 10), n0\n"
                            "    s = 0\n"
                            "    for i in range(4):\n"
                            "      if torch.eq(torch.remainder(i, 2), 0):\n"
                            "        s = torch.add(s, i)\n"
                            "      else:\n"
                            "        pass\n"
                            "    r = torch.__range_length(10, 0, -3)\n"
                            "    d = torch.__derive_index(2, 10, -3)\n"
                            "    return (n, s, r, d)\n")),
            (Ints{12, 2, 4, 4}));
}

TEST(Interpreter, ListsAreShared) {
  EXPECT_EQ(results(program("    a = annotate(List[int], [])\n"
                            "    b = a\n"
                            "    _0 = torch.append(a, 5)\n"
                            "    _1 = torch.extend(b, [6, 7])\n"
                            "    c = torch.add(a, [8])\n"
                            "    _3 = torch._set_item(b, 0, 4)\n"
                            "    d = torch.slice(c, -2)\n"
                            "    p = torch.pop(a)\n"
                            "    return (torch.len(b), a[0], c[0], d[0], p, a[-1], "
                            "ops.prim.max(c))\n")),
            (Ints{2, 4, 5, 7, 7, 6, 8}));
}

TEST(Interpreter, FunctionsWithoutNamespace) {
  EXPECT_EQ(results(program("    a = sorted([3, 1, 2])\n"
                            "    return (a[0], a[2], torch.find(\"abcb\", \"b\", 2))\n")),
            (Ints{1, 3, 3}));
}

TEST(Interpreter, DictsTuplesAndTexts) {
  EXPECT_EQ(results(program("    d = {\"a\": 1, \"b\": 2}\n"
                            "    _0 = torch._set_item(d, \"c\", 3)\n"
                            "    k = torch.list(torch.keys(d))\n"
                            "    x, y, = (7, 8)\n"
                            "    n = torch.len(torch.format(\"{}-{}\", 12, \"ab\"))\n"
                            "    if torch.__contains__(d, \"z\"):\n"
                            "      z = 1\n"
                            "    else:\n"
                            "      z = 0\n"
                            "    e = torch.dict([(\"p\", 4), (\"q\", 5), (\"p\", 6)])\n"
                            "    return (d[k[2]], torch.len(d), x, y, n, z, e[\"p\"])\n")),
            (Ints{3, 3, 7, 8, 5, 0, 6}));
}

TEST(Interpreter, FunctionsClassesAndForks) {
  const std::string more =
      "  def helper(self: __torch__.M, a: int, b: int=10) -> int:\n"
      "    return torch.add(a, b)\n"
      "class Box:\n"
      "  v : int\n"
      "  def __init__(self: __torch__.Box, v: int) -> NoneType:\n"
      "    self.v = v\n"
      "    return None\n"
      "  def get(self: __torch__.Box) -> int:\n"
      "    return self.v\n"
      "class P(NamedTuple):\n"
      "  first : int\n"
      "  second : int\n"
      "class Color(Enum):\n"
      "  RED = 4\n"
      "def twice(x: int) -> int:\n"
      "  return torch.mul(x, 2)\n";
  EXPECT_EQ(results(program("    b = __torch__.Box.__new__(__torch__.Box)\n"
                            "    _0 = (b).__init__(6, )\n"
                            "    p = __torch__.P(1, 2)\n"
                            "    f = __torch__.twice\n"
                            "    c = __torch__.Color.RED\n"
                            "    k = 20\n"
                            "    def __forked_function():\n"
                            "      return torch.add(k, 1)\n"
                            "    w = torch.wait(fork(__forked_function))\n"
                            "    return ((self).helper(1, ), (b).get(), p.second, f(9, ), "
                            "c.value, w)\n",
                            more)),
            (Ints{11, 6, 2, 18, 4, 21}));
}

TEST(Interpreter, NoneAndDeadBranches) {
  EXPECT_EQ(results(program("    _6 = uninitialized(int)\n"
                            "    x = annotate(Optional[int], None)\n"
                            "    if torch.__is__(x, None):\n"
                            "      y = 1\n"
                            "    else:\n"
                            "      ops.prim.RaiseException(\"never\", \"builtins.ValueError\")\n"
                            "      y = _6\n"
                            "    training = self.training\n"
                            "    if training:\n"
                            "      z = 5\n"
                            "    else:\n"
                            "      z = 6\n"
                            "    return (y, z)\n")),
            (Ints{1, 6}));
}

TEST(Interpreter, AsksForTypes) {
  EXPECT_EQ(results(program("    a = [1, 2]\n"
                            "    t = (1, \"x\")\n"
                            "    return (int(isinstance(a, list)), int(isinstance(a, List[int])), "
                            "int(isinstance(a, List[str])), int(isinstance(t, Tuple[int, str])), "
                            "int(isinstance(None, Optional[int])), int(isinstance(2, float)))\n")),
            (Ints{1, 1, 0, 1, 1, 0}));
}

TEST(Interpreter, ReportsWhatTheModelRaises) {
  const Diagnostic d =
      refusal(program("    ops.prim.RaiseException(\"bad rank\")\n    return 1\n"));
  EXPECT_NE(d.message.find("bad rank"), std::string::npos);
}

TEST(Interpreter, EndsWhatDoesNotEnd) {
  EXPECT_EQ(refusal(program("    _0 = True\n    while _0:\n      pass\n    return 1\n")).code,
            Code::TooLarge);
  EXPECT_EQ(refusal(program("    return (self).forward()\n")).code, Code::TooDeep);
  EXPECT_EQ(refusal(program("    a = [1]\n"
                            "    for i in range(1000000):\n"
                            "      a = torch.add(a, a)\n"
                            "    return a\n"))
                .code,
            Code::TooLarge);
  EXPECT_EQ(refusal(program("    a = (1, )\n"
                            "    for i in range(1000000):\n"
                            "      a = (a, a)\n"
                            "    return 1\n"))
                .code,
            Code::TooLarge);
  EXPECT_EQ(refusal(program("    a = annotate(List[int], [])\n"
                            "    _0 = torch.append(a, a)\n"
                            "    return 1\n"))
                .code,
            Code::TooDeep);
}

TEST(Interpreter, ObjectsInCirclesAreFreed) {
  const std::string more = "class Box:\n  v : int\n";
  EXPECT_EQ(results(program("    b = __torch__.Box.__new__(__torch__.Box)\n"
                            "    b.v = b\n"
                            "    return 1\n",
                            more)),
            (Ints{1}));
}

TEST(Interpreter, AFunctionThatOutlivesItsFrameSeesNoNames) {
  const std::string more =
      "  def make(self: __torch__.M) -> int:\n"
      "    k = 1\n"
      "    def __forked_function():\n"
      "      return k\n"
      "    return __forked_function\n";
  EXPECT_EQ(refusal(program("    f = (self).make()\n    return f()\n", more)).code,
            Code::UndefinedName);
}

TEST(Interpreter, AsksForShapesByName) {
  const auto graph = import(
      script_archive("class M(Module):\n  def forward(self: __torch__.M,\n    image: Tensor) -> "
                     "Tensor:\n    return image\n"));
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code(), Code::DynamicShape);
  EXPECT_NE(graph.error().message().find("'image'"), std::string::npos);
  EXPECT_NE(graph.error().diagnostic().hint.find("--input-shape image:"), std::string::npos);
}

TEST(Interpreter, ReadsWeightsFromTheFile) {
  std::string data;
  for (int i = 0; i < 4; ++i) data += little_endian(static_cast<float>(i));
  const std::string file = script_archive(
      "class M(Module):\n  w : Tensor\n  def forward(self: __torch__.M) -> Tensor:\n"
      "    w = self.w\n    return w\n",
      {{"w", tensor("FloatStorage", "0", {2, 2}, {1, 2}, 4)}}, {{"m/data/0", data}});
  const auto graph = import(file);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  const Tensor* output = (*graph)->outputs()[0];
  EXPECT_EQ(output->name(), "w");
  const auto values = output->values<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{0, 2, 1, 3}));
}

// --- programs that do not end, or grow
// ---------------------------------------------------------

Code code_of(const std::string& lines) { return refusal(program(lines)).code; }

TEST(Interpreter, WorkOnListsIsCounted) {
  // Each statement looks at all items so far, or moves them.
  EXPECT_EQ(code_of("    d = annotate(Dict[int, int], {})\n"
                    "    for i in range(900000):\n"
                    "      _0 = torch._set_item(d, i, i)\n"
                    "    return 1\n"),
            Code::TooLarge);
  EXPECT_EQ(code_of("    d = torch.mul([0], 240000)\n"
                    "    for i in range(900000):\n"
                    "      n = torch.count(d, 5)\n"
                    "    return 1\n"),
            Code::TooLarge);
  EXPECT_EQ(code_of("    b = [0, 0]\n"
                    "    for i in range(15):\n"
                    "      b = [b, b]\n"
                    "    for i in range(900000):\n"
                    "      c = [b]\n"
                    "    return 1\n"),
            Code::TooLarge);
}

TEST(Interpreter, ListsAndTextsAreCounted) {
  EXPECT_EQ(code_of("    b = annotate(List[List[int]], [])\n"
                    "    for i in range(1000):\n"
                    "      _0 = torch.append(b, torch.mul([0], 200000))\n"
                    "    return 1\n"),
            Code::TooLarge);
  EXPECT_EQ(code_of("    t = \"0123456789\"\n"
                    "    for i in range(12):\n"
                    "      t = torch.add(t, t)\n"
                    "    u = torch.percentFormat(\"%s%s%s\", t, t, t)\n"
                    "    return 1\n"),
            Code::TooLarge);
  EXPECT_EQ(code_of("    t = \"0123456789\"\n"
                    "    for i in range(12):\n"
                    "      t = torch.add(t, t)\n"
                    "    u = torch.join(t, torch.mul([t], 100000))\n"
                    "    return 1\n"),
            Code::TooLarge);
  // Appending one by one, and reading one place, cost no more than that.
  EXPECT_EQ(results(program("    b = annotate(List[int], [])\n"
                            "    for i in range(100000):\n"
                            "      _0 = torch.append(b, torch.add(i, torch.len(b)))\n"
                            "    return b[99999]\n")),
            (Ints{199998}));
}

TEST(Interpreter, ComputedConstantsAreCounted) {
  EXPECT_EQ(code_of("    for i in range(1000):\n"
                    "      y = torch.arange(4000000)\n"
                    "    return 1\n"),
            Code::TooLarge);
}

// --- values of parameters that are no tensors
// -----------------------------------------------------

std::string with_parameter(const std::string& type) {
  return "class M(Module):\n  training : bool\n  def forward(self: __torch__.M, sr: " + type +
         ") -> int:\n    return sr\n";
}

ImportOptions given(const std::string& name, const std::string& text) {
  ImportOptions options;
  options.input_values[name] = *parse_input_value(text);
  return options;
}

TEST(Interpreter, ParametersTakeTheUsersValues) {
  const auto value = [](const std::string& type, const std::string& text) {
    const auto graph = import(script_archive(with_parameter(type)), given("sr", text));
    if (!graph.ok()) return -1.0;
    EXPECT_EQ((*graph)->metadata().at("input_value.sr"),
              input_value_text(*parse_input_value(text)));
    const Tensor* output = (*graph)->outputs()[0];
    return output->dtype() == DType::F32    ? double{output->values<float>()[0]}
           : output->dtype() == DType::Bool ? (output->values<uint8_t>()[0] != 0 ? 1.0 : 0.0)
                                            : static_cast<double>(output->values<int64_t>()[0]);
  };
  EXPECT_EQ(value("int", "16000"), 16000);
  EXPECT_EQ(value("float", "0.5"), 0.5);
  EXPECT_EQ(value("float", "2"), 2);
  EXPECT_EQ(value("bool", "true"), 1);
  EXPECT_EQ(value("List[int]", "[7, 8]"), 7);
  EXPECT_EQ(value("Optional[int]", "3"), 3);
  EXPECT_EQ(value("int", "0.5"), -1);  // refused
}

TEST(Interpreter, AMissingValueIsAskedFor) {
  const Diagnostic d = refusal(with_parameter("int"));
  EXPECT_EQ(d.code, Code::MissingInput);
  EXPECT_NE(d.message.find("'sr'"), std::string::npos) << d.message;
  EXPECT_NE(d.message.find("int"), std::string::npos) << d.message;
  EXPECT_NE(d.hint.find("--input-value sr="), std::string::npos) << d.hint;
}

// --- state
// ----------------------------------------------------------------------------------------

std::string states_of(const Graph& graph) {
  std::string names;
  for (const Operation* op : graph.topological())
    if (op->kind() == OpKind::WriteState) names += op->attrs_as<StateAttrs>().name + " ";
  return names;
}

TEST(Interpreter, AttributesThatTheProgramChangesAreState) {
  // n counts calls; sum is a buffer that is written in place.
  const std::string code =
      "class M(Module):\n  __buffers__ = [\"sum\", ]\n  training : bool\n  n : int\n"
      "  sum : Tensor\n"
      "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
      "    n = self.n\n"
      "    self.n = torch.add(n, 1)\n"
      "    sum = self.sum\n"
      "    _0 = torch.add_(sum, x)\n"
      "    return torch.mul(sum, self.n)\n";
  const std::string zeros(8, '\0');
  const std::string archive =
      script_archive(code, {{"n", integer(0)}, {"sum", tensor("FloatStorage", "0", {2}, {1}, 2)}},
                     {{"m/data/0", zeros}});
  ImportOptions options;
  options.input_shapes["x"] = {2};
  const auto graph = import(archive, options);
  ASSERT_TRUE(graph.ok()) << format_diagnostic(graph.error().diagnostic());
  EXPECT_EQ(states_of(**graph), "n sum ");
  EXPECT_TRUE(verify(**graph).empty());
}

TEST(Interpreter, StateThatGrowsIsLeftOutWithAWarning) {
  const std::string code =
      "class M(Module):\n  __buffers__ = [\"past\", ]\n  training : bool\n  past : Tensor\n"
      "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
      "    past = self.past\n"
      "    y = torch.cat([past, x])\n"
      "    self.past = y\n"
      "    return y\n";
  const std::string archive =
      script_archive(code, {{"past", tensor("FloatStorage", "0", {2}, {1}, 2)}},
                     {{"m/data/0", std::string(8, '\0')}});
  ImportOptions options;
  options.input_shapes["x"] = {2};
  DiagnosticSink sink;
  const auto graph = import_torchscript(blob_of(archive), "m.pt", options, sink);
  ASSERT_TRUE(graph.ok()) << format_diagnostic(graph.error().diagnostic());
  EXPECT_EQ(states_of(**graph), "");
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  EXPECT_EQ(sink.diagnostics()[0].severity, Severity::Warning);
  EXPECT_NE(sink.diagnostics()[0].message.find("'past'"), std::string::npos);
}

// Some of the sizes are open, and still it is no value of the state.
TEST(Interpreter, StateOfAnotherRankIsLeftOutWithAWarning) {
  const std::string code =
      "class M(Module):\n  __buffers__ = [\"past\", ]\n  training : bool\n  past : Tensor\n"
      "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
      "    y = torch.to(torch.argwhere(x), 6)\n"
      "    self.past = y\n"
      "    return torch.add(x, self.past)\n";
  const std::string archive =
      script_archive(code, {{"past", tensor("FloatStorage", "0", {}, {}, 1)}},
                     {{"m/data/0", std::string(4, '\0')}});
  ImportOptions options;
  options.input_shapes["x"] = {2};
  const auto graph = import(archive, options);
  ASSERT_TRUE(graph.ok()) << format_diagnostic(graph.error().diagnostic());
  EXPECT_EQ(states_of(**graph), "");
  EXPECT_TRUE(verify(**graph).empty());
}

}  // namespace
}  // namespace ec::torch::testing
