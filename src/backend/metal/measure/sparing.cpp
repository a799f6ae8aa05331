#include "backend/metal/measure/sparing.h"

#include <algorithm>

#include "support/budget.h"

namespace ec::metal {
namespace {

// Neighbouring parts that are ranked together.
struct Group {
  size_t begin = 0, end = 0;
  double noise = 0;  // with nothing else in the form

  size_t size() const { return end - begin; }
};

class Ranking {
 public:
  explicit Ranking(const SparingSearch& search) : search_(search) {}

  // The worst first. All parts are measured one by one where runs suffice for it; else in groups,
  // the worst of which are cut in halves while there are runs.
  Result<std::vector<Group>> run() {
    const size_t first = std::min(search_.parts, std::max<size_t>(1, search_.most_runs / 2));
    std::vector<Group> groups;
    for (size_t i = 0; i < first; ++i) {
      EC_TRY(Group group, measured(search_.parts * i / first, search_.parts * (i + 1) / first));
      groups.push_back(group);
    }
    while (runs_ + 2 <= search_.most_runs) {
      const auto worst = std::ranges::max_element(
          groups, {}, [](const Group& group) { return group.size() > 1 ? group.noise : -1.0; });
      if (worst == groups.end() || worst->size() < 2) break;
      const size_t middle = worst->begin + worst->size() / 2, end = worst->end;
      EC_TRY(*worst, measured(worst->begin, middle));
      EC_TRY(Group second, measured(middle, end));
      groups.push_back(second);
    }
    std::ranges::stable_sort(groups, [](const Group& a, const Group& b) {
      return a.noise > b.noise || (a.noise == b.noise && a.begin < b.begin);
    });
    return groups;
  }

 private:
  Result<Group> measured(size_t begin, size_t end) {
    EC_CHECK_OK(check_budget());
    ++runs_;
    PartsInForm in_form(search_.parts, false);
    std::fill(in_form.begin() + static_cast<std::ptrdiff_t>(begin),
              in_form.begin() + static_cast<std::ptrdiff_t>(end), true);
    Group group{begin, end, 0};
    EC_TRY(group.noise, search_.noise(in_form));
    return group;
  }

  const SparingSearch& search_;
  size_t runs_ = 0;
};

}  // namespace

Result<Sparing> spare_parts(const SparingSearch& search, const quantize::AccuracyBudget& limit) {
  Sparing result{PartsInForm(search.parts, true), {}, {}};
  EC_TRY(result.before, search.judge(result.in_form));
  result.after = result.before;
  if (result.before.meets(limit) || search.parts == 0) return result;
  EC_TRY(const std::vector<Group> groups, Ranking(search).run());
  const auto try_first = [&](size_t count) -> Status {
    EC_CHECK_OK(check_budget());
    result.in_form.assign(search.parts, true);
    for (size_t g = 0; g < count; ++g)
      for (size_t i = groups[g].begin; i < groups[g].end; ++i) result.in_form[i] = false;
    EC_TRY(result.after, search.judge(result.in_form));
    return {};
  };
  // Errors add up, so that more spared parts are never much worse.
  size_t too_few = 0, enough = groups.size();
  while (enough - too_few > 1) {
    const size_t middle = too_few + (enough - too_few) / 2;
    EC_CHECK_OK(try_first(middle));
    (result.after.meets(limit) ? enough : too_few) = middle;
  }
  EC_CHECK_OK(try_first(enough));
  return result;
}

}  // namespace ec::metal
