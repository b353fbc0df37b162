#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <string>

#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/batch_matmul.h"
#include "kusari/framework/functions/math/cholesky.h"
#include "kusari/framework/functions/math/cumprod.h"
#include "kusari/framework/functions/math/cumsum.h"
#include "kusari/framework/functions/math/det.h"
#include "kusari/framework/functions/math/einsum.h"
#include "kusari/framework/functions/math/fft.h"
#include "kusari/framework/functions/math/inv.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sparse_matmul.h"
#include "kusari/framework/functions/math/tensordot.h"
#include "kusari/tests/properties/rearranged.h"

namespace kusari {
namespace {

using namespace testing;

Shape without_last(Shape shape, int count) {
  for (int i = 0; i < count; ++i) shape.pop_back();
  return shape;
}

Reference swapped(const Reference& x, bool transposed) {
  std::vector<int64_t> axes = naive::all_axes(x.shape.ndim());
  if (transposed && axes.size() >= 2) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return naive::transpose(x, axes);
}

/// (..., m, k) times (..., k, n).
Reference product(const Reference& a, const Reference& b) {
  const Shape lead_a = without_last(a.shape, 2), lead_b = without_last(b.shape, 2);
  const int64_t k = a.shape.back();
  Shape shape = naive::broadcast_shape({lead_a, lead_b});
  const int lead = shape.ndim();
  shape.push_back(a.shape[a.shape.ndim() - 2]);
  shape.push_back(b.shape.back());
  return naive::make(shape, [&](const Shape& index) {
    const auto element = [&](const Reference& x, int64_t row, int64_t column) {
      Shape at = x.shape;
      const int own = x.shape.ndim() - 2;
      for (int i = 0; i < own; ++i) at[i] = x.shape[i] == 1 ? 0 : index[lead - own + i];
      at[own] = row;
      at[own + 1] = column;
      return x.at(at);
    };
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += element(a, index[lead], i) * element(b, i, index[lead + 1]);
    return sum;
  });
}

Shape with_matrix(Shape lead, int64_t rows, int64_t columns, bool transposed) {
  lead.push_back(transposed ? columns : rows);
  lead.push_back(transposed ? rows : columns);
  return lead;
}

TEST_CASE("property: matmul") {
  check_property([](Draw& draw) {
    const Shape lead = draw.shape(0, 2, 3, true);
    const int64_t m = draw.integer(1, 4), k = draw.integer(draw.integer(0, 7) == 0 ? 0 : 1, 4), n = draw.integer(1, 4);
    const bool transa = draw.flip(), transb = draw.flip();
    const bool row = draw.integer(0, 4) == 0, column = draw.integer(0, 4) == 0;  // vectors
    const Shape a = row ? Shape{k} : with_matrix(draw.broadcastable(lead), m, k, transa);
    const Shape b = column ? Shape{k} : with_matrix(lead, k, n, transb);
    PropertyCase one;
    one.inputs = {draw.real(a, -2, 2), draw.real(b, -2, 2)};
    one.function = [=](const Variables& x) {
      return Variables{F::matmul(x[0], x[1], {.transa = transa, .transb = transb})};
    };
    one.reference = [=](const References& x) {
      const Reference left = row ? Reference{{1, k}, x[0].values} : swapped(x[0], transa);
      const Reference right = column ? Reference{{k, 1}, x[1].values} : swapped(x[1], transb);
      Reference y = product(left, right);
      if (column) y.shape.pop_back();
      if (row) y.shape.erase(y.shape.ndim() - (column ? 1 : 2));
      return References{y};
    };
    return one;
  });
}

TEST_CASE("property: batch_matmul") {
  check_property([](Draw& draw) {
    const int64_t count = draw.integer(0, 3), m = draw.integer(1, 4), k = draw.integer(1, 4), n = draw.integer(1, 4);
    const bool transa = draw.flip(), transb = draw.flip();
    // (n, m) stands for columns (n, m, 1).
    const bool short_a = (transa ? m : k) == 1, short_b = (transb ? k : n) == 1;
    const auto shape = [](bool is_short, const Shape& full) { return is_short ? Shape{full[0], full[1]} : full; };
    PropertyCase one;
    one.inputs = {draw.real(shape(short_a, with_matrix({count}, m, k, transa)), -2, 2),
                  draw.real(shape(short_b, with_matrix({count}, k, n, transb)), -2, 2)};
    one.function = [=](const Variables& x) {
      return Variables{F::batch_matmul(x[0], x[1], {.transa = transa, .transb = transb})};
    };
    one.reference = [=](const References& x) {
      const auto matrices = [](Reference v) {
        if (v.shape.ndim() == 2) v.shape.push_back(1);
        return v;
      };
      return References{product(swapped(matrices(x[0]), transa), swapped(matrices(x[1]), transb))};
    };
    return one;
  });
}

TEST_CASE("property: tensordot") {
  check_property([](Draw& draw) {
    const Shape a = draw.shape(0, 3, 3);
    const int64_t pairs = draw.integer(0, a.ndim());
    const bool is_count = draw.flip();
    std::vector<int64_t> a_axes = draw.permutation(a.ndim());
    a_axes.resize(static_cast<size_t>(pairs));
    if (is_count) {
      for (int64_t i = 0; i < pairs; ++i) a_axes[static_cast<size_t>(i)] = a.ndim() - pairs + i;
    }
    const int b_ndim = static_cast<int>(pairs + draw.integer(0, 2));
    Shape b = draw.shape(b_ndim, b_ndim, 3);
    std::vector<int64_t> b_axes = is_count ? naive::all_axes(b_ndim) : draw.permutation(b_ndim);
    b_axes.resize(static_cast<size_t>(pairs));
    for (size_t i = 0; i < b_axes.size(); ++i) b[static_cast<int>(b_axes[i])] = a[static_cast<int>(a_axes[i])];
    PropertyCase one;
    one.inputs = {draw.real(a, -2, 2), draw.real(b, -2, 2)};
    F::TensordotAxes axes = pairs;
    if (!is_count) {
      axes = {a_axes, b_axes};
      for (int64_t& axis : axes.a) axis -= draw.flip() ? a.ndim() : 0;
      for (int64_t& axis : axes.b) axis -= draw.flip() ? b.ndim() : 0;
    }
    one.function = [=](const Variables& x) { return Variables{F::tensordot(x[0], x[1], axes)}; };
    one.reference = [=](const References& x) {
      const auto is_in = [](const std::vector<int64_t>& all, int64_t axis) {
        return std::find(all.begin(), all.end(), axis) != all.end();
      };
      Shape shape, summed;
      for (int i = 0; i < a.ndim(); ++i) {
        if (!is_in(a_axes, i)) shape.push_back(a[i]);
      }
      for (int i = 0; i < b.ndim(); ++i) {
        if (!is_in(b_axes, i)) shape.push_back(b[i]);
      }
      for (const int64_t axis : a_axes) summed.push_back(a[static_cast<int>(axis)]);
      return References{naive::make(shape, [&](const Shape& index) {
        double sum = 0;
        naive::each(summed, [&](const Shape& along) {
          Shape at_a = a, at_b = b;
          int next = 0;
          for (int i = 0; i < a.ndim(); ++i) at_a[i] = is_in(a_axes, i) ? 0 : index[next++];
          for (int i = 0; i < b.ndim(); ++i) at_b[i] = is_in(b_axes, i) ? 0 : index[next++];
          for (int i = 0; i < summed.ndim(); ++i) {
            at_a[static_cast<int>(a_axes[static_cast<size_t>(i)])] = along[i];
            at_b[static_cast<int>(b_axes[static_cast<size_t>(i)])] = along[i];
          }
          sum += x[0].at(at_a) * x[1].at(at_b);
        });
        return sum;
      })};
    };
    return one;
  });
}

/// A drawn call of einsum: letters for each axis, with '0' and '1' for the axes of the ellipsis.
struct Einsum {
  std::vector<std::string> operands;
  std::string output;
  std::string text;
  std::map<char, int64_t> sizes;

