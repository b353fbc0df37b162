#include "kusari/iterators/order_samplers.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/tests/iterators/iterators_under_test.h"

using kusari::iterators::shuffled_order;
using kusari::iterators::ShuffleOrderSampler;
using kusari::testing::ascending;
using kusari::testing::Indices;

TEST_CASE("ShuffleOrderSampler with a seed leaves the process's stream alone") {
  const Indices order = ascending(20);
  ShuffleOrderSampler a(7), b(7), c(8);
  kusari::random::seed(3);
  const Indices first = a(order, 0);
  Indices sorted = first;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == order);
  const uint64_t bits = kusari::random::bits();
  kusari::random::seed(3);
  CHECK(kusari::random::bits() == bits);
  CHECK(first == b(order, 0));
  CHECK(first != c(order, 0));
  const Indices second = a(order, 0);
  CHECK(second != first);
  CHECK(second == b(order, 0));
  CHECK(second != c(order, 0));
  CHECK(second == shuffled_order(20, 7, 1));
}
