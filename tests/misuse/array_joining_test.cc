#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of array, joining, splitting and padding") {
  check_misuses({
      {[] {
         F::concat({real({2, 3}), real({3, 3})});
       },
       is<TypeError>,
       "F::concat: xs[1] has shape (3, 3) but xs[0] has shape (2, 3): xs[1].shape[0] must equal xs[0].shape[0] (3 != "
       "2)"},
      {[] {
         F::concat({real({2, 3}), real({2})});
       },
       is<TypeError>,
       "F::concat: xs[1] has shape (2,) but xs[0] has shape (2, 3): xs[1].ndim must equal xs[0].ndim (1 != 2)"},
      {[] { F::concat({real({2})}); }, is<IndexError>, "F::concat: axis 1 is out of range for 1 axes"},
      {[] {
         F::concat({real({2, 3}), real({2, 3})}, 2);
       },
       is<IndexError>, "F::concat: axis 2 is out of range for 2 axes"},
      {[] {
         F::concat({real({2, 3}), wide({2, 3})});
       },
       is<TypeError>,
       "F::concat: xs[1] has dtype float64 but xs[0] has dtype float32: xs[1].dtype must equal xs[0].dtype (float64 != "
       "float32)"},
      {[] { F::concat(kNothing); }, is<ValueError>, "F::concat: there must be at least one array"},
      {[] {
         F::concat({real({2, 3}), absent});
       },
       is<TypeError>, "F::concat: xs[1] is not given: it is required"},
      {[] {
         F::concat({real({}), real({})}, 0);
       },
       is<IndexError>, "F::concat: axis 0 is out of range for 0 axes"},
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
      {[] {
         F::dstack({real({2}), real({3})});
       },
       is<TypeError>,
       "F::dstack: xs[1] has shape (1, 3, 1) and dtype float32 but xs[0] has shape (1, 2, 1) and dtype float32: they "
       "must be equal but for the size of axis 2"},
      {[] { F::dstack(kNothing); }, is<ValueError>, "F::dstack: there must be at least one array"},
      {[] { F::dstack({absent}); }, is<TypeError>, "F::dstack: xs[0] is not given: it is required"},
      {[] {
         F::pad(real({2, 3}), -2);
       },
       is<ValueError>,
       "F::pad: pad_width is (-2, -2) but x has shape (2, 3): that takes away more of axis 0 than there is"},
      {[] {
         F::pad(real({2, 3}), {{1, 1}, {1, 1}, {1, 1}});
       },
       is<ValueError>, "F::pad: pad_width has 3 pairs but x has 2 axes: there must be one pair or one per axis"},
      {[] {
         F::pad(real({0, 3}), 1, F::PadMode::edge);
       },
       is<ValueError>, "F::pad: x has shape (0, 3): axis 0 has no elements to repeat"},
      {[] { F::pad(real({2}), INT64_MAX); }, is<ValueError>,
       "F::pad: pad_width is (9223372036854775807, 9223372036854775807) for axis 0: the axis must stay shorter than "
       "2^63"},
      {[] {
         F::pad(real({2}), {{int64_t{1} << 60, 0}}, F::PadMode::wrap);
       },
       is<OutOfMemoryError>, "F::pad: 1152921504606846978 numbers of 8 bytes do not fit into the host's memory"},
      {[] { F::repeat(real({2}), int64_t{1} << 62, 0); }, is<ValueError>,
       "F::repeat: repeats is 4611686018427387904: the axis must stay shorter than 2^63"},
      {[] {
         F::repeat(real({2}), {INT64_MAX, INT64_MAX}, 0);
       },
       is<ValueError>, "F::repeat: repeats is 9223372036854775807: the axis must stay shorter than 2^63"},
      {[] {
         F::repeat(real({2}), {1, int64_t{1} << 60}, 0);
       },
       is<OutOfMemoryError>, "F::repeat: 1152921504606846977 numbers of 8 bytes do not fit into the host's memory"},
      {[] {
         F::spatial_transformer_grid(real({2, 2, 3}), {int64_t{1} << 40, int64_t{1} << 40});
       },
       is<OutOfMemoryError>,
       "F::spatial_transformer_grid: 3 x 1099511627776 x 1099511627776 numbers of 8 bytes do not fit into the host's "
       "memory"},
      {[] {
         utils::to_coo(ones({1, 2, 2}), int64_t{1} << 62);
       },
       is<OutOfMemoryError>,
       "utils::to_coo: 1 x 4611686018427387904 numbers of 8 bytes do not fit into the host's memory"},
      {[] { ones({1}).broadcast_to({int64_t{1} << 60}).to_vector<double>(); }, is<OutOfMemoryError>,
       "to_vector: 1152921504606846976 numbers of 8 bytes do not fit into the host's memory"},
      {[] {
         F::pad(real({0, 3}), 1, F::PadMode::wrap);
       },
       is<ValueError>, "F::pad: x has shape (0, 3): axis 0 has no elements to repeat"},
      {[] { F::pad(absent, 1); }, is<TypeError>, "F::pad: x is not given: it is required"},
      {[] {
         F::pad_sequence({real({2}), real({3, 1})});
       },
       is<TypeError>,
       "F::pad_sequence: xs[1] has shape (3, 1) but xs[0] has shape (2,): xs[1].ndim must equal xs[0].ndim (2 != 1)"},
      {[] {
         F::pad_sequence({real({2, 3}), real({2, 4})});
       },
       is<TypeError>,
       "F::pad_sequence: xs[1] has shape (2, 4) but xs[0] has shape (2, 3): xs[1].shape[1] must equal xs[0].shape[1] "
       "(4 != 3)"},
      {[] { F::pad_sequence({real({4})}, {.length = 3}); }, is<TypeError>,
       "F::pad_sequence: xs[0] has shape (4,): xs[0].shape[0] must be at most 3 (4 > 3)"},
      {[] { F::pad_sequence(kNothing); }, is<ValueError>, "F::pad_sequence: there must be at least one array"},
      {[] {
         F::pad_sequence({real({2}), wide({2})});
       },
       is<TypeError>,
       "F::pad_sequence: xs[1] has dtype float64 but xs[0] has dtype float32: xs[1].dtype must equal xs[0].dtype "
       "(float64 != float32)"},
      {[] { F::pad_sequence({real({})}); }, is<TypeError>,
       "F::pad_sequence: xs[0] has shape (): xs[0].ndim must be at least 1 (0 < 1)"},
      {[] { F::pad_sequence({absent}); }, is<TypeError>, "F::pad_sequence: xs[0] is not given: it is required"},
      {[] { F::pad_sequence({real({4})}, {.length = -3}); }, is<TypeError>,
       "F::pad_sequence: xs[0] has shape (4,): xs[0].shape[0] must be at most -3 (4 > -3)"},
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
      {[] { F::separate(real({2}), 1); }, is<IndexError>, "F::separate: axis 1 is out of range for 1 axes"},
      {[] { F::separate(real({})); }, is<IndexError>, "F::separate: axis 0 is out of range for 0 axes"},
      {[] { F::separate(absent); }, is<TypeError>, "F::separate: x is not given: it is required"},
      {[] { F::separate(real({2}), -2); }, is<IndexError>, "F::separate: axis -2 is out of range for 1 axes"},
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
         F::stack({real({2}), real({3})});
       },
       is<TypeError>, "F::stack: xs[1] has shape (3,) but xs[0] has shape (2,): xs[1].shape must equal xs[0].shape"},
      {[] {
         F::stack({real({2}), real({2})}, 2);
       },
       is<IndexError>, "F::stack: axis 2 is out of range for 2 axes"},
      {[] { F::stack(kNothing); }, is<ValueError>, "F::stack: there must be at least one array"},
      {[] {
         F::stack({real({2}), absent});
       },
       is<TypeError>, "F::stack: xs[1] is not given: it is required"},
      {[] {
         F::stack({real({2}), wide({2})});
       },
       is<TypeError>,
       "F::stack: xs[1] has dtype float64 but xs[0] has dtype float32: xs[1].dtype must equal xs[0].dtype (float64 != "
       "float32)"},
      {[] {
         F::stack({real({2}), real({2, 1})});
       },
       is<TypeError>, "F::stack: xs[1] has shape (2, 1) but xs[0] has shape (2,): xs[1].shape must equal xs[0].shape"},
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
         F::transpose_sequence({real({2}), real({3})});
       },
       is<ValueError>, "F::transpose_sequence: xs[1] has 3 elements but xs[0] has 2: the longest must come first"},
      {[] { F::transpose_sequence({real({})}); }, is<TypeError>,
       "F::transpose_sequence: xs[0] has shape (): xs[0].ndim must be at least 1 (0 < 1)"},
      {[] {
         F::transpose_sequence({real({2, 3}), real({1, 4})});
       },
       is<TypeError>,
       "F::transpose_sequence: xs[1] has shape (1, 4) but xs[0] has shape (2, 3): xs[1].shape[1] must equal "
       "xs[0].shape[1] (4 != 3)"},
      {[] {
         F::transpose_sequence({real({2}), wide({1})});
       },
       is<TypeError>,
       "F::transpose_sequence: xs[1] has dtype float64 but xs[0] has dtype float32: xs[1].dtype must equal xs[0].dtype "
       "(float64 != float32)"},
      {[] {
         F::transpose_sequence({real({2}), absent});
       },
       is<TypeError>, "F::transpose_sequence: xs[1] is not given: it is required"},
  });
}

}  // namespace
}  // namespace kusari::misuse
