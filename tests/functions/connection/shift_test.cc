#include "kusari/framework/functions/connection/shift.h"

#include <limits>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("shift moves each group of channels by the place of its filter") {
  // 9 channels of one bright pixel in the middle of 3 x 3; a tenth belongs to the last group, which stays.
  std::vector<double> values(10 * 9, 0);
  for (size_t c = 0; c < 10; ++c) values[c * 9 + 4] = static_cast<double>(c + 1);
  // Rows of the filter are groups 0 1 2, 3 8 5, 6 7 4: the centre and the last have changed places.
  const int64_t at[10] = {0, 1, 2, 3, 8, 5, 6, 7, 4, 4};
  for (const Dtype dtype : kFloatingDtypes) {
    const Array x = array(values, {1, 10, 3, 3}, test_device()).astype(dtype);
    const Variable y = F::shift(x);
    CHECK(y.dtype() == dtype);
    CHECK(has_image_layout(y.array()));
    const std::vector<double> got = y.to_vector<double>();
    for (int64_t c = 0; c < 10; ++c) {
      for (int64_t i = 0; i < 9; ++i) {
        CAPTURE(c);
        CAPTURE(i);
        CHECK(got[static_cast<size_t>(c * 9 + i)] == (i == at[c] ? static_cast<double>(c + 1) : 0));
      }
    }
  }
}

TEST_CASE("shift with a dilation per axis") {
  const Array x = array<double>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {1, 3, 1, 4}, test_device());
  // Offsets of a filter of 1 x 3: -2, (centre and last exchanged) 2, 0.
  CHECK(F::shift(x, {1, 3}, {1, 2}).to_vector<double>() == std::vector<double>{3, 4, 0, 0, 0, 0, 5, 6, 9, 10, 11, 12});
  CHECK(F::shift(x, {1, 3}, {1, -2}).to_vector<double>() == std::vector<double>{0, 0, 1, 2, 7, 8, 0, 0, 9, 10, 11, 12});
  CHECK(F::shift(x, {1, 3}, {1, 4}).to_vector<double>() == std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 9, 10, 11, 12});
  const int64_t far = std::numeric_limits<int64_t>::min();
  CHECK(F::shift(x, {1, 3}, {1, far}).to_vector<double>() ==
        std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 9, 10, 11, 12});
  CHECK(F::shift(zeros({2, 9, 0, 3}, Dtype::float32, test_device())).shape() == Shape{2, 9, 0, 3});
}

TEST_CASE("gradients of shift") {
  for (const int64_t dilate : {1, 2, -1}) {
    check_gradients([=](const Variable& x) { return F::shift(x, {3, 1}, dilate); }, uniform({2, 7, 4, 3}, -1, 1));
  }
}

TEST_CASE("shift with wrong arguments") {
  const Variable x(ones({1, 9, 2, 2}, Dtype::float32, test_device()));
  CHECK_THROWS_WITH_AS(F::shift(x, {3, 2}), "F::shift: ksize is (3, 2): it must be odd", ValueError);
  CHECK_THROWS_AS(F::shift(x, std::numeric_limits<int64_t>::max()), ValueError);
  CHECK_THROWS_WITH_AS(F::shift(x, 3, {0, 1}), "F::shift: dilate is (0, 1): it must not be 0", ValueError);
  CHECK_THROWS_WITH_AS(F::shift(x, 5), "F::shift: x has shape (1, 9, 2, 2): x.shape[1] must be at least 25 (9 < 25)",
                       TypeError);
  CHECK_THROWS_AS(F::shift(ones({9, 2, 2}, Dtype::float32, test_device())), TypeError);
  CHECK_THROWS_AS(F::shift(int_ones({1, 9, 2, 2})), TypeError);
}

}  // namespace
}  // namespace kusari
