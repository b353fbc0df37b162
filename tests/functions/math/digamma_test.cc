#include "kusari/framework/functions/math/digamma.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"
#include "kusari/tests/special_reference.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("digamma") {
  check_unary(
      "digamma", [](const Variable& x) { return F::digamma(x); },
      [](double x) { return static_cast<double>(digamma_reference(x)); }, 1, 4);
}

TEST_CASE("digamma left of its first pole") {
  const auto digamma = [](const Variable& x) { return F::digamma(x); };
  check_forward(
      digamma, [](double x) { return static_cast<double>(digamma_reference(x)); }, uniform({5}, -0.7, -0.3));
  check_gradients(digamma, uniform({5}, -1.7, -1.3));
}

}  // namespace
}  // namespace kusari
