#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/quantization/histogram.h"

namespace kusari::quantization {

/// The 8 bits of one input of a function: what a Quantized link keeps of the numbers that come there. All of it is in
/// snapshots.
class KUSARI_API ActivationRange : public Link {
 public:
  /// Signed: int8 around 0; otherwise uint8, whose zero point follows from the range.
  ActivationRange(const ValueRange& range, bool is_signed, const Device& device);

  /// F::fake_quantize with what is known.
  Variable operator()(const Variable& x) const;
  /// Moves the range towards the extremes of x: range = decay * range + (1 - decay) * extremes. An end that a NaN or an
  /// infinity would make no number stays where it is.
  void follow(const Array& x, double decay) const;
  bool keeps_float32() const noexcept override { return true; }

  Persistent low, high;              ///< without axes, float32
  Persistent scale;                  ///< without axes, float32
  Persistent zero_point;             ///< without axes, int32
  PersistentScalar<bool> is_signed;  ///< int8, not uint8

 private:
  void set_scale() const;
};

/// W with its 8 bits: -127 to 127 times one scale for each place of the first axis, from the largest number there.
/// W: at least 1 axis, floating.
KUSARI_API Variable quantized_weight(const Variable& W);

}  // namespace kusari::quantization
