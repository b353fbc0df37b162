#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/eigh.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/qr.h"
#include "kusari/framework/functions/math/slogdet.h"
#include "kusari/framework/functions/math/solve.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/math/svd.h"
#include "kusari/tests/properties/rearranged.h"

// Vectors of decompositions are determined up to their signs: what is compared does not depend on them.
namespace kusari {
namespace {

using namespace testing;

using Rows = std::vector<std::vector<double>>;

Shape with_sizes(Shape lead, std::initializer_list<int64_t> sizes) {
  for (const int64_t size : sizes) lead.push_back(size);
  return lead;
}
Shape without_matrix(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

/// The matrix of x that the leading index of a broadcast result sees.
Rows seen_matrix(const Reference& x, const Shape& lead) {
  const int64_t rows = x.shape[x.shape.ndim() - 2], columns = x.shape.back();
  Rows result(static_cast<size_t>(rows), std::vector<double>(static_cast<size_t>(columns)));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      result[static_cast<size_t>(i)][static_cast<size_t>(j)] = naive::seen(x, with_sizes(lead, {i, j}));
    }
  }
  return result;
}

Rows transposed_rows(const Rows& a, size_t columns) {
  Rows result(columns, std::vector<double>(a.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < columns; ++j) result[j][i] = a[i][j];
  }
  return result;
}

Rows times(const Rows& a, const Rows& b) {
  Rows result(a.size(), std::vector<double>(b.empty() ? 0 : b[0].size()));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < b.size(); ++k) {
      for (size_t j = 0; j < b[k].size(); ++j) result[i][j] += a[i][k] * b[k][j];
    }
  }
  return result;
}

/// Brings a to the identity by the rows' largest pivots, doing the same to b; the sign and logarithm of a's
/// determinant.
std::pair<double, double> eliminate(Rows a, Rows& b) {
  double sign = 1, log = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    size_t best = k;
    for (size_t i = k; i < a.size(); ++i) best = std::abs(a[i][k]) > std::abs(a[best][k]) ? i : best;
    if (best != k) sign = -sign;
    std::swap(a[k], a[best]);
    std::swap(b[k], b[best]);
    const double pivot = a[k][k];
    sign = pivot < 0 ? -sign : sign;
    log += std::log(std::abs(pivot));
    for (double& value : a[k]) value /= pivot;
    for (double& value : b[k]) value /= pivot;
    for (size_t i = 0; i < a.size(); ++i) {
      if (i == k) continue;
      const double factor = a[i][k];
      for (size_t j = 0; j < a.size(); ++j) a[i][j] -= factor * a[k][j];
      for (size_t j = 0; j < b[k].size(); ++j) b[i][j] -= factor * b[k][j];
    }
  }
  return {sign, log};
}

/// Matrices whose first columns are far from dependent.
Array independent(Draw& draw, const Shape& lead, int64_t rows, int64_t columns) {
  const Shape shape = with_sizes(lead, {rows, columns});
  std::vector<double> values = draw.real(shape, -1, 1).to_vector<double>();
  for (size_t at = 0; at < values.size(); ++at) {
    const auto i = static_cast<int64_t>(at) / columns % rows, j = static_cast<int64_t>(at) % columns;
    if (i == j) values[at] += values[at] < 0 ? -3 : 3;
  }
  return array(values, shape);
}

/// A reference of what is computed from each matrix of x.
Reference of_each(const Reference& x, int64_t rows, int64_t columns, const std::function<Rows(const Rows&)>& function) {
  const Shape lead = without_matrix(x.shape);
  Reference y{with_sizes(lead, {rows, columns}), {}};
  naive::each(lead, [&](const Shape& index) {
    const Rows result = function(seen_matrix(x, index));
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        y.values.push_back(result[static_cast<size_t>(i)][static_cast<size_t>(j)]);
      }
    }
  });
  return y;
}

TEST_CASE("property: solve") {
  check_property([](Draw& draw) {
    const Shape lead = draw.shape(0, 2, 3, true);
    const int64_t n = draw.integer(1, 4), m = draw.integer(draw.integer(0, 7) == 0 ? 0 : 1, 3);
    const bool is_vector = draw.integer(0, 3) == 0;
    PropertyCase one;
    one.inputs = {independent(draw, draw.flip() ? lead : draw.broadcastable(lead), n, n),
                  draw.real(is_vector ? Shape{n} : with_sizes(draw.broadcastable(lead), {n, m}), -2, 2)};
    one.function = [](const Variables& x) { return Variables{F::solve(x[0], x[1])}; };
    one.reference = [=](const References& x) {
      const Reference b = is_vector ? Reference{{n, 1}, x[1].values} : x[1];
      const Shape batch = naive::broadcast_shape({without_matrix(x[0].shape), without_matrix(b.shape)});
      Reference y{with_sizes(batch, {n, b.shape.back()}), {}};
      naive::each(batch, [&](const Shape& index) {
        Rows result = seen_matrix(b, index);
        eliminate(seen_matrix(x[0], index), result);
        for (const auto& row : result) y.values.insert(y.values.end(), row.begin(), row.end());
      });
      if (is_vector) y.shape.pop_back();
      return References{y};
    };
    return one;
  });
}

