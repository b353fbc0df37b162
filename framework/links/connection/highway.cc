#include "kusari/framework/links/connection/highway.h"

#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

Highway::Highway(int64_t in_out_size, Options options)
    : activate{argument::callable("L::Highway", "activate", std::move(options.activate))},
      plain{*this,
            "plain",
            argument::not_negative("L::Highway", "in_out_size", in_out_size),
            in_out_size,
            {.nobias = options.nobias,
             .initial_w = std::move(options.init_wh),
             .initial_bias = std::move(options.init_bh)}},
      transform{*this,
                "transform",
                in_out_size,
                in_out_size,
                {.nobias = options.nobias,
                 .initial_w = std::move(options.init_wt),
                 .initial_bias = std::move(options.init_bt)}} {}

Variable Highway::operator()(const Variable& x) const {
  const LinkCall call(*this);
  const Variable h = activate(plain(x)), gate = functions::sigmoid(transform(x));
  return h * gate + x * (1 - gate);
}

}  // namespace kusari::links
