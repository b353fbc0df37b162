#include "kusari/framework/initializers/random_array.h"

#include <string>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
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

}  // namespace kusari::random
