#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of array, 3") {
  check_misuses({
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
      {[] { F::split_axis(real({5}), 2, 0); }, is<ValueError>,
       "F::split_axis: x has shape (5,): x.shape[0] must be a multiple of the number of sections (2)"},
      {[] { F::split_axis(real({4}), 0, 0); }, is<ValueError>,
       "F::split_axis: x has shape (4,): x.shape[0] must be a multiple of the number of sections (0)"},
      {[] { F::split_axis(real({4}), -2, 0); }, is<ValueError>,
       "F::split_axis: x has shape (4,): x.shape[0] must be a multiple of the number of sections (-2)"},
      {[] { F::split_axis(real({4}), 2, 1); }, is<IndexError>, "F::split_axis: axis 1 is out of range for 1 axes"},
      {[] {
         F::split_axis(real({4}), {3, 1}, 0);
       },
       is<ValueError>, "F::split_axis: index 1 must be at least 3, the index before it"},
      {[] { F::split_axis(real({4}), {-1}, 0); }, is<ValueError>,
       "F::split_axis: index -1 must be at least 0, the index before it"},
      {[] { F::split_axis(absent, 2, 0); }, is<TypeError>, "F::split_axis: x is not given: it is required"},
      {[] {
         F::squeeze(real({2, 1}), 0);
       },
       is<TypeError>, "F::squeeze: x has shape (2, 1): x.shape[0] must equal 1 (2 != 1)"},
      {[] {
         F::squeeze(real({2, 1}), 2);
       },
       is<IndexError>, "F::squeeze: axis 2 is out of range for 2 axes"},
      {[] {
         F::squeeze(real({1, 1}), {0, 0});
       },
       is<ValueError>, "F::squeeze: axis 0 comes twice"},
      {[] { F::squeeze(absent); }, is<TypeError>, "F::squeeze: x is not given: it is required"},
      {[] { F::squeeze(absent, 0); }, is<TypeError>, "F::squeeze: x is not given: it is required"},
      {[] {
         F::stack({real({2}), real({3})});
       },
       is<TypeError>, "F::stack: xs[i] has shape (3,) but xs[0] has shape (2,): xs[i].shape must equal xs[0].shape"},
      {[] {
         F::stack({real({2}), real({2})}, 2);
       },
       is<IndexError>, "F::stack: axis 2 is out of range for 2 axes"},
      {[] { F::stack(kNothing); }, is<ValueError>, "F::stack: there must be at least one array"},
      {[] {
         F::stack({real({2}), absent});
       },
       is<TypeError>, "F::stack: xs[i] is not given: it is required"},
      {[] {
         F::stack({real({2}), wide({2})});
       },
       is<TypeError>,
       "F::stack: xs[i] has dtype float64 but xs[0] has dtype float32: xs[i].dtype must equal xs[0].dtype (float64 != "
       "float32)"},
      {[] {
         F::stack({real({2}), real({2, 1})});
       },
       is<TypeError>, "F::stack: xs[i] has shape (2, 1) but xs[0] has shape (2,): xs[i].shape must equal xs[0].shape"},
      {[] { F::tile(real({2}), -1); }, is<ValueError>, "F::tile: reps holds -1: it must not be negative"},
      {[] {
         F::tile(real({2}), {2, -1});
       },
       is<ValueError>, "F::tile: reps holds -1: it must not be negative"},
      {[] { F::tile(absent, 2); }, is<TypeError>, "F::tile: x is not given: it is required"},
      {[] {
         F::tile(real({2}), {1, 1, 1, 1, 1, 1, 1, 1, 1});
       },
       is<ValueError>, "Shape: there are too many sizes: an array has at most 8 axes"},
      {[] {
         F::transpose(real({2, 3}), {0});
       },
       is<ValueError>, "F::transpose: axes (0,) are not a permutation of the 2 axes of x"},
      {[] {
         F::transpose(real({2, 3}), {0, 0});
       },
       is<ValueError>, "F::transpose: axes (0, 0) are not a permutation of the 2 axes of x"},
      {[] {
         F::transpose(real({2, 3}), {0, 2});
       },
       is<IndexError>, "F::transpose: axis 2 is out of range for 2 axes"},
      {[] { F::transpose(absent); }, is<TypeError>, "F::transpose: x is not given: it is required"},
      {[] { F::transpose(absent, {0}); }, is<TypeError>, "F::transpose: x is not given: it is required"},
      {[] {
         F::swapaxes(real({2, 3}), 0, 2);
       },
       is<IndexError>, "F::swapaxes: axis 2 is out of range for 2 axes"},
      {[] { F::swapaxes(absent, 0, 0); }, is<TypeError>, "F::swapaxes: x is not given: it is required"},
      {[] {
         F::moveaxis(real({2, 3}), 2, 0);
       },
       is<IndexError>, "F::moveaxis: axis 2 is out of range for 2 axes"},
      {[] { F::moveaxis(absent, 2, 0); }, is<TypeError>, "F::moveaxis: x is not given: it is required"},
      {[] {
         F::moveaxis(real({2, 3}), std::vector<int64_t>{0, 0}, std::vector<int64_t>{0, 1});
       },
       is<ValueError>, "F::moveaxis: an axis is named twice in source (0, 0) or destination (0, 1)"},
      {[] {
         F::moveaxis(real({2, 3}), std::vector<int64_t>{0, 1}, std::vector<int64_t>{0});
       },
       is<ValueError>, "F::moveaxis: 2 source axes but 1 destination axes"},
      {[] {
         F::rollaxis(real({2, 3}), 2);
       },
       is<IndexError>, "F::rollaxis: axis 2 is out of range for 2 axes"},
      {[] {
         F::rollaxis(real({2, 3}), 0, 3);
       },
       is<IndexError>, "F::rollaxis: axis 3 is out of range for 3 axes"},
      {[] { F::rollaxis(absent, 0); }, is<TypeError>, "F::rollaxis: x is not given: it is required"},
      {[] {
         F::transpose_sequence({real({2}), real({3})});
       },
       is<ValueError>, "F::transpose_sequence: xs[1] has 3 elements but xs[0] has 2: the longest must come first"},
      {[] { F::transpose_sequence({real({})}); }, is<TypeError>,
       "F::transpose_sequence: xs[i] has shape (): xs[i].ndim must be at least 1 (0 < 1)"},
      {[] {
         F::transpose_sequence({real({2, 3}), real({1, 4})});
       },
       is<TypeError>,
       "F::transpose_sequence: xs[i] has shape (1, 4) but xs[0] has shape (2, 3): xs[i].shape[1] must equal "
       "xs[0].shape[1] (4 != 3)"},
      {[] {
         F::transpose_sequence({real({2}), wide({1})});
       },
       is<TypeError>,
       "F::transpose_sequence: xs[i] has dtype float64 but xs[0] has dtype float32: xs[i].dtype must equal xs[0].dtype "
       "(float64 != float32)"},
      {[] {
         F::transpose_sequence({real({2}), absent});
       },
       is<TypeError>, "F::transpose_sequence: xs[i] is not given: it is required"},
      {[] { F::where(real({2}), real({2}), real({2})); }, is<TypeError>,
       "F::where: condition has dtype float32: condition.dtype must equal bool (float32 != bool)"},
      {[] { F::where(Variable(ones({2}, Dtype::bool_), false), real({2}), wide({2})); }, is<TypeError>,
       "F::where: x has dtype float32 but y has dtype float64: x.dtype must equal y.dtype (float32 != float64)"},
      {[] { F::where(Variable(ones({2}, Dtype::bool_), false), real({3}), real({3})); }, is<TypeError>,
       "F::where: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::where(absent, real({2}), real({2})); }, is<TypeError>,
       "F::where: condition is not given: it is required"},
      {[] { F::where(Variable(ones({2}, Dtype::bool_), false), absent, real({2})); }, is<TypeError>,
       "F::where: x is not given: it is required"},
      {[] { F::prod(real({2}), 1); }, is<IndexError>, "F::prod: axis 1 is out of range for 1 axes"},
      {[] { F::prod(absent); }, is<TypeError>, "F::prod: x is not given: it is required"},
      {[] {
         F::prod(real({2, 2}), {0, -2});
       },
       is<ValueError>, "F::prod: axis -2 comes twice"},
      {[] { F::prod(whole({2})); }, is<TypeError>, "F::prod: x has dtype int32: x.dtype must be floating"},
      {[] { F::floor(whole({2})); }, is<TypeError>, "F::floor: x has dtype int32: x.dtype must be floating"},
      {[] { F::floor(absent); }, is<TypeError>, "F::floor: x is not given: it is required"},
  });
}

}  // namespace
}  // namespace kusari::misuse
