#include "kusari/framework/initializers/random_array.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/noise/multinomial.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/ordering.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random.h"

namespace kusari::random {
namespace {

template <class Kernel, class Numbers>
Array draw(const char* call, const Shape& shape, std::optional<Dtype> wanted, const Device& device,
           const Numbers& numbers) {
  const Dtype dtype = get_dtype(wanted);
  if (!is_floating(dtype)) {
    throw TypeError(std::string(call) + ": dtype is " + name(dtype) + ": it must be floating");
  }
  const Array y = empty(shape, dtype, device);
  launch<Kernel>(device, numbers, reserve(static_cast<uint64_t>(y.size())), y);
  return y;
}

constexpr const char* kChoice = "random::choice";

void check_probabilities(const std::vector<double>& p, int64_t n, bool replace, int64_t count) {
  const std::string begin = std::string(kChoice) + ": p ";
  if (std::ssize(p) != n) {
    throw ValueError(begin + "has " + std::to_string(p.size()) + " numbers but n is " + std::to_string(n) +
                     ": they must be as many");
  }
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] >= 0 && p[i] <= 1) continue;
    argument::refuse(kChoice, ("p[" + std::to_string(i) + "]").c_str(), argument::text_of(p[i]), "be in [0, 1]");
  }
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  argument::require(std::abs(sum - 1) <= 1e-4, kChoice, "the sum of p", sum, "be 1");
  const int64_t possible = n - std::count(p.begin(), p.end(), 0.0);
  if (!replace && possible < count) {
    throw ValueError(begin + "has " + std::to_string(possible) + " numbers above 0: without replacement " +
                     std::to_string(count) + " cannot be drawn");
  }
}

}  // namespace

Array uniform(const Shape& shape, const UniformOptions& o) {
  return draw<kernels::Uniform>("random::uniform", shape, o.dtype, o.device, kernels::UniformRange{o.low, o.high});
}

Array normal(const Shape& shape, const NormalOptions& o) {
  return draw<kernels::Normal>("random::normal", shape, o.dtype, o.device, kernels::NormalMoments{o.mean, o.deviation});
}

Array randint(int64_t low, int64_t high, const Shape& shape, const RandintOptions& o) {
  constexpr uint64_t kMost = uint64_t{1} << 32;  // of which a number in [0, 1) has a step for each
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (low >= high || count > kMost) {
    throw ValueError("random::randint: low is " + std::to_string(low) + " but high is " + std::to_string(high) +
                     ": high must be greater, by at most 2^32");
  }
  if (!is_integral(o.dtype)) {
    throw TypeError(std::string("random::randint: dtype is ") + name(o.dtype) + ": it must be that of integers");
  }
  for (const int64_t end : {low, high - 1}) expect_fits(o.dtype, end, "random::randint");
  const Array unit = uniform(shape, {.dtype = Dtype::float64, .device = o.device});
  const Array steps = pointwise(kernels::Floor{}, pointwise(kernels::MulConst{static_cast<double>(count)}, unit));
  return (steps.astype(Dtype::int64) + Scalar(low)).astype(o.dtype);
}

Array bernoulli(double p, const Shape& shape, const BernoulliOptions& o) {
  argument::require(p >= 0 && p <= 1, "random::bernoulli", "p", p, "be in [0, 1]");
  const Array unit = uniform(shape, {.dtype = Dtype::float64, .device = o.device});
  return (unit < Scalar(p)).astype(get_dtype(o.dtype));
}

Array choice(int64_t n, const Shape& shape, const ChoiceOptions& o) {
  const int64_t count = checked_numel(argument::shape(kChoice, "shape", shape), itemsize(Dtype::int64), kChoice);
  argument::require(n >= (count > 0 ? 1 : 0) && n <= int64_t{1} << 32, kChoice, "n", n, "be in [1, 2^32]");
  if (!o.p.empty()) check_probabilities(o.p, n, o.replace, count);
  if (!o.replace && count > n) {
    throw ValueError(std::string(kChoice) + ": shape is " + to_string(shape) + " but n is " + std::to_string(n) +
                     ": without replacement there must not be more than n");
  }
  const Device device = o.device.value_or(Device());
  if (count == 0) return empty(shape, Dtype::int64, device);
  if (!o.p.empty()) {
    const Variable weights(array(o.p, device), false);
    const Variable drawn = functions::multinomial(weights, count, {.replacement = o.replace});
    return drawn.array().astype(Dtype::int64).reshape(shape);
  }
  if (o.replace) return randint(0, n, shape, {.dtype = Dtype::int64, .device = device});
  // The order of random numbers is a random order.
  const Array order = empty({1, n}, Dtype::int64, device);
  launch<kernels::ArgsortRows>(device, uniform({1, n}, {.dtype = Dtype::float64, .device = device}), order);
  return order.slice(1, 0, count).copy().reshape(shape);
}

Array choice(const Array& a, const Shape& shape, const ChoiceOptions& options) {
  functions::expect_given(a, kChoice, "a");
  if (a.ndim() == 0) throw TypeError(std::string(kChoice) + ": a has shape (): it must have an axis to draw from");
  ChoiceOptions places = options;
  places.device = a.device();
  const Variable drawn = functions::get_item(Variable(a, false), {choice(a.shape(0), shape, places)});
  return drawn.array().to_device(options.device.value_or(a.device()));
}

}  // namespace kusari::random
