#include "kusari/framework/serializers/entry_checksums.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/crc32.h"
#include "kusari/framework/serializers/entries_read.h"
#include "kusari/framework/serializers/safetensors_checksums.h"

namespace kusari::serializers {
namespace {

/// CRC-32 of what the entry holds, in hexadecimal; its array is on the CPU.
std::string checksum_of(const Entry& entry) {
  std::string kind = entry.is_text ? "text" : "None";
  if (!entry.is_text && entry.array.is_defined()) kind = name(entry.array.dtype()) + to_string(entry.array.shape());
  uint32_t checksum = crc32_of(kind.data(), kind.size());
  if (entry.is_text) {
    const size_t size = entry.text.find_last_not_of('\0') + 1;  // files keep no zeros at the end
    checksum = crc32_of(entry.text.data(), size, checksum);
  } else if (entry.array.is_defined()) {
    const Array array = entry.array.contiguous();
    checksum = crc32_of(array.raw_data(), static_cast<size_t>(array.nbytes()), checksum);
  }
  return checksums_text({checksum});
}

}  // namespace

Dictionary with_checksums(Dictionary entries) {
  auto checksums = nlohmann::json::object();
  for (auto& [key, entry] : entries) {
    if (entry.array.is_defined()) entry.array = entry.array.to_device(Device());
    checksums[key] = checksum_of(entry);
  }
  std::string text = checksums.dump(0, ' ', false, nlohmann::json::error_handler_t::replace);
  entries.emplace_back(kChecksumsKey, Entry{Array(), std::move(text), true});
  return entries;
}

void verify_checksums(const EntrySource& source) {
  if (!source.contains(kChecksumsKey)) return;
  const auto fail = [&](const std::string& key, const char* what) {
    throw IoError(source.path() + ": entry '" + key + "' " + what + " since the file was written, as its '" +
                  kChecksumsKey + "' say; without that entry the file is taken as it is");
  };
  const auto checksums = nlohmann::json::parse(source.value(kChecksumsKey).text, nullptr, false);
  if (!checksums.is_object()) return fail(kChecksumsKey, "was changed");
  std::set<std::string> known = {kChecksumsKey};
  for (const auto& [key, checksum] : checksums.items()) {
    if (!source.contains(key)) return fail(key, "was removed");
    if (checksum != checksum_of(source.value(key))) return fail(key, "was changed");
    known.insert(with_dots(key));
  }
  for (const std::string& key : source.keys()) {
    if (known.count(with_dots(key)) == 0) return fail(key, "was added");
  }
}

}  // namespace kusari::serializers
