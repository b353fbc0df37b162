#include "kusari/framework/functions/array/broadcast.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("broadcast_to") {
  const Variable x(array<float>({1, 2}, {2, 1}));
  check_close(F::broadcast_to(x, {2, 3}), {2, 3}, {1, 1, 1, 2, 2, 2});
  CHECK(F::broadcast_to(x, {2, 3}).array().raw_data() == x.array().raw_data());
  CHECK(is_same(F::broadcast_to(x, {2, 1}), x));
  for (const Shape& shape : {Shape{2, 3}, Shape{4, 2, 3}, Shape{2, 0}}) {
    check_gradients([&](const Variable& v) { return F::broadcast_to(v, shape); }, uniform({2, 1}, -1, 1));
  }
  check_gradients([](const Variable& v) { return F::broadcast_to(v, {2, 3}); }, uniform({}, -1, 1));
  CHECK_THROWS_AS(F::broadcast_to(x, {3, 3}), TypeError);
}

TEST_CASE("broadcast") {
  const Variables ys = F::broadcast(array<float>({1, 2}, {2, 1}), array<float>({3, 4, 5}), array<float>({6}));
  REQUIRE(ys.size() == 3);
  check_close(ys[0], {2, 3}, {1, 1, 1, 2, 2, 2});
  check_close(ys[1], {2, 3}, {3, 4, 5, 3, 4, 5});
  check_close(ys[2], {2, 3}, {6, 6, 6, 6, 6, 6});
  check_gradients([](const Variable& a, const Variable& b) { return F::broadcast(a, b); }, uniform({2, 1}, -1, 1, 1),
                  uniform({3}, -1, 1, 2));
  CHECK_THROWS_AS(F::broadcast(ones({2}), ones({3})), TypeError);
}

}  // namespace
}  // namespace kusari
