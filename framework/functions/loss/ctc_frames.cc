#include "kusari/framework/functions/loss/ctc_frames.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {

void check_ctc_frames(const char* call, std::span<const Variable> x, int64_t blank_symbol) {
  const std::string begin = std::string(call) + ": ";
  if (x.empty()) throw ValueError(begin + "x is empty: it must have an array per frame");
  for (const Variable& frame : x) expect_given(frame, call, "x");
  const Shape& first = x[0].shape();
  if (first.ndim() != 2) throw TypeError(begin + "x[0] has shape " + to_string(first) + ": it must have 2 axes");
  for (size_t i = 1; i < x.size(); ++i) {
    if (x[i].shape() == first && x[i].dtype() == x[0].dtype()) continue;
    throw TypeError(begin + "x[" + std::to_string(i) + "] has shape " + to_string(x[i].shape()) + " and dtype " +
                    name(x[i].dtype()) + " but x[0] has shape " + to_string(first) + " and dtype " +
                    name(x[0].dtype()) + ": all frames must be alike");
  }
  if (blank_symbol < 0 || blank_symbol >= first[1]) {
    throw ValueError(begin + "blank_symbol is " + std::to_string(blank_symbol) + ": it must be in [0, " +
                     std::to_string(first[1]) + ")");
  }
}

}  // namespace kusari::functions
