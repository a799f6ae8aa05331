// Arithmetic and comparison of numbers that are known, as Python has them.
#include <array>
#include <cmath>
#include <limits>

#include "frontend/torch/script/builtins.h"
#include "frontend/torch/script/interpreter.h"

namespace ec::torch::script {
namespace {

int64_t integer_of(const TorchValue& value) {
  if (const auto* integer = value.get_if<int64_t>()) return *integer;
  return value.is<bool>() && value.get<bool>() ? 1 : 0;
}

bool any_real(const BuiltinCall& call) {
  for (const TorchValue& value : call.args)
    if (value.is<double>()) return true;
  return false;
}

Error overflow() { return Error(Code::BadValue, "an integer of the model exceeds 64 bits"); }
Error division_by_zero() { return Error(Code::BadValue, "the model divides by zero"); }

// --- two numbers ---------------------------------------------------------------------------------

using Reals = double (*)(double, double);
using Integers = bool (*)(int64_t, int64_t, int64_t*);  // false: overflow

template <Integers integers, Reals reals>
BuiltinResult arithmetic(const BuiltinCall& call) {
  if (call.args.size() != 2 || !call.all_numbers() || !call.kwargs.empty()) return std::nullopt;
  if (any_real(call)) return TorchValue(reals(real_of(call.args[0]), real_of(call.args[1])));
  int64_t result = 0;
  if (!integers(integer_of(call.args[0]), integer_of(call.args[1]), &result)) return overflow();
  return TorchValue(result);
}

bool add_integers(int64_t a, int64_t b, int64_t* r) { return !__builtin_add_overflow(a, b, r); }
bool sub_integers(int64_t a, int64_t b, int64_t* r) { return !__builtin_sub_overflow(a, b, r); }
bool mul_integers(int64_t a, int64_t b, int64_t* r) { return !__builtin_mul_overflow(a, b, r); }
double add_reals(double a, double b) { return a + b; }
double sub_reals(double a, double b) { return a - b; }
double mul_reals(double a, double b) { return a * b; }

BuiltinResult divide(const BuiltinCall& call) {
  if (call.args.size() != 2 || !call.all_numbers() || !call.kwargs.empty()) return std::nullopt;
  const double divisor = real_of(call.args[1]);
  if (divisor == 0) return division_by_zero();
  return TorchValue(real_of(call.args[0]) / divisor);
}

BuiltinResult floor_divide(const BuiltinCall& call) {
  if (call.args.size() != 2 || !call.all_numbers()) return std::nullopt;
  if (real_of(call.args[1]) == 0) return division_by_zero();
  if (any_real(call)) return TorchValue(std::floor(real_of(call.args[0]) / real_of(call.args[1])));
  const int64_t a = integer_of(call.args[0]), b = integer_of(call.args[1]);
  if (b == -1) {
    if (a == std::numeric_limits<int64_t>::min()) return overflow();
    return TorchValue(-a);
  }
  const int64_t quotient = a / b;
  return TorchValue(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
}

BuiltinResult remainder(const BuiltinCall& call) {
  if (call.args.size() != 2 || !call.all_numbers()) return std::nullopt;
  const double divisor = real_of(call.args[1]);
  if (divisor == 0) return division_by_zero();
  if (any_real(call)) {
    const double rest = std::fmod(real_of(call.args[0]), divisor);
    return TorchValue(rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest);
  }
  const int64_t a = integer_of(call.args[0]), b = integer_of(call.args[1]);
  const int64_t rest = b == -1 ? 0 : a % b;
  return TorchValue(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

BuiltinResult power(const BuiltinCall& call) {
  if (call.args.size() != 2 || !call.all_numbers()) return std::nullopt;
  return TorchValue(std::pow(real_of(call.args[0]), real_of(call.args[1])));
}

// --- one number ----------------------------------------------------------------------------------

template <double (*function)(double)>
BuiltinResult real_function(const BuiltinCall& call) {
  if (call.args.size() != 1 || !call.all_numbers()) return std::nullopt;
  return TorchValue(function(real_of(call.args[0])));
}

template <double (*function)(double)>
BuiltinResult to_integer(const BuiltinCall& call) {
  if (call.args.size() != 1 || !call.all_numbers()) return std::nullopt;
  const double value = function(real_of(call.args[0]));
  if (!(std::abs(value) < 9.2e18)) return overflow();
  return TorchValue(static_cast<int64_t>(value));
}

BuiltinResult round_number(const BuiltinCall& call) {
  if (call.args.size() != 1 || !call.all_numbers()) return std::nullopt;
  return TorchValue(std::nearbyint(real_of(call.args[0])));
}

BuiltinResult negate(const BuiltinCall& call) {
  if (call.args.size() != 1 || !call.all_numbers()) return std::nullopt;
  if (any_real(call)) return TorchValue(-real_of(call.args[0]));
  if (integer_of(call.args[0]) == std::numeric_limits<int64_t>::min()) return overflow();
  return TorchValue(-integer_of(call.args[0]));
}

BuiltinResult absolute(const BuiltinCall& call) {
  if (call.args.size() != 1 || !call.all_numbers()) return std::nullopt;
  if (!any_real(call) && integer_of(call.args[0]) >= 0) return TorchValue(integer_of(call.args[0]));
  return any_real(call) ? BuiltinResult(TorchValue(std::abs(real_of(call.args[0])))) : negate(call);
}

// --- comparison ----------------------------------------------------------------------------------

template <class Compare>
BuiltinResult compare(const BuiltinCall& call) {
  if (call.args.size() != 2) return std::nullopt;
  const TorchValue &a = call.args[0], &b = call.args[1];
  if (const auto *x = a.get_if<std::string>(), *y = b.get_if<std::string>(); x && y)
    return TorchValue(Compare()(*x, *y));
  if (!call.all_numbers()) return std::nullopt;
  if (any_real(call)) return TorchValue(Compare()(real_of(a), real_of(b)));
  return TorchValue(Compare()(integer_of(a), integer_of(b)));
}

template <bool equal>
BuiltinResult equality(const BuiltinCall& call) {
  if (call.args.size() != 2) return std::nullopt;
  const std::optional<bool> same = same_value(call.args[0], call.args[1]);
  if (!same) return std::nullopt;
  return TorchValue(*same == equal);
}

template <bool equal>
BuiltinResult identity(const BuiltinCall& call) {
  if (call.args.size() != 2) return std::nullopt;
  const TorchValue &a = call.args[0], &b = call.args[1];
  // In practice one side is None.
  if (a.is_none() || b.is_none()) return TorchValue((a.is_none() && b.is_none()) == equal);
  if (a.is_tensor() && b.is_tensor())
    return TorchValue((a.get<TensorRef>().alias == b.get<TensorRef>().alias) == equal);
  const std::optional<bool> same = same_value(a, b);
  if (!same) return std::nullopt;
  return TorchValue(*same == equal);
}

BuiltinResult logical_not(const BuiltinCall& call) {
  if (call.args.size() != 1 || !call.all_numbers()) return std::nullopt;
  return TorchValue(real_of(call.args[0]) == 0);
}

template <class Operation>
BuiltinResult bitwise(const BuiltinCall& call) {
  if (call.args.size() != 2 || !call.all_numbers() || any_real(call)) return std::nullopt;
  const int64_t result = Operation()(integer_of(call.args[0]), integer_of(call.args[1]));
  if (call.args[0].is<bool>() && call.args[1].is<bool>()) return TorchValue(result != 0);
  return TorchValue(result);
}

// --- ranges --------------------------------------------------------------------------------------

BuiltinResult range_length(const BuiltinCall& call) {
  if (call.args.size() != 3 || !call.all_numbers()) return std::nullopt;
  const int64_t low = integer_of(call.args[0]), high = integer_of(call.args[1]);
  const int64_t step = integer_of(call.args[2]);
  if (step == 0) return Error(Code::BadValue, "a range of step zero");
  int64_t span = 0;
  if (__builtin_sub_overflow(step > 0 ? high : low, step > 0 ? low : high, &span))
    return overflow();
  if (span <= 0) return TorchValue(0);
  const uint64_t size = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  return TorchValue(static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / size + 1));
}

BuiltinResult derive_index(const BuiltinCall& call) {
  if (call.args.size() != 3 || !call.all_numbers()) return std::nullopt;
  int64_t moved = 0, index = 0;
  if (__builtin_mul_overflow(integer_of(call.args[0]), integer_of(call.args[2]), &moved) ||
      __builtin_add_overflow(integer_of(call.args[1]), moved, &index))
    return overflow();
  return TorchValue(index);
}

double floor_real(double x) { return std::floor(x); }
double ceil_real(double x) { return std::ceil(x); }
double sqrt_real(double x) { return std::sqrt(x); }
double exp_real(double x) { return std::exp(x); }
double log_real(double x) { return std::log(x); }
double log2_real(double x) { return std::log2(x); }
double sin_real(double x) { return std::sin(x); }
double cos_real(double x) { return std::cos(x); }
double tanh_real(double x) { return std::tanh(x); }

BuiltinResult is_infinite(const BuiltinCall& call) {
  if (call.args.size() != 1 || !call.all_numbers()) return std::nullopt;
  return TorchValue(std::isinf(real_of(call.args[0])));
}

BuiltinResult is_nan(const BuiltinCall& call) {
  if (call.args.size() != 1 || !call.all_numbers()) return std::nullopt;
  return TorchValue(std::isnan(real_of(call.args[0])));
}

struct And {
  int64_t operator()(int64_t a, int64_t b) const { return a & b; }
};
struct Or {
  int64_t operator()(int64_t a, int64_t b) const { return a | b; }
};
struct Xor {
  int64_t operator()(int64_t a, int64_t b) const { return a ^ b; }
};

constexpr std::array kNumbers = {
    NamedBuiltin{"aten::sub", arithmetic<sub_integers, sub_reals>},
    NamedBuiltin{"aten::div", divide},
    NamedBuiltin{"aten::floordiv", floor_divide},
    NamedBuiltin{"aten::remainder", remainder},
    NamedBuiltin{"aten::pow", power},
    NamedBuiltin{"aten::neg", negate},
    NamedBuiltin{"aten::abs", absolute},
    NamedBuiltin{"prim::abs", absolute},
    NamedBuiltin{"aten::floor", to_integer<floor_real>},
    NamedBuiltin{"aten::ceil", to_integer<ceil_real>},
    NamedBuiltin{"aten::round", round_number},
    NamedBuiltin{"aten::sqrt", real_function<sqrt_real>},
    NamedBuiltin{"aten::exp", real_function<exp_real>},
    NamedBuiltin{"aten::log", real_function<log_real>},
    NamedBuiltin{"aten::log2", real_function<log2_real>},
    NamedBuiltin{"aten::sin", real_function<sin_real>},
    NamedBuiltin{"aten::cos", real_function<cos_real>},
    NamedBuiltin{"aten::tanh", real_function<tanh_real>},
    NamedBuiltin{"aten::isinf", is_infinite},
    NamedBuiltin{"aten::isnan", is_nan},
    NamedBuiltin{"aten::lt", compare<std::less<>>},
    NamedBuiltin{"aten::le", compare<std::less_equal<>>},
    NamedBuiltin{"aten::gt", compare<std::greater<>>},
    NamedBuiltin{"aten::ge", compare<std::greater_equal<>>},
    NamedBuiltin{"aten::eq", equality<true>},
    NamedBuiltin{"aten::ne", equality<false>},
    NamedBuiltin{"aten::__is__", identity<true>},
    NamedBuiltin{"aten::__isnot__", identity<false>},
    NamedBuiltin{"aten::__not__", logical_not},
    NamedBuiltin{"aten::__and__", bitwise<And>},
    NamedBuiltin{"aten::__or__", bitwise<Or>},
    NamedBuiltin{"aten::__xor__", bitwise<Xor>},
    NamedBuiltin{"aten::__range_length", range_length},
    NamedBuiltin{"aten::__derive_index", derive_index},
};

}  // namespace

std::span<const NamedBuiltin> number_builtins() { return kNumbers; }

BuiltinResult add_numbers(const BuiltinCall& call) {
  return arithmetic<add_integers, add_reals>(call);
}
BuiltinResult multiply_numbers(const BuiltinCall& call) {
  return arithmetic<mul_integers, mul_reals>(call);
}

}  // namespace ec::torch::script
