#include "kusari/framework/functions/normalization/group_normalization.h"
#include "kusari/framework/functions/normalization/l2_normalization.h"
#include "kusari/framework/functions/normalization/layer_normalization.h"
#include "kusari/framework/functions/normalization/local_response_normalization.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

void add_normalization_functions(FunctionTable& table) {
  table.insert({
      {"group_normalization", call([](Args& a) {
         return F::group_normalization(a.var("x"), a.integer("groups"), a.var("gamma"), a.var("beta"), a.number("eps"));
       })},
      {"layer_normalization", call([](Args& a) {
         return F::layer_normalization(a.var("x"), a.var("gamma"), a.var("beta"), a.number("eps"));
       })},
      {"local_response_normalization", call([](Args& a) {
         return F::local_response_normalization(
             a.var("x"),
             {.n = a.integer("n"), .k = a.number("k"), .alpha = a.number("alpha"), .beta = a.number("beta")});
       })},
      {"normalize", call([](Args& a) {
         const std::vector<int64_t> axes = a.integers("axis");
         return F::normalize(a.var("x"), a.number("eps"), Axes(std::span<const int64_t>(axes)));
       })},
  });
}

}  // namespace kusari::golden
