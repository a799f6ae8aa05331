#include "ops/border.h"

#include <algorithm>
#include <array>

#include "support/checked.h"
#include "support/strings.h"

namespace ec {
namespace {

constexpr size_t kNone = SIZE_MAX;

// A rule with its names looked up.
struct Resolved {
  const Rule* rule = nullptr;
  size_t operand = kNone;        // the subject, or what an attribute refers to
  size_t other = kNone;          // what an operand is compared with
  bool to_the_end = false;       // `operand` stands for all operands from there on
  const Field* field = nullptr;  // the subject, of an attribute
};

bool is_about_operand(RuleKind kind) { return kind < RuleKind::Between; }
bool has_other(const Rule& rule) { return !rule.other.empty(); }

struct OperandName {
  size_t index = kNone;
  bool to_the_end = false;
};

// Looks a name up among the operands of a signature.
OperandName find_operand(const OpDef& def, std::string_view name) {
  std::string_view side = trim(def.signature.substr(0, def.signature.find("->")));
  if (!side.empty() && side.front() == '(') side = side.substr(1, side.size() - 2);
  size_t index = 0;
  for (std::string_view entry : split(side, ',')) {
    entry = trim(entry);
    const bool to_the_end = entry.ends_with("...");
    if (to_the_end) entry.remove_suffix(3);
    if (entry.ends_with("?")) entry.remove_suffix(1);
    if (entry == name) return {index, to_the_end};
    ++index;
  }
  return {};
}

Resolved resolve(const OpDef& def, const Rule& rule) {
  Resolved out;
  out.rule = &rule;
  if (is_about_operand(rule.kind)) {
    const OperandName name = find_operand(def, rule.subject);
    out.operand = name.index;
    out.to_the_end = name.to_the_end;
    if (has_other(rule)) out.other = find_operand(def, rule.other).index;
  } else {
    out.field = def.attrs().find(rule.subject);
    if (has_other(rule)) {
      const OperandName name = find_operand(def, rule.other);
      out.operand = name.index;
      out.to_the_end = name.to_the_end;
    }
  }
  return out;
}

bool is_resolved(const Resolved& r) {
  if (is_about_operand(r.rule->kind))
    return r.operand != kNone && (!has_other(*r.rule) || r.other != kNone);
  return r.field != nullptr && (!has_other(*r.rule) || r.operand != kNone);
}

// Every operation asks, so names are looked up once.
const std::vector<std::vector<Resolved>>& all_rules() {
  static const auto kRules = [] {
    std::vector<std::vector<Resolved>> all;
    for (const OpDef* def : all_ops()) {
      all.emplace_back();
      for (const Rule& rule : def->rules) all.back().push_back(resolve(*def, rule));
    }
    return all;
  }();
  return kRules;
}

std::string list_text(std::span<const int64_t> values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size() && i < 16; ++i)
    out += (i > 0 ? "," : "") + std::to_string(values[i]);
  return out + (values.size() > 16 ? ",...]" : "]");
}

std::string range_text(int64_t low, int64_t high) {
  return low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
}

class Border {
 public:
  explicit Border(InferContext& ctx) : ctx_(ctx), attrs_(ctx.attributes()) {}

  Status run() {
    EC_CHECK_OK(check_operands());
    for (const Resolved& r : all_rules()[static_cast<size_t>(ctx_.op().kind())])
      EC_CHECK_OK(is_about_operand(r.rule->kind) ? check_operand_rule(r) : check_attribute(r));
    if (changed_) ctx_.set_attributes(std::move(attrs_));
    return {};
  }

 private:
  // --- operands ---------------------------------------------------------------------------------
  // What holds for every op: operands that are not optional are there, and every tensor has a rank
  // and sizes that the rest can count with.
  Status check_operands() const {
    const OpDef& def = ctx_.op().def();
    const Arity arity = def.inputs();
    for (size_t i = 0; i < std::max(ctx_.num_inputs(), static_cast<size_t>(arity.min)); ++i) {
      if (!ctx_.has(i)) {
        if (i < static_cast<size_t>(arity.min))
          return ctx_.fail(Code::BadArity, "operand " + std::to_string(i) + " is absent");
        continue;
      }
      EC_CHECK_OK(check_limits(i));
    }
    return {};
  }

  Status check_limits(size_t i) const {
    const auto& shape = ctx_.shape(i);
    if (!shape) return {};
    if (shape->rank() > static_cast<size_t>(rule::kAnyRank))
      return ctx_.bad_shape("operand " + std::to_string(i) + " has " +
                            std::to_string(shape->rank()) + " dimensions; tensors have at most " +
                            std::to_string(rule::kAnyRank));
    std::array<int64_t, static_cast<size_t>(rule::kAnyRank)> sizes;
    for (size_t d = 0; d < shape->rank(); ++d)
      sizes[d] = (*shape)[d].is_static() ? (*shape)[d].size() : 1;
    if (checked_extent(std::span(sizes).first(shape->rank()),
                       static_cast<int64_t>(element_size(ctx_.dtype(i)))))
      return {};
    return ctx_.fail(Code::TooLarge, "operand " + operand_text(ctx_, i) + " is too large");
  }

