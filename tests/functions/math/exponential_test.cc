#include "kusari/framework/functions/math/exponential.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("exp") {
  check_unary(
      "exp", [](const Variable& x) { return F::exp(x); }, [](double x) { return std::exp(x); }, -2, 2);
}

TEST_CASE("log") {
  check_unary(
      "log", [](const Variable& x) { return F::log(x); }, [](double x) { return std::log(x); }, 0.5, 3);
}

TEST_CASE("log2") {
  check_unary(
      "log2", [](const Variable& x) { return F::log2(x); }, [](double x) { return std::log2(x); }, 0.5, 3);
}

TEST_CASE("log10") {
  check_unary(
      "log10", [](const Variable& x) { return F::log10(x); }, [](double x) { return std::log10(x); }, 0.5, 3);
}

}  // namespace
}  // namespace kusari
