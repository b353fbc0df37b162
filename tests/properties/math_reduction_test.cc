#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/batch_l2_norm_squared.h"
#include "kusari/framework/functions/math/logsumexp.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/nansum.h"
#include "kusari/framework/functions/math/prod.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/properties/property.h"

namespace kusari {
namespace {

using namespace testing;

/// Chainer's argument `axis`, and the axes that it means.
struct DrawnAxes {
  Axes given = std::nullopt;
  std::vector<int64_t> list;
};

DrawnAxes draw_axes(Draw& draw, int ndim) {
  if (ndim == 0 || draw.integer(0, 3) == 0) return {std::nullopt, naive::all_axes(ndim)};
  const std::vector<int64_t> list = draw.axes(ndim, draw.integer(0, 9) == 0 ? 0 : 1);
  if (list.size() == 1 && draw.flip()) return {list[0], list};
  return {Axes(std::span<const int64_t>(list)), list};
}

/// function(x, axis, keepdims) against formula(elements along the axes).
template <class Function, class Formula, class Elements>
void check_reduction(Function function, Formula formula, Elements elements, bool may_be_empty,
                     const PropertyCase& options = {}) {
  check_property([=](Draw& draw) {
    const Shape shape = draw.shape(0, 4, 4, may_be_empty);
    const DrawnAxes axes = draw_axes(draw, shape.ndim());
    const bool keepdims = draw.flip();
    PropertyCase one = options;
    one.inputs = {elements(draw, shape)};
    one.function = [=](const Variables& x) { return Variables{function(x[0], axes.given, keepdims)}; };
    one.reference = [=](const References& x) { return References{naive::reduce(x[0], axes.list, keepdims, formula)}; };
    return one;
  });
}

Array any(Draw& draw, const Shape& shape) { return draw.real(shape, -2, 2); }
Array without_ties(Draw& draw, const Shape& shape) { return draw.distinct(shape); }

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }
double smallest(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

TEST_CASE("property: sum") {
  check_reduction([](const Variable& x, const Axes& axes, bool keepdims) { return F::sum(x, axes, keepdims); },
                  naive::sum, any, true);
}

TEST_CASE("property: nansum") {
  check_reduction([](const Variable& x, const Axes& axes, bool keepdims) { return F::nansum(x, axes, keepdims); },
                  naive::sum, any, true);
}

TEST_CASE("property: max") {
  check_reduction([](const Variable& x, const Axes& axes, bool keepdims) { return F::max(x, axes, keepdims); }, largest,
                  without_ties, false);
}

TEST_CASE("property: min") {
  check_reduction([](const Variable& x, const Axes& axes, bool keepdims) { return F::min(x, axes, keepdims); },
                  smallest, without_ties, false);
}

TEST_CASE("property: prod") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 3, 3, true);
    const DrawnAxes axes = draw_axes(draw, shape.ndim());
    const bool keepdims = draw.flip(), has_zeros = draw.flip();
    const Array x =
        has_zeros ? draw.integers(shape, -1, 2).astype(Dtype::float64) : draw.real_away(shape, -1.3, 1.3, {0}, 0.7);
    return {.inputs = {x},
            .function = [=](const Variables& v) { return Variables{F::prod(v[0], axes.given, keepdims)}; },
            .reference =
                [=](const References& v) {
                  return References{naive::reduce(v[0], axes.list, keepdims, [](const std::vector<double>& values) {
                    double product = 1;
                    for (const double factor : values) product *= factor;
                    return product;
                  })};
                }};
  });
}

TEST_CASE("property: logsumexp") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 4);
    const DrawnAxes axes = draw_axes(draw, shape.ndim());
    return {.inputs = {draw.real(shape, -4, 4)},
            .function = [=](const Variables& x) { return Variables{F::logsumexp(x[0], axes.given)}; },
            .reference =
                [=](const References& x) {
                  return References{naive::reduce(x[0], axes.list, false, [](const std::vector<double>& values) {
                    double total = 0;
                    for (const double v : values) total += std::exp(v);
                    return std::log(total);
                  })};
                }};
  });
}