  explicit Einsum(Draw& draw) {
    const std::string letters = "abZc";
    for (const char letter : letters) sizes[letter] = draw.integer(1, 3);
    const std::string dots = std::string("01").substr(static_cast<size_t>(draw.integer(0, 2)));
    for (const char letter : dots) sizes[letter] = draw.integer(1, 2);
    const bool has_dots = draw.flip();
    for (int64_t n = draw.integer(1, 3); n > 0; --n) {
      std::string own;
      for (int64_t axes = draw.integer(0, 3); axes > 0; --axes) own += letters[static_cast<size_t>(draw.integer(0, 3))];
      text += text.empty() && operands.empty() ? "" : ",";
      if (!has_dots || (n == 1 && draw.flip() && !operands.empty())) {
        text += own;
      } else {
        const auto at = static_cast<size_t>(draw.integer(0, static_cast<int64_t>(own.size())));
        text += own.substr(0, at) + "..." + own.substr(at);
        own.insert(at, dots);
      }
      operands.push_back(own);
    }
    std::string used;
    for (const char letter : letters) {
      if (count(letter) > 0) used += letter;
    }
    const bool dots_in_output = text.find("...") != std::string::npos;
    if (draw.flip()) {  // without "->"
      std::sort(used.begin(), used.end());
      output = dots_in_output ? dots : "";
      for (const char letter : used) output += count(letter) == 1 ? std::string(1, letter) : "";
      return;
    }
    std::string kept;
    for (const int64_t i : draw.permutation(static_cast<int64_t>(used.size()))) {
      if (draw.flip()) kept += used[static_cast<size_t>(i)];
    }
    const auto at = static_cast<size_t>(draw.integer(0, static_cast<int64_t>(kept.size())));
    text += "->" + (dots_in_output ? kept.substr(0, at) + "..." + kept.substr(at) : kept);
    output = dots_in_output ? kept.insert(at, dots) : kept;
  }

