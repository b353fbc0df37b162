#include "kusari/framework/functions/math/identity.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("identity") {
  const Variable x(array<float>({1, 2})), y(array<float>({3}));
  const Variable z = F::identity(x);
  CHECK_FALSE(is_same(z, x));
  CHECK(z.creator() != nullptr);
  check_close(z, {2}, {1, 2});
  const Variables both = F::identity(x, y);
  REQUIRE(both.size() == 2);
  check_close(both[1], {1}, {3});
  check_gradients([](const Variable& v) { return F::identity(v); }, uniform({2, 3}, -1, 1));
}

TEST_CASE("identity of what is not given") {
  const Variable none, x(array<float>({1, 2}));
  CHECK_THROWS_WITH_AS(F::identity(none), "F::identity: x is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(F::identity(x, none), "F::identity: x is not given: it is required", TypeError);
  const auto unchecked = using_config(&Config::type_check, false);
  CHECK_THROWS_AS(F::identity(none), TypeError);
}

}  // namespace
}  // namespace kusari