TEST_CASE("property: slogdet") {
  check_property([](Draw& draw) {
    const int64_t n = draw.integer(0, 4);
    PropertyCase one;
    one.inputs = {independent(draw, draw.shape(0, 2, 3, true), n, n)};
    one.function = [](const Variables& x) {
      const auto [sign, log] = F::slogdet(x[0]);
      return Variables{sign * log};
    };
    one.reference = [](const References& x) {
      return References{naive::make(without_matrix(x[0].shape), [&](const Shape& index) {
        const Rows a = seen_matrix(x[0], index);
        Rows nothing(a.size());
        const auto [sign, log] = eliminate(a, nothing);
        return sign * log;
      })};
    };
    return one;
  });
}

TEST_CASE("property: eigh") {
  check_property([](Draw& draw) {
    const int64_t n = draw.integer(0, 4);
    PropertyCase one;
    one.inputs = {draw.real(with_sizes(draw.shape(0, 2, 3, true), {n, n}), -2, 2)};
    // The square of the symmetric part, which the gradient is for.
    one.function = [](const Variables& x) {
      const auto [values, vectors] = F::eigh((x[0] + F::swapaxes(x[0], -1, -2)) * 0.5);
      return Variables{F::matmul(vectors * F::expand_dims(values * values, -2), vectors, {.transb = true})};
    };
    one.reference = [=](const References& x) {
      return References{of_each(x[0], n, n, [=](const Rows& a) {
        Rows symmetric = a;
        for (size_t i = 0; i < a.size(); ++i) {
          for (size_t j = 0; j < a.size(); ++j) symmetric[i][j] = (a[i][j] + a[j][i]) / 2;
        }
        return times(symmetric, symmetric);
      })};
    };
    return one;
  });
}

TEST_CASE("property: svd") {
  check_property([](Draw& draw) {
    const int64_t m = draw.integer(1, 4), n = draw.integer(1, 4);
    PropertyCase one;
    one.inputs = {draw.real(with_sizes(draw.shape(0, 2, 3, true), {m, n}), -2, 2)};
    one.function = [](const Variables& x) {  // a a^T a
      const auto [u, s, vt] = F::svd(x[0]);
      return Variables{F::matmul(u * F::expand_dims(s * s * s, -2), vt)};
    };
    one.reference = [=](const References& x) {
      return References{of_each(
          x[0], m, n, [=](const Rows& a) { return times(times(a, transposed_rows(a, static_cast<size_t>(n))), a); })};
    };
    return one;
  });
}

TEST_CASE("property: qr") {
  check_property([](Draw& draw) {
    const int64_t m = draw.integer(1, 4), n = draw.integer(1, 4);
    PropertyCase one;
    one.inputs = {independent(draw, draw.shape(0, 2, 3, true), m, n)};
    one.function = [](const Variables& x) {
      const auto [q, r] = F::qr(x[0]);
      return Variables{q * q, F::matmul(r, r, {.transa = true})};
    };
    one.reference = [=](const References& x) {
      const auto gram_schmidt = [=](const Rows& a) {
        Rows columns = transposed_rows(a, static_cast<size_t>(n));
        columns.resize(static_cast<size_t>(std::min(m, n)));
        for (size_t j = 0; j < columns.size(); ++j) {
          for (size_t k = 0; k < j; ++k) {
            double dot = 0;
            for (size_t i = 0; i < a.size(); ++i) dot += columns[j][i] * columns[k][i];
            for (size_t i = 0; i < a.size(); ++i) columns[j][i] -= dot * columns[k][i];
          }
          double squares = 0;
          for (const double value : columns[j]) squares += value * value;
          for (double& value : columns[j]) value /= std::sqrt(squares);
        }
        for (auto& column : columns) {
          for (double& value : column) value *= value;
        }
        return transposed_rows(columns, a.size());
      };
      return References{of_each(x[0], m, std::min(m, n), gram_schmidt), of_each(x[0], n, n, [=](const Rows& a) {
                          return times(transposed_rows(a, static_cast<size_t>(n)), a);
                        })};
    };
    return one;
  });
}

}  // namespace
}  // namespace kusari
