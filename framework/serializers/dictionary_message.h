#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/serializers/dictionary.h"

// Arrays and entries as bytes, for another process that runs the same program on a machine of the same kind.
namespace kusari::serializers {

/// Dtype, shape, and the elements in C order; any device.
KUSARI_API std::string pack_array(const Array& array);
/// On the CPU. Throws IoError for bytes that pack_array has not made.
KUSARI_API Array unpack_array(std::string_view bytes);

/// The entries under their keys.
KUSARI_API std::string pack_dictionary(const Dictionary& dictionary);
/// Throws IoError for bytes that pack_dictionary has not made.
KUSARI_API Dictionary unpack_dictionary(std::string_view bytes);

/// Entries in memory, to be read like a file of that name.
KUSARI_API std::shared_ptr<const EntrySource> entries_in_memory(std::string name, Dictionary dictionary);

}  // namespace kusari::serializers
