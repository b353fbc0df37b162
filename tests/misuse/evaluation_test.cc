#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of evaluation") {
  check_misuses({
      {[] {
         F::accuracy(real({2, 3}), whole({3}));
       },
       is<TypeError>,
       "F::accuracy: t has shape (3,) but y has shape (2, 3): t.shape[0] must equal y.shape[0] (3 != 2)"},
      {[] {
         F::accuracy(real({2, 3}), real({2}));
       },
       is<TypeError>, "F::accuracy: t has dtype float32: t.dtype must be an integer or bool"},
      {[] {
         F::accuracy(whole({2, 3}), whole({2}));
       },
       is<TypeError>, "F::accuracy: y has dtype int32: y.dtype must be floating"},
      {[] { F::accuracy(real({2}), whole({2})); }, is<TypeError>,
       "F::accuracy: y has shape (2,): y.ndim must be at least 2 (1 < 2)"},
      {[] { F::accuracy(absent, whole({2})); }, is<TypeError>, "F::accuracy: y is not given: it is required"},
      {[] {
         F::accuracy(real({2, 3}), absent);
       },
       is<TypeError>, "F::accuracy: t is not given: it is required"},
      {[] {
         F::accuracy(real({2, 3, 4}), whole({2}));
       },
       is<TypeError>, "F::accuracy: t has shape (2,): t.ndim must equal 2 (1 != 2)"},
      {[] {
         F::accuracy(real({2, 0}), whole({2}));
       },
       is<TypeError>, "F::accuracy: y has shape (2, 0): y.shape[1] must be at least 1 (0 < 1)"},
      {[] { F::binary_accuracy(real({2}), whole({3})); }, is<TypeError>,
       "F::binary_accuracy: y has shape (2,) but t has shape (3,): y.shape must equal t.shape"},
      {[] { F::binary_accuracy(real({2}), real({2})); }, is<TypeError>,
       "F::binary_accuracy: t has dtype float32: t.dtype must be an integer or bool"},
      {[] { F::binary_accuracy(absent, whole({2})); }, is<TypeError>,
       "F::binary_accuracy: y is not given: it is required"},
      {[] { F::binary_accuracy(real({2}), absent); }, is<TypeError>,
       "F::binary_accuracy: t is not given: it is required"},
      {[] { F::binary_accuracy(whole({2}), whole({2})); }, is<TypeError>,
       "F::binary_accuracy: y has dtype int32: y.dtype must be floating"},
      {[] {
         F::classification_summary(real({2, 3}), whole({3}));
       },
       is<TypeError>,
       "F::classification_summary: y has shape (2, 3) but t has shape (3,): y.shape[0] must equal t.shape[0] (2 != 3)"},
      {[] {
         F::classification_summary(real({2, 3}), real({2}));
       },
       is<TypeError>, "F::classification_summary: t has dtype float32: t.dtype must be an integer or bool"},
      {[] {
         F::classification_summary(real({2, 3}), whole({2}), {.beta = kNaN});
       },
       is<ValueError>, "F::classification_summary: beta is nan: it must be a number"},
      {[] { F::classification_summary(absent, whole({2})); }, is<TypeError>,
       "F::classification_summary: y is not given: it is required"},
      {[] {
         F::classification_summary(real({2, 3}), absent);
       },
       is<TypeError>, "F::classification_summary: t is not given: it is required"},
      {[] {
         F::precision(real({2, 3}), whole({3}));
       },
       is<TypeError>,
       "F::precision: y has shape (2, 3) but t has shape (3,): y.shape[0] must equal t.shape[0] (2 != 3)"},
      {[] {
         F::recall(real({2, 3}), whole({3}));
       },
       is<TypeError>, "F::recall: y has shape (2, 3) but t has shape (3,): y.shape[0] must equal t.shape[0] (2 != 3)"},
      {[] {
         F::f1_score(real({2, 3}), whole({3}));
       },
       is<TypeError>,
       "F::f1_score: y has shape (2, 3) but t has shape (3,): y.shape[0] must equal t.shape[0] (2 != 3)"},
      {[] {
         F::fbeta_score(real({2, 3}), whole({3}));
       },
       is<TypeError>,
       "F::fbeta_score: y has shape (2, 3) but t has shape (3,): y.shape[0] must equal t.shape[0] (2 != 3)"},
      {[] {
         F::classification_summary(real({0, 3}), whole({0}));
       },
       is<ValueError>, "F::classification_summary: t is empty: label_num must be given"},
      {[] {
         F::classification_summary(real({2, 3}), whole({2}), {.label_num = -1});
       },
       is<ValueError>, "F::classification_summary: label_num is -1: it must not be negative"},
      {[] { F::precision(absent, whole({2})); }, is<TypeError>, "F::precision: y is not given: it is required"},
      {[] { F::r2_score(real({2}), real({3})); }, is<TypeError>,
       "F::r2_score: pred has shape (2,) but truth has shape (3,): pred.shape must equal truth.shape"},
      {[] { F::r2_score(whole({2}), whole({2})); }, is<TypeError>,
       "F::r2_score: pred has dtype int32: pred.dtype must be floating"},
      {[] { F::r2_score(absent, real({2})); }, is<TypeError>, "F::r2_score: pred is not given: it is required"},
      {[] { F::r2_score(real({2}), absent); }, is<TypeError>, "F::r2_score: truth is not given: it is required"},
      {[] { F::r2_score(real({}), real({})); }, is<TypeError>,
       "F::r2_score: pred has shape (): pred.ndim must be at least 1 (0 < 1)"},
      {[] { F::mean(whole({2})); }, is<TypeError>, "F::average: x has dtype int32: x.dtype must be floating"},
      {[] { F::mean(real({2}), 1); }, is<IndexError>, "F::average: axis 1 is out of range for 1 axes"},
  });
}

}  // namespace
}  // namespace kusari::misuse
