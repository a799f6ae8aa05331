// torch.export archives (models/*.pt2) with the results that PyTorch gave; small programs written
// here; damaged ones.
#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>
#include <filesystem>
#include <random>
#include <set>

#include "archive_builder.h"
#include "formats/npy/npy.h"
#include "formats/torch/archive.h"
#include "frontend/torch/export/export.h"
#include "frontend/torch/export/import_graph.h"
#include "frontend/torch/export/program.h"
#include "ops/attrs.h"
#include "ops/kernel.h"
#include "runtime/session.h"
#include "support/input_file.h"

namespace ec {
namespace {

std::filesystem::path model(const std::string& name) {
  return std::filesystem::path(EC_TORCH_MODELS) / name;
}

struct Imported {
  std::unique_ptr<Graph> graph;
  DiagnosticSink sink;
  std::string text() const {
    std::string all;
    for (const Diagnostic& d : sink.diagnostics()) all += format_diagnostic(d) + "\n";
    return all;
  }
};

using Shapes = std::map<std::string, std::vector<int64_t>>;

Imported import(const std::string& name, Shapes shapes = {}) {
  Imported result;
  auto graph = torch_export_frontend().import_file(model(name + ".pt2"), {std::move(shapes), {}},
                                                   result.sink);
  if (graph.ok()) result.graph = std::move(*graph);
  return result;
}

Imported import_bytes(const std::string& archive) {
  Imported result;
  auto graph = import_torch_export(torch::testing::blob_of(archive), "m.pt2", {}, result.sink);
  if (graph.ok()) result.graph = std::move(*graph);
  return result;
}

Value load_value(const std::string& name, const std::string& array_name) {
  auto array = npy::load_from_npz(model(name + ".npz"), array_name);
  EXPECT_TRUE(array.ok()) << name << " " << array_name;
  const DType dtype = array->kind == 'f' ? DType::F32 : DType::I64;
  return Value(dtype, array->shape, array->data.aligned());
}

void expect_recorded(const std::string& name, const std::string& prefix = "", Shapes shapes = {}) {
  const Imported imported = import(name, std::move(shapes));
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  EXPECT_TRUE(verify(*imported.graph).empty());
  std::vector<Value> inputs;
  for (size_t i = 0; i < imported.graph->inputs().size(); ++i)
    inputs.push_back(load_value(name, prefix + "in" + std::to_string(i)));
  const auto outputs = interpret(*imported.graph, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message();
  for (size_t i = 0; i < outputs->size(); ++i) {
    const Value want = load_value(name, prefix + "out" + std::to_string(i));
    const Value& got = (*outputs)[i];
    ASSERT_EQ(got.type().text(), want.type().text()) << name << " result " << i;
    if (got.dtype != DType::F32) {
      EXPECT_TRUE(got.data == want.data) << name << " result " << i;
      continue;
    }
    for (size_t k = 0; k < got.as<float>().size(); ++k)
      ASSERT_NEAR(got.as<float>()[k], want.as<float>()[k], 1e-5) << name << " result " << i;
  }
}

TEST(TorchExport, BranchesAreIf) {
  expect_recorded("cond");
  expect_recorded("cond", "call2_");
}

TEST(TorchExport, LoopsAreLoopsUnlessTheirCountIsKnown) {
  expect_recorded("while_loop");
  expect_recorded("counted_loop");
  expect_recorded("scan");
  const auto count = [](const char* name, OpKind kind) {
    const Imported imported = import(name);
    return imported.graph == nullptr
               ? -1
               : std::ranges::count_if(imported.graph->topological(),
                                       [&](const Operation* op) { return op->kind() == kind; });
  };
  EXPECT_EQ(count("while_loop", OpKind::Loop), 1);
  EXPECT_EQ(count("counted_loop", OpKind::Loop), 0);
  EXPECT_EQ(count("scan", OpKind::Scan), 1);
}

TEST(TorchExport, ResultsNestAndAreNamed) {
  expect_recorded("multi_output");
  const Imported imported = import("multi_output");
  const auto& names = imported.graph->output_names();
  ASSERT_EQ(names.size(), 10u);
  EXPECT_EQ(names[0], "output.0.pair.values");
  EXPECT_EQ(names[4], "output.0.list.2");
  EXPECT_EQ(names[9], "output.5");
}

TEST(TorchExport, OpenSizesStayOpenOrAreBound) {
  expect_recorded("dynamic_shape");
  expect_recorded("dynamic_shape", "call2_");
  expect_recorded("dynamic_shape", "call2_", {{"x", {1, 3, 12, 21}}});
  const Imported open = import("dynamic_shape");
  EXPECT_EQ(open.graph->inputs()[0]->type().text(), "f32[s77,3,2*s78,s0]");
  const Imported bound = import("dynamic_shape", {{"", {2, 3, 16, 16}}});
  EXPECT_TRUE(bound.graph->outputs()[0]->type().is_static());
}

TEST(TorchExport, SizesOutsideTheExportedRangeAreRefused) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{9, 3, 16, 16}, {2, 3, 15, 16}, {2, 3, 2, 16}}) {
    const Imported imported = import("dynamic_shape", {{"x", shape}});
    EXPECT_EQ(imported.graph, nullptr);
    EXPECT_NE(imported.text().find("EC2004"), std::string::npos) << imported.text();
  }
}

