#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of array, 1") {
  check_misuses({
      {[] {
         F::as_strided(real({4}), {2, 2}, {1});
       },
       is<ValueError>, "F::as_strided: shape is (2, 2) but strides is (1,): there must be a stride for each axis"},
      {[] {
         F::as_strided(real({4}), {3, 3}, {2, 1});
       },
       is<ValueError>,
       "F::as_strided: shape is (3, 3), strides (2, 1) and offset 0: all elements must lie in the storage of 4"},
      {[] { F::as_strided(real({4}), {2}, {-1}); }, is<ValueError>,
       "F::as_strided: shape is (2,), strides (-1,) and offset 0: all elements must lie in the storage of 4"},
      {[] { F::as_strided(real({4}), {2}, {1}, -1); }, is<ValueError>,
       "F::as_strided: shape is (2,), strides (1,) and offset -1: all elements must lie in the storage of 4"},
      {[] { F::as_strided(real({4}), {3}, {std::numeric_limits<int64_t>::max()}); }, is<ValueError>,
       "F::as_strided: shape is (3,), strides (9223372036854775807,) and offset 0: all elements must lie in the "
       "storage "
       "of 4"},
      {[] { F::as_strided(absent, {2}, {1}); }, is<TypeError>, "F::as_strided: x is not given: it is required"},
      {[] { F::as_strided(real({4}), {-2}, {1}); }, is<ValueError>,
       "F::as_strided: shape is (-2,): no size of it may be negative"},
      {[] { F::as_strided(real({4}), {2}, {1}, 9); }, is<ValueError>,
       "F::as_strided: shape is (2,), strides (1,) and offset 9: all elements must lie in the storage of 4"},
      {[] {
         F::broadcast_to(real({2, 3}), {3});
       },
       is<TypeError>, "F::broadcast_to: shape (2, 3) does not broadcast to (3,)"},
      {[] { F::broadcast_to(real({2}), {3}); }, is<TypeError>,
       "F::broadcast_to: shape (2,) does not broadcast to (3,)"},
      {[] { F::broadcast_to(real({2}), {-1}); }, is<ValueError>,
       "F::broadcast_to: shape is (-1,): no size of it may be negative"},
      {[] { F::broadcast_to(real({1}), {-1}); }, is<ValueError>,
       "F::broadcast_to: shape is (-1,): no size of it may be negative"},
      {[] { F::broadcast_to(absent, {2}); }, is<TypeError>, "F::broadcast_to: x is not given: it is required"},
      {[] { F::broadcast(real({2}), real({3})); }, is<TypeError>,
       "F::broadcast: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::broadcast(real({2}), absent); }, is<TypeError>, "F::broadcast: xs[1] is not given: it is required"},
      {[] { F::cast(absent, Dtype::float64); }, is<TypeError>, "F::cast: x is not given: it is required"},
      {[] {
         F::concat({real({2, 3}), real({3, 3})});
       },
       is<TypeError>,
       "F::concat: xs[i] has shape (3, 3) but xs[0] has shape (2, 3): xs[i].shape[0] must equal xs[0].shape[0] (3 != "
       "2)"},
      {[] {
         F::concat({real({2, 3}), real({2})});
       },
       is<TypeError>,
       "F::concat: xs[i] has shape (2,) but xs[0] has shape (2, 3): xs[i].ndim must equal xs[0].ndim (1 != 2)"},
      {[] { F::concat({real({2})}); }, is<IndexError>, "F::concat: axis 1 is out of range for 1 axes"},
      {[] {
         F::concat({real({2, 3}), real({2, 3})}, 2);
       },
       is<IndexError>, "F::concat: axis 2 is out of range for 2 axes"},
      {[] {
         F::concat({real({2, 3}), wide({2, 3})});
       },
       is<TypeError>,
       "F::concat: xs[i] has dtype float64 but xs[0] has dtype float32: xs[i].dtype must equal xs[0].dtype (float64 != "
       "float32)"},
      {[] { F::concat(kNothing); }, is<ValueError>, "F::concat: there must be at least one array"},
      {[] {
         F::concat({real({2, 3}), absent});
       },
       is<TypeError>, "F::concat: xs[i] is not given: it is required"},
      {[] {
         F::concat({real({}), real({})}, 0);
       },
       is<IndexError>, "F::concat: axis 0 is out of range for 0 axes"},
      {[] { F::copy(absent, Device()); }, is<TypeError>, "F::copy: x is not given: it is required"},
      {[] { F::copy(real({2}), get_device("tpu:0")); }, is<ValueError>,
       "get_device: 'tpu:0' is not a device; expected 'cpu' or 'cuda:N'"},
      {[] { F::copy(real({2}), get_device("cuda:x")); }, is<ValueError>,
       "get_device: 'cuda:x' is not a device; expected 'cpu' or 'cuda:N'"},
      {[] { F::copy(real({2}), get_device("cpu:1")); }, is<ValueError>,
       "get_device: 'cpu:1' is not a device; expected 'cpu' or 'cuda:N'"},
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
      {[] { F::expand_dims(real({2}), 2); }, is<IndexError>, "F::expand_dims: axis 2 is out of range for 2 axes"},
      {[] { F::expand_dims(real({2}), -3); }, is<IndexError>, "F::expand_dims: axis -3 is out of range for 2 axes"},
      {[] { F::expand_dims(absent, 0); }, is<TypeError>, "F::expand_dims: x is not given: it is required"},
      {[] {
         F::expand_dims(real({1, 1, 1, 1, 1, 1, 1, 1}), 0);
       },
       is<ValueError>, "F::expand_dims: x has shape (1, 1, 1, 1, 1, 1, 1, 1): an array has at most 8 axes"},
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
       "F::get_item: index 1 is out of range for 1 rows"},
      {[] {
         F::get_item(real({3, 3}), {ones({2}, Dtype::int64), ones({3}, Dtype::int64)});
       },
       is<TypeError>, "F::get_item: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::get_item(real({3}), ones({2}, Dtype::bool_)); }, is<IndexError>,
       "F::get_item: a bool index has shape (2,), which does not match axes 0 and up of shape (3,)"},
      {[] { F::get_item(absent, 0); }, is<TypeError>, "F::get_item: x is not given: it is required"},
      {[] { F::get_item(real({2}), Array()); }, is<TypeError>,
       "F::get_item: an index array is not given: it is required"},
      {[] {
         F::hstack({real({2, 3}), real({3, 3})});
       },
       is<TypeError>,
       "F::hstack: xs[1] has shape (3, 3) and dtype float32 but xs[0] has shape (2, 3) and dtype float32: they must be "
       "equal but for the size of axis 1"},
      {[] { F::hstack(kNothing); }, is<ValueError>, "F::hstack: there must be at least one array"},
      {[] {
         F::hstack({real({2}), absent});
       },
       is<TypeError>, "F::hstack: xs[1] is not given: it is required"},
      {[] {
         F::hstack({real({2}), real({2, 2})});
       },
       is<TypeError>,
       "F::hstack: xs[1] has shape (2, 2) and dtype float32 but xs[0] has shape (2,) and dtype float32: they must be "
       "equal but for the size of axis 0"},
      {[] {
         F::vstack({real({2}), real({3})});
       },
       is<TypeError>,
       "F::vstack: xs[1] has shape (1, 3) and dtype float32 but xs[0] has shape (1, 2) and dtype float32: they must be "
       "equal but for the size of axis 0"},
      {[] { F::vstack(kNothing); }, is<ValueError>, "F::vstack: there must be at least one array"},
      {[] {
         F::vstack({real({2}), wide({2})});
       },
       is<TypeError>,
       "F::vstack: xs[1] has shape (1, 2) and dtype float64 but xs[0] has shape (1, 2) and dtype float32: they must be "
       "equal but for the size of axis 0"},
  });
}

}  // namespace
}  // namespace kusari::misuse
