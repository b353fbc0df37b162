#include "kusari/framework/quantization/method.h"

#include "kusari/framework/core/argument.h"

namespace kusari::quantization {

Method percentile(double percent) {
  argument::require(percent > 50 && percent <= 100, "quantization::percentile", "percent", percent,
                    "be above 50 and at most 100");
  return {.kind = Method::Kind::percentile, .percent = percent};
}

}  // namespace kusari::quantization
