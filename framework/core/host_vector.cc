#include "kusari/framework/core/host_vector.h"

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::detail {

void throw_no_host_vector(const Shape& sizes, size_t itemsize, const char* call) {
  std::string product;
  for (const int64_t size : sizes) product += (product.empty() ? "" : " x ") + std::to_string(size);
  throw OutOfMemoryError(std::string(call) + ": " + product + " numbers of " + std::to_string(itemsize) +
                         " bytes do not fit into the host's memory");
}

void throw_no_host_memory(const char* call) {
  throw OutOfMemoryError(std::string(call) + ": the host's memory is exhausted");
}

}  // namespace kusari::detail
