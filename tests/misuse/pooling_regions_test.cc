#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of pooling, regions") {
  check_misuses({
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
  });
}

}  // namespace
}  // namespace kusari::misuse