  int count(char letter) const {
    int n = 0;
    for (const std::string& own : operands) n += static_cast<int>(std::count(own.begin(), own.end(), letter));
    return n;
  }

  Reference reference(const References& xs) const {
    std::string all;
    Shape ranges, shape;
    for (const auto& [letter, n] : sizes) {
      all += letter;
      ranges.push_back(size_in(letter, xs));
    }
    for (const char letter : output) shape.push_back(size_in(letter, xs));
    Reference y = naive::filled(shape);
    naive::each(ranges, [&](const Shape& at) {
      double term = 1;
      for (size_t i = 0; i < xs.size(); ++i) {
        Shape index;
        for (size_t k = 0; k < operands[i].size(); ++k) {
          const int64_t place = at[static_cast<int>(all.find(operands[i][k]))];
          index.push_back(xs[i].shape[static_cast<int>(k)] == 1 ? 0 : place);
        }
        term *= xs[i].at(index);
      }
      Shape to;
      for (const char letter : output) to.push_back(at[static_cast<int>(all.find(letter))]);
      y.at(to) += term;
    });
    return y;
  }

 private:
  int64_t size_in(char letter, const References& xs) const {
    int64_t n = 1;
    for (size_t i = 0; i < xs.size(); ++i) {
      for (size_t k = 0; k < operands[i].size(); ++k) {
        if (operands[i][k] == letter) n = std::max(n, xs[i].shape[static_cast<int>(k)]);
      }
    }
    return n;
  }
};

TEST_CASE("property: einsum") {
  check_property([](Draw& draw) {
    const Einsum drawn(draw);
    PropertyCase one;
    for (const std::string& own : drawn.operands) {
      Shape shape;
      for (const char letter : own) {
        const bool is_dots = letter == '0' || letter == '1';
        shape.push_back(is_dots && draw.integer(0, 3) == 0 ? 1 : drawn.sizes.at(letter));
      }
      one.inputs.push_back(draw.real(shape, -2, 2));
    }
    one.function = [=](const Variables& x) { return Variables{F::einsum(drawn.text, span_of(x))}; };
    one.reference = [=](const References& x) { return References{drawn.reference(x)}; };
    return one;
  });
}

/// By Laplace's expansion along the first row.
double determinant(const std::vector<std::vector<double>>& a) {
  if (a.empty()) return 1;
  double sum = 0;
  for (size_t j = 0; j < a.size(); ++j) {
    std::vector<std::vector<double>> minor;
    for (size_t i = 1; i < a.size(); ++i) {
      minor.push_back(a[i]);
      minor.back().erase(minor.back().begin() + static_cast<std::ptrdiff_t>(j));
    }
    sum += (j % 2 == 0 ? a[0][j] : -a[0][j]) * determinant(minor);
  }
  return sum;
}

std::vector<std::vector<double>> rows_of(const Reference& a, size_t matrix) {
  const auto n = static_cast<size_t>(a.shape.back());
  std::vector<std::vector<double>> rows(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) rows[i][j] = a.values[(matrix * n + i) * n + j];
  }
  return rows;
}

size_t matrices_in(const Reference& a) {
  size_t count = 1;
  for (int i = 0; i < a.shape.ndim() - 2; ++i) count *= static_cast<size_t>(a.shape[i]);
  return count;
}

Reference determinants(const Reference& a) {
  Reference y{without_last(a.shape, 2), {}};
  for (size_t i = 0; i < matrices_in(a); ++i) y.values.push_back(determinant(rows_of(a, i)));
  return y;
}

/// By Cramer's rule.
Reference inverses(const Reference& a) {
  Reference y{a.shape, {}};
  for (size_t matrix = 0; matrix < matrices_in(a); ++matrix) {
    const auto rows = rows_of(a, matrix);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = 0; j < rows.size(); ++j) {
        auto replaced = rows;
        for (size_t k = 0; k < rows.size(); ++k) replaced[k][i] = k == j ? 1 : 0;
        y.values.push_back(determinant(replaced) / determinant(rows));
      }
    }
  }
  return y;
}

