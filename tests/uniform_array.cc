#include "kusari/tests/uniform_array.h"

#include <vector>

#include "kusari/framework/core/philox.h"

namespace kusari::testing {

Array uniform_array(const Shape& shape, double low, double high, Dtype dtype, uint64_t seed) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  PhiloxBlock block{};
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % 4 == 0) block = philox_block(seed, i / 4);
    values[i] = low + (high - low) * (block.word[i % 4] + 0.5) * 0x1p-32;
  }
  return array(values, shape).astype(dtype);
}

}  // namespace kusari::testing
