#include "kusari/framework/functions/array/cast.h"

#include "kusari/framework/functions/array/copy.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("cast") {
  const Variable x(array<float>({1.5f, -2.5f}));
  CHECK(F::cast(x, Dtype::float64).dtype() == Dtype::float64);
  CHECK(F::cast(x, Dtype::int32).to_vector<int>() == std::vector<int>{1, -2});
  CHECK(is_same(F::cast(x, Dtype::float32), x));
  const Variable y = F::cast(x, Dtype::float16);
  const Variables g = grad({y}, {x}, {.grad_outputs = Variables(Variable(ones({2}, Dtype::float16), false))});
  CHECK(g[0].dtype() == Dtype::float32);
  CHECK(g[0].to_vector<float>() == std::vector<float>{1, 1});
}

TEST_CASE("copy") {
  const Variable x(array<float>({1, 2}));
  const Variable y = F::copy(x, get_device("cpu"));
  CHECK(y.array().raw_data() != x.array().raw_data());
  check_close(y, {2}, {1, 2});
  check_gradients([](const Variable& v) { return F::copy(v, get_device("cpu")); }, uniform({2, 3}, -1, 1));
}

}  // namespace
}  // namespace kusari
