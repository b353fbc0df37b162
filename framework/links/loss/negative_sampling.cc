#include "kusari/framework/links/loss/negative_sampling.h"

#include <cmath>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

std::vector<double> powers(const std::vector<int64_t>& counts, double power) {
  std::vector<double> result;
  for (const int64_t count : counts) result.push_back(std::pow(static_cast<double>(count), power));
  return result;
}

}  // namespace

NegativeSampling::NegativeSampling(int64_t in_size, const std::vector<int64_t>& counts, int64_t n_samples,
                                   Options options)
    : W{*this,
        "W",
        {static_cast<int64_t>(counts.size()), argument::not_negative("L::NegativeSampling", "in_size", in_size)},
        0,
        options.dtype},
      sample_size{argument::not_negative("L::NegativeSampling", "sample_size", n_samples)},
      sampler{powers(counts, options.power)},
      draw_{std::move(options.sampler)} {}

Variable NegativeSampling::operator()(const Variable& x, const Variable& t,
                                      const functions::NegativeSamplingOptions& options) const {
  const LinkCall call(*this);
  functions::expect_given(x, "F::negative_sampling", "x");
  if (draw_) return functions::negative_sampling(x, t, W, draw_, sample_size, options);
  if (sampler.device() != x.device()) sampler.to(x.device());
  const auto draw = [this](const Shape& shape) { return sampler.sample(shape); };
  return functions::negative_sampling(x, t, W, draw, sample_size, options);
}

}  // namespace kusari::links
