#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kusari/framework/core/export.h"

namespace kusari::serializers {

/// Bytes of known number, read from the beginning to the end.
class KUSARI_API ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// The next `size` bytes; throws IoError when fewer are left or the data is damaged.
  virtual void read(void* data, size_t size) = 0;
  /// Bytes not yet read.
  virtual uint64_t remaining() const noexcept = 0;
  /// Where the bytes come from, for messages: "model.npz: entry 'l1/W.npy'".
  virtual std::string describe() const = 0;
};

}  // namespace kusari::serializers
