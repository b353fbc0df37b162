#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/copy.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/squeeze.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

void add_array_functions(FunctionTable& table) {
  table.insert({
      {"broadcast", call([](Args& a) { return F::broadcast(a.positional_vars()); })},
      {"broadcast_to", call([](Args& a) { return F::broadcast_to(a.var("x"), a.shape("shape")); })},
      {"cast", call([](Args& a) { return F::cast(a.var("x"), dtype_from_name(a.text("typ", ""))); })},
      {"copy", call([](Args& a) {  // dst -1 is the CPU
         return F::copy(a.var("x"), get_device(std::to_string(a.integer("dst", -1))));
       })},
      {"expand_dims", call([](Args& a) { return F::expand_dims(a.var("x"), a.integer("axis", 0)); })},
      {"flatten", unary(F::flatten)},
      {"moveaxis",
       call([](Args& a) { return F::moveaxis(a.var("x"), a.integers("source"), a.integers("destination")); })},
      {"reshape", call([](Args& a) { return F::reshape(a.var("x"), a.shape("shape")); })},
      {"rollaxis", call([](Args& a) { return F::rollaxis(a.var("x"), a.integer("axis", 0), a.integer("start", 0)); })},
      {"squeeze", call([](Args& a) {
         const Variable x = a.var("x");
         return a.has("axis") ? F::squeeze(x, a.integers("axis")) : F::squeeze(x);
       })},
      {"swapaxes", call([](Args& a) { return F::swapaxes(a.var("x"), a.integer("axis1", 0), a.integer("axis2", 1)); })},
      {"transpose", call([](Args& a) {
         const Variable x = a.var("x");
         return a.has("axes") ? F::transpose(x, a.integers("axes")) : F::transpose(x);
       })},
      {"where", call([](Args& a) { return F::where(a.var("condition"), a.var("x"), a.var("y")); })},
  });
}

}  // namespace kusari::golden
