#include "kusari/framework/functions/math/prod.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("prod") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  check_close(F::prod(x), {}, {720});
  check_close(F::prod(x, 0), {3}, {4, 10, 18});
  check_close(F::prod(x, -1, true), {2, 1}, {6, 120});
  check_close(F::prod(zeros({0, 2}), 0), {2}, {1, 1});
}

TEST_CASE("prod of integers and bool is int64, as NumPy's") {
  const std::vector<double> ten = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
  for (const Dtype dtype : {Dtype::uint8, Dtype::int8, Dtype::int32, Dtype::int64}) {
    CAPTURE(name(dtype));
    const Variable y = F::prod(array(ten, test_device()).astype(dtype));
    CHECK(y.dtype() == Dtype::int64);
    CHECK(y.item<int64_t>() == 1'000'000'000'000);
  }
  const Variable truth = F::prod(array<bool>({true, true, true, false}, {2, 2}), 1);
  CHECK(truth.dtype() == Dtype::int64);
  CHECK(truth.to_vector<int64_t>() == std::vector<int64_t>{1, 0});
  CHECK(F::prod(array<int8_t>({}, {0, 2}), 0).to_vector<int64_t>() == std::vector<int64_t>{1, 1});
}

TEST_CASE("prod's gradients") {
  for (const Axes& axis : {Axes(std::nullopt), Axes(1), Axes{0, -1}}) {
    for (const bool keepdims : {false, true}) {
      check_gradients([&](const Variable& x) { return F::prod(x, axis, keepdims); }, uniform({2, 3, 2}, 0.5, 1.5));
    }
  }
  check_gradients([](const Variable& x) { return F::prod(x); }, uniform({}, 0.5, 1.5));
}

TEST_CASE("prod has a gradient at zeros") {
  const Variable x(array<float>({2, 0, 3, 0, 0, 5}, {2, 3}));
  CHECK(gradient(F::prod(x, 1), x) == std::vector<double>{0, 6, 0, 0, 0, 0});
  check_gradients([](const Variable& v) { return F::prod(v, 1); }, array<double>({2, 0, 3, 0, 0, 5}, {2, 3}));
}

}  // namespace
}  // namespace kusari
