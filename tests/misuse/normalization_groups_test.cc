#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of normalization, examples and channels") {
  check_misuses({
      {[] { F::group_normalization(image(), 2, real({3}), real({3})); }, is<ValueError>,
       "F::group_normalization: groups is 2 but x has shape (2, 3, 4, 4): groups must divide x.shape[1]"},
      {[] { F::group_normalization(image(), 0, real({3}), real({3})); }, is<ValueError>,
       "F::group_normalization: groups is 0 but x has shape (2, 3, 4, 4): groups must divide x.shape[1]"},
      {[] { F::group_normalization(image(), -1, real({3}), real({3})); }, is<ValueError>,
       "F::group_normalization: groups is -1 but x has shape (2, 3, 4, 4): groups must divide x.shape[1]"},
      {[] { F::group_normalization(image(), 3, real({4}), real({3})); }, is<TypeError>,
       "F::group_normalization: gamma has shape (4,) but x has shape (2, 3, 4, 4): gamma.shape[0] must equal "
       "x.shape[1] (4 != 3)"},
      {[] { F::group_normalization(image(), 3, real({3}), real({4})); }, is<TypeError>,
       "F::group_normalization: beta has shape (4,) but x has shape (2, 3, 4, 4): beta.shape[0] must equal x.shape[1] "
       "(4 != 3)"},
      {[] { F::group_normalization(real({2}), 1, real({3}), real({3})); }, is<TypeError>,
       "F::group_normalization: x has shape (2,): x.ndim must be at least 2 (1 < 2)"},
      {[] { F::group_normalization(absent, 1, real({3}), real({3})); }, is<TypeError>,
       "F::group_normalization: x is not given: it is required"},
      {[] { F::group_normalization(image(), 1, absent, real({3})); }, is<TypeError>,
       "F::group_normalization: gamma is not given: it is required"},
      {[] { F::group_normalization(image(), 1, real({3}), absent); }, is<TypeError>,
       "F::group_normalization: beta is not given: it is required"},
      {[] { F::group_normalization(image(), 1, real({3}), real({3}), -1); }, is<ValueError>,
       "F::group_normalization: eps is -1: it must be at least 0"},
      {[] {
         F::group_normalization(whole({2, 3}), 1, real({3}), real({3}));
       },
       is<TypeError>, "F::group_normalization: x has dtype int32: x.dtype must be floating"},
      {[] { F::group_normalization(image(), 1, real({3}), real({3}), kNaN); }, is<ValueError>,
       "F::group_normalization: eps is nan: it must be at least 0"},
      {[] { F::normalize(real({2})); }, is<IndexError>, "F::normalize: axis 1 is out of range for 1 axes"},
      {[] {
         F::normalize(whole({2, 3}));
       },
       is<TypeError>, "F::normalize: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::normalize(real({2, 3}), 1e-5, {0, 0});
       },
       is<ValueError>, "F::normalize: axis 0 comes twice"},
      {[] { F::normalize(absent); }, is<TypeError>, "F::normalize: x is not given: it is required"},
      {[] {
         F::normalize(real({2, 3}), -1);
       },
       is<ValueError>, "F::normalize: eps is -1: it must be at least 0"},
      {[] {
         F::normalize(real({2, 3}), kNaN);
       },
       is<ValueError>, "F::normalize: eps is nan: it must be at least 0"},
      {[] {
         F::layer_normalization(real({2, 3}), real({4}), real({4}));
       },
       is<TypeError>,
       "F::layer_normalization: gamma has shape (4,) but x has shape (2, 3): gamma.shape[0] must equal x.shape[1] (4 "
       "!= 3)"},
      {[] {
         F::layer_normalization(real({2, 3}), real({3}), real({4}));
       },
       is<TypeError>,
       "F::layer_normalization: beta has shape (4,) but x has shape (2, 3): beta.shape[0] must equal x.shape[1] (4 != "
       "3)"},
      {[] {
         F::layer_normalization(real({3}), real({2, 3}), real({2, 3}));
       },
       is<TypeError>,
       "F::layer_normalization: x has shape (3,) but gamma has shape (2, 3): gamma.shape must be that of the last axes "
       "of "
       "x"},
      {[] {
         F::layer_normalization(real({2, 4, 3}), real({4, 3}), real({3}));
       },
       is<TypeError>, "F::layer_normalization: gamma has shape (4, 3) but beta has shape (3,): they must be equal"},
      {[] {
         F::layer_normalization(real({2, 4, 3}), real({}), real({}));
       },
       is<TypeError>,
       "F::layer_normalization: x has shape (2, 4, 3) but gamma has shape (): gamma.shape must be that of the last "
       "axes of "
       "x"},
      {[] {
         F::layer_normalization(real({2, 4, 3}), real({3}), real({3}), {.axis = 1});
       },
       is<TypeError>,
       "F::layer_normalization: x has shape (2, 4, 3) but gamma has shape (3,): along axis (1,) they must be equal"},
      {[] {
         F::layer_normalization(real({2, 3}), real({3}), real({3}), {.axis = 2});
       },
       is<IndexError>, "F::layer_normalization: axis 2 is out of range for 2 axes"},
      {[] { F::layer_normalization(absent, real({3}), real({3})); }, is<TypeError>,
       "F::layer_normalization: x is not given: it is required"},
      {[] {
         F::layer_normalization(real({2, 3}), absent, real({3}));
       },
       is<TypeError>, "F::layer_normalization: gamma is not given: it is required"},
      {[] {
         F::layer_normalization(real({2, 3}), real({3}), absent);
       },
       is<TypeError>, "F::layer_normalization: beta is not given: it is required"},
      {[] {
         F::layer_normalization(real({2, 3}), real({3}), real({3}), -1);
       },
       is<ValueError>, "F::layer_normalization: eps is -1: it must be at least 0"},
      {[] {
         F::layer_normalization(whole({2, 3}), real({3}), real({3}));
       },
       is<TypeError>, "F::layer_normalization: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::layer_normalization(real({2, 3, 4}), real({3}), real({3}));
       },
       is<TypeError>,
       "F::layer_normalization: x has shape (2, 3, 4) but gamma has shape (3,): gamma.shape must be that of the last "
       "axes of "
       "x"},
      {[] { F::local_response_normalization(real({3})); }, is<TypeError>,
       "F::local_response_normalization: x has shape (3,): x.ndim must be at least 2 (1 < 2)"},
      {[] {
         F::local_response_normalization(whole({2, 3}));
       },
       is<TypeError>, "F::local_response_normalization: x has dtype int32: x.dtype must be floating"},
      {[] { F::local_response_normalization(absent); }, is<TypeError>,
       "F::local_response_normalization: x is not given: it is required"},
      {[] {
         F::local_response_normalization(real({2, 3}), {.n = 0});
       },
       is<ValueError>, "F::local_response_normalization: n is 0: it must be at least 1"},
      {[] {
         F::local_response_normalization(real({2, 3}), {.n = -2});
       },
       is<ValueError>, "F::local_response_normalization: n is -2: it must be at least 1"},
  });
}

}  // namespace
}  // namespace kusari::misuse
