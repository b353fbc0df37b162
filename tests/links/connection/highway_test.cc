#include "kusari/framework/links/connection/highway.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/functions/activation/tanh.h"

namespace kusari {
namespace L = links;
namespace {

using Values = std::vector<double>;

TEST_CASE("Highway mixes x and its transform by a gate") {
  L::Highway carried(3, {.init_bt = -100});
  const Array x = array<float>({1, -2, 3, 0, 5, -6}, {2, 3});
  CHECK(carried(x).to_vector<double>() == x.to_vector<double>());
  L::Highway transformed(3, {.activate = functions::tanh, .init_wh = 0, .init_bh = 100, .init_bt = 100});
  CHECK(transformed(x).to_vector<double>() == Values(6, 1));
  CHECK(L::Highway(3).param("/transform/b").to_vector<double>() == Values(3, -1));
  CHECK(L::Highway(3, {.nobias = true}).params().size() == 2);
  const L::Highway copied = transformed;
  CHECK(L::Highway(copied)(x).to_vector<double>() == Values(6, 1));
}

}  // namespace
}  // namespace kusari
