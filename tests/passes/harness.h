// What pass tests share: graphs from text, pipelines on them, and the proof that a rewrite kept the
// meaning: both graphs are interpreted on the same seeded random inputs and compared.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "passes/manager.h"

namespace ec::test {

// Parses one graph. Float constants whose names begin with "w" get seeded random elements, so that
// tests need not spell out weights. Fails the test on bad text.
std::unique_ptr<Graph> graph_from(std::string_view text);

struct Outcome {
  std::unique_ptr<Graph> before, after;
  PipelineReport report;

  // Operations of a kind (in the result; nested graphs included).
  int count(OpKind kind) const;
  // The only operation of a kind; fails the test when there is not exactly one.
  const Operation& only(OpKind kind) const;
  size_t num_operations() const { return count_operations(*after); }
  std::string text() const;
  // Names of all operations in order, "conv relu"; a nested graph in braces after its operation.
  std::string kinds() const;
};

struct RunOptions {
  double tolerance = 1e-4;  // relative and absolute, of floats
  bool compare = true;
  int64_t open_size = 2;  // first size given to open dimensions; the next symbol gets one more
};

// Runs the pipeline on the graph, verifies the result, and compares results of both.
Outcome optimise(std::string_view text, std::string_view pipeline, RunOptions options = {});
Outcome optimise(std::unique_ptr<Graph> graph, std::string_view pipeline, RunOptions options = {});

// Interprets both on random inputs and expects equal results.
void expect_same_results(const Graph& before, const Graph& after, RunOptions options = {});

// As optimise(), and expects the operations of the result: kinds() equals `expected`.
Outcome expect_kinds(std::string_view text, std::string_view pipeline, std::string_view expected,
                     RunOptions options = {});

// As optimise(), and expects the whole result as text: operands, attributes and types as well as
// kinds. Constants are shortened as in dumps; the line with the version of the form is left out.
Outcome expect_text(std::string_view text, std::string_view pipeline, std::string_view expected,
                    RunOptions options = {});

int count_kind(const Graph& graph, OpKind kind);

}  // namespace ec::test
