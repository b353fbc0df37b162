#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/serializers/dictionary.h"

// HDF5 files as Chainer writes them with h5py: "l1/W" is the data set W in the group l1. They need a build with libhdf5
// (KUSARI_HDF5): without it, reading and writing throws IoError. Calls wait for each other, because libhdf5 is not made
// for threads.
namespace kusari::serializers {

/// Whether this build reads and writes HDF5 files.
KUSARI_API bool has_hdf5() noexcept;

/// The data sets of an HDF5 file, each read when it is asked for, in the order of their names. Links to other files and
/// data that lie in other files are refused. libhdf5 itself is not made for files of enemies. Copies share the open
/// file.
class KUSARI_API Hdf5Reader final : public EntrySource {
 public:
  /// Throws IoError when the file is none of HDF5 or is damaged.
  explicit Hdf5Reader(const std::string& path);

  const std::string& path() const noexcept override;
  std::vector<std::string> keys() const override;
  bool contains(const std::string& key) const override;
  /// Numbers, strings, and None, which is a data set without a place for values (h5py.Empty). Integers of 16 bits are
  /// read as int32, of 32 bits without a sign as int64; enumerations of FALSE and TRUE as bool. Throws KeyError when
  /// there is none of that key, IoError for other types and for what is damaged.
  Entry value(const std::string& key) const override;
  /// An array on the CPU in C order; undefined for None. Throws TypeError for a string.
  Array array(const std::string& key) const;

 private:
  struct State;
  Shared<const State> state_;
};

struct SaveHdf5Options {
  int compression = 4;  ///< level of gzip, 0 .. 9, for arrays of more than one element; 0: none
};

/// Writes gathered entries to a file that appears whole or not at all. Strings become what h5py reads as str; Chainer
/// cannot write any, so that it saves no trainer with a LogReport this way. bfloat16 becomes a 16-bit float of HDF5,
/// which h5py does not know. The file is put together in memory. Throws ValueError where a key is another's group,
/// IoError when the file cannot be written.
KUSARI_API void save_hdf5_dictionary(const std::string& path, const Dictionary& dictionary,
                                     const SaveHdf5Options& options = {});

/// Gives an object the values of an HDF5 file. chainer.serializers.HDF5Deserializer.
class KUSARI_API HDF5Deserializer final : public EntryDeserializer {
 public:
  explicit HDF5Deserializer(const Hdf5Reader& file, LoadOptions options = {});
};

/// Saves an object (a link, an optimizer, a trainer: anything with serialize(Serializer&)).
/// chainer.serializers.save_hdf5.
template <class T>
void save_hdf5(const std::string& path, T& object, const SaveHdf5Options& options = {}) {
  DictionarySerializer serializer;
  object.serialize(serializer);
  save_hdf5_dictionary(path, serializer.dictionary(), options);
}

/// Loads an object from a file of save_hdf5, Kusari's or Chainer's. The options are those of load_npz. Throws KeyError
/// for a missing entry (unless options.strict is false), TypeError for one that does not fit (unless
/// options.skip_mismatched), IoError for a damaged file; the object then is as it was. Returns what was not loaded.
/// chainer.serializers.load_hdf5.
template <class T>
LoadReport load_hdf5(const std::string& path, T& object, LoadOptions options = {}) {
  HDF5Deserializer reader(Hdf5Reader(path), std::move(options));
  return load_entries(reader, [&](Serializer& serializer) { object.serialize(serializer); });
}

}  // namespace kusari::serializers