TEST(TorchExport, BuffersThatTheModelWritesAreState) {
  expect_recorded("mutated_buffer_dec");
  const Imported imported = import("mutated_buffer_dec");
  EXPECT_EQ(imported.text(), "");
  std::set<std::string> read, written;
  for (const Operation* op : imported.graph->topological()) {
    if (op->kind() == OpKind::ReadState) read.insert(op->attrs_as<StateAttrs>().name);
    if (op->kind() == OpKind::WriteState) written.insert(op->attrs_as<StateAttrs>().name);
  }
  EXPECT_EQ(read, (std::set<std::string>{"state", "steps"}));
  EXPECT_EQ(written, read);
  EXPECT_TRUE(verify(*imported.graph).empty());
}

// The second call starts from what the first one left; after a reset it is a first one again.
TEST(TorchExport, StateIsKeptFromCallToCall) {
  Imported imported = import("mutated_buffer_dec");
  auto session = Session::create(std::move(imported.graph), {});
  ASSERT_TRUE(session.ok());
  const auto expect_call = [&](const std::string& prefix) {
    const NamedValue feed{"x", load_value("mutated_buffer_dec", prefix + "in0")};
    const auto results = (*session)->run(std::span(&feed, 1));
    ASSERT_TRUE(results.ok()) << results.error().message();
    const Value want = load_value("mutated_buffer_dec", prefix + "out0");
    for (size_t i = 0; i < want.as<float>().size(); ++i)
      ASSERT_NEAR((*results)[0].as<float>()[i], want.as<float>()[i], 1e-5) << prefix << i;
    EXPECT_EQ((*results)[1].as<int64_t>()[0],
              load_value("mutated_buffer_dec", prefix + "out1").as<int64_t>()[0]);
  };
  expect_call("");
  expect_call("call2_");
  ASSERT_TRUE((*session)->reset().ok());
  expect_call("");
}

TEST(TorchExport, OperationsAreNamedByTheirModules) {
  const Imported imported = import("dynamic_shape", {{"x", {2, 3, 16, 16}}});
  std::vector<std::string> names;
  for (const Operation* op : imported.graph->topological())
    if (op->kind() == OpKind::Conv) names.emplace_back(op->location().name());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
}

// --- programs written here -----------------------------------------------------------------------

std::string size_list(const std::vector<int>& sizes) {
  std::string text;
  for (const int size : sizes)
    text += (text.empty() ? "" : ",") + ("{\"as_int\":" + std::to_string(size) + "}");
  return "[" + text + "]";
}

const std::string kMeta = "{\"dtype\":7,\"sizes\":" + size_list({2, 2}) +
                          ",\"strides\":" + size_list({2, 1}) +
                          ",\"storage_offset\":{\"as_int\":0}}";

