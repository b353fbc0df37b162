#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/serializers/safetensors_header.h"

// Checksums in a header's metadata, of which other readers need not know: "kusari.crc32s", CRC-32 of the tensors in the
// order of their data, and "kusari.crc32", that of all that the header says beside it. It goes by the meaning of the
// header, not by its text, so that it holds when another program writes the same tensors with the same metadata.
namespace kusari::serializers {

inline constexpr const char* kHeaderChecksum = "kusari.crc32";
inline constexpr const char* kTensorChecksums = "kusari.crc32s";

/// Text of the same length as that of `count` checksums.
std::string checksums_placeholder(size_t count);
std::string checksums_text(const std::vector<uint32_t>& checksums);

/// CRC-32 of the header; its entries' places count from the end of the header.
uint32_t checksum_of(const SafetensorsHeader& header);
/// Checks the header, and gives the checksums of its tensors, if it has any. Errors begin with `place`.
std::optional<std::vector<uint32_t>> read_checksums(const SafetensorsHeader& header, const std::string& place);

}  // namespace kusari::serializers