/// Means with and without weights.
template <class Function>
void check_average(Function function) {
  check_property([=](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 4);
    const bool keepdims = draw.flip();
    DrawnAxes axes = draw_axes(draw, shape.ndim());
    Array weights;
    if (draw.flip()) {
      if (shape.ndim() > 0 && draw.flip()) {
        const int64_t axis = draw.axis(shape.ndim());
        axes = {axis, {axis}};
        weights = draw.real({shape[naive::positive_axis(axis, shape.ndim())]}, 0.5, 2);
      } else {
        axes = {std::nullopt, naive::all_axes(shape.ndim())};
        weights = draw.real(shape, 0.5, 2);
      }
    }
    return {.inputs = {draw.real(shape, -2, 2), weights},
            .function = [=](const Variables& x) { return Variables{function(x[0], axes.given, x[1], keepdims)}; },
            .reference =
                [=](const References& x) {
                  if (!weights.is_defined()) return References{naive::reduce(x[0], axes.list, keepdims, naive::mean)};
                  const Reference w = naive::make(shape, [&](const Shape& index) {
                    if (axes.given.is_all()) return x[1].at(index);
                    return x[1].at({index[naive::positive_axis(axes.list[0], shape.ndim())]});
                  });
                  const Reference products = naive::map(std::multiplies<double>(), w, x[0]);
                  return References{naive::map(std::divides<double>(),
                                               naive::reduce(products, axes.list, keepdims, naive::sum),
                                               naive::reduce(w, axes.list, keepdims, naive::sum))};
                }};
  });
}

TEST_CASE("property: average") {
  check_average([](const Variable& x, const Axes& axes, const Variable& weights, bool keepdims) {
    return F::average(x, axes, weights, keepdims);
  });
}

TEST_CASE("property: mean") {
  check_average([](const Variable& x, const Axes& axes, const Variable& weights, bool keepdims) {
    return F::mean(x, axes, weights, keepdims);
  });
}

TEST_CASE("property: sum_to") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 4, true), small = draw.broadcastable(shape);
    return {.inputs = {draw.real(shape, -2, 2)},
            .function = [=](const Variables& x) { return Variables{F::sum_to(x[0], small)}; },
            .reference =
                [=](const References& x) {
                  Reference y = naive::filled(small);
                  naive::each(shape, [&](const Shape& index) {
                    Shape to = small;
                    for (int k = 0; k < to.ndim(); ++k) to[k] = small[k] == 1 ? 0 : index[shape.ndim() - to.ndim() + k];
                    y.at(to) += x[0].at(index);
                  });
                  return References{y};
                }};
  });
}

TEST_CASE("property: batch_l2_norm_squared") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(2, 4, 4, true);
    return {.inputs = {draw.real(shape, -2, 2)},
            .function = [](const Variables& x) { return Variables{F::batch_l2_norm_squared(x[0])}; },
            .reference =
                [=](const References& x) {
                  std::vector<int64_t> axes = naive::all_axes(shape.ndim());
                  axes.erase(axes.begin());
                  return References{naive::reduce(x[0], axes, false, [](const std::vector<double>& values) {
                    double total = 0;
                    for (const double v : values) total += v * v;
                    return total;
                  })};
                }};
  });
}

/// The first place of the largest (or smallest) element, with ties.
template <class Function, class Find>
void check_place(Function function, Find find) {
  check_property([=](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 4);
    std::optional<int64_t> axis;
    if (shape.ndim() > 0 && draw.integer(0, 3) != 0) axis = draw.axis(shape.ndim());
    const Array ties = draw.integers(shape, -2, 2);
    return {.inputs = {draw.flip()   ? ties.astype(Dtype::float64)
                       : draw.flip() ? ties
                                     : draw.real(shape, -1, 1)},
            .function = [=](const Variables& x) { return Variables{function(x[0], axis)}; },
            .reference =
                [=](const References& x) {
                  const std::vector<int64_t> axes = axis ? std::vector<int64_t>{*axis} : naive::all_axes(shape.ndim());
                  return References{naive::reduce(x[0], axes, false, [=](const std::vector<double>& values) {
                    return static_cast<double>(find(values) - values.begin());
                  })};
                },
            .first_order = false,
            .second_order = false};
  });
}

TEST_CASE("property: argmax") {
  check_place([](const Variable& x, std::optional<int64_t> axis) { return F::argmax(x, axis); },
              [](const std::vector<double>& values) { return std::max_element(values.begin(), values.end()); });
}

TEST_CASE("property: argmin") {
  check_place([](const Variable& x, std::optional<int64_t> axis) { return F::argmin(x, axis); },
              [](const std::vector<double>& values) { return std::min_element(values.begin(), values.end()); });
}

}  // namespace
}  // namespace kusari
