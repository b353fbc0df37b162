#include "kusari/framework/functions/loss/huber_loss.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("huber_loss") {
  const Array x = array<float>({0, 3, -0.5f, 1}, {2, 2}), t = array<float>({0.5f, 0, 0.5f, 1}, {2, 2});
  check_close(F::huber_loss(x, t, 1), {2}, {0.125 + 2.5, 0.5});
  check_close(F::huber_loss(x, t, 2, F::HuberReduce::no), {2, 2}, {0.125, 4, 0.5, 0});
  for (const auto reduce : {F::HuberReduce::sum_along_second_axis, F::HuberReduce::no}) {
    const auto loss = [&](const Variable& a, const Variable& b) { return F::huber_loss(a, b, 1.2, reduce); };
    check_gradients(loss, uniform({2, 4}, -1, 0, 1), uniform({2, 4}, 0.2, 1, 2));
  }
  CHECK_THROWS_WITH_AS(F::huber_loss(x, ones({2}), 1),
                       "F::huber_loss: x has shape (2, 2) but t has shape (2,): x.shape must equal t.shape", TypeError);
  CHECK_THROWS_AS(F::huber_loss(ones({2}), ones({2}), 1), TypeError);
}

TEST_CASE("huber_loss where x meets t") {
  const auto loss = [](const Variable& a, const Variable& b) { return F::huber_loss(a, b, 1, F::HuberReduce::no); };
  check_gradients(loss, array<double>({1, 2}), array<double>({1, 2}));
}

}  // namespace
}  // namespace kusari
