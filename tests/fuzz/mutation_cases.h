// What the tests with damaged files share: how many there are, the limits that each is read under,
// and what is asked of the result.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "fuzz/allocation_meter.h"
#include "ir/graph.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace ec::fuzz {

// EC_MUTATIONS, or the usual number.
int mutation_count(int usual);

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& content);
// The bytes of all files below a folder.
size_t folder_size(const std::filesystem::path& folder);

// While it lives, a minute of processor time ends the process with a message; a busy machine does
// not. Memory is counted from its construction on.
class LimitedCase {
 public:
  LimitedCase();
  ~LimitedCase();
  LimitedCase(const LimitedCase&) = delete;
  LimitedCase& operator=(const LimitedCase&) = delete;

  size_t peak() const { return meter_.peak(); }
  // At most `times` the size of the file and some slack, 64 MB where nothing else is said.
  void expect_memory(size_t file_size, const std::string& label, size_t times = 2,
                     size_t slack = size_t{64} << 20) const;

 private:
  AllocationMeter meter_;
};

// "imported", or the code that the file was refused with. Expects a sound graph, or a diagnostic.
std::string outcome_of(const Result<std::unique_ptr<Graph>>& graph, const DiagnosticSink& sink,
                       const std::string& label);

// What `inspect` made of a file that `graph` is the import of: it shows no less.
void expect_shown(const Result<std::unique_ptr<Graph>>& shown, const DiagnosticSink& sink,
                  const Result<std::unique_ptr<Graph>>& graph, const std::string& label);

using Outcomes = std::map<std::string, int>;
void print(const Outcomes& outcomes);

}  // namespace ec::fuzz
