#include "frontend/torch/script/parser.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ec::torch::script {
namespace {

SourceFile parsed(const std::string& source) {
  auto file = parse_source("code/x.py", source);
  EXPECT_TRUE(file.ok()) << file.error().message();
  return file.ok() ? std::move(*file) : SourceFile{};
}

std::vector<Statement> body(const std::string& lines) {
  return parsed("def f(x: Tensor) -> Tensor:\n" + lines).functions.at("f").body;
}

std::string refusal(const std::string& source) {
  const auto file = parse_source("code/x.py", source);
  return file.ok() ? "" : file.error().message();
}

TEST(Parser, Classes) {
  const SourceFile file = parsed(
      "class Net(Module):\n"
      "  __parameters__ = [\"w\", ]\n"
      "  w : Tensor\n"
      "  steps : Final[int] = 3\n"
      "  __annotations__[\"0\"] = __torch__.torch.nn.Linear\n"
      "  def forward(self: __torch__.Net,\n"
      "    x: Tensor,\n"
      "    opt: Optional[Tensor]=None) -> Tuple[Tensor, int]:\n"
      "    return (x, 1)\n"
      "class Color(Enum):\n"
      "  RED = 1\n"
      "class P(NamedTuple):\n"
      "  data : Tensor\n");
  const Class& net = file.classes.at("Net");
  EXPECT_EQ(net.base, "Module");
  ASSERT_EQ(net.fields.size(), 3u);
  EXPECT_EQ(net.fields[1].value->integer, 3);
  EXPECT_EQ(net.fields[2].name, "0");
  const Function* forward = net.method("forward");
  ASSERT_NE(forward, nullptr);
  ASSERT_EQ(forward->parameters.size(), 3u);
  EXPECT_EQ(type_text(*forward->parameters[2].type), "Optional[Tensor]");
  EXPECT_EQ(forward->parameters[2].default_value->kind, Expr::Kind::None);
  EXPECT_EQ(type_text(*forward->returns), "Tuple[Tensor, int]");
  EXPECT_EQ(file.classes.at("Color").constants.at("RED").integer, 1);
}

TEST(Parser, Numbers) {
  const auto value = [](const std::string& text) {
    return body("  y = " + text + "\n")[0].values[0];
  };
  EXPECT_EQ(value("9223372036854775807").integer, INT64_MAX);
  EXPECT_EQ(value("-3").integer, -3);
  EXPECT_EQ(value("0.10000000000000001").real, 0.1);
  EXPECT_EQ(value("0.").real, 0.0);
  EXPECT_TRUE(std::signbit(value("-0.").real));
  EXPECT_EQ(value("1.0000000000000001e-05").real, 1e-5);
  EXPECT_EQ(value("-3.4028234663852886e+38").real, -3.4028234663852886e+38);
  EXPECT_EQ(value("1e+17").real, 1e17);
  EXPECT_EQ(value("10000000000").integer, 10000000000);
  EXPECT_EQ(value("inf").real, INFINITY);
  EXPECT_EQ(value("-inf").real, -INFINITY);
  EXPECT_TRUE(std::isnan(value("nan").real));
  EXPECT_EQ(value("1.+2.j").kind, Expr::Kind::Complex);
}

TEST(Parser, Expressions) {
  const auto statements = body(
      "  a = torch.conv2d(x, self.w, None, [2, 2], groups=1)\n"
      "  b = (m).forward(a, )\n"
      "  c = annotate(List[int], [])\n"
      "  d = ((hx)[0], {\"k\": 1})\n"
      "  e = \"it\\'s \\\"so\\\"\"\n");
  const Expr& call = statements[0].values[0];
  EXPECT_EQ(dotted(call.callee()), "torch.conv2d");
  EXPECT_EQ(call.num_positional(), 4u);
  ASSERT_EQ(call.keywords.size(), 1u);
  EXPECT_EQ(call.keywords[0], "groups");
  EXPECT_EQ(statements[1].values[0].children.size(), 2u);
  EXPECT_EQ(statements[3].values[0].kind, Expr::Kind::Tuple);
  EXPECT_EQ(statements[4].values[0].text, "it's \"so\"");
}

TEST(Parser, Statements) {
  const auto statements = body(
      "  a, b, = t\n"
      "  c, d = torch.max(x, 1)\n"
      "  _2, n = torch.lt(n0, 2), n0\n"
      "  s.n = 3\n"
      "  if torch.gt(n, 1):\n"
      "    pass\n"
      "  else:\n"
      "    for i in range(3):\n"
      "      y = i\n"
      "  while _2:\n"
      "    pass\n"
      "  def __forked_function():\n"
      "    return x\n"
      "  with g:\n"
      "    z = x\n"
      "  return y\n"
      "  aux : Optional[Tensor] = None\n");
  ASSERT_EQ(statements.size(), 10u);
  EXPECT_EQ(statements[9].targets, std::vector<std::string>{"aux"});
  EXPECT_TRUE(statements[0].unpack);
  EXPECT_FALSE(statements[1].unpack);
  EXPECT_EQ(statements[2].values.size(), 2u);
  EXPECT_EQ(statements[3].kind, Statement::Kind::AssignField);
  EXPECT_EQ(statements[4].otherwise[0].kind, Statement::Kind::For);
  EXPECT_EQ(statements[6].function->name, "__forked_function");
  EXPECT_EQ(statements[8].kind, Statement::Kind::Return);
}

TEST(Parser, NamesTheLineOfAFault) {
  EXPECT_NE(refusal("def f(x):\n  y = \n").find("line 2"), std::string::npos);
  EXPECT_NE(refusal("def f(x):\n  y = (1\n").find("not closed"), std::string::npos);
  EXPECT_NE(refusal("def f(x):\n  y = \"a\n").find("string"), std::string::npos);
  EXPECT_NE(refusal("import os\n").find("class or a function"), std::string::npos);
  EXPECT_NE(refusal("def f(x):\n  y = x @ x\n").find("unexpected"), std::string::npos);
}

TEST(Parser, BoundsNesting) {
  const std::string open(100'000, '('), close(100'000, ')');
  EXPECT_NE(refusal("def f(x):\n  y = " + open + "1" + close + "\n").find("too deep"),
            std::string::npos);
  std::string chain = "x";
  for (int i = 0; i < 100'000; ++i) chain += ".a";
  EXPECT_NE(refusal("def f(x):\n  y = " + chain + "\n").find("too deep"), std::string::npos);
}

}  // namespace
}  // namespace ec::torch::script
