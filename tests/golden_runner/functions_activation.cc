#include "kusari/framework/functions/activation/clipped_relu.h"
#include "kusari/framework/functions/activation/crelu.h"
#include "kusari/framework/functions/activation/elu.h"
#include "kusari/framework/functions/activation/hard_sigmoid.h"
#include "kusari/framework/functions/activation/leaky_relu.h"
#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/functions/activation/maxout.h"
#include "kusari/framework/functions/activation/prelu.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/rrelu.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/activation/swish.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

void add_activation_functions(FunctionTable& table) {
  table.insert({
      {"clipped_relu", call([](Args& a) { return F::clipped_relu(a.var("x"), a.number("z")); })},
      {"crelu", call([](Args& a) { return F::crelu(a.var("x"), a.integer("axis")); })},
      {"elu", call([](Args& a) { return F::elu(a.var("x"), a.number("alpha")); })},
      {"hard_sigmoid", unary([](const Variable& x) { return F::hard_sigmoid(x); })},
      {"leaky_relu", call([](Args& a) { return F::leaky_relu(a.var("x"), a.number("slope")); })},
      {"log_softmax", call([](Args& a) { return F::log_softmax(a.var("x"), a.integer("axis")); })},
      {"maxout", call([](Args& a) { return F::maxout(a.var("x"), a.integer("pool_size"), a.integer("axis")); })},
      {"prelu", binary(F::prelu, "x", "W")},
      {"relu", unary(F::relu)},
      {"relu6", unary(F::relu6)},
      {"rrelu", call([](Args& a) {
         Array r;
         const Variable y = F::rrelu(a.var("x"), a.number("l"), a.number("u"), {.r = a.array("r"), .return_r = &r});
         return with_extra(a, "return_r", y, r);
       })},
      {"selu", call([](Args& a) { return F::selu(a.var("x"), a.number("alpha"), a.number("scale")); })},
      {"sigmoid", unary(F::sigmoid)},
      {"softmax", call([](Args& a) { return F::softmax(a.var("x"), a.integer("axis")); })},
      {"softplus", call([](Args& a) { return F::softplus(a.var("x"), a.number("beta")); })},
      {"swish", call([](Args& a) { return F::swish(a.var("x"), a.var("beta")); })},
      {"tanh", unary(F::tanh)},
  });
}

}  // namespace kusari::golden
