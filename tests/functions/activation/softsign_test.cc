#include "kusari/framework/functions/activation/softsign.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("softsign") {
  check_unary(
      "softsign", F::softsign, [](double x) { return x / (1 + std::abs(x)); }, -3, 3);
}

}  // namespace
}  // namespace kusari
