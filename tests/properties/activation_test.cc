#include <cmath>
#include <span>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/celu.h"
#include "kusari/framework/functions/activation/clipped_relu.h"
#include "kusari/framework/functions/activation/crelu.h"
#include "kusari/framework/functions/activation/elu.h"
#include "kusari/framework/functions/activation/gelu.h"
#include "kusari/framework/functions/activation/glu.h"
#include "kusari/framework/functions/activation/hard_sigmoid.h"
#include "kusari/framework/functions/activation/hard_swish.h"
#include "kusari/framework/functions/activation/leaky_relu.h"
#include "kusari/framework/functions/activation/log_sigmoid.h"
#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/functions/activation/maxout.h"
#include "kusari/framework/functions/activation/mish.h"
#include "kusari/framework/functions/activation/prelu.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/rrelu.h"
#include "kusari/framework/functions/activation/shrink.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/activation/softsign.h"
#include "kusari/framework/functions/activation/swish.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/activation/tanhshrink.h"
#include "kusari/framework/functions/activation/thresholded_relu.h"
#include "kusari/tests/properties/property.h"

namespace kusari {
namespace {

using namespace testing;

/// check_pointwise_property of a function with an option, drawn for each case.
template <class Option, class Function, class Formula, class Kinks>
void check_with_option(Option option, Function function, Formula formula, double low, double high, Kinks kinks) {
  check_property([=](Draw& draw) -> PropertyCase {
    const double o = option(draw);
    return {
        .inputs = {draw.real_away(draw.shape(0, 4, 5, true), low, high, kinks(o))},
        .function = [=](const Variables& x) { return Variables{function(x[0], o)}; },
        .reference =
            [=](const References& x) { return References{naive::map([=](double v) { return formula(v, o); }, x[0])}; }};
  });
}

double relu(double v) { return v > 0 ? v : 0; }
double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }
std::vector<double> at_zero(double) { return {0}; }
std::vector<double> nowhere(double) { return {}; }

TEST_CASE("property: relu") { check_pointwise_property(F::relu, relu, -3, 3, {0}); }

TEST_CASE("property: relu6") {
  check_pointwise_property(F::relu6, [](double v) { return std::min(relu(v), 6.0); }, -9, 9, {0, 6});
}

TEST_CASE("property: clipped_relu") {
  check_with_option([](Draw& draw) { return draw.number(0.2, 3); }, F::clipped_relu,
                    [](double v, double z) { return std::min(relu(v), z); }, -4, 4,
                    [](double z) {
                      return std::vector<double>{0, z};
                    });
}

TEST_CASE("property: elu") {
  check_with_option([](Draw& draw) { return draw.number(0.1, 2); }, F::elu,
                    [](double v, double alpha) { return v >= 0 ? v : alpha * (std::exp(v) - 1); }, -4, 4, at_zero);
}

TEST_CASE("property: selu") {
  check_property([](Draw& draw) -> PropertyCase {
    const double alpha = draw.number(0.5, 2), scale = draw.number(0.5, 2);
    return {.inputs = {draw.real_away(draw.shape(0, 4, 5, true), -4, 4, {0})},
            .function = [=](const Variables& x) { return Variables{F::selu(x[0], alpha, scale)}; },
            .reference =
                [=](const References& x) {
                  return References{
                      naive::map([=](double v) { return scale * (v >= 0 ? v : alpha * (std::exp(v) - 1)); }, x[0])};
                }};
  });
}

TEST_CASE("property: gelu") {
  check_pointwise_property([](const Variable& x) { return F::gelu(x); },
                           [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }, -4, 4, {});
}

TEST_CASE("property: silu") {
  check_pointwise_property(F::silu, [](double v) { return v / (1 + std::exp(-v)); }, -4, 4, {});
}

TEST_CASE("property: hard_sigmoid") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::HardSigmoidOptions o =
        draw.flip() ? F::HardSigmoidOptions{} : F::HardSigmoidOptions{draw.number(0.1, 1), draw.number(0.2, 0.8)};
    return {.inputs = {draw.real_away(draw.shape(0, 4, 5, true), -4, 4, {-o.beta / o.alpha, (1 - o.beta) / o.alpha})},
            .function = [=](const Variables& x) { return Variables{F::hard_sigmoid(x[0], o)}; },
            .reference =
                [=](const References& x) {
                  const auto formula = [=](double v) { return std::min(std::max(o.alpha * v + o.beta, 0.0), 1.0); };
                  return References{naive::map(formula, x[0])};
                }};
  });
}

