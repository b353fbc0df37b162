#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/functions/noise/gaussian.h"
#include "kusari/framework/functions/noise/simplified_dropconnect.h"
#include "kusari/framework/functions/noise/zoneout.h"
#include "kusari/framework/functions/util/forget.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

void add_noise_functions(FunctionTable& table) {
  table.insert({
      {"dropout", call([](Args& a) {
         Array mask;
         const Variable y = F::dropout(a.var("x"), a.number("ratio"), {.mask = a.array("mask"), .return_mask = &mask});
         return with_extra(a, "return_mask", y, mask);
       })},
      {"forget", call([](Args& a) {
         const auto function = [](const Variable& x, const Variable& y) { return x * F::tanh(y) + y; };
         return F::forget(function, a.var("x"), a.var("y"));
       })},
      {"gaussian", call([](Args& a) {
         Array eps;
         const Variable y = F::gaussian(a.var("mean"), a.var("ln_var"), {.eps = a.array("eps"), .return_eps = &eps});
         return with_extra(a, "return_eps", y, eps);
       })},
      {"simplified_dropconnect", call([](Args& a) {
         return F::simplified_dropconnect(a.var("x"), a.var("W"), a.var("b"),
                                          {.ratio = a.number("ratio"),
                                           .train = a.flag("train"),
                                           .mask = a.array("mask"),
                                           .use_batchwise_mask = a.flag("use_batchwise_mask")});
       })},
      {"zoneout", call([](Args& a) { return F::zoneout(a.var("h"), a.var("x"), a.number("ratio")); })},
  });
}

}  // namespace kusari::golden
