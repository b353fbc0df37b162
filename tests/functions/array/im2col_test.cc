#include "kusari/framework/functions/array/im2col.h"

#include "kusari/framework/functions/array/reshape.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

struct Im2colCase {
  Shape x;
  Dims ksize, stride, pad, dilate;
  bool cover_all = false;

  F::Im2colOptions options() const {
    return {.stride = PerAxis(stride), .pad = PerAxis(pad), .cover_all = cover_all, .dilate = PerAxis(dilate)};
  }
};

const Im2colCase kIm2colCases[] = {
    {{2, 3, 5, 6}, {3, 2}, {1, 1}, {0, 0}, {1, 1}},      {{1, 2, 5, 7}, {3, 3}, {2, 3}, {1, 2}, {1, 1}},
    {{2, 1, 6, 5}, {2, 2}, {2, 2}, {0, 0}, {2, 3}},      {{1, 2, 6, 6}, {3, 3}, {2, 2}, {0, 0}, {1, 1}, true},
    {{1, 1, 1, 1}, {3, 3}, {1, 1}, {2, 2}, {1, 1}},      {{0, 2, 4, 4}, {2, 2}, {1, 1}, {0, 0}, {1, 1}},
    {{1, 1, 4, 4}, {2, 2}, {5, 5}, {3, 3}, {1, 1}, true}};

int64_t im2col_out_size(const Im2colCase& c, int axis) {
  int64_t n = 0;
  const int64_t reach = (c.ksize[axis] - 1) * c.dilate[axis] + 1, end = c.x[2 + axis] + 2 * c.pad[axis];
  while (n * c.stride[axis] + reach <= end) ++n;
  // One more patch where elements are left over.
  if (c.cover_all && (n - 1) * c.stride[axis] + reach < end) ++n;
  return n;
}

// y in C order of (n, c, a, b, i, j), straight from the definition.
std::vector<double> im2col_reference(const Im2colCase& c, const std::vector<double>& x) {
  std::vector<double> y;
  for (int64_t n = 0; n < c.x[0]; ++n) {
    for (int64_t ch = 0; ch < c.x[1]; ++ch) {
      for (int64_t k = 0; k < c.ksize[0] * c.ksize[1]; ++k) {
        for (int64_t p = 0; p < im2col_out_size(c, 0) * im2col_out_size(c, 1); ++p) {
          const int64_t row = p / im2col_out_size(c, 1) * c.stride[0] + k / c.ksize[1] * c.dilate[0] - c.pad[0];
          const int64_t column = p % im2col_out_size(c, 1) * c.stride[1] + k % c.ksize[1] * c.dilate[1] - c.pad[1];
          const bool inside = row >= 0 && row < c.x[2] && column >= 0 && column < c.x[3];
          y.push_back(inside ? x[static_cast<size_t>(((n * c.x[1] + ch) * c.x[2] + row) * c.x[3] + column)] : 0);
        }
      }
    }
  }
  return y;
}

TEST_CASE("im2col and its gradients") {
  for (const Im2colCase& c : kIm2colCases) {
    CAPTURE(to_string(c.x));
    CAPTURE(to_string(c.ksize));
    const Shape shape{c.x[0], c.x[1] * numel(c.ksize), im2col_out_size(c, 0), im2col_out_size(c, 1)};
    const auto im2col = [&](const Variable& x) { return F::im2col(x, PerAxis(c.ksize), c.options()); };
    for (const Dtype dtype : kFloatingDtypes) {
      const Array x = uniform(c.x, -1, 1).astype(dtype);
      const std::vector<double> expected = im2col_reference(c, x.to_vector<double>());
      for (const Array& given : {x, x.channels_last(), x.transpose().contiguous().transpose()}) {
        const Variable y = im2col(given);
        CHECK(y.dtype() == dtype);
        check_close(y, shape, expected, 0);
      }
    }
    check_gradients(im2col, uniform(c.x, -1, 1));
  }
}