/// Some matrices: far from singular, or anything, linearly dependent rows included.
Array matrices(Draw& draw, const Shape& lead, bool regular) {
  const int64_t n = draw.integer(draw.integer(0, 15) == 0 ? 0 : 1, 4);
  const Shape shape = with_matrix(lead, n, n, false);
  std::vector<double> values = draw.real(shape, -1, 1).to_vector<double>();
  const auto size = static_cast<size_t>(n);
  for (size_t first = 0; first < values.size(); first += size * size) {
    const int64_t dependent = n < 2 ? 0 : draw.integer(0, n);
    for (size_t i = 0; i < size; ++i) {
      if (regular) values[first + i * (size + 1)] += values[first + i * (size + 1)] < 0 ? -3.0 : 3.0;
      for (size_t j = 0; !regular && j < size; ++j) {
        if (static_cast<int64_t>(i) < dependent)
          values[first + i * size + j] = 2 * values[first + (size - 1) * size + j];
      }
    }
  }
  return array(values, shape);
}

PropertyCase of_matrices(const Array& a, std::function<Variable(const Variable&)> function,
                         std::function<Reference(const Reference&)> reference) {
  PropertyCase one;
  one.inputs = {a};
  one.function = [=](const Variables& x) { return Variables{function(x[0])}; };
  one.reference = [=](const References& x) { return References{reference(x[0])}; };
  return one;
}

TEST_CASE("property: det") {
  check_property([](Draw& draw) {
    return of_matrices(matrices(draw, draw.shape(0, 2, 3, true), draw.flip()), F::det, determinants);
  });
}
TEST_CASE("property: batch_det") {
  check_property([](Draw& draw) {
    return of_matrices(matrices(draw, {draw.integer(0, 3)}, draw.flip()), F::batch_det, determinants);
  });
}
TEST_CASE("property: inv") {
  check_property(
      [](Draw& draw) { return of_matrices(matrices(draw, draw.shape(0, 2, 3, true), true), F::inv, inverses); });
}
TEST_CASE("property: batch_inv") {
  check_property(
      [](Draw& draw) { return of_matrices(matrices(draw, {draw.integer(0, 3)}, true), F::batch_inv, inverses); });
}

TEST_CASE("property: cholesky") {
  check_property([](Draw& draw) {
    const int64_t n = draw.integer(0, 5);
    std::vector<double> values = draw.real({n, n}, -1, 1).to_vector<double>();
    for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i * (n + 1))] += static_cast<double>(n) + 1;
    // Of the symmetric part, which its gradient is for.
    const auto function = [](const Variable& x) { return F::cholesky((x + F::transpose(x)) * 0.5); };
    return of_matrices(array(values, {n, n}), function, [=](const Reference& a) {
      Reference y = naive::filled({n, n});
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
          double rest = (a.at({i, j}) + a.at({j, i})) / 2;
          for (int64_t k = 0; k < j; ++k) rest -= y.at({i, k}) * y.at({j, k});
          y.at({i, j}) = i == j ? std::sqrt(rest) : rest / y.at({j, j});
        }
      }
      return y;
    });
  });
}

PropertyCase transform_case(Draw& draw, bool inverse) {
  Shape shape = draw.shape(0, 2, 3, true);
  const int64_t n = draw.integer(0, 31) == 0 ? 101 : draw.integer(1, 9);  // 101 is prime and long
  shape.push_back(n);
  PropertyCase one;
  one.inputs = {draw.real(shape, -2, 2), draw.real(shape, -2, 2)};
  one.function = [=](const Variables& x) { return inverse ? F::ifft(span_of(x)) : F::fft(span_of(x)); };
  one.reference = [=](const References& x) {
    References y = {naive::filled(shape), naive::filled(shape)};
    const double sign = inverse ? 1 : -1, scale = inverse ? 1 / static_cast<double>(n) : 1;
    naive::each(shape, [&](const Shape& index) {
      Shape from = index;
      int64_t& j = from[from.ndim() - 1];
      for (j = 0; j < n; ++j) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(j * index.back() % n) / static_cast<double>(n);
        const double c = std::cos(angle), s = sign * std::sin(angle);
        y[0].at(index) += scale * (c * x[0].at(from) - s * x[1].at(from));
        y[1].at(index) += scale * (s * x[0].at(from) + c * x[1].at(from));
      }
    });
    return y;
  };
  one.second_order = n < 100;
  one.first_order = n < 100;
  return one;
}

