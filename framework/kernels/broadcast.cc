#include "kusari/framework/kernels/broadcast.h"

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari {

void check_broadcast(const char* call, const Array& x, const Shape& to) {
  bool fits = x.ndim() <= to.ndim();
  for (int i = 1; fits && i <= x.ndim(); ++i) {
    const int64_t size = x.shape()[x.ndim() - i];
    fits = size == 1 || size == to[to.ndim() - i];
  }
  if (!fits) {
    throw TypeError(std::string(call) + ": x has shape " + to_string(x.shape()) + " but y has shape " + to_string(to) +
                    ": x must broadcast to y");
  }
}

}  // namespace kusari
