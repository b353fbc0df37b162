#include "kusari/framework/links/loss/black_out.h"

#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/loss/black_out.h"
#include "kusari/framework/initializers/constant.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

BlackOut::BlackOut(int64_t in_size, const std::vector<int64_t>& counts, int64_t n_samples, Options options)
    : W{*this,
        "W",
        {static_cast<int64_t>(counts.size()), argument::not_negative("L::BlackOut", "in_size", in_size)},
        options.initial_w ? std::move(options.initial_w) : Initializer(initializers::NaN())},
      sample_size{argument::not_negative("L::BlackOut", "sample_size", n_samples)},
      sampler{std::vector<double>(counts.begin(), counts.end())},
      draw_{std::move(options.sampler)} {}

Variable BlackOut::operator()(const Variable& x, const Variable& t) const {
  const LinkCall call(*this);
  functions::expect_given(x, "F::black_out", "x");
  const Shape shape{x.ndim() == 0 ? 1 : x.shape()[0], sample_size};  // of a scalar the function complains
  if (draw_) {
    const Array samples = draw_(shape);
    const bool is_given = samples.is_defined();  // otherwise the function complains
    return functions::black_out(x, t, W, is_given ? Variable(samples.to_device(x.device()), false) : Variable());
  }
  if (sampler.device() != x.device()) sampler.to(x.device());
  return functions::black_out(x, t, W, sampler.sample(shape));
}

}  // namespace kusari::links
