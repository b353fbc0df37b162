#include <algorithm>
#include <cmath>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/functions/noise/gaussian.h"
#include "kusari/framework/functions/noise/gumbel_softmax.h"
#include "kusari/framework/functions/noise/simplified_dropconnect.h"
#include "kusari/framework/functions/noise/zoneout.h"
#include "kusari/framework/kernels/random.h"
#include "kusari/tests/properties/property.h"

// With given noise: what is drawn has its distribution tested with each function.
namespace kusari {
namespace {

using namespace testing;

/// The uniform numbers that a function sees as the first ones of the stream with that seed.
Reference first_uniform(const Shape& shape, uint64_t seed, Dtype dtype) {
  const Array u = empty(shape, dtype);
  launch<kernels::Uniform>(u.device(), kernels::UniformRange{}, RandomState{seed, 0}, u);
  return {shape, u.to_vector<double>()};
}

TEST_CASE("property: dropout") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 5, true);
    const bool train = draw.flip();
    return {.inputs = {draw.real(shape, -2, 2), draw.real(shape, 0, 2)},
            .function =
                [=](const Variables& x) {
                  const auto guard = using_config(&Config::train, train);
                  return Variables{F::dropout(x[0], 0.5, {.mask = x[1].array()})};
                },
            .reference =
                [=](const References& x) {
                  return References{
                      naive::map([=](double v, double factor) { return train ? v * factor : v; }, x[0], x[1])};
                },
            .no_grads = {false, true}};
  });
}

TEST_CASE("property: gaussian") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 5, true);
    return {.inputs = {draw.real(shape, -2, 2), draw.real(shape, -2, 2), draw.real(shape, -2, 2)},
            .function = [](const Variables& x) { return Variables{F::gaussian(x[0], x[1], {.eps = x[2].array()})}; },
            .reference =
                [](const References& x) {
                  const auto sample = [](double mean, double ln_var, double eps) {
                    return mean + std::sqrt(std::exp(ln_var)) * eps;
                  };
                  return References{naive::map(sample, x[0], x[1], x[2])};
                },
            .no_grads = {false, false, true}};
  });
}

TEST_CASE("property: gumbel_softmax") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(1, 4);
    const int64_t axis = draw.axis(shape.ndim());
    const auto seed = static_cast<uint64_t>(draw.integer(0, 1000));
    const bool has_variable = draw.flip();
    const double tau = draw.number(0.5, 2);
    return {
        .inputs = {draw.real(shape, -3, 0), full({}, tau, Dtype::float64)},
        .function =
            [=](const Variables& x) {
              const random::LocalStream stream(seed);
              return Variables{has_variable ? F::gumbel_softmax(x[0], x[1], axis) : F::gumbel_softmax(x[0], tau, axis)};
            },
        .reference =
            [=](const References& x) {
              const Reference odds =
                  naive::map([=](double log_pi, double u) { return std::exp((log_pi - std::log(-std::log(u))) / tau); },
                             x[0], first_uniform(shape, seed, Dtype::float64));
              const Reference total = naive::reduce(odds, std::span<const int64_t>(&axis, 1), true, naive::sum);
              return References{naive::map([](double part, double sum) { return part / sum; }, odds, total)};
            },
        .no_grads = {false, !has_variable},
        .float32 = false};  // which draws numbers of fewer digits
  });
}

TEST_CASE("property: simplified_dropconnect") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(2, 3, 4);
    const int64_t n = shape[0], k = numel(shape) / n, m = draw.integer(1, 4);
    const bool is_batchwise = draw.flip(), has_bias = draw.flip(), train = draw.flip(),
               is_masked = !train || draw.flip();
    const double ratio = draw.number(0, 0.9), scale = train ? 1 / (1 - ratio) : 1;
    Array mask = draw.booleans(is_batchwise ? Shape{n, m, k} : Shape{m, k});
    if (!is_masked) mask.fill(1);
    return {
        .inputs = {draw.real(shape, -1, 1), draw.real({m, k}, -1, 1), has_bias ? draw.real({m}, -1, 1) : Array(), mask},
        .function =
            [=](const Variables& x) {
              return Variables{
                  F::simplified_dropconnect(x[0], x[1], x[2], {.ratio = ratio, .train = train, .mask = x[3].array()})};
            },
        .reference =
            [=](const References& x) {
              return References{naive::make({n, m}, [&](const Shape& at) {
                double sum = has_bias ? x[2].at({at[1]}) : 0;
                for (int64_t i = 0; i < k; ++i) {
                  const double kept = is_batchwise ? x[3].at({at[0], at[1], i}) : x[3].at({at[1], i});
                  sum += x[0].values[static_cast<size_t>(at[0] * k + i)] * x[1].at({at[1], i}) * kept * scale;
                }
                return sum;
              })};
            }};
  });
}

TEST_CASE("property: zoneout") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 5, true);
    const bool train = draw.flip();
    const double ratio = draw.number(0, 1);
    const auto seed = static_cast<uint64_t>(draw.integer(0, 1000));
    return {.inputs = {draw.real(shape, -2, 2), draw.real(shape, -2, 2)},
            .function =
                [=](const Variables& x) {
                  const auto guard = using_config(&Config::train, train);
                  const random::LocalStream stream(seed);
                  return Variables{F::zoneout(x[0], x[1], ratio)};
                },
            .reference =
                [=](const References& x) {
                  return References{naive::map([=](double h, double v, double u) { return train && u < ratio ? h : v; },
                                               x[0], x[1], first_uniform(shape, seed, Dtype::float32))};
                },
            // Outside of training y is x itself, which h has no part in.
            .first_order = train,
            .second_order = train};
  });
}

}  // namespace
}  // namespace kusari
