#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/rnn/lstm.h"
#include "kusari/framework/functions/rnn/slstm.h"
#include "kusari/framework/functions/rnn/tree_lstm.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::rnn_cells_test {
namespace {

using namespace testing;
using Values = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// F::lstm of (B, H) and (B, 4 H).
std::pair<Values, Values> reference(const Values& c_prev, const Values& x) {
  Values c, h;
  for (size_t k = 0; k < c_prev.size(); ++k) {
    const double* const g = &x[4 * k];
    c.push_back(std::tanh(g[0]) * sigmoid(g[1]) + sigmoid(g[2]) * c_prev[k]);
    h.push_back(sigmoid(g[3]) * std::tanh(c[k]));
  }
  return {c, h};
}

}  // namespace

TEST_CASE("lstm") {
  for (const Dtype dtype : kFloatingDtypes) {
    const Array c_prev = uniform({3, 2}, -1, 1).astype(dtype), x = uniform({3, 8}, -2, 2, 2).astype(dtype);
    const auto [c, h] = F::lstm(Variable(c_prev), Variable(x));
    const auto [expected_c, expected_h] = reference(c_prev.to_vector<double>(), x.to_vector<double>());
    CHECK(c.dtype() == dtype);
    check_close(c, {3, 2}, expected_c);
    check_close(h, {3, 2}, expected_h);
  }
}

TEST_CASE("lstm of fewer rows than there are cells") {
  const Array c_prev = uniform({4, 3}, -1, 1), x = uniform({2, 12}, -2, 2, 2);
  const auto [c, h] = F::lstm(Variable(c_prev), Variable(x));
  const Values all = c_prev.to_vector<double>();
  auto [expected_c, expected_h] = reference(Values(all.begin(), all.begin() + 6), x.to_vector<double>());
  expected_c.insert(expected_c.end(), all.begin() + 6, all.end());
  check_close(c, {4, 3}, expected_c);
  check_close(h, {2, 3}, expected_h);
  CHECK(F::lstm(zeros({2, 3}), zeros({0, 12})).h.shape() == Shape{0, 3});
}

TEST_CASE("lstm of images") {
  const Array c_prev = uniform({2, 3, 2, 2}, -1, 1), x = uniform({2, 12, 2, 2}, -2, 2, 2);
  const auto [c, h] = F::lstm(Variable(c_prev), Variable(x));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 2; ++j) {
      const auto pixel = [&](const Array& a) { return a.slice(2, i, 1).slice(3, j, 1).to_vector<double>(); };
      const auto [expected_c, expected_h] = reference(pixel(c_prev), pixel(x));
      check_close(c.array().slice(2, i, 1).slice(3, j, 1), {2, 3, 1, 1}, expected_c);
      check_close(h.array().slice(2, i, 1).slice(3, j, 1), {2, 3, 1, 1}, expected_h);
    }
  }
}

TEST_CASE("gradients of lstm") {
  const auto both = [](const Variable& c_prev, const Variable& x) {
    const auto [c, h] = F::lstm(c_prev, x);
    return F::sum(c * 1.5) + F::sum(h * h);
  };
  check_gradients(both, uniform({3, 2}, -1, 1), uniform({3, 8}, -1, 1, 2));
  check_gradients(both, uniform({3, 2}, -1, 1), uniform({2, 8}, -1, 1, 2));
}

TEST_CASE("slstm") {
  const Array c1 = uniform({2, 3}, -1, 1), c2 = uniform({2, 3}, -1, 1, 2);
  const Array x1 = uniform({2, 12}, -1, 1, 3), x2 = uniform({2, 12}, -1, 1, 4);
  const auto [c, h] = F::slstm(Variable(c1), Variable(c2), Variable(x1), Variable(x2));
  const Values p = c1.to_vector<double>(), q = c2.to_vector<double>();
  const Values a = x1.to_vector<double>(), b = x2.to_vector<double>();
  Values expected_c, expected_h;
  for (size_t k = 0; k < 6; ++k) {
    const double *const g = &a[4 * k], *const k2 = &b[4 * k];
    expected_c.push_back(std::tanh(g[0] + k2[0]) * sigmoid(g[1] + k2[1]) + sigmoid(g[2]) * p[k] +
                         sigmoid(k2[2]) * q[k]);
    expected_h.push_back(sigmoid(g[3] + k2[3]) * std::tanh(expected_c[k]));
  }
  check_close(c, {2, 3}, expected_c);
  check_close(h, {2, 3}, expected_h);
  check_gradients(
      [](const Variable& d1, const Variable& d2, const Variable& y1, const Variable& y2) {
        const auto [d, g] = F::slstm(d1, d2, y1, y2);
        return F::sum(d * 0.5) + F::sum(g * g);
      },
      c1, c2, x1, x2);
}

TEST_CASE("tree_lstm") {
  const Array c1 = uniform({2, 3}, -1, 1), c2 = uniform({2, 3}, -1, 1, 2), x = uniform({2, 15}, -1, 1, 3);
  const auto [c, h] = F::tree_lstm({Variable(c1), Variable(c2)}, Variable(x));
  const Values p = c1.to_vector<double>(), q = c2.to_vector<double>(), g = x.to_vector<double>();
  Values expected_c, expected_h;
  for (size_t row = 0; row < 2; ++row) {
    for (size_t u = 0; u < 3; ++u) {
      const auto gate = [&](size_t block) { return g[row * 15 + block * 3 + u]; };
      expected_c.push_back(std::tanh(gate(0)) * sigmoid(gate(1)) + sigmoid(gate(3)) * p[row * 3 + u] +
                           sigmoid(gate(4)) * q[row * 3 + u]);
      expected_h.push_back(sigmoid(gate(2)) * std::tanh(expected_c.back()));
    }
  }
  check_close(c, {2, 3}, expected_c);
  check_close(h, {2, 3}, expected_h);
  check_gradients(
      [](const Variable& d1, const Variable& d2, const Variable& y) {
        const auto [d, k] = F::tree_lstm({d1, d2}, y);
        return F::sum(d * 0.5) + F::sum(k * k);
      },
      c1, c2, x);
}

TEST_CASE("cells with wrong arguments") {
  const Variable c = zeros({2, 3}), x = zeros({2, 12});
  CHECK_THROWS_WITH_AS(F::lstm(Variable(), x), "F::lstm: c_prev is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(F::lstm(c, zeros({3, 12})), doctest::Contains("x.shape[0] must be at most c_prev.shape[0]"),
                       TypeError);
  CHECK_THROWS_WITH_AS(F::lstm(c, zeros({2, 11})), doctest::Contains("x.shape[1] must equal 12"), TypeError);
  CHECK_THROWS_AS(F::lstm(c, zeros({2, 12}, Dtype::float64)), TypeError);
  CHECK_THROWS_AS(F::lstm(zeros({2}), zeros({8})), TypeError);
  CHECK_THROWS_AS(F::slstm(c, zeros({2, 4}), x, x), TypeError);
  CHECK_THROWS_WITH_AS(F::tree_lstm(std::span<const Variable>(), x), doctest::Contains("F::tree_lstm: cs is empty"),
                       ValueError);
  CHECK_THROWS_WITH_AS(F::tree_lstm({c, c}, x), doctest::Contains("x.shape[1] must equal 15"), TypeError);
}

}  // namespace kusari::rnn_cells_test