TEST_CASE("property: hard_swish") {
  check_pointwise_property(F::hard_swish, [](double v) { return v * std::min(std::max(v / 6 + 0.5, 0.0), 1.0); }, -5, 5,
                           {-3, 3});
}

TEST_CASE("property: mish") {
  check_pointwise_property(
      F::mish, [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }, -6, 6);
}

TEST_CASE("property: tanhshrink") {
  check_pointwise_property(
      F::tanhshrink, [](double v) { return v - std::tanh(v); }, -4, 4);
}

TEST_CASE("property: softsign") {
  check_pointwise_property(F::softsign, [](double v) { return v / (1 + std::abs(v)); }, -4, 4, {0});
}

TEST_CASE("property: celu") {
  check_with_option([](Draw& draw) { return draw.number(0.3, 2); }, F::celu,
                    [](double v, double alpha) { return v >= 0 ? v : alpha * (std::exp(v / alpha) - 1); }, -2, 2,
                    at_zero);
}

TEST_CASE("property: thresholded_relu") {
  check_with_option([](Draw& draw) { return draw.number(-1, 2); }, F::thresholded_relu,
                    [](double v, double alpha) { return v > alpha ? v : 0; }, -3, 3,
                    [](double alpha) { return std::vector<double>{alpha}; });
}

TEST_CASE("property: shrink") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::ShrinkOptions o{draw.number(0.1, 1.5), draw.number(-1, 1)};
    return {.inputs = {draw.real_away(draw.shape(0, 4, 5, true), -3, 3, {-o.lambd, o.lambd})},
            .function = [=](const Variables& x) { return Variables{F::shrink(x[0], o)}; },
            .reference =
                [=](const References& x) {
                  const auto formula = [=](double v) {
                    return v < -o.lambd ? v + o.bias : (v > o.lambd ? v - o.bias : 0);
                  };
                  return References{naive::map(formula, x[0])};
                }};
  });
}

TEST_CASE("property: leaky_relu") {
  check_with_option([](Draw& draw) { return draw.number(-0.5, 1.5); }, F::leaky_relu,
                    [](double v, double slope) { return v >= 0 ? v : slope * v; }, -3, 3, at_zero);
}

TEST_CASE("property: sigmoid") { check_pointwise_property(F::sigmoid, sigmoid, -8, 8); }

TEST_CASE("property: tanh") {
  check_pointwise_property(
      F::tanh, [](double v) { return std::tanh(v); }, -4, 4);
}

TEST_CASE("property: softplus") {
  check_with_option([](Draw& draw) { return draw.number(0.3, 3); }, F::softplus,
                    [](double v, double beta) { return std::log1p(std::exp(beta * v)) / beta; }, -4, 4, nowhere);
}

/// For parameters of x's axes from axis 1 on, some of the last left out: the element that belongs to an index of x.
double of_channels(const Reference& parameter, const Shape& index) {
  Shape own;
  for (int k = 0; k < parameter.shape.ndim(); ++k) own.push_back(index[k + 1]);
  return parameter.at(own);
}

Shape channels_of(Draw& draw, const Shape& shape) {
  Shape channels;
  const int64_t axes = draw.integer(0, shape.ndim() - 1);
  for (int k = 1; k <= axes; ++k) channels.push_back(shape[k]);
  return channels;
}

TEST_CASE("property: prelu") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(1, 4);
    return {.inputs = {draw.real_away(shape, -3, 3, {0}), draw.real(channels_of(draw, shape), -1, 1)},
            .function = [](const Variables& x) { return Variables{F::prelu(x[0], x[1])}; },
            .reference =
                [](const References& x) {
                  return References{naive::make(x[0].shape, [&](const Shape& at) {
                    const double v = x[0].at(at);
                    return v >= 0 ? v : of_channels(x[1], at) * v;
                  })};
                }};
  });
}

TEST_CASE("property: swish") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(1, 4);
    return {.inputs = {draw.real(shape, -3, 3), draw.real(channels_of(draw, shape), -2, 2)},
            .function = [](const Variables& x) { return Variables{F::swish(x[0], x[1])}; },
            .reference =
                [](const References& x) {
                  return References{naive::make(x[0].shape, [&](const Shape& at) {
                    const double v = x[0].at(at);
                    return v * sigmoid(of_channels(x[1], at) * v);
                  })};
                }};
  });
}

