// Hundreds of damaged files of statistics, the same ones on every run, each played back to a
// quantisation: it must give a sound graph or an error. EC_MUTATIONS sets the number.
// EC_WRITE_SEED=FILE writes the sound file, which is the seed of fuzz_statistics.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "backend/tflite/integer_rules.h"
#include "fuzz/flat_mutator.h"
#include "fuzz/mutation_cases.h"
#include "fuzz/statistics_graph.h"
#include "quantize/strategy/strategy.h"
#include "quantize/trial/measurements.h"
#include "support/random.h"

namespace ec::fuzz {
namespace {

using namespace ec::quantize;
using Json = nlohmann::ordered_json;

QuantizeRequest request_of(SampleSource& samples) {
  QuantizeRequest request;
  request.target = &tflite_spec();
  request.samples = &samples;
  request.methods.adapt_rounding = Switch::On;  // so that weights are among the answers
  return request;
}

const Strategy& ptq() {
  for (const Strategy& strategy : all_strategies())
    if (strategy.name == "ptq") return strategy;
  std::abort();
}

// Sound statistics of twelve random samples.
std::string recorded() {
  std::vector<std::vector<Value>> samples;
  RandomState random(5);
  for (size_t i = 0; i < 12; ++i) {
    std::vector<float> values(108);
    for (float& value : values) value = static_cast<float>(random.uniform() * 4 - 2);
    samples.push_back({Value::of<float>({1, 6, 6, 3}, std::span<const float>(values))});
  }
  const Graph& graph = statistics_graph();
  const auto source = samples_in_memory(std::move(samples), {{"x", graph.inputs()[0]->type()}});
  Measurements measurements;
  EXPECT_TRUE(source.ok() && measurements.check(graph, {}).ok());
  const auto recording = recorded_samples(**source, measurements);
  DiagnosticSink sink;
  EXPECT_TRUE(ptq().run(graph, request_of(*recording), sink).ok());
  return measurements.text();
}

// "quantised", or the code of the error.
std::string outcome_of(const std::string& text, const std::string& label) {
  auto measurements = Measurements::parse(text, "damaged.json");
  if (!measurements.ok()) return code_id(measurements.error().code());
  if (Status fits = measurements->check(statistics_graph(), {}); !fits.ok())
    return code_id(fits.error().code());
  const auto samples = played_back_samples(*measurements);
  DiagnosticSink sink;
  const auto result = ptq().run(statistics_graph(), request_of(*samples), sink);
  if (!result.ok()) return code_id(result.error().code());
  EXPECT_TRUE(verify(*result->graph).empty()) << label;
  return "quantised";
}

// One value of the file, at any depth, replaced by one that a reader may not expect.
class JsonMutator {
 public:
  explicit JsonMutator(uint64_t seed) : random_(seed) {}

  std::string mutate(Json json, std::string& what) {
    for (size_t n = 1 + pick(2); n > 0; --n) damage(*place(json), what);
    return json.dump();
  }

 private:
  size_t pick(size_t count) { return static_cast<size_t>(random_() % count); }

  // Goes down to a value: half of the ways end in the answers.
  Json* place(Json& json) {
    const bool among_answers = pick(2) == 0 && json.is_object() && json.contains("answers");
    Json* at = among_answers ? &json["answers"] : &json;
    while (at->is_structured() && !at->empty() && pick(8) != 0) {
      auto next = at->begin();
      std::advance(next, static_cast<std::ptrdiff_t>(pick(at->size())));
      at = &*next;
    }
    return at;
  }

  void damage(Json& value, std::string& what) {
    static const std::vector<Json> kUnexpected = {nullptr,
                                                  true,
                                                  0,
                                                  -1,
                                                  1,
                                                  3,
                                                  1e300,
                                                  -1e300,
                                                  1e-300,
                                                  4294967296,
                                                  UINT64_MAX,
                                                  INT64_MIN,
                                                  "",
                                                  "text",
                                                  "AAAA",
                                                  Json::array(),
                                                  Json::object(),
                                                  {1, 2},
                                                  {{"a", 1}},
                                                  {{0, 0}, {0, 0}}};
    what += " " + std::string(value.type_name());
    const size_t kind = pick(4);
    if (kind == 0 && value.is_structured() && !value.empty()) {
      auto entry = value.begin();
      std::advance(entry, static_cast<std::ptrdiff_t>(pick(value.size())));
      value.erase(entry);
      what += " shorter";
    } else if (kind == 1 && value.is_array() && !value.empty()) {
      value.push_back(value[pick(value.size())]);
      what += " longer";
    } else if (kind != 0 && value.is_number()) {
      value = value.get<double>() * (pick(2) == 0 ? -1e6 : 1e-6);
      what += " scaled";
    } else {
      value = kUnexpected[pick(kUnexpected.size())];
      what += " replaced";
    }
  }

  std::mt19937_64 random_;
};

TEST(StatisticsMutations, PlaybackGivesAGraphOrAnError) {
  const std::string sound = recorded();
  if (const char* file = std::getenv("EC_WRITE_SEED")) write_file(file, with_mark(sound));
  ASSERT_EQ(outcome_of(sound, "sound"), "quantised");
  const Json json = Json::parse(sound);
  Outcomes outcomes;
  for (int i = 0; i < mutation_count(400); ++i) {
    const auto number = static_cast<uint64_t>(i) * 104729 + 5;
    std::string what;
    const std::string text = i % 4 == 0 ? FlatMutator(number).mutate(sound, what)
                                        : JsonMutator(number).mutate(json, what);
    const std::string label = "case " + std::to_string(i) + " (" + what + ")";
    const LimitedCase limits;
    ++outcomes[outcome_of(text, label)];
    limits.expect_memory(text.size(), label);
  }
  print(outcomes);
  // Some damage matters and some does not; neither must be all.
  EXPECT_GT(outcomes["quantised"], 0);
  EXPECT_GT(outcomes.size(), 2u);
}

}  // namespace
}  // namespace ec::fuzz
