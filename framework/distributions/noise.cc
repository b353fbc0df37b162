#include "kusari/framework/distributions/noise.h"

#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/random.h"

namespace kusari::distributions {
namespace {

// 16 bits would be rounded before the formulas that follow.
Array wide_uniform(const NoiseKind& kind) {
  const Array u = empty(kind.shape, promote(kind.dtype, Dtype::float32), kind.device);
  launch<kernels::Uniform>(kind.device, kernels::UniformRange{}, random::reserve(static_cast<uint64_t>(u.size())), u);
  return u;
}

}  // namespace

Array normal_noise(const NoiseKind& kind) {
  const Array n = empty(kind.shape, kind.dtype, kind.device);
  launch<kernels::Normal>(kind.device, kernels::NormalMoments{}, random::reserve(static_cast<uint64_t>(n.size())), n);
  return n;
}

Array uniform_noise(const NoiseKind& kind) { return wide_uniform(kind).astype(kind.dtype); }

Array exponential_noise(const NoiseKind& kind) { return (-xp::log1p(-wide_uniform(kind))).astype(kind.dtype); }

}  // namespace kusari::distributions
