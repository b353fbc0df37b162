#include "kusari/framework/links/normalization/decorrelated_batch_normalization.h"

#include <string>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/normalization/decorrelated_batch_normalization.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

namespace F = functions;

int64_t group_size(int64_t size, int64_t groups) {
  if (groups < 1 || size < 0 || size % groups != 0) {
    throw ValueError("L::DecorrelatedBatchNormalization: groups is " + std::to_string(groups) + " but size is " +
                     std::to_string(size) + ": groups must divide size");
  }
  return size / groups;
}

Array unit_projections(int64_t groups, int64_t n, Dtype dtype) {
  const Array projection = zeros({groups, n, n}, dtype);
  if (projection.size() > 0) projection.as_strided({groups, n}, {n * n, n + 1}).fill(1);
  return projection;
}

}  // namespace

DecorrelatedBatchNormalization::DecorrelatedBatchNormalization(int64_t size, Options options)
    : groups{options.groups},
      decay{options.decay},
      eps{options.eps},
      avg_mean{*this, "avg_mean", zeros({groups, group_size(size, groups)}, options.dtype)},
      avg_projection{*this, "avg_projection", unit_projections(groups, group_size(size, groups), options.dtype)},
      N{*this, "N", 0} {}

Variable DecorrelatedBatchNormalization::operator()(const Variable& x, const BatchNormalizationCall& call) const {
  const LinkCall hooked(*this);
  if (!config().train) {
    return F::fixed_decorrelated_batch_normalization(x, F::cast(Variable(avg_mean, false), x.dtype()),
                                                     F::cast(Variable(avg_projection, false), x.dtype()), groups);
  }
  if (call.finetune && !config().in_recomputing) N = N + 1;
  const double used_decay = call.finetune ? 1 - 1 / static_cast<double>(N) : decay;
  return F::decorrelated_batch_normalization(x, {.groups = groups,
                                                 .eps = eps,
                                                 .running_mean = avg_mean,
                                                 .running_projection = avg_projection,
                                                 .decay = used_decay});
}

void DecorrelatedBatchNormalization::serialize(Serializer& serializer) {
  if (serializer.is_writer()) return Link::serialize(serializer);
  const Array own[] = {avg_mean, avg_projection};
  Persistent* const averages[] = {&avg_mean, &avg_projection};
  const char* const names[] = {"avg_mean", "avg_projection"};
  for (int i = 0; i < 2; ++i) {
    Array stored;
    serializer(names[i], stored);
    if (stored.is_defined() && stored.shape() == own[i].at(0).shape()) *averages[i] = Array();  // takes what is shared
  }
  const auto give_back = [&](int i) { return std::exchange(static_cast<Array&>(*averages[i]), own[i]); };
  try {
    Link::serialize(serializer);
  } catch (...) {
    for (int i = 0; i < 2; ++i) give_back(i);
    throw;
  }
  for (int i = 0; i < 2; ++i) {
    if (averages[i]->shape() != own[i].shape()) own[i].copy_from(give_back(i).broadcast_to(own[i].shape()));
  }
}

}  // namespace kusari::links
