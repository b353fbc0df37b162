#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of array, indexing") {
  check_misuses({
      {[] { F::diagonal(real({3})); }, is<TypeError>,
       "F::diagonal: x has shape (3,): x.ndim must be at least 2 (1 < 2)"},
      {[] {
         F::diagonal(real({3, 3}), {.axis1 = 0, .axis2 = 0});
       },
       is<ValueError>, "F::diagonal: axis1 0 and axis2 0 of shape (3, 3) are one axis"},
      {[] {
         F::diagonal(real({3, 3}), {.axis2 = 2});
       },
       is<IndexError>, "F::diagonal: axis 2 is out of range for 2 axes"},
      {[] {
         F::diagonal(real({3, 3}), {.axis1 = -3});
       },
       is<IndexError>, "F::diagonal: axis -3 is out of range for 2 axes"},
      {[] { F::diagonal(absent); }, is<TypeError>, "F::diagonal: x is not given: it is required"},
      {[] { F::flip(real({2}), 1); }, is<IndexError>, "F::flip: axis 1 is out of range for 1 axes"},
      {[] { F::flip(absent, 0); }, is<TypeError>, "F::flip: x is not given: it is required"},
      {[] { F::fliplr(real({2})); }, is<IndexError>, "F::flip: axis 1 is out of range for 1 axes"},
      {[] { F::flipud(real({})); }, is<IndexError>, "F::flip: axis 0 is out of range for 0 axes"},
      {[] {
         F::get_item(real({2, 3}), 2);
       },
       is<IndexError>, "F::get_item: index 2 is out of range for axis 0 of shape (2, 3)"},
      {[] {
         F::get_item(real({2, 3}), -3);
       },
       is<IndexError>, "F::get_item: index -3 is out of range for axis 0 of shape (2, 3)"},
      {[] {
         F::get_item(real({2, 3}), {0, 3});
       },
       is<IndexError>, "F::get_item: index 3 is out of range for axis 1 of shape (2, 3)"},
      {[] {
         F::get_item(real({2, 3}), {0, 0, 0});
       },
       is<IndexError>, "F::get_item: x has shape (2, 3) but there are indices for 3 axes"},
      {[] {
         F::get_item(real({2, 3}), {kEllipsis, kEllipsis});
       },
       is<IndexError>, "F::get_item: an index can have only one ellipsis"},
      {[] {
         F::get_item(real({2, 3}), Slice{.step = 0});
       },
       is<ValueError>, "F::get_item: the step of a slice must not be 0"},
      {[] { F::get_item(real({2}), ones({2})); }, is<TypeError>,
       "F::get_item: an index array has dtype float32 but must hold integers or bools"},
      {[] { F::get_item(real({1}), ones({2}, Dtype::int64)); }, is<IndexError>,
       "F::get_item: index 1 is out of range for an axis of size 1"},
      {[] {
         F::get_item(real({3, 3}), {ones({2}, Dtype::int64), ones({3}, Dtype::int64)});
       },
       is<TypeError>, "F::get_item: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::get_item(real({3}), ones({2}, Dtype::bool_)); }, is<IndexError>,
       "F::get_item: a bool index has shape (2,), which does not match axes 0 and up of shape (3,)"},
      {[] { F::get_item(absent, 0); }, is<TypeError>, "F::get_item: x is not given: it is required"},
      {[] { F::get_item(real({2}), Array()); }, is<TypeError>,
       "F::get_item: an index array is not given: it is required"},
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
       is<IndexError>, "F::select_item: index 1 is out of range for an axis of size 1"},
      {[] { F::select_item(real({2}), whole({2})); }, is<TypeError>,
       "F::select_item: x has shape (2,) and t has shape (2,) and dtype int32: x must be (N, C) and t (N) integers"},
      {[] { F::select_item(absent, whole({2})); }, is<TypeError>, "F::select_item: x is not given: it is required"},
      {[] {
         F::select_item(real({2, 3}), absent);
       },
       is<TypeError>, "F::select_item: t is not given: it is required"},
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
      {[] {
         F::crf1d(real({3, 3}), {real({2, 3})}, {Variable(full({2}, 5, Dtype::int32), false)});
       },
       is<IndexError>, "F::get_item: index 5 is out of range for an axis of size 3"},
  });
}

}  // namespace
}  // namespace kusari::misuse