  Status check_operand_rule(const Resolved& r) const {
    const size_t end = r.to_the_end ? ctx_.num_inputs() : r.operand + 1;
    for (size_t i = r.operand; i < end; ++i)
      if (ctx_.has(i)) EC_CHECK_OK(check_operand(r, i));
    return {};
  }

  Status check_operand(const Resolved& r, size_t i) const {
    const Rule& rule = *r.rule;
    switch (rule.kind) {
      case RuleKind::Rank: {
        if (!ctx_.shape(i)) return {};
        const auto rank = static_cast<int64_t>(ctx_.shape(i)->rank());
        if (rank >= rule.low && rank <= rule.high) return {};
        if (rule.low == 1 && rule.high == 1)
          return ctx_.bad_shape(subject(r) + " must be a list, got " + operand_text(ctx_, i));
        return ctx_.bad_shape(subject(r) + " needs rank " +
                              (rule.high == rule::kAnyRank ? std::to_string(rule.low) + " or more"
                                                           : range_text(rule.low, rule.high)) +
                              ", not " + operand_text(ctx_, i));
      }
      case RuleKind::SameRank: {
        if (!ctx_.has(r.other) || !ctx_.shape(i) || !ctx_.shape(r.other)) return {};
        if (ctx_.shape(i)->rank() == ctx_.shape(r.other)->rank()) return {};
        return ctx_.bad_shape(subject(r) + " " + operand_text(ctx_, i) + " and " +
                              std::string(rule.other) + " " + operand_text(ctx_, r.other) +
                              " differ in rank");
      }
      case RuleKind::OneElement: {
        const auto& shape = ctx_.shape(i);
        if (!shape || std::ranges::all_of(*shape, [](const Dim& dim) {
              return !dim.is_static() || dim.size() == 1;
            }))
          return {};
        return ctx_.bad_shape(subject(r) + " must be one element, got " + operand_text(ctx_, i));
      }
      case RuleKind::Integers:
        if (is_integer(ctx_.dtype(i))) return {};
        return ctx_.bad_type(subject(r) + " must be of an integer type, got " +
                             operand_text(ctx_, i));
      case RuleKind::Floats:
        if (is_float(ctx_.dtype(i)) || ctx_.type(i).quant) return {};
        return ctx_.bad_type(subject(r) + " must be of a float type, got " + operand_text(ctx_, i));
      case RuleKind::Numbers:
        if (ctx_.dtype(i) != DType::Bool) return {};
        return ctx_.bad_type(subject(r) + " must be numbers, got " + operand_text(ctx_, i));
      default:
        return check_elements(r, i);
    }
  }

  Status check_elements(const Resolved& r, size_t i) const {
    const auto values = ctx_.int_values(i);
    const int64_t low = r.rule->kind == RuleKind::Positive ? 1 : 0;
    if (!values) return {};
    for (const int64_t value : *values)
      if (value < low)
        return ctx_.bad_value(subject(r) + " holds " + (value < 0 ? "the negative number " : "") +
                              std::to_string(value));
    return {};
  }

  // --- attributes -------------------------------------------------------------------------------
  Status check_attribute(const Resolved& r) {
    const FieldValue value = attrs_.get(*r.field);
    switch (r.rule->kind) {
      case RuleKind::Between:
        return check_between(r, value);
      case RuleKind::Length:
      case RuleKind::PerSpatial:
        return check_length(r, std::get<std::vector<int64_t>>(value));
      case RuleKind::Axis:
      case RuleKind::AxisOrEnd:
      case RuleKind::NewAxis:
        return check_axis(r, std::get<int64_t>(value));
      default:
        return check_axes(r, std::get<std::vector<int64_t>>(value));
    }
  }