TEST_CASE("property: rrelu") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 5, true);
    const bool train = draw.flip();
    const double l = draw.number(0, 0.5), u = draw.number(0.5, 1);
    return {.inputs = {draw.real_away(shape, -3, 3, {0}), draw.real(shape, -0.5, 1)},
            .function =
                [=](const Variables& x) {
                  const auto guard = using_config(&Config::train, train);
                  return Variables{F::rrelu(x[0], l, u, {.r = x[1].array()})};
                },
            .reference =
                [=](const References& x) {
                  return References{naive::map(
                      [=](double v, double r) { return v >= 0 ? v : (train ? r : (l + u) / 2) * v; }, x[0], x[1])};
                },
            .no_grads = {false, true}};
  });
}

TEST_CASE("property: crelu") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(1, 4, 4);
    const int64_t axis = draw.axis(shape.ndim());
    return {.inputs = {draw.real_away(shape, -3, 3, {0})},
            .function = [=](const Variables& x) { return Variables{F::crelu(x[0], axis)}; },
            .reference =
                [=](const References& x) {
                  const int k = naive::positive_axis(axis, shape.ndim());
                  Shape twice = shape;
                  twice[k] *= 2;
                  return References{naive::make(twice, [&](Shape at) {
                    const bool is_negated = at[k] >= shape[k];
                    if (is_negated) at[k] -= shape[k];
                    return relu(is_negated ? -x[0].at(at) : x[0].at(at));
                  })};
                }};
  });
}

TEST_CASE("property: maxout") {
  check_property([](Draw& draw) -> PropertyCase {
    Shape shape = draw.shape(1, 3, 4);
    const int64_t axis = draw.axis(shape.ndim()), pool = draw.integer(1, 4);
    const int k = naive::positive_axis(axis, shape.ndim());
    const Shape pooled = shape;
    shape[k] *= pool;
    return {.inputs = {draw.distinct(shape)},
            .function = [=](const Variables& x) { return Variables{F::maxout(x[0], pool, axis)}; },
            .reference =
                [=](const References& x) {
                  return References{naive::make(pooled, [&](Shape at) {
                    at[k] *= pool;
                    double largest = x[0].at(at);
                    for (int64_t i = 1; i < pool; ++i) {
                      ++at[k];
                      largest = std::max(largest, x[0].at(at));
                    }
                    return largest;
                  })};
                }};
  });
}

/// y = formula(x, the sum of exp(x) along the axis).
template <class Formula>
Reference along_axis(const Reference& x, int64_t axis, Formula formula) {
  const Reference total = naive::reduce(x, std::span<const int64_t>(&axis, 1), true, [](const std::vector<double>& v) {
    double sum = 0;
    for (const double element : v) sum += std::exp(element);
    return sum;
  });
  return naive::map(formula, x, total);
}

TEST_CASE("property: softmax") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(1, 4);
    const int64_t axis = draw.axis(shape.ndim());
    return {.inputs = {draw.real(shape, -4, 4)},
            .function = [=](const Variables& x) { return Variables{F::softmax(x[0], axis)}; },
            .reference =
                [=](const References& x) {
                  return References{along_axis(x[0], axis, [](double v, double total) { return std::exp(v) / total; })};
                }};
  });
}

TEST_CASE("property: log_softmax") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(1, 4);
    const int64_t axis = draw.axis(shape.ndim());
    return {.inputs = {draw.real(shape, -4, 4)},
            .function = [=](const Variables& x) { return Variables{F::log_softmax(x[0], axis)}; },
            .reference =
                [=](const References& x) {
                  return References{along_axis(x[0], axis, [](double v, double total) { return v - std::log(total); })};
                }};
  });
}

TEST_CASE("property: log_sigmoid") {
  check_pointwise_property(
      F::log_sigmoid, [](double v) { return -std::log1p(std::exp(-v)); }, -6, 6);
}

TEST_CASE("property: glu") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape half = draw.shape(1, 4, 4, true);
    const int64_t axis = draw.axis(half.ndim());
    const int k = naive::positive_axis(axis, half.ndim());
    Shape whole = half;
    whole[k] *= 2;
    return {.inputs = {draw.real(whole, -3, 3)},
            .function = [=](const Variables& x) { return Variables{F::glu(x[0], axis)}; },
            .reference =
                [=](const References& x) {
                  return References{naive::make(half, [&](const Shape& at) {
                    Shape gate = at;
                    gate[k] += half[k];
                    return x[0].at(at) / (1 + std::exp(-x[0].at(gate)));
                  })};
                }};
  });
}

}  // namespace
}  // namespace kusari
