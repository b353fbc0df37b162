#include "kusari/framework/functions/array/nonzero.h"

#include <cmath>
#include <cstdint>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Places = std::vector<int64_t>;

TEST_CASE("nonzero") {
  const Array x = array<float>({0, 2, 0, -1, NAN, 0}, {2, 3}, test_device());
  const Variable y = F::nonzero(x);
  CHECK(y.dtype() == Dtype::int64);
  CHECK(y.shape() == Shape{2, 3});
  CHECK(y.to_vector<int64_t>() == Places{0, 1, 1, 1, 0, 1});
  CHECK(F::nonzero(x.transpose()).to_vector<int64_t>() == Places{0, 1, 1, 1, 0, 1});
  for (const Dtype dtype : {Dtype::bool_, Dtype::uint8, Dtype::int64, Dtype::float16}) {
    CHECK(F::nonzero(array<int>({1, 0, 1}, test_device()).astype(dtype)).to_vector<int64_t>() == Places{0, 2});
  }
  CHECK(F::nonzero(zeros({2, 3})).shape() == Shape{2, 0});
  CHECK(F::nonzero(zeros({0, 3})).shape() == Shape{2, 0});
  CHECK(F::nonzero(full({}, 4, Dtype::float32)).shape() == Shape{0, 1});
  CHECK_THROWS_WITH_AS(F::nonzero(Variable()), "F::nonzero: x is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
