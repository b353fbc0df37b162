#include "kusari/framework/functions/pooling/uneven_windows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

struct UnevenCase {
  Dims in, ksize, stride, pad, pad_end, dilate;
  bool cover_all;
};
const UnevenCase kUnevenCases[] = {{{7}, {3}, {2}, {0}, {1}, {1}, false},
                                   {{7}, {3}, {1}, {1}, {0}, {1}, false},
                                   {{8}, {2}, {3}, {1}, {1}, {3}, false},
                                   {{8}, {2}, {3}, {1}, {2}, {3}, true},
                                   {{5, 6}, {2, 3}, {2, 2}, {0, 1}, {1, 2}, {1, 1}, true},
                                   {{5, 6}, {2, 3}, {1, 2}, {1, 2}, {0, 2}, {2, 1}, false},
                                   {{6, 9}, {2, 2}, {2, 3}, {0, 1}, {0, 1}, {3, 2}, true},
                                   {{3, 4, 5}, {2, 2, 2}, {1, 2, 1}, {1, 0, 0}, {0, 0, 1}, {1, 2, 3}, false}};

/// Calls visit(o, element of x or -1, whether it is in x or its padding) for each place of each window of one image.
template <class Visit>
Dims each_uneven_place(const UnevenCase& c, const Visit& visit) {
  Dims out;
  for (int i = 0; i < c.in.ndim(); ++i) {
    const int64_t extent = (c.ksize[i] - 1) * c.dilate[i] + 1;
    const int64_t space = c.in[i] + c.pad[i] + c.pad_end[i] - extent;
    out.push_back((space + (c.cover_all ? c.stride[i] - 1 : 0)) / c.stride[i] + 1);
  }
  for (int64_t o = 0; o < numel(out); ++o) {
    for (int64_t k = 0; k < numel(c.ksize); ++k) {
      int64_t element = 0, o_rest = o, k_rest = k, scale = 1;
      bool is_padded = true;
      for (int i = c.in.ndim() - 1; i >= 0; --i) {
        const int64_t at = o_rest % out[i] * c.stride[i] - c.pad[i] + k_rest % c.ksize[i] * c.dilate[i];
        o_rest /= out[i];
        k_rest /= c.ksize[i];
        is_padded = is_padded && at < c.in[i] + c.pad_end[i];
        element = element < 0 || at < 0 || at >= c.in[i] ? -1 : element + at * scale;
        scale *= c.in[i];
      }
      visit(static_cast<size_t>(o), element, is_padded);
    }
  }
  return out;
}

Shape images_of(const Dims& sizes) {
  Shape shape{2, 3};
  for (const int64_t size : sizes) shape.push_back(size);
  return shape;
}

TEST_CASE("pooling with gaps, and with another padding behind than before") {
  for (size_t i = 0; i < std::size(kUnevenCases); ++i) {
    CAPTURE(i);
    const UnevenCase& c = kUnevenCases[i];
    const Shape shape = images_of(c.in);
    const Array x = uniform(shape, -1, 1);
    const Values v = x.to_vector<double>();
    Values largest, sums, counts, padded_counts;
    Dims out;
    const auto image_size = static_cast<size_t>(numel(c.in));
    for (size_t image = 0; image < 6; ++image) {
      Values image_largest, image_sums;
      counts.clear();
      padded_counts.clear();
      out = each_uneven_place(c, [&](size_t o, int64_t element, bool is_padded) {
        if (o >= counts.size()) {
          image_largest.push_back(-std::numeric_limits<double>::infinity());
          image_sums.push_back(0);
          counts.push_back(0);
          padded_counts.push_back(0);
        }
        padded_counts[o] += is_padded ? 1 : 0;
        if (element < 0) return;
        const double value = v[image * image_size + static_cast<size_t>(element)];
        image_largest[o] = std::max(image_largest[o], value);
        image_sums[o] += value;
        counts[o] += 1;
      });
      largest.insert(largest.end(), image_largest.begin(), image_largest.end());
      sums.insert(sums.end(), image_sums.begin(), image_sums.end());
    }
    const F::MaxPoolingOptions options{PerAxis(c.stride), PerAxis(c.pad), c.cover_all, PerAxis(c.pad_end),
                                       PerAxis(c.dilate)};
    const auto max_pool = [&](const Variable& a) { return F::max_pooling_nd(a, PerAxis(c.ksize), options); };
    const Variable y = max_pool(x);
    CHECK(has_image_layout(y.array()));
    check_close(y, images_of(out), largest);
    check_close(max_pool(x.astype(Dtype::float16)), images_of(out), largest);
    // A window that is all padding has no slope.
    const bool is_finite =
        std::all_of(largest.begin(), largest.end(), [](double value) { return std::isfinite(value); });
    if (is_finite) check_gradients(max_pool, x);

    for (const bool counts_padding : {true, false}) {
      Values expected = sums;
      for (size_t o = 0; o < expected.size(); ++o) {
        expected[o] /= (counts_padding ? padded_counts : counts)[o % counts.size()];
      }
      F::AveragePoolingOptions average{.stride = PerAxis(c.stride),
                                       .pad = PerAxis(c.pad),
                                       .pad_end = PerAxis(c.pad_end),
                                       .dilate = PerAxis(c.dilate),
                                       .cover_all = c.cover_all};
      if (!counts_padding) average.pad_value = std::nullopt;
      const auto pool = [&](const Variable& a) { return F::average_pooling_nd(a, PerAxis(c.ksize), average); };
      check_close(pool(x), images_of(out), expected, 4);
      const bool has_means =
          std::none_of(expected.begin(), expected.end(), [](double value) { return std::isnan(value); });
      if (has_means) check_gradients(pool, x);
    }
  }
}

TEST_CASE("uneven pooling: indices count within the window") {
  const Array x = array<float>({1, 9, 2, 8, 3, 7}, {1, 1, 6}, test_device());
  // x0 x2, x1 x3, ...
  const auto [y, index] = F::max_pooling_1d_with_indices(x, 2, {.stride = 1, .dilate = 2});
  check_close(y, {1, 1, 4}, {2, 9, 3, 8});
  CHECK(index.to_vector<int>() == std::vector<int>{1, 0, 1, 0});
}

TEST_CASE("uneven pooling says what does not fit") {
  const Array x = zeros({1, 1, 4});
  CHECK_THROWS_WITH_AS(F::max_pooling_nd(x, 3, {.cover_all = false, .dilate = 2}),
                       "F::max_pooling_nd: x has shape (1, 1, 4): no window fits into axis 2, which has 4 places with "
                       "the padding, of which a window needs 5",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::max_pooling_nd(x, 2, {.dilate = 0}),
                       "F::max_pooling_nd: dilate is (0,): it must be at least 1 along each axis", ValueError);
  CHECK_THROWS_WITH_AS(F::average_pooling_nd(x, 2, {.pad_end = -1}),
                       "F::average_pooling_nd: pad_end is (-1,): it must be at least 0 along each axis", ValueError);
  CHECK_THROWS_WITH_AS(F::max_pooling_2d(x, 2, {.dilate = 2}),
                       "F::max_pooling_2d: x has shape (1, 1, 4): x.ndim must be 4", TypeError);
}

}  // namespace
}  // namespace kusari
