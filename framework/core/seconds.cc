#include "kusari/framework/core/seconds.h"

#include <chrono>

namespace kusari {

double steady_seconds() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace kusari
