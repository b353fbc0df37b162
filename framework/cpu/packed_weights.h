#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kusari/framework/core/array.h"

namespace kusari::cpu {

/// Weights in the order that an algorithm wants. When the caller says that they will come again unchanged, they are
/// kept beside the array's memory, for each view of it, and packed again only after something has written there.
class PackedWeights {
 public:
  /// `kept`: the array that the weights are in, or null to pack for this call alone. `key`: tells the orders of one
  /// array apart, never null; `variant`: whatever else of the call `pack` looks at, as bytes. `pack(to)` fills `bytes`
  /// bytes.
  PackedWeights(const Array* kept, const void* key, std::string variant, size_t bytes,
                const std::function<void(void* to)>& pack);
  const void* get() const { return buffer_.get(); }

 private:
  std::shared_ptr<void> buffer_;
};

}  // namespace kusari::cpu