TEST_CASE("property: fft") {
  check_property([](Draw& draw) { return transform_case(draw, false); });
}
TEST_CASE("property: ifft") {
  check_property([](Draw& draw) { return transform_case(draw, true); });
}

using Running = std::function<Variable(const Variable&, std::optional<int64_t>, const F::ScanOptions&)>;

PropertyCase running(Draw& draw, const Running& function, double neutral, double (*combine)(double, double)) {
  std::vector<double> values;
  const Shape shape = draw.shape(0, 3, 5, true);
  for (int64_t i = 0; i < numel(shape); ++i) values.push_back(draw.integer(0, 7) == 0 ? 0 : draw.number(-2, 2));
  std::optional<int64_t> axis;
  if (shape.ndim() > 0 && draw.flip()) axis = draw.axis(shape.ndim());
  const int at = axis ? naive::positive_axis(*axis, shape.ndim()) : 0;
  const Shape result = axis ? shape : Shape{numel(shape)};
  const F::ScanOptions options{.exclusive = draw.flip(), .reverse = draw.flip()};
  PropertyCase one;
  one.inputs = {array(values, shape)};
  one.function = [=](const Variables& x) { return Variables{function(x[0], axis, options)}; };
  one.reference = [=](const References& x) {
    const Reference given{result, x[0].values};
    return References{naive::make(result, [&](const Shape& index) {
      double total = neutral;
      for (int64_t i = 0; i < result[at]; ++i) {
        const int64_t place = options.reverse ? result[at] - 1 - i : i;  // in the order in which they are combined
        Shape from = index;
        from[at] = place;
        const bool is_before = options.reverse ? place > index[at] : place < index[at];
        if (is_before || (place == index[at] && !options.exclusive)) total = combine(total, given.at(from));
      }
      return total;
    })};
  };
  return one;
}

TEST_CASE("property: cumsum") {
  const auto add = [](double a, double b) { return a + b; };
  check_property([=](Draw& draw) { return running(draw, F::cumsum, 0, add); });
}
TEST_CASE("property: cumprod") {
  const auto multiply = [](double a, double b) { return a * b; };
  check_property([=](Draw& draw) { return running(draw, F::cumprod, 1, multiply); });
}

// Inputs: the data of the sparse operand and the dense one.
TEST_CASE("property: sparse_matmul") {
  check_property([](Draw& draw) {
    const int64_t count = draw.integer(0, 3), m = draw.integer(1, 4), k = draw.integer(1, 4), n = draw.integer(1, 4);
    const bool transa = draw.flip(), transb = draw.flip(), sparse_left = draw.flip();
    const Shape lead = count == 0 ? Shape{} : Shape{count};
    Shape entries = lead;
    entries.push_back(draw.integer(0, 8));
    const Shape left = with_matrix({}, m, k, transa), right = with_matrix({}, k, n, transb);
    const Shape shape = sparse_left ? left : right, dense = sparse_left ? right : left;
    // Places come twice by chance, and -1 is none.
    const Array row = draw.integers(entries, count == 0 ? 0 : -1, shape[0] - 1);
    const Array col = draw.integers(entries, count == 0 ? 0 : -1, shape[1] - 1);
    PropertyCase one;
    one.inputs = {draw.real(entries, -2, 2), draw.real(with_matrix(lead, dense[0], dense[1], false), -2, 2)};
    one.function = [=](const Variables& x) {
      const utils::CooMatrix sparse(x[0], row, col, shape);
      const F::SparseMatmulOptions options{.transa = transa, .transb = transb};
      return Variables{sparse_left ? F::sparse_matmul(sparse, x[1], options) : F::sparse_matmul(x[1], sparse, options)};
    };
    one.reference = [=, rows = row.to_vector<int64_t>(), cols = col.to_vector<int64_t>()](const References& x) {
      Reference full = naive::filled(with_matrix(lead, shape[0], shape[1], false));
      for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] < 0 || cols[i] < 0) continue;
        Shape at = count == 0 ? Shape{} : Shape{static_cast<int64_t>(i) / entries.back()};
        at.push_back(rows[i]);
        at.push_back(cols[i]);
        full.at(at) += x[0].values[i];
      }
      const Reference &a = sparse_left ? full : x[1], &b = sparse_left ? x[1] : full;
      return References{product(swapped(a, transa), swapped(b, transb))};
    };
    return one;
  });
}

}  // namespace
}  // namespace kusari
