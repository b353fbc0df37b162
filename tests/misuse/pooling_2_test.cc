#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of pooling, 2") {
  check_misuses({
      {[] { F::roi_max_align_2d(image(), regions(), image_indices(), 0, 1); }, is<ValueError>,
       "F::roi_max_align_2d: outsize is (0, 0): it must be at least 1"},
      {[] { F::roi_max_align_2d(image(), regions(), image_indices(), 2, 1, -1); }, is<ValueError>,
       "F::roi_max_align_2d: sampling_ratio is (-1, -1): it must be at least 1, or 0 for one per pixel"},
      {[] {
         F::roi_max_align_2d(image(), real({1, 5}), image_indices(), 2, 1);
       },
       is<TypeError>, "F::roi_max_align_2d: rois has shape (1, 5): rois.shape[1] must equal 4 (5 != 4)"},
      {[] { F::roi_max_align_2d(absent, regions(), image_indices(), 2, 1); }, is<TypeError>,
       "F::roi_max_align_2d: x is not given: it is required"},
      {[] {
         F::roi_max_align_2d(image(), Variable(full({1, 4}, kNaN, Dtype::float32)), image_indices(), 2, 1);
       },
       is<ValueError>, "F::roi_max_align_2d: rois[0] has a corner that is not finite"},
      {[] { F::roi_average_align_2d(image(), regions(), image_indices(), 2, -1); }, is<ValueError>,
       "F::roi_average_align_2d: spatial_scale is -1: it must be positive"},
      {[] {
         F::roi_average_align_2d(image(), regions(), image_indices(), 2, 1, {1, 2, 3});
       },
       is<ValueError>,
       "F::roi_average_align_2d: sampling_ratio is (1, 2, 3): it must be one number or one for each of the 2 spatial "
       "axes"},
      {[] { F::roi_average_align_2d(image(), regions(), absent, 2, 1); }, is<TypeError>,
       "F::roi_average_align_2d: roi_indices is not given: it is required"},
      {[] { F::roi_average_align_2d(image(), regions(), Variable(full({1}, 2, Dtype::int32), false), 2, 1); },
       is<IndexError>, "F::roi_average_align_2d: roi_indices[0] is 2 but x has 2 images"},
      {[] { F::roi_average_pooling_2d(image(), real({4}), image_indices(), 2, 1); }, is<TypeError>,
       "F::roi_average_pooling_2d: rois has shape (4,): rois.ndim must equal 2 (1 != 2)"},
      {[] { F::roi_average_pooling_2d(image(), absent, image_indices(), 2, 1); }, is<TypeError>,
       "F::roi_average_pooling_2d: rois is not given: it is required"},
      {[] { F::roi_average_pooling_2d(image(), regions(), image_indices(), -2, 1); }, is<ValueError>,
       "F::roi_average_pooling_2d: outsize is (-2, -2): it must be at least 1"},
      {[] {
         F::roi_max_pooling_2d(image(), wide({1, 4}), image_indices(), 2, 1);
       },
       is<TypeError>,
       "F::roi_max_pooling_2d: x has dtype float32 but rois has dtype float64: x.dtype must equal rois.dtype (float32 "
       "!= float64)"},
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
