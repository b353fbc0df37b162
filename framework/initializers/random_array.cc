#include "kusari/framework/initializers/random_array.h"

#include <string>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/math_functions.h"
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

}  // namespace kusari::random
