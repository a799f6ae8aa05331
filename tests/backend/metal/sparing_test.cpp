// The search for the parts that must not get a cheaper form.
#include "backend/metal/measure/sparing.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ec::metal {
namespace {

// Parts whose noise adds up.
struct Parts {
  std::vector<double> noise;
  size_t judged = 0, ranked = 0;

  double total(const PartsInForm& in_form) const {
    double sum = 0;
    for (size_t i = 0; i < noise.size(); ++i) sum += in_form[i] ? noise[i] : 0;
    return sum;
  }
  SparingSearch search(size_t most_runs) {
    SparingSearch search;
    search.parts = noise.size();
    search.most_runs = most_runs;
    search.judge = [this](const PartsInForm& in_form) -> Result<FormOutcome> {
      ++judged;
      const double sum = total(in_form);
      return FormOutcome{1 - sum, sum == 0 ? 120 : -10 * std::log10(sum)};
    };
    search.noise = [this](const PartsInForm& in_form) -> Result<double> {
      ++ranked;
      return total(in_form);
    };
    return search;
  }
};

quantize::AccuracyBudget sqnr(double least) { return {std::nullopt, least}; }

TEST(Sparing, NothingIsSparedWhereAllIsWell) {
  Parts parts{{1e-5, 1e-5, 1e-5}};
  const auto found = spare_parts(parts.search(100), sqnr(40));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->in_form, PartsInForm(3, true));
  EXPECT_EQ(parts.judged, 1u);
  EXPECT_EQ(parts.ranked, 0u);
}

TEST(Sparing, TheWorstPartsAreSparedAndNoMore) {
  Parts parts{{1e-5, 1e-2, 1e-5, 1e-3, 1e-5}};
  const auto found = spare_parts(parts.search(100), sqnr(40));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->in_form, (PartsInForm{true, false, true, false, true}));
  EXPECT_LT(found->before.sqnr_db, 20);
  EXPECT_GE(found->after.sqnr_db, 40);
  // The other limit with the same parts.
  const auto drop = spare_parts(parts.search(100), {0.002, std::nullopt});
  ASSERT_TRUE(drop.ok());
  EXPECT_EQ(drop->in_form, (PartsInForm{true, false, true, true, true}));
}

TEST(Sparing, FewRunsCutTheWorstGroupsAlone) {
  Parts parts{std::vector<double>(1000, 1e-9)};
  parts.noise[700] = 1e-2;
  const auto found = spare_parts(parts.search(40), sqnr(40));
  ASSERT_TRUE(found.ok());
  EXPECT_LE(parts.ranked, 40u);
  EXPECT_FALSE(found->in_form[700]);
  const auto spared = std::ranges::count(found->in_form, false);
  EXPECT_LE(spared, 8);
  EXPECT_GE(found->after.sqnr_db, 40);
}

TEST(Sparing, WhatCannotBeMetIsToldByTheOutcome) {
  Parts parts{{1e-2}};
  SparingSearch search = parts.search(10);
  search.judge = [](const PartsInForm&) -> Result<FormOutcome> { return FormOutcome{0.5, 10}; };
  const auto found = spare_parts(search, sqnr(40));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->in_form, PartsInForm{false});
  EXPECT_FALSE(found->after.meets(sqnr(40)));
  search.judge = [](const PartsInForm&) -> Result<FormOutcome> {
    return Error(Code::OutOfMemory, "no");
  };
  EXPECT_FALSE(spare_parts(search, sqnr(40)).ok());
}

}  // namespace
}  // namespace ec::metal
