#include "kusari/framework/links/detection/detection_targets.h"

#include "kusari/framework/core/error.h"

namespace kusari::links::detail {

void refuse_target(const char* name, const Variable& value, const std::string& rule) {
  throw TypeError(std::string("L::DetectionTrainChain: ") + name + " has shape " + to_string(value.shape()) +
                  " and dtype " + kusari::name(value.dtype()) + ": it must be " + rule);
}

void expect_target(const char* name, const Variable& value) {
  if (value.is_defined()) return;
  throw TypeError(std::string("L::DetectionTrainChain: ") + name + " is not given: it is required");
}

Dtype loss_dtype(const Variable& x) { return x.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32; }

}  // namespace kusari::links::detail
