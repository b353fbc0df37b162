#include "kusari/framework/functions/connection/conv_outsize.h"

#include <doctest/doctest.h>
#include <limits>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/connection/deconvolution_2d.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using utils::get_conv_outsize;
using utils::get_deconv_outsize;

TEST_CASE("get_conv_outsize and get_deconv_outsize give what functions do") {
  for (int64_t size = 1; size < 9; ++size) {
    for (int ksize = 1; ksize < 4; ++ksize) {
      for (int stride = 1; stride < 4; ++stride) {
        for (int pad = 0; pad < 2 && pad < ksize; ++pad) {
          for (int dilate = 1; dilate < 3; ++dilate) {
            CAPTURE(size);
            CAPTURE(ksize);
            CAPTURE(stride);
            CAPTURE(pad);
            CAPTURE(dilate);
            const Array W = ones({1, 1, ksize, ksize});
            const int64_t out =
                get_conv_outsize(size, {.ksize = ksize, .stride = stride, .pad = pad, .dilate = dilate});
            if (out > 0) {
              const Variable y =
                  F::convolution_2d(ones({1, 1, size, size}), W, {}, {.stride = stride, .pad = pad, .dilate = dilate});
              CHECK(y.shape(2) == out);
            }
            const int64_t back =
                get_deconv_outsize(size, {.ksize = ksize, .stride = stride, .pad = pad, .dilate = dilate});
            if (back > 0) {
              const Variable y = F::deconvolution_2d(ones({1, 1, size, size}), W, {},
                                                     {.stride = stride, .pad = pad, .dilate = dilate});
              CHECK(y.shape(2) == back);
              CHECK(get_conv_outsize(back, {.ksize = ksize, .stride = stride, .pad = pad, .dilate = dilate}) == size);
            }
          }
          const int64_t covered =
              get_conv_outsize(size, {.ksize = ksize, .stride = stride, .pad = pad, .cover_all = true});
          if (covered > 0 && size + 2 * pad >= ksize) {
            CHECK(F::max_pooling_2d(ones({1, 1, size, size}), ksize, {.stride = stride, .pad = pad, .cover_all = true})
                      .shape(2) == covered);
          }
        }
      }
    }
  }
}

// chainer.utils of Chainer 7.8.
TEST_CASE("the numbers of Chainer") {
  CHECK(get_conv_outsize(2, {.ksize = 5}) == -2);
  CHECK(get_conv_outsize(2, {.ksize = 5, .stride = 2}) == -1);
  CHECK(get_conv_outsize(10, {.ksize = 3, .stride = 4, .cover_all = true}) == 3);
  CHECK(get_deconv_outsize(3, {.ksize = 3, .stride = 4, .cover_all = true}) == 8);
  CHECK(get_deconv_outsize(3, {.ksize = 3, .stride = 4}) == 11);
}

TEST_CASE("numbers out of range") {
  CHECK_THROWS_WITH_AS(get_conv_outsize(-1, {}), "get_conv_outsize: size is -1: it must be in [0, 2^31)", ValueError);
  CHECK_THROWS_WITH_AS(get_conv_outsize(1, {.ksize = 0}), "get_conv_outsize: ksize is 0: it must be in [1, 2^31)",
                       ValueError);
  CHECK_THROWS_WITH_AS(get_deconv_outsize(1, {.stride = 0}), "get_deconv_outsize: stride is 0: it must be in [1, 2^31)",
                       ValueError);
  CHECK_THROWS_AS(get_deconv_outsize(1, {.pad = -1}), ValueError);
  CHECK_THROWS_AS(get_conv_outsize(1, {.pad = std::numeric_limits<int64_t>::min()}), ValueError);
  CHECK_THROWS_AS(get_deconv_outsize(1, {.dilate = int64_t{1} << 40}), ValueError);
}

}  // namespace
}  // namespace kusari
