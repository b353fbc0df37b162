#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of array, images") {
  check_misuses({
      {[] {
         F::depth2space(real({1, 3, 2, 2}), 2);
       },
       is<ValueError>, "F::depth2space: X has shape (1, 3, 2, 2) and r is 2: X.shape[1] must be a multiple of 4"},
      {[] {
         F::depth2space(real({1, 4, 2}), 2);
       },
       is<TypeError>, "F::depth2space: X has shape (1, 4, 2): X.ndim must equal 4 (3 != 4)"},
      {[] {
         F::depth2space(real({1, 4, 2, 2}), 0);
       },
       is<ValueError>, "F::depth2space: r is 0: it must be at least 1"},
      {[] {
         F::depth2space(real({1, 4, 2, 2}), -2);
       },
       is<ValueError>, "F::depth2space: r is -2: it must be at least 1"},
      {[] {
         F::depth2space(whole({1, 4, 2, 2}), 2);
       },
       is<TypeError>, "F::depth2space: X has dtype int32: X.dtype must be floating"},
      {[] { F::depth2space(absent, 2); }, is<TypeError>, "F::depth2space: X is not given: it is required"},
      {[] {
         F::space2depth(real({1, 3, 3, 2}), 2);
       },
       is<ValueError>, "F::space2depth: X has shape (1, 3, 3, 2) and r is 2: X.shape[2] must be a multiple of 2"},
      {[] {
         F::space2depth(real({1, 4, 2}), 2);
       },
       is<TypeError>, "F::space2depth: X has shape (1, 4, 2): X.ndim must equal 4 (3 != 4)"},
      {[] {
         F::space2depth(real({1, 4, 2, 2}), 0);
       },
       is<ValueError>, "F::space2depth: r is 0: it must be at least 1"},
      {[] { F::space2depth(absent, 2); }, is<TypeError>, "F::space2depth: X is not given: it is required"},
      {[] {
         F::im2col(real({1, 2, 3, 3}), 0);
       },
       is<ValueError>, "F::im2col: ksize is (0, 0): it must be at least 1"},
      {[] {
         F::im2col(real({1, 2, 3, 3}), 5);
       },
       is<ValueError>,
       "F::im2col: x has shape (1, 2, 3, 3) and pad is (0, 0): there is no place for a patch of ksize (5, 5) with "
       "dilate (1, 1)"},
      {[] {
         F::im2col(real({1, 2, 3, 3}), 2, {.stride = 0});
       },
       is<ValueError>, "F::im2col: stride is (0, 0): it must be at least 1"},
      {[] {
         F::im2col(real({1, 2, 3, 3}), 2, {.pad = -1});
       },
       is<ValueError>, "F::im2col: pad is (-1, -1): it must not be negative"},
      {[] {
         F::im2col(real({1, 2, 3, 3}), 2, {.dilate = 0});
       },
       is<ValueError>, "F::im2col: dilate is (0, 0): it must be at least 1"},
      {[] {
         F::im2col(real({1, 2, 3, 3}), {1, 2, 3});
       },
       is<ValueError>, "F::im2col: ksize is (1, 2, 3): it must be one number or one for each of the 2 spatial axes"},
      {[] { F::im2col(absent, 2); }, is<TypeError>, "F::im2col: x is not given: it is required"},
      {[] {
         F::im2col(whole({1, 2, 3, 3}), 2);
       },
       is<TypeError>, "F::im2col: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::col2im(real({1, 2, 2, 2, 2, 2}), 3, {.stride = 0});
       },
       is<ValueError>, "F::col2im: stride is (0, 0): it must be at least 1"},
      {[] {
         F::col2im(real({1, 2, 2, 2, 2, 2}), -3);
       },
       is<ValueError>, "F::col2im: size is (-3, -3): it must not be negative"},
      {[] { F::col2im(absent, 3); }, is<TypeError>, "F::col2im: col is not given: it is required"},
      {[] {
         F::resize_images(real({1, 2, 3}), {2, 2});
       },
       is<TypeError>, "F::resize_images: x has shape (1, 2, 3): x.ndim must equal 4 (3 != 4)"},
      {[] {
         F::resize_images(real({1, 2, 3, 3}), {2});
       },
       is<ValueError>, "F::resize_images: output_shape is (2,): it must be a positive height and a positive width"},
      {[] {
         F::resize_images(real({1, 2, 3, 3}), {0, 2});
       },
       is<ValueError>, "F::resize_images: output_shape is (0, 2): it must be a positive height and a positive width"},
      {[] {
         F::resize_images(real({1, 2, 3, 3}), {-1, 2});
       },
       is<ValueError>, "F::resize_images: output_shape is (-1, 2): it must be a positive height and a positive width"},
      {[] {
         F::resize_images(whole({1, 2, 3, 3}), {2, 2});
       },
       is<TypeError>, "F::resize_images: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::resize_images(absent, {2, 2});
       },
       is<TypeError>, "F::resize_images: x is not given: it is required"},
      {[] {
         F::resize_images(real({1, 2, 0, 3}), {2, 2});
       },
       is<TypeError>, "F::resize_images: x has shape (1, 2, 0, 3): x.shape[2] must be greater than 0 (0 <= 0)"},
      {[] {
         F::spatial_transformer_grid(real({1, 3, 3}), {2, 2});
       },
       is<TypeError>, "F::spatial_transformer_grid: theta has shape (1, 3, 3): theta.shape[1] must equal 2 (3 != 2)"},
      {[] {
         F::spatial_transformer_grid(real({1, 2, 3}), {2});
       },
       is<ValueError>,
       "F::spatial_transformer_grid: output_shape is (2,): it must be a positive height and a positive width"},
      {[] {
         F::spatial_transformer_grid(real({1, 2, 3}), {0, 2});
       },
       is<ValueError>,
       "F::spatial_transformer_grid: output_shape is (0, 2): it must be a positive height and a positive width"},
      {[] {
         F::spatial_transformer_grid(whole({1, 2, 3}), {2, 2});
       },
       is<TypeError>, "F::spatial_transformer_grid: theta has dtype int32: theta.dtype must be floating"},
      {[] {
         F::spatial_transformer_grid(absent, {2, 2});
       },
       is<TypeError>, "F::spatial_transformer_grid: theta is not given: it is required"},
      {[] {
         F::spatial_transformer_grid(real({1, 2, 3}), {-1, 2});
       },
       is<ValueError>,
       "F::spatial_transformer_grid: output_shape is (-1, 2): it must be a positive height and a positive width"},
      {[] {
         F::spatial_transformer_sampler(real({1, 2, 3, 3}), real({2, 2, 2, 2}));
       },
       is<TypeError>,
       "F::spatial_transformer_sampler: x has shape (1, 2, 3, 3) but grid has shape (2, 2, 2, 2): x.shape[0] must "
       "equal grid.shape[0] (1 != 2)"},
      {[] {
         F::spatial_transformer_sampler(real({1, 2, 3, 3}), real({1, 3, 2, 2}));
       },
       is<TypeError>,
       "F::spatial_transformer_sampler: grid has shape (1, 3, 2, 2): grid.shape[1] must equal 2 (3 != 2)"},
      {[] {
         F::spatial_transformer_sampler(real({1, 2, 3}), real({1, 2, 2, 2}));
       },
       is<TypeError>, "F::spatial_transformer_sampler: x has shape (1, 2, 3): x.ndim must equal 4 (3 != 4)"},
      {[] {
         F::spatial_transformer_sampler(real({1, 2, 3, 3}), wide({1, 2, 2, 2}));
       },
       is<TypeError>,
       "F::spatial_transformer_sampler: grid has dtype float64 but x has dtype float32: grid.dtype must equal x.dtype "
       "(float64 != float32)"},
      {[] {
         F::spatial_transformer_sampler(real({1, 2, 3, 3}), absent);
       },
       is<TypeError>, "F::spatial_transformer_sampler: grid is not given: it is required"},
      {[] {
         F::spatial_transformer_sampler(absent, real({1, 2, 2, 2}));
       },
       is<TypeError>, "F::spatial_transformer_sampler: x is not given: it is required"},
  });
}

}  // namespace
}  // namespace kusari::misuse
