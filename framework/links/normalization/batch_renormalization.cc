#include "kusari/framework/links/normalization/batch_renormalization.h"

#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/normalization/batch_renormalization.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {

namespace F = functions;

BatchRenormalization::BatchRenormalization(int64_t size, Options options)
    : BatchStatistics("L::BatchRenormalization", {size},
                      {options.decay, options.eps, options.dtype, options.use_gamma, options.use_beta,
                       std::move(options.initial_gamma), std::move(options.initial_beta), Dims(),
                       std::move(options.initial_avg_mean), std::move(options.initial_avg_var)}),
      rmax{options.rmax},
      dmax{options.dmax} {}

Variable BatchRenormalization::operator()(const Variable& x, const BatchNormalizationCall& call) const {
  prepare(x);
  const LinkCall hooked(*this);
  if (!config().train) return F::fixed_batch_normalization(x, scale(), shift(), mean(), var(), {.eps = eps});
  const bool again = config().in_recomputing;
  if (!again) {
    previous_mean_ = avg_mean.copy();
    previous_var_ = avg_var.copy();
  }
  const auto used = [&](const Array& average, const Array& previous) {
    return again && previous.is_defined() ? previous : average;
  };
  return F::batch_renormalization(x, scale(), shift(),
                                  {.rmax = rmax,
                                   .dmax = dmax,
                                   .eps = eps,
                                   .running_mean = used(avg_mean, previous_mean_),
                                   .running_var = used(avg_var, previous_var_),
                                   .decay = count(call),
                                   .update_statistics = !again});
}

}  // namespace kusari::links
