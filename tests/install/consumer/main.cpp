// A program as users of the C++ interface write it: every public header, a session, an exception.
#include <edgecompiler/compile.h>
#include <edgecompiler/error.h>
#include <edgecompiler/evaluate.h>
#include <edgecompiler/options.h>
#include <edgecompiler/report.h>
#include <edgecompiler/session.h>
#include <edgecompiler/version.h>

#include <cstdio>
#include <exception>
#include <vector>

int main(int, char** argv) {
  ec::InferenceOptions options;
  options.dims["batch"] = 1;
  ec::InferenceSession session(argv[1], options);
  const std::vector<float> image(3 * 32 * 32);
  const auto results =
      session.run({{"image", "f32", {1, 3, 32, 32}, image.data(), image.size() * sizeof(float)}});
  std::printf("%s: %zu result\n", ec::version(), results.size());
  const ec::ModelSummary summary = ec::inspect(argv[1]);
  if (summary.layers.empty() || ec::to_json(summary).empty()) return 1;
  try {
    ec::InferenceSession missing("no such file");
  } catch (const std::exception& error) {
    std::printf("refused: %s\n", error.what());
    return 0;
  }
  return 1;
}
