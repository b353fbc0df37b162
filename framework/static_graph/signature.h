#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shape.h"

namespace kusari::graphs {

/// The settings of this thread that decide what functions do.
struct Surroundings {
  uint64_t config = 0;
  uint64_t caster = 0;  ///< 0: none
  static Surroundings now() noexcept;
  friend bool operator==(const Surroundings&, const Surroundings&) = default;
};

/// Calls of one signature do the same, apart from the numbers in their inputs.
class KUSARI_API Signature {
 public:
  Signature(std::span<const Variable> inputs, const Surroundings& surroundings);
  bool matches(std::span<const Variable> inputs, const Surroundings& surroundings) const noexcept;
  /// "float32 (2, 3), int32 (2,)".
  std::string text() const;
  bool is_training() const noexcept { return train_ && enable_backprop_; }

 private:
  struct Input {
    bool is_defined = false;
    bool requires_grad = false;
    Dtype dtype = Dtype::float32;
    Device device = {};
    Shape shape = {};
    Strides strides = {};
  };

  Surroundings surroundings_;
  std::vector<Input> inputs_;
  bool train_, enable_backprop_;
};

}  // namespace kusari::graphs
