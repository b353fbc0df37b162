#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kusari/framework/core/input_file.h"
#include "kusari/framework/serializers/dictionary.h"
#include "kusari/framework/serializers/hdf5.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/framework/serializers/safetensors_header.h"

namespace kusari::serializers {

std::shared_ptr<const EntrySource> open_entries(const std::string& path) {
  uint8_t begin[8] = {};
  {
    const InputFile file("open_entries", path);
    file.read(0, {begin, std::min<size_t>(sizeof(begin), file.size())});
  }
  // A safetensors header of that length is too long as well.
  if (std::memcmp(begin, "\x89HDF\r\n\x1a\n", sizeof(begin)) == 0) return std::make_shared<const Hdf5Reader>(path);
  // What a zip archive begins with would be the length of a header that is too long.
  const bool is_zip = begin[0] == 'P' && begin[1] == 'K' && safetensors_length(begin) > kMaxSafetensorsHeader;
  if (is_zip) return std::make_shared<const NpzReader>(path);
  return std::make_shared<const SafetensorsReader>(path);
}

}  // namespace kusari::serializers
