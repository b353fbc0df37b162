#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of array, shapes, dtypes and devices") {
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
       "F::as_strided: shape is (-2,): no size of it may be negative (axis 0 has -2)"},
      {[] { F::as_strided(real({4}), {2}, {1}, 9); }, is<ValueError>,
       "F::as_strided: shape is (2,), strides (1,) and offset 9: all elements must lie in the storage of 4"},
      {[] {
         F::broadcast_to(real({2, 3}), {3});
       },
       is<TypeError>, "F::broadcast_to: shape (2, 3) does not broadcast to (3,)"},
      {[] { F::broadcast_to(real({2}), {3}); }, is<TypeError>,
       "F::broadcast_to: shape (2,) does not broadcast to (3,)"},
      {[] { F::broadcast_to(real({2}), {-1}); }, is<ValueError>,
       "F::broadcast_to: shape is (-1,): no size of it may be negative (axis 0 has -1)"},
      {[] { F::broadcast_to(real({1}), {-1}); }, is<ValueError>,
       "F::broadcast_to: shape is (-1,): no size of it may be negative (axis 0 has -1)"},
      {[] { F::broadcast_to(absent, {2}); }, is<TypeError>, "F::broadcast_to: x is not given: it is required"},
      {[] { F::broadcast(real({2}), real({3})); }, is<TypeError>,
       "F::broadcast: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::broadcast(real({2}), absent); }, is<TypeError>, "F::broadcast: xs[1] is not given: it is required"},
      {[] { F::cast(absent, Dtype::float64); }, is<TypeError>, "F::cast: x is not given: it is required"},
      {[] { F::copy(absent, Device()); }, is<TypeError>, "F::copy: x is not given: it is required"},
      {[] { F::copy(real({2}), get_device("tpu:0")); }, is<ValueError>,
       "get_device: 'tpu:0' is not a device; expected 'cpu' or 'cuda:N'"},
      {[] { F::copy(real({2}), get_device("cuda:x")); }, is<ValueError>,
       "get_device: 'cuda:x' is not a device; expected 'cpu' or 'cuda:N'"},
      {[] { F::copy(real({2}), get_device("cpu:1")); }, is<ValueError>,
       "get_device: 'cpu:1' is not a device; expected 'cpu' or 'cuda:N'"},
      {[] { F::expand_dims(real({2}), 2); }, is<IndexError>, "F::expand_dims: axis 2 is out of range for 2 axes"},
      {[] { F::expand_dims(real({2}), -3); }, is<IndexError>, "F::expand_dims: axis -3 is out of range for 2 axes"},
      {[] { F::expand_dims(absent, 0); }, is<TypeError>, "F::expand_dims: x is not given: it is required"},
      {[] {
         F::expand_dims(real({1, 1, 1, 1, 1, 1, 1, 1}), 0);
       },
       is<ValueError>, "F::expand_dims: x has shape (1, 1, 1, 1, 1, 1, 1, 1): an array has at most 8 axes"},
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
  });
}

}  // namespace
}  // namespace kusari::misuse
