#include "kusari/framework/links/detection/head_outputs.h"

#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"

namespace kusari::links::detail {

namespace F = functions;

Variable by_anchor(const Variable& map, int64_t numbers) {
  const Shape& shape = map.shape();
  return F::reshape(F::transpose(map, {0, 2, 3, 1}), {shape[0], shape[2] * shape[3] * (shape[1] / numbers), numbers});
}

std::pair<Variable, Variable> joined_levels(std::span<const Variable> locs, std::span<const Variable> confs) {
  return {F::concat(locs, 1), F::concat(confs, 1)};
}

Array on_host(const Variable& y) { return y.array().astype(Dtype::float32).to_device(Device()); }

}  // namespace kusari::links::detail
