#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of pooling, 1") {
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
      {[] {
         F::roi_pooling_2d(image(), real({1, 5}), {});
       },
       is<ValueError>, "F::roi_pooling_2d: outsize is (0, 0): it must be at least 1"},
      {[] {
         F::roi_pooling_2d(image(), real({1, 4}), {.outh = 2, .outw = 2});
       },
       is<TypeError>, "F::roi_pooling_2d: rois has shape (1, 4): rois.shape[1] must equal 5 (4 != 5)"},
      {[] {
         F::roi_pooling_2d(image(), real({1, 5}), {.outh = 2, .outw = 2, .spatial_scale = 0});
       },
       is<ValueError>, "F::roi_pooling_2d: spatial_scale is 0: it must be positive"},
      {[] {
         F::roi_pooling_2d(absent, real({1, 5}), {.outh = 2, .outw = 2});
       },
       is<TypeError>, "F::roi_pooling_2d: x is not given: it is required"},
      {[] { F::roi_pooling_2d(image(), absent, {.outh = 2, .outw = 2}); }, is<TypeError>,
       "F::roi_pooling_2d: rois is not given: it is required"},
      {[] {
         F::roi_pooling_2d(image(), Variable(full({1, 5}, 9, Dtype::float32)), {.outh = 2, .outw = 2});
       },
       is<IndexError>, "F::roi_pooling_2d: roi_indices[0] is 9 but x has 2 images"},
      {[] { F::roi_max_pooling_2d(image(), regions(), image_indices(), 0, 1); }, is<ValueError>,
       "F::roi_max_pooling_2d: outsize is (0, 0): it must be at least 1"},
      {[] { F::roi_max_pooling_2d(image(), regions(), image_indices(), 2, 0); }, is<ValueError>,
       "F::roi_max_pooling_2d: spatial_scale is 0: it must be positive"},
      {[] { F::roi_max_pooling_2d(image(), regions(), image_indices(), 2, kNaN); }, is<ValueError>,
       "F::roi_max_pooling_2d: spatial_scale is nan: it must be positive"},
      {[] {
         F::roi_max_pooling_2d(image(), real({1, 5}), image_indices(), 2, 1);
       },
       is<TypeError>, "F::roi_max_pooling_2d: rois has shape (1, 5): rois.shape[1] must equal 4 (5 != 4)"},
      {[] { F::roi_max_pooling_2d(image(), regions(), whole({2}), 2, 1); }, is<TypeError>,
       "F::roi_max_pooling_2d: rois has shape (1, 4) but roi_indices has shape (2,): rois.shape[0] must equal "
       "roi_indices.shape[0] (1 != 2)"},
      {[] { F::roi_max_pooling_2d(image(), regions(), real({1}), 2, 1); }, is<TypeError>,
       "F::roi_max_pooling_2d: roi_indices has dtype float32: roi_indices.dtype must be an integer or bool"},
      {[] {
         F::roi_max_pooling_2d(real({3, 4, 4}), regions(), image_indices(), 2, 1);
       },
       is<TypeError>, "F::roi_max_pooling_2d: x has shape (3, 4, 4): x.ndim must equal 4 (3 != 4)"},
      {[] { F::roi_max_pooling_2d(image(), regions(), Variable(full({1}, 2, Dtype::int32), false), 2, 1); },
       is<IndexError>, "F::roi_max_pooling_2d: roi_indices[0] is 2 but x has 2 images"},
      {[] { F::roi_max_pooling_2d(absent, regions(), image_indices(), 2, 1); }, is<TypeError>,
       "F::roi_max_pooling_2d: x is not given: it is required"},
      {[] { F::roi_max_pooling_2d(image(), absent, image_indices(), 2, 1); }, is<TypeError>,
       "F::roi_max_pooling_2d: rois is not given: it is required"},
      {[] { F::roi_max_pooling_2d(image(), regions(), absent, 2, 1); }, is<TypeError>,
       "F::roi_max_pooling_2d: roi_indices is not given: it is required"},
      {[] {
         F::roi_max_pooling_2d(image(), regions(), image_indices(), {1, 2, 3}, 1);
       },
       is<ValueError>,
       "F::roi_max_pooling_2d: outsize is (1, 2, 3): it must be one number or one for each of the 2 spatial axes"},
      {[] {
         F::roi_max_pooling_2d(image(), Variable(full({1, 4}, kNaN, Dtype::float32)), image_indices(), 2, 1);
       },
       is<ValueError>, "F::roi_max_pooling_2d: rois[0] has a corner that is not finite"},
  });
}

}  // namespace
}  // namespace kusari::misuse
