#include "kusari/framework/datasets/dataset.h"

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::datasets {

Dataset::~Dataset() = default;

void Dataset::throw_index(const char* call, int64_t i, int64_t size) {
  throw IndexError(std::string(call) + ": index " + std::to_string(i) + " is out of range: the data set has " +
                   std::to_string(size) + " examples");
}

}  // namespace kusari::datasets
