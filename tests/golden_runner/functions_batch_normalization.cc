#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/framework/functions/normalization/batch_renormalization.h"
#include "kusari/framework/functions/normalization/decorrelated_batch_normalization.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

Variable batch_normalization(Args& a) {
  return F::batch_normalization(a.var("x"), a.var("gamma"), a.var("beta"),
                                {.eps = a.number("eps", 2e-5),
                                 .running_mean = a.array("running_mean"),
                                 .running_var = a.array("running_var"),
                                 .decay = a.number("decay", 0.9),
                                 .axis = a.shape("axis")});
}

Variable fixed_batch_normalization(Args& a) {
  return F::fixed_batch_normalization(a.var("x"), a.var("gamma"), a.var("beta"), a.var("mean"), a.var("var"),
                                      {.eps = a.number("eps", 2e-5), .axis = a.shape("axis")});
}

Variable batch_renormalization(Args& a) {
  return F::batch_renormalization(a.var("x"), a.var("gamma"), a.var("beta"),
                                  {.rmax = a.number("rmax", 1),
                                   .dmax = a.number("dmax", 0),
                                   .eps = a.number("eps", 2e-5),
                                   .running_mean = a.array("running_mean"),
                                   .running_var = a.array("running_var"),
                                   .decay = a.number("decay", 0.9),
                                   .update_statistics = a.flag("update_statistics", false)});
}

Variable decorrelated_batch_normalization(Args& a) {
  return F::decorrelated_batch_normalization(a.var("x"), {.groups = a.integer("groups", 16),
                                                          .eps = a.number("eps", 2e-5),
                                                          .running_mean = a.array("running_mean"),
                                                          .running_projection = a.array("running_projection"),
                                                          .decay = a.number("decay", 0.9)});
}

}  // namespace

void add_batch_normalization_functions(FunctionTable& table) {
  table.insert({
      {"batch_normalization", call(batch_normalization)},
      {"batch_renormalization", call(batch_renormalization)},
      {"decorrelated_batch_normalization", call(decorrelated_batch_normalization)},
      {"fixed_batch_normalization", call(fixed_batch_normalization)},
      {"fixed_batch_renormalization", call([](Args& a) {
         return F::fixed_batch_renormalization(a.var("x"), a.var("gamma"), a.var("beta"), a.var("mean"), a.var("var"),
                                               a.number("eps", 2e-5));
       })},
      {"fixed_decorrelated_batch_normalization", call([](Args& a) {
         return F::fixed_decorrelated_batch_normalization(a.var("x"), a.var("mean"), a.var("projection"),
                                                          a.integer("groups", 16));
       })},
  });
}

}  // namespace kusari::golden
