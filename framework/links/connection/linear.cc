#include "kusari/framework/links/connection/linear.h"

#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/links/connection/filters.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {

Linear::Linear(int64_t in_size, int64_t out_size, Options options)
    : W{*this,
        "W",
        {argument::not_negative("L::Linear", "out_size", out_size), size_or_infer("L::Linear", "in_size", in_size)},
        std::move(options.initial_w)},
      b{*this, "b", {out_size}, std::move(options.initial_bias), !options.nobias} {}

Linear Linear::from_params(const Array& W, const Array& b, bool nobias) {
  check_filters("L::Linear::from_params", W, 2, 2);
  return Linear(
      W.shape()[1], W.shape()[0],
      {.nobias = nobias, .initial_w = W, .initial_bias = given_bias("L::Linear::from_params", b, W.shape()[0])});
}

Variable Linear::operator()(const Variable& x, int n_batch_axes) const {
  const kusari::detail::SizesOnTrial sizes(W);
  if (!W.is_initialized()) {
    functions::expect_floating(x, "F::linear", "x");
    if (n_batch_axes < 1 || (n_batch_axes > 1 && n_batch_axes > x.ndim())) {
      return functions::linear(x, W, b, {.n_batch_axes = n_batch_axes});  // throws
    }
    expect_axes("L::Linear", x, 2);
    int64_t in_size = 1;
    for (int axis = n_batch_axes; axis < x.ndim(); ++axis) in_size *= x.shape()[axis];
    W.infer(1, in_size);
  }
  const LinkCall call(*this);
  return functions::linear(x, W, b, {.n_batch_axes = n_batch_axes});
}

std::vector<std::pair<std::string, std::string>> Linear::printable_specs() const {
  const Shape& shape = W.declared_shape();
  return {{"in_size", shape[1] == kInfer ? "None" : std::to_string(shape[1])},
          {"out_size", std::to_string(shape[0])},
          {"nobias", b.is_defined() ? "False" : "True"}};
}

}  // namespace kusari::links
