#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/export.h"

namespace kusari::quantization {

/// A call of a function that can be computed in 8 bits, in the order of the calls of a model.
struct QuantizableCall {
  std::string function = {};  ///< "convolution_2d"
  std::string path = {};      ///< of the innermost link that called it: "/conv1"; empty outside of links
  int64_t number = 0;         ///< among these calls of the model, from 1
  bool is_quantized = true;   ///< false: excluded
  size_t first_range = 0;     ///< of the ranges of its inputs among those of the model; 0 when excluded
  size_t range_count = 0;     ///< 1, or 2 for a product of two arrays; 0 when excluded

  /// "/conv1", or "linear#3" outside of links.
  KUSARI_API std::string name() const;
};

/// What F::fake_quantize is put on.
enum class Operands : uint8_t {
  none,                   ///< nothing: the function has no form in 8 bits
  activation_and_weight,  ///< x and W: convolutions and affine maps
  activations,            ///< both arrays of a product
};
/// By the name of the function, and its inputs: floating ones with elements.
KUSARI_API Operands operands_of(std::string_view function, const InputCaster::Inputs& inputs);

/// The calls of one run of a model beside those that were seen when it was calibrated.
class KUSARI_API CallCounter {
 public:
  CallCounter(const std::vector<QuantizableCall>& expected, const char* owner) : expected_{expected}, owner_{owner} {}
  /// The call that comes now. Throws StateError when another one was seen at this place.
  const QuantizableCall& next(const char* function);
  /// Throws StateError when calls are missing.
  void finish() const;
  size_t count() const noexcept { return count_; }
  void go_on_at(size_t count) noexcept { count_ = count; }

 private:
  const std::vector<QuantizableCall>& expected_;
  const char* owner_;
  size_t count_ = 0;
};

}  // namespace kusari::quantization
