#include "kusari/framework/functions/pooling/upsampling_2d.h"

#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/tests/functions/pooling/windows_testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("upsampling_2d puts maxima back") {
  for (const int64_t channels : {1, 5, 40}) {
    const Array x = uniform({2, channels, 6, 4}, 1, 2);
    const std::vector<double> values = x.to_vector<double>();
    const auto [pooled, indexes] = F::max_pooling_2d_with_indices(x, 2);
    for (const Dtype dtype : {Dtype::uint8, Dtype::int8, Dtype::int32, Dtype::int64}) {
      const Variable y = F::upsampling_2d(pooled, indexes.astype(dtype), 2, {.outsize = {6, 4}});
      REQUIRE(y.shape() == x.shape());
      const std::vector<double> back = y.to_vector<double>();
      double kept = 0;
      for (size_t i = 0; i < back.size(); ++i) {
        CHECK((back[i] == 0 || back[i] == values[i]));
        kept += back[i] != 0;
      }
      CHECK(kept == static_cast<double>(pooled.size()));
    }
  }
}

TEST_CASE("upsampling_2d where windows overlap, leave gaps and are padded") {
  const Array x = array<float>({1, 2, 3, 4}, {1, 1, 2, 2}, test_device());
  const Array last =
      array<int32_t>({8, 6, 2, 0}, {1, 1, 2, 2}, test_device());  // all four name the place in the middle
  check_close(F::upsampling_2d(x, last, 3, {.stride = 2, .outsize = {5, 5}, .cover_all = false}), {1, 1, 5, 5},
              {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const Array first = zeros({1, 1, 2, 2}, Dtype::int32, test_device());
  check_close(F::upsampling_2d(x, first, 1, {.stride = 3, .outsize = {4, 4}}), {1, 1, 4, 4},
              {1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 4});
  // Places in the padding, and places that the window does not have.
  check_close(F::upsampling_2d(x, first, 2, {.pad = 1, .outsize = {2, 2}}), {1, 1, 2, 2}, {0, 0, 0, 4});
  check_close(
      F::upsampling_2d(x, array<int64_t>({3, 4, -1, 1000}, {1, 1, 2, 2}, test_device()), 2, {.outsize = {4, 4}}),
      {1, 1, 4, 4}, {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(F::upsampling_2d(x, first, 2).shape() == Shape{1, 1, 3, 3});
}

TEST_CASE("upsampling_2d's gradients") {
  const Array indexes = array<int64_t>({0, 3, 2, 1, 1, 1, 0, 2}, {1, 2, 2, 2}, test_device());
  const auto upsampling = [&](const Variable& x) { return F::upsampling_2d(x, indexes, 2, {.outsize = {4, 3}}); };
  check_gradients(upsampling, uniform({1, 2, 2, 2}, -1, 1));
  check_gradients(upsampling, uniform({1, 2, 2, 2}, -1, 1).channels_last());
}

TEST_CASE("upsampling_2d of what does not fit") {
  const Array x = ones({1, 1, 2, 2}, Dtype::float32, test_device());
  CHECK_THROWS_WITH_AS(F::upsampling_2d(x, zeros({1, 1, 2, 3}, Dtype::int32, test_device()), 2),
                       "F::upsampling_2d: x has shape (1, 1, 2, 2) but indexes has shape (1, 1, 2, 3): x.shape must "
                       "equal indexes.shape",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::upsampling_2d(x, ones({1, 1, 2, 2}, Dtype::float32, test_device()), 2),
                       "F::upsampling_2d: indexes has dtype float32: indexes.dtype must be an integer or bool",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::upsampling_2d(x, zeros({1, 1, 2, 2}, Dtype::int32, test_device()), 2, {.outsize = {9, 4}}),
                       "F::upsampling_2d: x has shape (1, 1, 2, 2): x.shape[2] must equal 5 (2 != 5)", TypeError);
}

}  // namespace
}  // namespace kusari
