#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/framework/functions/normalization/batch_renormalization.h"
#include "kusari/framework/functions/normalization/decorrelated_batch_normalization.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

Variable batch_normalization(Args& a) {
  return F::batch_normalization(a.var("x"), a.var("gamma"), a.var("beta"),
                                {.eps = a.number("eps"),
                                 .running_mean = a.array("running_mean"),
                                 .running_var = a.array("running_var"),
                                 .decay = a.number("decay"),
                                 .axis = a.shape_or_empty("axis")});
}

Variable fixed_batch_normalization(Args& a) {
  return F::fixed_batch_normalization(a.var("x"), a.var("gamma"), a.var("beta"), a.var("mean"), a.var("var"),
                                      {.eps = a.number("eps"), .axis = a.shape_or_empty("axis")});
}

Variable batch_renormalization(Args& a) {
  return F::batch_renormalization(a.var("x"), a.var("gamma"), a.var("beta"),
                                  {.rmax = a.number("rmax"),
                                   .dmax = a.number("dmax"),
                                   .eps = a.number("eps"),
                                   .running_mean = a.array("running_mean"),
                                   .running_var = a.array("running_var"),
                                   .decay = a.number("decay"),
                                   .update_statistics = a.flag("update_statistics")});
}

Variable decorrelated_batch_normalization(Args& a) {
  return F::decorrelated_batch_normalization(a.var("x"), {.groups = a.integer("groups"),
                                                          .eps = a.number("eps"),
                                                          .running_mean = a.array("running_mean"),
                                                          .running_projection = a.array("running_projection"),
                                                          .decay = a.number("decay")});
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
                                               a.number("eps"));
       })},
      {"fixed_decorrelated_batch_normalization", call([](Args& a) {
         return F::fixed_decorrelated_batch_normalization(a.var("x"), a.var("mean"), a.var("projection"),
                                                          a.integer("groups"));
       })},
  });
}

}  // namespace kusari::golden
