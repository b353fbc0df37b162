#include "kusari/framework/core/callable.h"

#include "kusari/framework/core/error.h"

namespace kusari {

void detail::AnyObject::throw_empty() { throw StateError("Callable: it is called, but holds no function"); }

}  // namespace kusari
