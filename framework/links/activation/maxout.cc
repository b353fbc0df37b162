#include "kusari/framework/links/activation/maxout.h"

#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/maxout.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

int64_t maxout_units(int64_t out_size, int64_t pool_size) {
  if (pool_size < 1) {
    throw ValueError("L::Maxout: pool_size is " + std::to_string(pool_size) + ": it must be positive");
  }
  return size_times("L::Maxout", "out_size", out_size, pool_size);
}

}  // namespace

Maxout::Maxout(int64_t in_size, int64_t out_size, int64_t pool, Options options)
    : pool_size{pool},
      linear{*this,
             "linear",
             size_or_infer("L::Maxout", "in_size", in_size),
             maxout_units(out_size, pool),
             {.nobias = options.nobias,
              .initial_w = std::move(options.initial_w),
              .initial_bias = std::move(options.initial_bias)}} {}

Variable Maxout::operator()(const Variable& x) const {
  const LinkCall call(*this);
  return functions::maxout(linear(x), pool_size);
}

}  // namespace kusari::links