TEST_CASE("col2im sums what im2col took apart") {
  for (const Im2colCase& c : kIm2colCases) {
    CAPTURE(to_string(c.x));
    const Shape col_shape{c.x[0], c.x[1], c.ksize[0], c.ksize[1], im2col_out_size(c, 0), im2col_out_size(c, 1)};
    const Array x = uniform(c.x, -1, 1), col = uniform(col_shape, -1, 1, 2);
    const auto col2im = [&](const Variable& v) {
      return F::col2im(v, PerAxis({c.x[2], c.x[3]}),
                       {.stride = PerAxis(c.stride), .pad = PerAxis(c.pad), .dilate = PerAxis(c.dilate)});
    };
    // The adjoint: <im2col(x), col> = <x, col2im(col)>.
    const std::vector<double> a = im2col_reference(c, x.to_vector<double>()), b = col.to_vector<double>();
    const std::vector<double> u = x.to_vector<double>(), v = col2im(col).to_vector<double>();
    double left = 0, right = 0;
    for (size_t i = 0; i < a.size(); ++i) left += a[i] * b[i];
    for (size_t i = 0; i < u.size(); ++i) right += u[i] * v[i];
    CHECK(right == doctest::Approx(left));
    CHECK(col2im(col).shape() == c.x);
    check_gradients(col2im, col);
  }
  // Half types are summed in float32: 2048 + 1 + 1 is no number of float16.
  const Array col = array<float>({0, 0, 2048, 0, 1, 0, 1, 0, 0}, {1, 1, 3, 3}).astype(Dtype::float16);
  CHECK(F::col2im(col, 5).to_vector<float>() == std::vector<float>{0, 0, 2050, 0, 0});
}

TEST_CASE("im2col has any number of spatial axes") {
  const Array x = uniform({2, 2, 7}, -1, 1);
  const Variable y = F::im2col(x, 3, {.stride = 2});
  CHECK(y.shape() == Shape{2, 6, 3});
  CHECK(y.to_vector<double>()[3 * 1 + 2] == x.to_vector<double>()[2 * 2 + 1]);  // channel 0, place 1, patch 2
  check_gradients([](const Variable& v) { return F::im2col(v, 2, {.pad = 1}); }, uniform({1, 2, 3, 2, 3}, -1, 1));
}

TEST_CASE("im2col gives columns in C order, col2im images with channels innermost") {
  const Variable col = F::im2col(Variable(ones({2, 3, 5, 5}).channels_last()), 3);
  CHECK(col.array().is_contiguous());
  CHECK(has_image_layout(F::col2im(F::reshape(col, {2, 3, 3, 3, 3, 3}), 5).array()));
}

TEST_CASE("im2col refuses what does not fit") {
  CHECK_THROWS_WITH_AS(F::im2col(int_ones({1, 1, 4, 4}), 2), "F::im2col: x has dtype int64: x.dtype must be floating",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::im2col(ones({4, 4}), 2), "F::im2col: x has shape (4, 4): it must have one to 3 spatial axes",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::im2col(ones({1, 1, 4, 4}), 2, {.pad = int64_t{1} << 62}),
                       doctest::Contains("it must be less than 2^31"), ValueError);
  CHECK_THROWS_WITH_AS(F::im2col(ones({1, 1, 4, 4}), {2, 2, 2}),
                       "F::im2col: ksize is (2, 2, 2): it must be one number or one for each of the 2 spatial axes",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::im2col(ones({1, 1, 4, 4}), 2, {.stride = 0}),
                       "F::im2col: stride is (0, 0): it must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(F::im2col(ones({1, 1, 4, 3}), 2, {.dilate = 3}),
                       "F::im2col: x has shape (1, 1, 4, 3) and pad is (0, 0): there is no place for a patch of ksize "
                       "(2, 2) with dilate (3, 3)",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::col2im(ones({1, 1, 4, 4, 2}), 2),
                       "F::col2im: col has shape (1, 1, 4, 4, 2): it must have one to 3 spatial axes", TypeError);
}

}  // namespace
}  // namespace kusari
