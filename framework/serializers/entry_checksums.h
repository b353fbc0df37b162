#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/serializers/dictionary.h"

// The entry by which a file knows its other entries again. The checksums of a format find what a disk has changed;
// these also find what a program has: values, names, entries that are gone. A string, {"key": "CRC-32"} in JSON.
namespace kusari::serializers {

inline constexpr const char* kChecksumsKey = "checksums";

/// The entries, on the CPU, and the checksums of them all.
KUSARI_API Dictionary with_checksums(Dictionary entries);

/// Throws IoError, which names an entry, where the file has checksums and others than its entries have.
KUSARI_API void verify_checksums(const EntrySource& source);

}  // namespace kusari::serializers
