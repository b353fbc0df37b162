#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/serializers/dictionary.h"

namespace kusari::serializers {

/// An entry of a .npz file.
using NpzValue = Entry;
/// The entries of a .npz file under their keys.
using NpzDictionary = Dictionary;
/// Options of load_npz, by their names.
using LoadNpzOptions = LoadOptions;

/// The arrays of an .npz file, each read when it is asked for. Keys are the names without ".npy".
/// Reads what numpy.savez, numpy.savez_compressed and Chainer write; see npy.h for the dtypes. The file may come from
/// anywhere: damage is an IoError that names the entry. Copies share the open file.
class KUSARI_API NpzReader final : public EntrySource {
 public:
  explicit NpzReader(const std::string& path);

  const std::string& path() const noexcept override;
  std::vector<std::string> keys() const override;
  bool contains(const std::string& key) const override;
  /// Any entry; throws KeyError when there is none of that key.
  NpzValue value(const std::string& key) const override;
  /// An array on the CPU in C order; undefined for None. Throws TypeError for a string.
  Array array(const std::string& key) const;

 private:
  struct State;
  Shared<const State> state_;
};

struct SaveNpzOptions {
  bool compression = true;
  int level = 0;  ///< of deflate, 0 .. 9; weights get no smaller above 0 (see ZipWriter), only slower
};

/// Writes an .npz file that numpy.load reads (with allow_pickle=True where an entry is None). The file appears under
/// its name at commit(), whole; without commit() nothing changes.
class KUSARI_API NpzWriter {
 public:
  explicit NpzWriter(const std::string& path, const SaveNpzOptions& options = {});
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  /// Any device and memory order; written in logical C order. An undefined array is None.
  void add(const std::string& key, const Array& array);
  /// UTF-8.
  void add_text(const std::string& key, const std::string& text);
  void commit();

 private:
  struct State;
  Owned<State> state_;
};

/// Gives an object the values of an .npz file. chainer.serializers.NpzDeserializer.
class KUSARI_API NpzDeserializer final : public EntryDeserializer {
 public:
  explicit NpzDeserializer(const NpzReader& npz, LoadNpzOptions options = {});
};

/// Writes gathered entries to a file, which appears whole or not at all.
KUSARI_API void save_npz_dictionary(const std::string& path, const NpzDictionary& dictionary,
                                    const SaveNpzOptions& options = {});

/// Saves an object (a link, an optimizer, a trainer: anything with serialize(Serializer&)) to `path`, which is used as
/// given. The file appears whole or not at all. Throws IoError. chainer.serializers.save_npz.
template <class T>
void save_npz(const std::string& path, T& object, const SaveNpzOptions& options = {}) {
  DictionarySerializer serializer;
  object.serialize(serializer);
  save_npz_dictionary(path, serializer.dictionary(), options);
}

/// Loads an object from a file of save_npz, Kusari's or Chainer's. Throws KeyError for a missing entry (unless
/// options.strict is false), TypeError for one that does not fit (unless options.skip_mismatched), IoError for a
/// damaged file; the object then is as it was. Returns what was not loaded. chainer.serializers.load_npz.
template <class T>
LoadReport load_npz(const std::string& path, T& object, LoadNpzOptions options = {}) {
  NpzDeserializer reader(NpzReader(path), std::move(options));
  return load_entries(reader, [&](Serializer& serializer) { object.serialize(serializer); });
}

}  // namespace kusari::serializers
