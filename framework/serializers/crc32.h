#pragma once

#include <cstddef>
#include <cstdint>

namespace kusari::serializers {

/// CRC-32 (that of zip, ITU-T V.42) of bytes that follow those whose CRC-32 is `before`; large ones on several threads.
uint32_t crc32_of(const void* data, size_t size, uint32_t before = 0) noexcept;

}  // namespace kusari::serializers
