#include "kusari/framework/links/list_place.h"

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::detail {

size_t list_place(const char* list, int64_t i, size_t n, bool or_end) {
  const auto size = static_cast<int64_t>(n);
  const int64_t place = i < 0 ? i + size : i;
  if (place < 0 || place > size || (place == size && !or_end)) {
    throw IndexError(std::string(list) + ": there is no place " + std::to_string(i) + " among " + std::to_string(n));
  }
  return static_cast<size_t>(place);
}

}  // namespace kusari::detail
