#include "kusari/framework/functions/connection/bilinear.h"

#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("bilinear: the sum over all pairs") {
  const Array e1 = uniform({3, 4}, -1, 1, 1), e2 = uniform({3, 2}, -1, 1, 2), W = uniform({4, 2, 5}, -1, 1, 3);
  const Array V1 = uniform({4, 5}, -1, 1, 4), V2 = uniform({2, 5}, -1, 1, 5), b = uniform({5}, -1, 1, 6);
  const auto at = [](const Array& x) { return x.to_vector<double>(); };
  const std::vector<double> a = at(e1), c = at(e2), w = at(W), v1 = at(V1), v2 = at(V2), bias = at(b);
  std::vector<double> quadratic, all;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t l = 0; l < 5; ++l) {
      double sum = 0, linear = bias[l];
      for (size_t j = 0; j < 4; ++j) {
        for (size_t k = 0; k < 2; ++k) sum += a[i * 4 + j] * c[i * 2 + k] * w[(j * 2 + k) * 5 + l];
      }
      for (size_t j = 0; j < 4; ++j) linear += a[i * 4 + j] * v1[j * 5 + l];
      for (size_t k = 0; k < 2; ++k) linear += c[i * 2 + k] * v2[k * 5 + l];
      quadratic.push_back(sum);
      all.push_back(sum + linear);
    }
  }
  check_close(F::bilinear(e1, e2, W), {3, 5}, quadratic);
  check_close(F::bilinear(e1, e2, W, V1, V2, b), {3, 5}, all);
  check_close(F::bilinear(e1.reshape({3, 2, 2}), e2.reshape({3, 2, 1}), W), {3, 5}, quadratic);
  const auto single = [](const Array& x) { return x.astype(Dtype::float32); };
  check_close(F::bilinear(single(e1), single(e2), single(W), single(V1), single(V2), single(b)), {3, 5}, all, 4);
}

TEST_CASE("bilinear: derivatives") {
  const Array e1 = uniform({3, 2, 2}, -1, 1, 1), e2 = uniform({3, 2}, -1, 1, 2), W = uniform({4, 2, 5}, -1, 1, 3);
  check_gradients([](const Variable& a, const Variable& b, const Variable& w) { return F::bilinear(a, b, w); }, e1, e2,
                  W);
  check_gradients([](const Variable& a, const Variable& b, const Variable& w, const Variable& v1, const Variable& v2,
                     const Variable& c) { return F::bilinear(a, b, w, v1, v2, c); },
                  e1, e2, W, uniform({4, 5}, -1, 1, 4), uniform({2, 5}, -1, 1, 5), uniform({5}, -1, 1, 6));
  check_gradients([](const Variable& a, const Variable& b, const Variable& w) { return F::bilinear(a, b, w); },
                  uniform({0, 4}, -1, 1), uniform({0, 2}, -1, 1), W);
}

TEST_CASE("bilinear says what does not fit") {
  const Array e1 = zeros({3, 4}), e2 = zeros({3, 2}), W = zeros({4, 2, 5});
  CHECK_THROWS_WITH_AS(F::bilinear(e1, e2, W, zeros({4, 5})),
                       "F::bilinear: V1, V2 and b must all be given or all be absent", ValueError);
  CHECK_THROWS_WITH_AS(F::bilinear(zeros({4}), e2, W),
                       "F::bilinear: e1 has shape (4,): e1.ndim must be at least 2 (1 < 2)", TypeError);
  CHECK_THROWS_WITH_AS(
      F::bilinear(e1, zeros({3, 3}), W),
      "F::bilinear: e2 has shape (3, 3) but W has shape (4, 2, 5): e2.shape[1] must equal W.shape[1] (3 != 2)",
      TypeError);
  CHECK_THROWS_AS(F::bilinear(e1, e2, W, zeros({4, 4}), zeros({2, 5}), zeros({5})), TypeError);
}

}  // namespace
}  // namespace kusari
