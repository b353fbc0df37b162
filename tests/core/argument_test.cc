#include "kusari/framework/core/argument.h"

#include <functional>
#include <limits>
#include <string>

#include <doctest/doctest.h>

using namespace kusari;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

/// The message of the ValueError, or nothing.
template <class Function>
std::string refusal(const Function& function) {
  try {
    function();
  } catch (const ValueError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("rules for numbers refuse what they should, and give back the rest") {
  struct Rule {
    double (*rule)(std::string_view, const char*, double);
    bool minus_one, zero, tiny, one, infinity;  // what passes
  };
  const Rule rules[] = {
      {argument::positive<double>, false, false, true, true, true},
      {argument::not_negative<double>, false, true, true, true, true},
      {argument::not_nan, true, true, true, true, true},
      {argument::finite, true, true, true, true, false},
      {argument::finite_not_negative, false, true, true, true, false},
      {argument::finite_positive, false, false, true, true, false},
      {argument::at_least_zero, false, true, true, true, true},
      {argument::zero_to_below_one, false, true, true, false, false},
  };
  for (const Rule& r : rules) {
    const auto passes = [&](double value) {
      double back = 0;
      return refusal([&] { back = r.rule("f", "x", value); }).empty() && back == value;
    };
    CHECK(passes(-1) == r.minus_one);
    CHECK(passes(0) == r.zero);
    CHECK(passes(1e-300) == r.tiny);
    CHECK(passes(1) == r.one);
    CHECK(passes(kInfinity) == r.infinity);
    CHECK_FALSE(refusal([&] { r.rule("f", "x", kNaN); }).empty());
  }
}

TEST_CASE("refusals name the call, the argument, the value and the rule") {
  CHECK(refusal([] { argument::at_least_zero("F::normalize", "eps", -1e-9); }) ==
        "F::normalize: eps is -1e-09: it must be at least 0");
  CHECK(refusal([] { argument::zero_to_below_one("F::dropout", "ratio", 1); }) ==
        "F::dropout: ratio is 1: it must be at least 0 and less than 1");
  CHECK(refusal([] { argument::not_negative("L::Linear", "out_size", int64_t{-3}); }) ==
        "L::Linear: out_size is -3: it must not be negative");
  CHECK(refusal([] { argument::positive("Iterator", "batch_size", 0); }) ==
        "Iterator: batch_size is 0: it must be positive");
  CHECK(refusal([] {
          argument::shape("L::Scale", "W_shape", Shape{2, -1});
        }) == "L::Scale: W_shape is (2, -1): no size of it may be negative");
  CHECK(refusal([] { argument::not_empty("LogReport", "filename", "", "name a file"); }) ==
        "LogReport: filename is empty: it must name a file");
  CHECK(refusal([] { argument::callable("observe_value", "target_func", std::function<void()>()); }) ==
        "observe_value: target_func is empty: it must be callable");
}
