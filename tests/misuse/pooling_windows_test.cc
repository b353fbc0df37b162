#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of pooling, windows") {
  check_misuses({
      {[] {
         F::average_pooling_2d(real({3, 4, 4}), 2);
       },
       is<TypeError>, "F::average_pooling_2d: x has shape (3, 4, 4): x.ndim must equal 4 (3 != 4)"},
      {[] { F::average_pooling_2d(image(), 0); }, is<ValueError>,
       "F::average_pooling_2d: ksize is (0, 0): it must be at least 1 along each axis"},
      {[] { F::average_pooling_2d(image(), 5); }, is<ValueError>,
       "F::average_pooling_2d: ksize is (5, 5) and pad is (0, 0) but x has shape (2, 3, 4, 4): no window fits into "
       "axis 2"},
      {[] { F::average_pooling_2d(image(), 2, {.stride = 0}); }, is<ValueError>,
       "F::average_pooling_2d: stride is (0, 0): it must be at least 1 along each axis"},
      {[] { F::average_pooling_2d(image(), 2, {.pad = -1}); }, is<ValueError>,
       "F::average_pooling_2d: pad is (-1, -1): it must be at least 0 along each axis"},
      {[] { F::average_pooling_2d(image(), 2, {.pad_value = 1.0}); }, is<ValueError>,
       "F::average_pooling_2d: pad_value is 1: it must be 0 or absent"},
      {[] {
         F::average_pooling_2d(image(), {1, 2, 3});
       },
       is<ValueError>,
       "F::average_pooling_2d: ksize is (1, 2, 3): it must be one number or one for each of the 2 spatial axes"},
      {[] { F::average_pooling_2d(absent, 2); }, is<TypeError>,
       "F::average_pooling_2d: x is not given: it is required"},
      {[] {
         F::average_pooling_2d(whole({1, 1, 4, 4}), 2);
       },
       is<TypeError>, "F::average_pooling_2d: x has dtype int32: x.dtype must be floating"},
      {[] { F::average_pooling_1d(image(), 2); }, is<TypeError>,
       "F::average_pooling_1d: x has shape (2, 3, 4, 4): x.ndim must equal 3 (4 != 3)"},
      {[] { F::average_pooling_3d(image(), 2); }, is<TypeError>,
       "F::average_pooling_3d: x has shape (2, 3, 4, 4): x.ndim must equal 5 (4 != 5)"},
      {[] { F::average_pooling_nd(absent, 2); }, is<TypeError>,
       "F::average_pooling_nd: x is not given: it is required"},
      {[] {
         F::average_pooling_nd(real({2, 3}), 2);
       },
       is<TypeError>, "F::average_pooling_nd: x has shape (2, 3): x.ndim must equal 3 (2 != 3)"},
      {[] {
         F::global_average_pooling_2d(real({2, 3}));
       },
       is<TypeError>, "F::global_average_pooling_2d: x has shape (2, 3): x.ndim must equal 4 (2 != 4)"},
      {[] { F::global_average_pooling_2d(absent); }, is<TypeError>,
       "F::global_average_pooling_2d: x is not given: it is required"},
      {[] {
         F::global_average_pooling_2d(real({2, 3, 0, 0}));
       },
       is<ValueError>, "F::global_average_pooling_2d: ksize is (0, 0): it must be at least 1 along each axis"},
      {[] { F::average_pooling_2d(image(), 2, {.pad_value = kNaN}); }, is<ValueError>,
       "F::average_pooling_2d: pad_value is nan: it must be 0 or absent"},
      {[] {
         F::max_pooling_2d(real({3, 4, 4}), 2);
       },
       is<TypeError>, "F::max_pooling_2d: x has shape (3, 4, 4): x.ndim must equal 4 (3 != 4)"},
      {[] { F::max_pooling_2d(image(), 0); }, is<ValueError>,
       "F::max_pooling_2d: ksize is (0, 0): it must be at least 1 along each axis"},
      {[] { F::max_pooling_2d(image(), -2); }, is<ValueError>,
       "F::max_pooling_2d: ksize is (-2, -2): it must be at least 1 along each axis"},
      {[] { F::max_pooling_2d(image(), 5, {.cover_all = false}); }, is<ValueError>,
       "F::max_pooling_2d: ksize is (5, 5) and pad is (0, 0) but x has shape (2, 3, 4, 4): no window fits into axis 2"},
      {[] { F::max_pooling_2d(image(), 2, {.stride = 0}); }, is<ValueError>,
       "F::max_pooling_2d: stride is (0, 0): it must be at least 1 along each axis"},
      {[] { F::max_pooling_2d(image(), 2, {.pad = -1}); }, is<ValueError>,
       "F::max_pooling_2d: pad is (-1, -1): it must be at least 0 along each axis"},
      {[] {
         F::max_pooling_2d(image(), 2, {.stride = {1, 2, 3}});
       },
       is<ValueError>,
       "F::max_pooling_2d: stride is (1, 2, 3): it must be one number or one for each of the 2 spatial axes"},
      {[] { F::max_pooling_2d(absent, 2); }, is<TypeError>, "F::max_pooling_2d: x is not given: it is required"},
      {[] {
         F::max_pooling_2d(whole({1, 1, 4, 4}), 2);
       },
       is<TypeError>, "F::max_pooling_2d: x has dtype int32: x.dtype must be floating"},
      {[] { F::max_pooling_1d(image(), 2); }, is<TypeError>,
       "F::max_pooling_1d: x has shape (2, 3, 4, 4): x.ndim must equal 3 (4 != 3)"},
      {[] { F::max_pooling_3d(image(), 2); }, is<TypeError>,
       "F::max_pooling_3d: x has shape (2, 3, 4, 4): x.ndim must equal 5 (4 != 5)"},
      {[] { F::max_pooling_nd(absent, 2); }, is<TypeError>, "F::max_pooling_nd: x is not given: it is required"},
      {[] {
         F::max_pooling_2d_with_indices(real({3, 4, 4}), 2);
       },
       is<TypeError>, "F::max_pooling_2d_with_indices: x has shape (3, 4, 4): x.ndim must equal 4 (3 != 4)"},
      {[] { F::max_pooling_1d_with_indices(absent, 2); }, is<TypeError>,
       "F::max_pooling_1d_with_indices: x is not given: it is required"},
      {[] { F::max_pooling_3d_with_indices(image(), 2); }, is<TypeError>,
       "F::max_pooling_3d_with_indices: x has shape (2, 3, 4, 4): x.ndim must equal 5 (4 != 5)"},
      {[] { F::max_pooling_nd_with_indices(real({2}), 2); }, is<TypeError>,
       "F::max_pooling_nd_with_indices: x has shape (2,): x.ndim must equal 3 (1 != 3)"},
      {[] { F::max_pooling_2d(image(), INT64_MAX); }, is<ValueError>,
       "F::max_pooling_2d: ksize is (9223372036854775807, 9223372036854775807): it must be at most 2147483647 along "
       "each axis"},
      {[] { F::max_pooling_2d(image(), 2, {.pad = INT64_MAX}); }, is<ValueError>,
       "F::max_pooling_2d: pad is (9223372036854775807, 9223372036854775807): it must be at most 2147483647 along each "
       "axis"},
      {[] {
         F::max_pooling_2d(real({2, 3, 0, 0}), 2);
       },
       is<ValueError>,
       "F::max_pooling_2d: ksize is (2, 2) and pad is (0, 0) but x has shape (2, 3, 0, 0): no window fits into axis 2"},
      {[] { F::spatial_pyramid_pooling_2d(image(), 0); }, is<ValueError>,
       "F::spatial_pyramid_pooling_2d: pyramid_height is 0: it must be between 1 and 31"},
      {[] { F::spatial_pyramid_pooling_2d(image(), 2, "average"); }, is<ValueError>,
       "F::spatial_pyramid_pooling_2d: pooling is \"average\": it must be \"max\""},
      {[] {
         F::spatial_pyramid_pooling_2d(real({3, 4, 4}), 2);
       },
       is<TypeError>, "F::spatial_pyramid_pooling_2d: x has shape (3, 4, 4): x.ndim must equal 4 (3 != 4)"},
      {[] { F::spatial_pyramid_pooling_2d(absent, 2); }, is<TypeError>,
       "F::spatial_pyramid_pooling_2d: x is not given: it is required"},
      {[] { F::spatial_pyramid_pooling_2d(image(), -1); }, is<ValueError>,
       "F::spatial_pyramid_pooling_2d: pyramid_height is -1: it must be between 1 and 31"},
      {[] { F::spatial_pyramid_pooling_2d(image(), 70); }, is<ValueError>,
       "F::spatial_pyramid_pooling_2d: pyramid_height is 70: it must be between 1 and 31"},
      {[] {
         F::spatial_pyramid_pooling_2d(real({2, 3, 0, 4}), 2);
       },
       is<TypeError>, "F::spatial_pyramid_pooling_2d: x has shape (2, 3, 0, 4): its images must have pixels"},
      {[] {
         F::unpooling_2d(real({3, 4, 4}), 2);
       },
       is<TypeError>, "F::unpooling_2d: x has shape (3, 4, 4): x.ndim must equal 4 (3 != 4)"},
      {[] { F::unpooling_2d(image(), 0); }, is<ValueError>,
       "F::unpooling_2d: ksize is (0, 0): it must be at least 1 along each axis"},
      {[] { F::unpooling_2d(image(), 2, {.stride = 0}); }, is<ValueError>,
       "F::unpooling_2d: stride is (0, 0): it must be at least 1 along each axis"},
      {[] { F::unpooling_2d(image(), 2, {.pad = 9}); }, is<ValueError>,
       "F::unpooling_2d: x has shape (2, 3, 4, 4) and pad is (9, 9): nothing is left of axis 2 (-11 < 1)"},
      {[] {
         F::unpooling_2d(image(), 2, {.outsize = {99, 99}});
       },
       is<TypeError>, "F::unpooling_2d: x has shape (2, 3, 4, 4): x.shape[2] must equal 50 (4 != 50)"},
      {[] { F::unpooling_2d(absent, 2); }, is<TypeError>, "F::unpooling_2d: x is not given: it is required"},
      {[] { F::unpooling_1d(image(), 2); }, is<TypeError>,
       "F::unpooling_1d: x has shape (2, 3, 4, 4): x.ndim must equal 3 (4 != 3)"},
      {[] { F::unpooling_3d(image(), 2); }, is<TypeError>,
       "F::unpooling_3d: x has shape (2, 3, 4, 4): x.ndim must equal 5 (4 != 5)"},
      {[] { F::unpooling_nd(absent, 2); }, is<TypeError>, "F::unpooling_nd: x is not given: it is required"},
      {[] {
         F::unpooling_nd(real({2, 3}), 2);
       },
       is<TypeError>, "F::unpooling_nd: x has shape (2, 3): x.ndim must equal 3 (2 != 3)"},
      {[] {
         F::unpooling_2d(image(), 2, {.outsize = {-8, 8}});
       },
       is<TypeError>, "F::unpooling_2d: x has shape (2, 3, 4, 4): x.shape[2] must equal 0 (4 != 0)"},
      {[] {
         F::upsampling_2d(image(), ones({2, 3, 4}, Dtype::int32), 2);
       },
       is<TypeError>,
       "F::upsampling_2d: x has shape (2, 3, 4, 4) but indexes has shape (2, 3, 4): x.shape must equal indexes.shape"},
      {[] {
         F::upsampling_2d(image(), ones({2, 3, 4, 4}), 2);
       },
       is<TypeError>, "F::upsampling_2d: indexes has dtype float32: indexes.dtype must be an integer or bool"},
      {[] {
         F::upsampling_2d(absent, ones({2, 3, 4, 4}, Dtype::int32), 2);
       },
       is<TypeError>, "F::upsampling_2d: x is not given: it is required"},
      {[] { F::upsampling_2d(image(), Array(), 2); }, is<TypeError>,
       "F::upsampling_2d: indexes is not given: it is required"},
      {[] {
         F::upsampling_2d(real({3, 4, 4}), ones({3, 4, 4}, Dtype::int32), 2);
       },
       is<TypeError>, "F::upsampling_2d: x has shape (3, 4, 4): x.ndim must equal 4 (3 != 4)"},
      {[] {
         F::upsampling_2d(image(), ones({2, 3, 4, 4}, Dtype::int32), 0);
       },
       is<ValueError>, "F::upsampling_2d: ksize is (0, 0): it must be at least 1 along each axis"},
  });
}

}  // namespace
}  // namespace kusari::misuse
