#include "kusari/framework/functions/connection/bilinear.h"
#include "kusari/framework/functions/connection/embed_id.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/connection/shift.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

void add_connection_functions(FunctionTable& table) {
  table.insert({
      {"bilinear", call([](Args& a) {
         return F::bilinear(a.var("e1"), a.var("e2"), a.var("W"), a.var("V1"), a.var("V2"), a.var("b"));
       })},
      {"embed_id",
       call([](Args& a) { return F::embed_id(a.var("x"), a.var("W"), a.optional_integer("ignore_label")); })},
      {"linear", call([](Args& a) {
         return F::linear(a.var("x"), a.var("W"), a.var("b"),
                          {.n_batch_axes = static_cast<int>(a.integer("n_batch_axes"))});
       })},
      {"shift", call([](Args& a) { return F::shift(a.var("x"), a.per_axis("ksize"), a.per_axis("dilate")); })},
  });
}

}  // namespace kusari::golden
