#include "kusari/framework/functions/noise/simplified_dropconnect.h"

#include <string>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

constexpr const char* kSimplifiedDropconnect = "simplified_dropconnect";

void check(const Variable& x, const Variable& W, const Variable& b, const Array& mask) {
  const InputCheck c(kSimplifiedDropconnect, {&x, &W, &b});
  const auto [x_, W_, b_] = c.args("x", "W", "b");
  c.expect(x_.is_floating(), W_.is_floating(), x_.ndim() >= 2, W_.ndim() == 2);
  Shape features = x.shape();
  features.erase(0);
  if (numel(features) != W.shape()[1]) {
    const Array flat = zeros({}, x.dtype(), x.device()).broadcast_to({x.shape()[0], numel(features)});
    c.expect(type_check::Argument(kSimplifiedDropconnect, "x flattened", &flat).shape(1) == W_.shape(1));
  }
  if (b_.is_given()) c.expect(b_.dtype() == x_.dtype(), b_.ndim() == 1, b_.shape(0) == W_.shape(0));
  if (!mask.is_defined()) return;
  const type_check::Argument m(kSimplifiedDropconnect, "mask", &mask);
  c.expect(m.ndim() >= 2, m.ndim() <= 3, m.shape(-2) == W_.shape(0), m.shape(-1) == W_.shape(1));
  if (mask.ndim() == 3) c.expect(m.shape(0) == x_.shape(0));
}

}  // namespace

Variable simplified_dropconnect(const Variable& x, const Variable& W, const Variable& b,
                                const SimplifiedDropconnectOptions& options) {
  if (const CompositeInputs in(kSimplifiedDropconnect, {x, W, b}); in.is_cast()) {
    return simplified_dropconnect(in[0], in[1], in[2], options);
  }
  const double ratio = options.train ? options.ratio : 0;
  if (!(ratio >= 0 && ratio < 1)) {
    throw ValueError(std::string("F::") + kSimplifiedDropconnect + ": ratio " + general_text(ratio) +
                     " must be in [0, 1)");
  }
  if (config().type_check) check(x, W, b, options.mask);
  if (!options.train && !options.mask.is_defined()) return linear(x, W, b);

  DropoutOptions dropped;
  if (options.mask.is_defined()) {
    dropped.mask = pointwise_as(W.dtype(), kernels::MulConst{1 / (1 - ratio)}, options.mask);
  }
  const bool is_batchwise = options.mask.is_defined() ? options.mask.ndim() == 3 : options.use_batchwise_mask;
  const int64_t n = x.shape()[0], m = W.shape()[0], k = W.shape()[1];
  const auto always = using_config(&Config::train, true);
  if (!is_batchwise) return linear(x, dropout(W, ratio, dropped), b);
  const Variable weights = dropout(broadcast_to(W, {n, m, k}), ratio, dropped);
  const Variable y = reshape(matmul(weights, reshape(x, {n, k, 1}), {.dtype = x.dtype()}), {n, m});
  return b.is_defined() ? y + b : y;
}

}  // namespace kusari::functions
