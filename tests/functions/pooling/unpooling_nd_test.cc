#include "kusari/framework/functions/pooling/unpooling_nd.h"

#include "kusari/tests/functions/pooling/windows_testing.h"

namespace kusari {
namespace {

using namespace testing;

// x has the shape of what pooling makes of y.
void check_unpooling(unsigned seed) {
  const Windows windows = random_windows(seed);
  CAPTURE(seed);
  CAPTURE(windows.text());
  const Shape small = windows.y();
  const Dims outsize(windows.x.begin() + 2, windows.x.end());
  const F::UnpoolingOptions options{.stride = PerAxis(windows.stride),
                                    .pad = PerAxis(windows.pad),
                                    .outsize = outsize,
                                    .cover_all = windows.cover_all};
  const std::vector<double> values = small_integers(numel(small), seed),
                            gy = small_integers(numel(windows.x), seed + 1);
  const Variable x(in_some_layout(values, small, seed));
  const Variable y = F::unpooling_nd(x, PerAxis(windows.ksize), options);
  std::vector<double> expected(gy.size()), gx(values.size());
  windows.for_each_place([&](int64_t o, int64_t, int64_t element) {
    if (element < 0) return;
    expected[static_cast<size_t>(element)] += values[static_cast<size_t>(o)];
    gx[static_cast<size_t>(o)] += gy[static_cast<size_t>(element)];
  });
  REQUIRE(y.shape() == windows.x);
  CHECK(y.dtype() == x.dtype());
  CHECK(y.to_vector<double>() == array(expected, windows.x).astype(x.dtype()).to_vector<double>());
  const Array seed_gradient = in_some_layout(gy, windows.x, seed).astype(x.dtype());
  CHECK(gradient(y, x, seed_gradient) == array(gx, small).astype(x.dtype()).to_vector<double>());
}

TEST_CASE("unpooling in random geometries") {
  for (unsigned seed = 0; seed < 300; ++seed) check_unpooling(seed);
}

TEST_CASE("unpooling's names, defaults and sizes") {
  const Array x = arange(4).reshape({1, 1, 2, 2});
  check_close(F::unpooling_2d(x, 2), {1, 1, 3, 3}, {0, 0, 1, 0, 0, 1, 2, 2, 3});
  check_close(F::unpooling_2d(x, 2, {.cover_all = false}), {1, 1, 4, 4},
              {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3});
  check_close(F::unpooling_2d(x, 2, {.outsize = {4, 3}}), {1, 1, 4, 3}, {0, 0, 1, 0, 0, 1, 2, 2, 3, 2, 2, 3});
  check_close(F::unpooling_2d(x, 3, {.stride = 2, .pad = 1, .cover_all = false}), {1, 1, 3, 3},
              {0, 1, 1, 2, 6, 4, 2, 5, 3});
  check_close(F::unpooling_1d(x.reshape({1, 1, 4}), 3, {.stride = 2}), {1, 1, 8}, {0, 0, 1, 1, 3, 2, 5, 3});
  CHECK(F::unpooling_3d(ones({1, 2, 2, 3, 4}), 2).shape() == Shape{1, 2, 3, 5, 7});
  CHECK(F::unpooling_nd(ones({1, 2, 2, 3, 4}), 2, {.cover_all = false}).shape() == Shape{1, 2, 4, 6, 8});
  // Padding that is a multiple of the window is cut off, as any other padding.
  check_close(F::unpooling_2d(arange(9).reshape({1, 1, 3, 3}), 2, {.pad = 2, .cover_all = false}), {1, 1, 2, 2},
              {4, 4, 4, 4});
}

TEST_CASE("unpooling's gradients") {
  const Array x = uniform({2, 3, 3, 2}, -1, 1), image = x.channels_last();
  for (const Array& input : {x, image}) {
    check_gradients([](const Variable& v) { return F::unpooling_2d(v, 2); }, input);
    check_gradients([](const Variable& v) { return F::unpooling_2d(v, 3, {.stride = 2, .pad = 1}); }, input);
  }
  check_gradients([](const Variable& v) { return F::unpooling_3d(v, 2, {.stride = 1}); },
                  uniform({1, 2, 2, 2, 3}, -1, 1));
}

TEST_CASE("unpooling of what cannot be unpooled") {
  const Array x = ones({1, 2, 2, 2});
  CHECK_THROWS_WITH_AS(F::unpooling_2d(x, 2, {.outsize = {4, 5}}),
                       "F::unpooling_2d: x has shape (1, 2, 2, 2): x.shape[3] must equal 3 (2 != 3)", TypeError);
  CHECK_THROWS_WITH_AS(F::unpooling_2d(x, 2, {.outsize = {4, 4, 4}}),
                       "F::unpooling_2d: outsize is (4, 4, 4): it must be one number or one for each of the 2 spatial "
                       "axes",
                       ValueError);
  CHECK_THROWS_WITH_AS(
      F::unpooling_2d(x, 2, {.pad = 2}),
      "F::unpooling_2d: x has shape (1, 2, 2, 2) and pad is (2, 2): nothing is left of axis 2 (-1 < 1)", ValueError);
  CHECK_THROWS_WITH_AS(F::unpooling_1d(x, 2), "F::unpooling_1d: x has shape (1, 2, 2, 2): x.ndim must equal 3 (4 != 3)",
                       TypeError);
}

}  // namespace
}  // namespace kusari
