#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/serializers/safetensors.h"

namespace kusari::serializers {

/// Most bytes that a header may have, as in the Python package.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

/// The length of the header, from a file's first 8 bytes.
uint64_t safetensors_length(const uint8_t* bytes) noexcept;

/// An element type of the format. `dtype` is what its numbers are read as, if they can be.
struct SafetensorsType {
  std::string_view name;
  int64_t size;  // of an element, in bytes
  std::optional<Dtype> dtype;
};
/// Null for an unknown name.
const SafetensorsType* find_safetensors_type(std::string_view name) noexcept;
std::string_view safetensors_type(Dtype dtype) noexcept;

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // places relative to the end of the header
  std::map<std::string, std::string> metadata;
};
/// Parses and checks the JSON text; `data_size` bytes follow it. Errors begin with `place`.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_size, const std::string& place);

}  // namespace kusari::serializers
