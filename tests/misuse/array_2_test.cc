#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of array, 2") {
  check_misuses({
      {[] {
         F::dstack({real({2}), real({3})});
       },
       is<TypeError>,
       "F::dstack: xs[1] has shape (1, 3, 1) and dtype float32 but xs[0] has shape (1, 2, 1) and dtype float32: they "
       "must be equal but for the size of axis 2"},
      {[] { F::dstack(kNothing); }, is<ValueError>, "F::dstack: there must be at least one array"},
      {[] { F::dstack({absent}); }, is<TypeError>, "F::dstack: xs[0] is not given: it is required"},
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
         F::pad(real({2, 3}), -1);
       },
       is<ValueError>, "F::pad: pad_width is (-1, -1) for axis 0: it must not be negative"},
      {[] {
         F::pad(real({2, 3}), {{1, 1}, {1, 1}, {1, 1}});
       },
       is<ValueError>, "F::pad: pad_width has 3 pairs but x has 2 axes: there must be one pair or one per axis"},
      {[] {
         F::pad(real({0, 3}), 1, F::PadMode::edge);
       },
       is<ValueError>, "F::pad: x has shape (0, 3): axis 0 has no elements to repeat"},
      {[] {
         F::pad(real({0, 3}), 1, F::PadMode::wrap);
       },
       is<ValueError>, "F::pad: x has shape (0, 3): axis 0 has no elements to repeat"},
      {[] { F::pad(absent, 1); }, is<TypeError>, "F::pad: x is not given: it is required"},
      {[] {
         F::pad_sequence({real({2}), real({3, 1})});
       },
       is<TypeError>,
       "F::pad_sequence: xs[i] has shape (3, 1) but xs[0] has shape (2,): xs[i].ndim must equal xs[0].ndim (2 != 1)"},
      {[] {
         F::pad_sequence({real({2, 3}), real({2, 4})});
       },
       is<TypeError>,
       "F::pad_sequence: xs[i] has shape (2, 4) but xs[0] has shape (2, 3): xs[i].shape[1] must equal xs[0].shape[1] "
       "(4 != 3)"},
      {[] { F::pad_sequence({real({4})}, {.length = 3}); }, is<TypeError>,
       "F::pad_sequence: xs[i] has shape (4,): xs[i].shape[0] must be at most 3 (4 > 3)"},
      {[] { F::pad_sequence(kNothing); }, is<ValueError>, "F::pad_sequence: there must be at least one array"},
      {[] {
         F::pad_sequence({real({2}), wide({2})});
       },
       is<TypeError>,
       "F::pad_sequence: xs[i] has dtype float64 but xs[0] has dtype float32: xs[i].dtype must equal xs[0].dtype "
       "(float64 != float32)"},
      {[] { F::pad_sequence({real({})}); }, is<TypeError>,
       "F::pad_sequence: xs[i] has shape (): xs[i].ndim must be at least 1 (0 < 1)"},
      {[] { F::pad_sequence({absent}); }, is<TypeError>, "F::pad_sequence: xs[0] is not given: it is required"},
      {[] { F::pad_sequence({real({4})}, {.length = -3}); }, is<TypeError>,
       "F::pad_sequence: xs[i] has shape (4,): xs[i].shape[0] must be at most -3 (4 > -3)"},
      {[] { F::permutate(real({3}), ones({3}, Dtype::int32)); }, is<ValueError>,
       "F::permutate: indices holds 1 twice but must be a permutation of 0 to 2"},
      {[] { F::permutate(real({3}), ones({2}, Dtype::int32)); }, is<TypeError>,
       "F::permutate: indices has dtype int32 and shape (2,) but must hold 3 integers, one for each element of axis 0"},
      {[] { F::permutate(real({3}), ones({3})); }, is<TypeError>,
       "F::permutate: indices has dtype float32 and shape (3,) but must hold 3 integers, one for each element of axis "
       "0"},
      {[] { F::permutate(real({3}), ones({3}, Dtype::int32), 1); }, is<IndexError>,
       "F::permutate: axis 1 is out of range for 1 axes"},
      {[] {
         F::permutate(real({3}), ones({3, 1}, Dtype::int32));
       },
       is<TypeError>,
       "F::permutate: indices has dtype int32 and shape (3, 1) but must hold 3 integers, one for each element of axis "
       "0"},
      {[] { F::permutate(absent, ones({3}, Dtype::int32)); }, is<TypeError>,
       "F::permutate: x is not given: it is required"},
      {[] { F::permutate(real({3}), Array()); }, is<TypeError>,
       "F::permutate: indices is not given but must hold 3 integers, one for each element of axis 0"},
      {[] { F::permutate(real({1}), ones({1}, Dtype::int32)); }, is<ValueError>,
       "F::permutate: indices holds 1 but must be a permutation of 0 to 0"},
      {[] { F::repeat(real({2}), -1); }, is<ValueError>, "F::repeat: repeats is -1: it must not be negative"},
      {[] { F::repeat(real({2}), 2, 1); }, is<IndexError>, "F::repeat: axis 1 is out of range for 1 axes"},
      {[] {
         F::repeat(real({2}), {1, 2, 3}, 0);
       },
       is<ValueError>, "F::repeat: there are 3 repeats but x has shape (2,): there must be one, or x.shape[0]"},
      {[] {
         F::repeat(real({2}), {1, -2}, 0);
       },
       is<ValueError>, "F::repeat: repeats is -2: it must not be negative"},
      {[] { F::repeat(absent, 2); }, is<TypeError>, "F::repeat: x is not given: it is required"},
      {[] {
         F::repeat(real({2}), {1, 2, 3});
       },
       is<ValueError>, "F::repeat: there are 3 repeats but x has shape (2,): there must be one, or x.shape[0]"},
      {[] {
         F::reshape(real({2, 3}), {4});
       },
       is<TypeError>, "F::reshape: the array has shape (2, 3) but shape is (4,): it must hold as many elements (6)"},
      {[] {
         F::reshape(real({2, 3}), {-1, 4});
       },
       is<TypeError>, "F::reshape: the array has shape (2, 3) but shape is (-1, 4): it must hold as many elements (6)"},
      {[] {
         F::reshape(real({2, 3}), {-1, -1});
       },
       is<TypeError>, "F::reshape: shape is (-1, -1): one size may be -1, and no other may be negative"},
      {[] {
         F::reshape(real({2, 3}), {-2, 3});
       },
       is<TypeError>, "F::reshape: shape is (-2, 3): one size may be -1, and no other may be negative"},
      {[] { F::reshape(absent, {2}); }, is<TypeError>, "F::reshape: x is not given: it is required"},
      {[] { F::flatten(absent); }, is<TypeError>, "F::flatten: x is not given: it is required"},
      {[] {
         F::reshape(real({0, 3}), {-1, 0});
       },
       is<TypeError>, "F::reshape: shape is (-1, 0): beside a size of 0 none may be -1"},
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
      {[] { F::scatter_add(real({3}), {ones({2}, Dtype::int64)}, real({3})); }, is<TypeError>,
       "F::scatter_add: shapes (3,) and (2,) do not broadcast: axis 0 has sizes 3 and 2"},
      {[] { F::scatter_add(real({3}), {5}, real({})); }, is<IndexError>,
       "F::scatter_add: index 5 is out of range for axis 0 of shape (3,)"},
      {[] { F::scatter_add(real({3}), {0}, wide({})); }, is<TypeError>,
       "F::scatter_add: a has dtype float32 but b has dtype float64: a.dtype must equal b.dtype"},
      {[] { F::scatter_add(absent, {0}, real({})); }, is<TypeError>, "F::scatter_add: a is not given: it is required"},
      {[] { F::scatter_add(real({3}), {0}, absent); }, is<TypeError>, "F::scatter_add: b is not given: it is required"},
      {[] {
         F::scatter_add(real({3, 3}), {0, 0, 0}, real({}));
       },
       is<IndexError>, "F::scatter_add: x has shape (3, 3) but there are indices for 3 axes"},
      {[] { F::scatter_add(real({3}), {ones({2})}, real({2})); }, is<TypeError>,
       "F::scatter_add: an index array has dtype float32 but must hold integers or bools"},
      {[] {
         F::select_item(real({2, 3}), whole({3}));
       },
       is<TypeError>,
       "F::select_item: x has shape (2, 3) and t has shape (3,) and dtype int32: x must be (N, C) and t (N) integers"},
      {[] {
         F::select_item(real({2, 3}), real({2}));
       },
       is<TypeError>,
       "F::select_item: x has shape (2, 3) and t has shape (2,) and dtype float32: x must be (N, C) and t (N) "
       "integers"},
      {[] {
         F::select_item(real({2, 1}), whole({2}));
       },
       is<IndexError>, "F::get_item: index 1 is out of range for 1 rows"},
      {[] { F::select_item(real({2}), whole({2})); }, is<TypeError>,
       "F::select_item: x has shape (2,) and t has shape (2,) and dtype int32: x must be (N, C) and t (N) integers"},
      {[] { F::select_item(absent, whole({2})); }, is<TypeError>, "F::select_item: x is not given: it is required"},
      {[] {
         F::select_item(real({2, 3}), absent);
       },
       is<TypeError>, "F::select_item: t is not given: it is required"},
      {[] { F::separate(real({2}), 1); }, is<IndexError>, "F::separate: axis 1 is out of range for 1 axes"},
      {[] { F::separate(real({})); }, is<IndexError>, "F::separate: axis 0 is out of range for 0 axes"},
      {[] { F::separate(absent); }, is<TypeError>, "F::separate: x is not given: it is required"},
      {[] { F::separate(real({2}), -2); }, is<IndexError>, "F::separate: axis -2 is out of range for 1 axes"},
  });
}

}  // namespace
}  // namespace kusari::misuse
