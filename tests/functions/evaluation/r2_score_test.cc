#include "kusari/framework/functions/evaluation/r2_score.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("r2_score") {
  // Two outputs of three examples: residuals 1 + 0 + 1 of 8 and 0 + 4 + 0 of 2; the third is constant.
  for (const Dtype dtype : kFloatingDtypes) {
    const Array pred = array<double>({1, 1, 5, 2, 4, 5, 5, 3, 6}, {3, 3}, test_device()).astype(dtype);
    const Array truth = array<double>({0, 1, 5, 2, 2, 5, 4, 3, 5}, {3, 3}, test_device()).astype(dtype);
    const Variable raw = F::r2_score(pred, truth, F::Multioutput::raw_values);
    CHECK(raw.dtype() == dtype);
    CHECK_FALSE(raw.requires_grad());
    check_close(raw, {3}, {0.75, -1, 0});
    check_close(F::r2_score(pred, truth), {}, {-0.25 / 3});
    check_close(F::r2_score(truth, truth), {}, {2.0 / 3});
    check_close(F::r2_score(pred.slice(1, 0, 1).reshape({3}), truth.slice(1, 0, 1).reshape({3})), {}, {0.75});
  }
}

TEST_CASE("r2_score of truths that are all one number, whose mean is rounded") {
  for (const Dtype dtype : kFloatingDtypes) {
    for (const double truth : {0.1, 0.3, 7.7, 1e4 + 0.1}) {
      const Array pred = full({7, 2}, 0.5, dtype, test_device());
      CHECK(F::r2_score(pred, full({7, 2}, truth, dtype, test_device())).item<double>() == 0);
    }
  }
  const Array none = zeros({0, 2}, Dtype::float32, test_device());
  check_close(F::r2_score(none, none, F::Multioutput::raw_values), {2}, {0, 0});
}

TEST_CASE("r2_score with wrong arguments") {
  const Array x = ones({3}, Dtype::float32, test_device());
  CHECK_THROWS_WITH_AS(F::r2_score(x, ones({2}, Dtype::float32, test_device())),
                       "F::r2_score: pred has shape (3,) but truth has shape (2,): pred.shape must equal truth.shape",
                       TypeError);
  CHECK_THROWS_AS(F::r2_score(int_ones({3}), x), TypeError);
  CHECK_THROWS_AS(F::r2_score(ones({}, Dtype::float32, test_device()), ones({}, Dtype::float32, test_device())),
                  TypeError);
}

}  // namespace
}  // namespace kusari
