// Reports as JSON, and the schema of it.
#include "edgecompiler/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/python_classes.h"

namespace ec {
namespace {

using Json = nlohmann::ordered_json;

TEST(Reports, WhatIsNotThereIsAbsentOrNull) {
  const Json empty = Json::parse(to_json(CompileReport{}));
  EXPECT_TRUE(empty["output"].is_null());
  for (const char* key : {"target", "output_sha256", "artifacts", "self_check", "operators",
                          "placement", "quantization", "segments", "stopped_after"})
    EXPECT_FALSE(empty.contains(key)) << key;

  CompileReport report;
  report.target = "t";
  report.output = "a/b.bin";
  report.operators = {{"Z", 2}, {"A", 1}};
  report.num_operators = 3;
  report.self_check = SelfCheck{};
  report.after.metadata["layout.input.x"] = "nhwc";
  report.after.inputs.push_back({"x", "f32", std::vector<std::string>{"1", "n"}, {}});
  const Json json = Json::parse(to_json(report));
  EXPECT_EQ(json["output"], "a/b.bin");
  EXPECT_EQ(json["operators"].dump(), R"({"Z":2,"A":1})");  // most frequent first
  EXPECT_EQ(json["self_check"]["ran"], false);
  EXPECT_EQ(json["interface_layouts"]["input.x"], "nhwc");
  EXPECT_EQ(json["inputs"][0].dump(),
            R"({"name":"x","dtype":"f32","shape":[1,"n"],"source_shape":null})");
}

TEST(Reports, SizesAreNumbersAndOpenOnesNames) {
  ModelSummary summary;
  summary.inputs.push_back({"x", "f32", std::vector<std::string>{"1", "n"}, {}});
  summary.inputs.push_back({"any", "f32", {}, TensorQuantization{{0.5f}, {3}, -1}});
  summary.device_code.push_back({"chip", Property(Property::Record{{"cores", 2}}), ""});
  const Json json = Json::parse(to_json(summary));
  EXPECT_EQ(json["inputs"][0]["shape"].dump(), R"([1,"n"])");
  EXPECT_TRUE(json["inputs"][1]["shape"].is_null());
  EXPECT_EQ(json["inputs"][1]["quantization"]["scales"][0], 0.5);
  EXPECT_EQ(json["chip"]["cores"], 2);
}

TEST(Reports, TargetsThatRefuse) {
  CheckReport report{"m", std::vector<PlacementReport>(2)};
  report.targets[0].refused = Refusal{"EC1001", "why", "do"};
  report.targets[1].add({"n", "relu", "Relu", "f32[1]", Placement::Host, "", "why", "fix"});
  const Json json = Json::parse(to_json(report));
  EXPECT_EQ(json["targets"][0]["runs"], false);
  EXPECT_EQ(json["targets"][0]["refused"]["message"], "why");
  EXPECT_EQ(json["targets"][1]["operations"][0]["placement"], "cpu");
  EXPECT_EQ(json["targets"][1]["host"], 1);
}

TEST(Reports, SchemaSaysWhatIsRequired) {
  const Json schema = Json::parse(report_schema());
  const Json& compiled = schema["$defs"]["CompileReport"];
  EXPECT_EQ(compiled["properties"]["output"]["anyOf"][1]["type"], "null");
  EXPECT_EQ(compiled["properties"]["output_bytes"]["unit"], "bytes");
  const auto required = compiled["required"].get<std::vector<std::string>>();
  EXPECT_NE(std::find(required.begin(), required.end(), "output"), required.end());
  EXPECT_EQ(std::find(required.begin(), required.end(), "target"), required.end());
  EXPECT_EQ(schema["$defs"]["DeviceEstimate"]["properties"]["latency_ms"]["certainty"],
            "estimated");
}

TEST(Reports, PythonClassesComeAfterTheirParts) {
  const std::string classes = report::python_classes();
  EXPECT_LT(classes.find("\nclass OpPlacement("), classes.find("\nclass PlacementReport("));
  EXPECT_NE(classes.find("class CompileReport(_CompileReport, total=False):"), std::string::npos);
}

}  // namespace
}  // namespace ec
