#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {

void add_noise_functions(FunctionTable& table) {
  table.insert({
      {"dropout",
       call([](Args& a) { return F::dropout(a.var("x"), a.number("ratio", 0.5), {.mask = a.array("mask")}); })},
  });
}

}  // namespace kusari::golden
