#include "kusari/framework/functions/normalization/group_normalization.h"
#include "kusari/framework/functions/normalization/l2_normalization.h"
#include "kusari/framework/functions/normalization/layer_normalization.h"
#include "kusari/framework/functions/normalization/local_response_normalization.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

void add_normalization_functions(FunctionTable& table) {
  table.insert({
      {"group_normalization", call([](Args& a) {
         return F::group_normalization(a.var("x"), a.integer("groups", 1), a.var("gamma"), a.var("beta"),
                                       a.number("eps", 1e-5));
       })},
      {"layer_normalization", call([](Args& a) {
         return F::layer_normalization(a.var("x"), a.var("gamma"), a.var("beta"), a.number("eps", 1e-5));
       })},
      {"local_response_normalization", call([](Args& a) {
         return F::local_response_normalization(a.var("x"), {.n = a.integer("n", 5),
                                                             .k = a.number("k", 2),
                                                             .alpha = a.number("alpha", 1e-4),
                                                             .beta = a.number("beta", 0.75)});
       })},
      {"normalize", call([](Args& a) {
         const std::vector<int64_t> axes = a.has("axis") ? a.integers("axis") : std::vector<int64_t>{1};
         return F::normalize(a.var("x"), a.number("eps", 1e-5), Axes(std::span<const int64_t>(axes)));
       })},
  });
}

}  // namespace kusari::golden