// y = target(x, w)
std::string program(const std::string& target, int major = 8) {
  return "{\"schema_version\":{\"major\":" + std::to_string(major) +
         ",\"minor\":7},\"range_constraints\":{},\"graph_module\":{\"graph\":{"
         "\"inputs\":[{\"as_tensor\":{\"name\":\"p_w\"}},{\"as_tensor\":{\"name\":\"x\"}}],"
         "\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],\"nodes\":[{\"target\":\"" +
         target +
         "\",\"inputs\":[{\"name\":\"self\",\"arg\":{\"as_tensor\":{\"name\":\"x\"}},\"kind\":1},"
         "{\"name\":\"other\",\"arg\":{\"as_tensor\":{\"name\":\"p_w\"}},\"kind\":1}],"
         "\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],\"metadata\":{},\"name\":\"y\"}],"
         "\"tensor_values\":{\"x\":" +
         kMeta + ",\"p_w\":" + kMeta + ",\"y\":" + kMeta +
         "}},\"signature\":{\"input_specs\":[{\"parameter\":{\"arg\":{\"name\":\"p_w\"},"
         "\"parameter_name\":\"w\"}},{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}],"
         "\"output_specs\":[{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"y\"}}}}]}}}";
}

std::string four_floats() {
  std::string bytes;
  for (const float v : {1.0f, 2.0f, 3.0f, 4.0f}) bytes += torch::testing::little_endian(v);
  return bytes;
}

std::string pickled_weights() {
  namespace t = torch::testing;
  return t::zip(
      {{"archive/data.pkl",
        t::pickle("}" + t::text("w") + t::tensor("FloatStorage", "0", {2, 2}, {1, 2}, 4) + "s")},
       {"archive/data/0", four_floats()}});
}

void expect_sum(const Imported& imported, std::vector<float> weight) {
  ASSERT_NE(imported.graph, nullptr) << imported.text();
  const std::vector<float> x = {10, 20, 30, 40};
  const Value input = Value::of<float>({2, 2}, x);
  const auto outputs = interpret(*imported.graph, std::span(&input, 1));
  ASSERT_TRUE(outputs.ok());
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ((*outputs)[0].as<float>()[i], x[i] + weight[i]);
}

const std::string kAdd = "torch.ops.aten.add.Tensor";

TEST(TorchExport, ReadsRawWeights) {
  const std::string list =
      "{\"config\":{\"w\":{\"path_name\":\"weight_0\",\"use_pickle\":false,\"tensor_meta\":" +
      kMeta + "}}}";
  expect_sum(import_bytes(torch::testing::zip({{"m/archive_format", "pt2"},
                                               {"m/models/model.json", program(kAdd)},
                                               {"m/data/weights/model_weights_config.json", list},
                                               {"m/data/weights/weight_0", four_floats()}})),
             {1, 2, 3, 4});
}

TEST(TorchExport, ReadsPickledWeightsOfBothOlderLayouts) {
  expect_sum(import_bytes(torch::testing::zip({{"m/archive_format", "pt2"},
                                               {"m/models/model.json", program(kAdd)},
                                               {"m/data/weights/model.pt", pickled_weights()}})),
             {1, 3, 2, 4});
  expect_sum(import_bytes(torch::testing::zip({{"serialized_exported_program.json", program(kAdd)},
                                               {"serialized_state_dict.pt", pickled_weights()}})),
             {1, 3, 2, 4});
}

Imported import_program(const std::string& json) {
  return import_bytes(torch::testing::zip({{"serialized_exported_program.json", json},
                                           {"serialized_state_dict.pt", pickled_weights()}}));
}

