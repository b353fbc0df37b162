#include "kusari/framework/datasets/image/file_bytes.h"

#include "kusari/framework/core/thread_owned.h"

namespace kusari::datasets {

std::vector<uint8_t>& file_bytes() {
  static constinit thread_local std::vector<uint8_t>* own = nullptr;
  return kusari::detail::thread_owned(own);
}

}  // namespace kusari::datasets
