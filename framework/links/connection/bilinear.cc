#include "kusari/framework/links/connection/bilinear.h"

#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/connection/bilinear.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

Bilinear::Bilinear(int64_t left_size, int64_t right_size, int64_t out_size, Options options)
    : W{*this,
        "W",
        {argument::not_negative("L::Bilinear", "left_size", left_size),
         argument::not_negative("L::Bilinear", "right_size", right_size),
         argument::not_negative("L::Bilinear", "out_size", out_size)},
        std::move(options.initial_w)},
      V1{*this, "V1", {left_size, out_size}, std::move(options.initial_v1), !options.nobias},
      V2{*this, "V2", {right_size, out_size}, std::move(options.initial_v2), !options.nobias},
      b{*this, "b", {out_size}, std::move(options.initial_b), !options.nobias} {}

Variable Bilinear::operator()(const Variable& e1, const Variable& e2) const {
  const LinkCall call(*this);
  return functions::bilinear(e1, e2, W, V1, V2, b);
}

}  // namespace kusari::links