  Status check_between(const Resolved& r, const FieldValue& value) const {
    const Rule& rule = *r.rule;
    const auto outside = [&](auto number) {
      return !(static_cast<double>(number) >= static_cast<double>(rule.low) &&
               static_cast<double>(number) <= static_cast<double>(rule.high));
    };
    const auto fail = [&](const std::string& text) {
      if (rule.low == 0 && text.starts_with('-'))
        return ctx_.bad_value(subject(r) + " is " + text + "; it cannot be negative");
      return ctx_.bad_value(subject(r) + " " + text + " is outside [" + std::to_string(rule.low) +
                            ", " + std::to_string(rule.high) + "]");
    };
    if (const auto* number = std::get_if<int64_t>(&value); number && outside(*number))
      return fail(std::to_string(*number));
    if (const auto* number = std::get_if<double>(&value); number && outside(*number))
      return fail(std::to_string(*number));
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value);
        list && std::ranges::any_of(*list, outside))
      return ctx_.bad_value(subject(r) + " " + list_text(*list) + " has a value outside [" +
                            std::to_string(rule.low) + ", " + std::to_string(rule.high) + "]");
    return {};
  }

  Status check_length(const Resolved& r, const std::vector<int64_t>& list) const {
    const Rule& rule = *r.rule;
    int64_t low = rule.low, high = rule.high;
    if (rule.kind == RuleKind::PerSpatial) {
      if (list.empty() || !ctx_.has(r.operand) || !ctx_.shape(r.operand)) return {};
      low = high = rule.low * (static_cast<int64_t>(ctx_.shape(r.operand)->rank()) - 2);
    }
    const auto size = static_cast<int64_t>(list.size());
    if (size >= low && size <= high) return {};
    return ctx_.bad_value(subject(r) + " " + list_text(list) + " should have " +
                          range_text(low, high) + " entries");
  }

  // The rank that an axis counts in, of the first operand that tells it.
  std::optional<int64_t> rank_of(const Resolved& r) const {
    const size_t end = r.to_the_end ? ctx_.num_inputs() : r.operand + 1;
    for (size_t i = r.operand; i < end; ++i)
      if (ctx_.has(i) && ctx_.shape(i)) return static_cast<int64_t>(ctx_.shape(i)->rank());
    return std::nullopt;
  }

  Result<int64_t> front_axis(const Resolved& r, int64_t axis, std::optional<int64_t> rank) const {
    const RuleKind kind = r.rule->kind;
    const int64_t dims = rank.value_or(rule::kAnyRank) + (kind == RuleKind::NewAxis ? 1 : 0);
    const int64_t last = kind == RuleKind::AxisOrEnd ? dims : dims - 1;
    if (axis < -dims || axis > last)
      return ctx_.bad_value("axis " + std::to_string(axis) +
                            (r.rule->subject == "axis" ? "" : " of " + subject(r)) +
                            " is outside the " + std::to_string(dims) + " dimensions of the " +
                            (kind == RuleKind::NewAxis ? "result" : "input"));
    return rank && axis < 0 ? axis + dims : axis;
  }

  Status check_axis(const Resolved& r, int64_t axis) {
    EC_TRY(const int64_t front, front_axis(r, axis, rank_of(r)));
    if (front != axis) store(r, front);
    return {};
  }

  Status check_axes(const Resolved& r, const std::vector<int64_t>& list) {
    std::optional<int64_t> rank = rank_of(r);
    if (r.rule->kind == RuleKind::Permutation) {
      if (list.empty()) return {};
      const auto size = static_cast<int64_t>(list.size());
      if (rank.value_or(size) != size || size > rule::kAnyRank)
        return ctx_.bad_value(subject(r) + " lists " + std::to_string(size) +
                              " dimensions, the input has " +
                              std::to_string(rank.value_or(rule::kAnyRank)));
      rank = size;
    }
    std::vector<int64_t> front;
    for (const int64_t axis : list) {
      EC_TRY(const int64_t a, front_axis(r, axis, rank));
      if (std::ranges::find(front, a) != front.end())
        return ctx_.bad_value(subject(r) + " " + list_text(list) + " has the axis " +
                              std::to_string(axis) + " twice");
      front.push_back(a);
    }
    if (front != list) store(r, std::move(front));
    return {};
  }

  void store(const Resolved& r, FieldValue value) {
    attrs_.set(*r.field, value);
    changed_ = true;
  }

  static std::string subject(const Resolved& r) { return std::string(r.rule->subject); }

  InferContext& ctx_;
  Attrs attrs_;
  bool changed_ = false;
};

}  // namespace

Status check_border(InferContext& ctx) { return Border(ctx).run(); }

void normalise_attributes(Graph& graph) {
  for (Operation* op : graph.topological()) {
    for (const auto& body : op->bodies()) normalise_attributes(*body);
    if (op->def().rules.empty()) continue;
    InferContext ctx(*op, operands_of(*op));
    // An operation that does not fit its operands fails when it runs, if it ever does.
    if (!check_border(ctx).ok() || ctx.attributes() == op->attrs()) continue;
    graph.set_attrs(op, ctx.attributes());
  }
}

std::vector<std::string> unresolved_rules() {
  std::vector<std::string> names;
  for (const std::vector<Resolved>& rules : all_rules())
    for (const Resolved& r : rules)
      if (!is_resolved(r))
        names.push_back(std::string(r.rule->subject) + " " + std::string(r.rule->other));
  return names;
}

}  // namespace ec
