#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/serializers/dictionary.h"

// The format of https://github.com/huggingface/safetensors. What Kusari calls "l1/W" is "l1.W" in a file, as PyTorch's
// users expect. The format has arrays alone: strings are kept in its metadata under "kusari.text.KEY", None under
// "kusari.none.KEY", so that whole trainers can be saved too.
namespace kusari::serializers {

/// A tensor as the header of a .safetensors file describes it.
struct SafetensorsEntry {
  std::string key;
  std::string dtype;            ///< in the format's names: "F32"
  std::vector<int64_t> shape;   ///< any number of axes
  uint64_t begin = 0, end = 0;  ///< place in the file, in bytes
};

/// The tensors of a .safetensors file, each read when it is asked for. The file may come from anywhere: the constructor
/// checks all of the header (dtypes, sizes, offsets that leave no hole, do not overlap and end with the file) and
/// throws IoError for what is wrong; a header of more than 100 MB is refused as by other readers. Where the header has
/// Kusari's checksums, it is checked against them, and each tensor when it is read. Copies share the open file.
class KUSARI_API SafetensorsReader final : public EntrySource {
 public:
  explicit SafetensorsReader(const std::string& path);

  const std::string& path() const noexcept override;
  /// Names of the tensors as they are in the file, in the order of their data.
  std::vector<std::string> keys() const override;
  const std::vector<SafetensorsEntry>& entries() const noexcept;
  /// The header's "__metadata__".
  const std::map<std::string, std::string>& metadata() const noexcept;
  /// Whether there is a tensor, string or None of that key; "l1/W" also finds "l1.W".
  bool contains(const std::string& key) const override;
  Entry value(const std::string& key) const override;
  /// A tensor on the CPU. BOOL, U8, I8, I32, I64, F16, BF16, F32, F64; I16 and U16 are read as int32, U32 as int64.
  /// Throws KeyError when there is none of that key, IoError for another dtype and more than 8 axes.
  Array array(const std::string& key) const;
  /// Whether the file has checksums.
  bool has_checksums() const noexcept;
  /// Reads all tensors and checks them; throws IoError for one that is damaged.
  void verify() const;

 private:
  struct State;
  Shared<const State> state_;
};

struct SaveSafetensorsOptions {
  std::map<std::string, std::string> metadata = {};  ///< what else the header says: {{"format", "pt"}}
  /// Add CRC-32 checksums of header and tensors to the metadata, as "kusari.crc32" and "kusari.crc32s", by which
  /// SafetensorsReader notices damage. Without them and strings or None, the bytes are those of the Python package.
  bool checksums = true;
};

/// Writes gathered entries, of any device and memory order, to a file that appears whole or not at all. Throws
/// ValueError for two keys that differ by '/' and '.' alone, for what is not UTF-8, and for more text than a header may
/// have; IoError when the file cannot be written.
KUSARI_API void save_safetensors_dictionary(const std::string& path, const Dictionary& dictionary,
                                            const SaveSafetensorsOptions& options = {});

/// Gives an object the values of a .safetensors file: see EntryDeserializer.
class KUSARI_API SafetensorsDeserializer final : public EntryDeserializer {
 public:
  explicit SafetensorsDeserializer(const SafetensorsReader& file, LoadOptions options = {});
};

/// Saves an object (a link, an optimizer, a trainer: anything with serialize(Serializer&)): `l1/W` becomes `l1.W`.
template <class T>
void save_safetensors(const std::string& path, T& object, const SaveSafetensorsOptions& options = {}) {
  DictionarySerializer serializer;
  object.serialize(serializer);
  save_safetensors_dictionary(path, serializer.dictionary(), options);
}

/// Loads an object from a file of save_safetensors or of another program. The options are those of load_npz, their keys
/// with '/'. Throws KeyError for a missing entry (unless options.strict is false), TypeError for one that does not fit
/// (unless options.skip_mismatched), IoError for a damaged file; the object then is as it was. Returns what was not
/// loaded.
template <class T>
LoadReport load_safetensors(const std::string& path, T& object, LoadOptions options = {}) {
  SafetensorsDeserializer reader(SafetensorsReader(path), std::move(options));
  return load_entries(reader, [&](Serializer& serializer) { object.serialize(serializer); });
}

}  // namespace kusari::serializers
