#include "kusari/framework/functions/array/depth2space.h"

#include <cstdint>

#include "kusari/framework/functions/array/space2depth.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

// y[n, c, r i + a, r j + b] = X[n, (a r + b) C + c, i, j], in C order of y.
std::vector<double> depth2space_reference(const Array& X, int64_t r) {
  const Shape& s = X.shape();
  const int64_t channels = s[1] / (r * r), h = s[2] * r, w = s[3] * r;
  const std::vector<double> x = X.to_vector<double>();
  std::vector<double> y;
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < h * w; ++i) {
        const int64_t row = i / w, column = i % w, block = row % r * r + column % r;
        y.push_back(x[static_cast<size_t>(((n * s[1] + block * channels + c) * s[2] + row / r) * s[3] + column / r)]);
      }
    }
  }
  return y;
}

TEST_CASE("depth2space and space2depth") {
  struct Case {
    Shape shape;
    int64_t r;
  };
  for (const Case& c : {Case{{2, 12, 2, 3}, 2}, {{1, 9, 1, 2}, 3}, {{2, 3, 2, 2}, 1}, {{0, 4, 2, 2}, 2}}) {
    CAPTURE(to_string(c.shape));
    const auto depth2space = [&](const Variable& x) { return F::depth2space(x, c.r); };
    const auto space2depth = [&](const Variable& x) { return F::space2depth(x, c.r); };
    for (const Dtype dtype : kFloatingDtypes) {
      const Array x = uniform(c.shape, -1, 1).astype(dtype);
      const Shape shape{c.shape[0], c.shape[1] / (c.r * c.r), c.shape[2] * c.r, c.shape[3] * c.r};
      for (const Array& given : {x, x.channels_last(), x.transpose().contiguous().transpose()}) {
        const Variable y = depth2space(given);
        CHECK(y.dtype() == dtype);
        CHECK(has_image_layout(y.array()));
        check_close(y, shape, depth2space_reference(x, c.r), 0);
        check_close(space2depth(y), c.shape, x.to_vector<double>(), 0);
        check_close(space2depth(y.array().contiguous()), c.shape, x.to_vector<double>(), 0);
      }
    }
    check_gradients(depth2space, uniform(c.shape, -1, 1));
    check_gradients(space2depth, depth2space(uniform(c.shape, -1, 1)).array());
  }
}

TEST_CASE("depth2space refuses what does not fit") {
  CHECK_THROWS_WITH_AS(F::depth2space(ones({1, 6, 2, 2}), 2),
                       "F::depth2space: X has shape (1, 6, 2, 2) and r is 2: X.shape[1] must be a multiple of 4",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::space2depth(ones({1, 1, 4, 3}), 2),
                       "F::space2depth: X has shape (1, 1, 4, 3) and r is 2: X.shape[3] must be a multiple of 2",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::space2depth(ones({1, 1, 4, 4}), 0), "F::space2depth: r is 0: it must be at least 1",
                       ValueError);
  for (const int64_t r : {int64_t{1} << 32, int64_t{1} << 62, (int64_t{1} << 32) + 1, INT64_MAX}) {
    CHECK_THROWS_AS(F::depth2space(ones({1, 4, 2, 2}), r), ValueError);
    CHECK_THROWS_AS(F::depth2space(ones({1, 0, 2, 2}), r), ValueError);
    CHECK_THROWS_AS(F::space2depth(ones({1, 4, 2, 2}), r), ValueError);
    CHECK_THROWS_AS(F::space2depth(ones({1, 4, 0, 0}), r), ValueError);
  }
  CHECK_THROWS_WITH_AS(F::depth2space(ones({1, 4, 2, 2}), int64_t{1} << 32),
                       "F::depth2space: r is 4294967296: its square must be less than 2^63", ValueError);
  CHECK_THROWS_AS(F::depth2space(ones({4, 4}), 2), TypeError);
  CHECK_THROWS_AS(F::depth2space(int_ones({1, 4, 1, 1}), 2), TypeError);
}

}  // namespace
}  // namespace kusari
