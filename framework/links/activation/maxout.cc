#include "kusari/framework/links/activation/maxout.h"

#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/maxout.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {

Maxout::Maxout(int64_t in_size, int64_t out_size, int64_t pool, Options options)
    : pool_size{pool},
      linear{*this,
             "linear",
             in_size,
             out_size * pool,
             {.nobias = options.nobias,
              .initial_w = std::move(options.initial_w),
              .initial_bias = std::move(options.initial_bias)}} {
  if (pool < 1) {
    throw ValueError("L::Maxout: pool_size is " + std::to_string(pool) + ": it must be positive");
  }
}

Variable Maxout::operator()(const Variable& x) {
  const detail::LinkCall call(*this);
  return functions::maxout(linear(x), pool_size);
}

}  // namespace kusari::links
