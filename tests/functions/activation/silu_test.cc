#include "kusari/framework/functions/activation/silu.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("silu") {
  check_unary(
      "silu", [](const Variable& x) { return F::silu(x); }, [](double x) { return x / (1 + std::exp(-x)); }, -3, 3);
}

TEST_CASE("silu far from zero") { check_close(F::silu(array<float>({-1000.f, 0.f, 1000.f})), {3}, {0, 0, 1000}); }

}  // namespace
}  // namespace kusari
