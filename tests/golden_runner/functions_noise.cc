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
      {"dropout",
       call([](Args& a) { return F::dropout(a.var("x"), a.number("ratio", 0.5), {.mask = a.array("mask")}); })},
      {"forget", call([](Args& a) {
         const auto function = [](const Variable& x, const Variable& y) { return x * F::tanh(y) + y; };
         return F::forget(function, a.var("x"), a.var("y"));
       })},
      {"gaussian", call([](Args& a) { return F::gaussian(a.var("mean"), a.var("ln_var"), {.eps = a.array("eps")}); })},
      {"simplified_dropconnect", call([](Args& a) {
         return F::simplified_dropconnect(a.var("x"), a.var("W"), a.var("b"),
                                          {.ratio = a.number("ratio", 0.5),
                                           .train = a.flag("train", true),
                                           .mask = a.array("mask"),
                                           .use_batchwise_mask = a.flag("use_batchwise_mask", true)});
       })},
      {"zoneout", call([](Args& a) { return F::zoneout(a.var("h"), a.var("x"), a.number("ratio", 0.5)); })},
  });
}

}  // namespace kusari::golden
