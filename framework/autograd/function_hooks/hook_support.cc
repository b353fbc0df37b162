#include "kusari/framework/autograd/function_hooks/hook_support.h"

namespace kusari::function_hooks {

const Device* device_of(const ArrayRefs& arrays) noexcept {
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].is_defined()) return &arrays[i].device();
  }
  return nullptr;
}

const Device* device_of(const Variables& variables) noexcept {
  for (const Variable& v : variables) {
    if (v.is_defined()) return &v.device();
  }
  return nullptr;
}

}  // namespace kusari::function_hooks