TEST(TorchExport, SaysWhatItCannotRead) {
  EXPECT_NE(import_program(program(kAdd, 7)).text().find("EC1005"), std::string::npos);
  EXPECT_NE(import_program("{").text().find("EC1006"), std::string::npos);
  const std::string unknown = import_program(program("torch.ops.aten.addd.Tensor")).text();
  EXPECT_NE(unknown.find("EC3001"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("aten::add"), std::string::npos) << unknown;
  const std::string map = import_program(program("torch.ops.higher_order.map_impl")).text();
  EXPECT_NE(map.find("EC3001"), std::string::npos) << map;
  // A loop without its graphs.
  const std::string loop = import_program(program("torch.ops.higher_order.while_loop")).text();
  EXPECT_NE(loop.find("EC1006"), std::string::npos) << loop;
  const Imported compiled = import_bytes(
      torch::testing::zip({{"m/archive_format", "pt2"}, {"m/data/aotinductor/model.so", ""}}));
  EXPECT_NE(compiled.text().find("EC1005"), std::string::npos) << compiled.text();
}

TEST(TorchExport, NumbersOfElementTypesMayBeAny) {
  for (const char* number : {"9223372036854775807", "-9223372036854775808", "99"}) {
    std::string whole = program(kAdd);
    whole.replace(whole.rfind("\"dtype\":7,\"sizes\"", whole.find("\"signature\"")) + 8, 1, number);
    const Imported imported = import_program(whole);  // of the result: nothing reads it
    EXPECT_NE(imported.graph, nullptr) << imported.text();
    whole = program(kAdd);
    whole.replace(whole.find("\"dtype\":7") + 8, 1, number);  // of the input
    EXPECT_NE(import_program(whole).text().find("EC3003"), std::string::npos);
  }
}

// Loops in loops whose conditions are known are written out, but not without end.
TEST(TorchExport, LoopsInLoopsAreBounded) {
  const auto graph = [](const std::string& outputs, const std::string& nodes) {
    return "{\"name\":\"\",\"arg\":{\"as_graph\":{\"graph\":{\"inputs\":[],\"outputs\":[" +
           outputs + "],\"nodes\":[" + nodes + "],\"tensor_values\":{}}}}}";
  };
  const std::string none = "{\"name\":\"\",\"arg\":{\"as_tensors\":[]}}";
  const auto node = [](const std::string& target, const std::string& inputs) {
    return "{\"target\":\"" + target + "\",\"inputs\":[" + inputs +
           "],\"outputs\":[],\"metadata\":{},\"name\":\"n\"}";
  };
  const std::string one = "{\"name\":\"\",\"arg\":{\"as_int\":1}}";
  std::string nested = node("_operator.add", one + "," + one);
  for (int depth = 0; depth < 6; ++depth)
    nested =
        node("torch.ops.higher_order.while_loop",
             graph("{\"as_bool\":true}", "") + "," + graph("", nested) + "," + none + "," + none);
  std::string whole = program(kAdd);
  whole.insert(whole.find("\"nodes\":[") + 9, nested + ",");
  const Imported imported = import_program(whole);
  EXPECT_EQ(imported.graph, nullptr);
  EXPECT_NE(imported.text().find("EC1014"), std::string::npos) << imported.text();
}

TEST(TorchExport, NamesOfPythonAndOfTheEdgeDialect) {
  using torch::exported::operator_name;
  EXPECT_EQ(operator_name("torch.ops.aten.add.Tensor"), "aten::add.Tensor");
  EXPECT_EQ(operator_name("executorch.exir.dialects.edge._ops.aten.relu.default"),
            "aten::relu.default");
  EXPECT_EQ(operator_name("_operator.floordiv"), "aten::floordiv");
  EXPECT_EQ(operator_name("torch.sym_max"), "prim::max");
}

// Every damaged program is an error or a graph, never a crash.
TEST(TorchExport, DamagedProgramsAreRefused) {
  const std::string whole = program(kAdd);
  for (size_t length = 0; length < whole.size(); length += 7)
    EXPECT_EQ(import_program(whole.substr(0, length)).graph, nullptr);
  auto blob = read_file(model("cond.pt2"));
  ASSERT_TRUE(blob.ok());
  auto archive = torch::Archive::open(*blob);
  ASSERT_TRUE(archive.ok());
  const auto real = archive->read_text("models/model.json");
  ASSERT_TRUE(real.ok());
  std::mt19937 random(3);
  const std::string alphabet = "0123456789-{}[]\",:aeinrst_. ";
  for (const std::string& source : {whole, *real})
    for (int round = 0; round < 1500; ++round) {
      std::string damaged = source;
      for (int k = 0; k < 1 + round % 4; ++k) {
        const size_t at = random() % damaged.size();
        if (random() % 3 == 0)
          damaged.erase(at, 1 + random() % 12);
        else
          damaged[at] = alphabet[random() % alphabet.size()];
      }
      (void)import_program(damaged);
    }
  (void)import_program(std::string(100000, '['));
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "{\"graph_module\":";
  (void)import_program(deep + "1" + std::string(20000, '}'));
}

}  // namespace
}  // namespace ec
