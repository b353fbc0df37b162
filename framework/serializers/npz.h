#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::serializers {

/// One entry of an .npz file: an array, a string, or None (an undefined array). Numbers are 0-d arrays.
struct NpzValue {
  Array array = {};
  std::string text = {};
  bool is_text = false;
};
/// Entries in the order in which they are written.
using NpzDictionary = std::vector<std::pair<std::string, NpzValue>>;

/// The arrays of an .npz file, each read when it is asked for. Keys are the names without ".npy".
/// Reads what numpy.savez, numpy.savez_compressed and Chainer write; see npy.h for the dtypes. The file may come from
/// anywhere: damage is an IoError that names the entry. Copies share the open file.
class KUSARI_API NpzReader {
 public:
  explicit NpzReader(const std::string& path);

  const std::string& path() const noexcept;
  std::vector<std::string> keys() const;
  bool contains(const std::string& key) const;
  /// Any entry; throws KeyError when there is none of that key.
  NpzValue value(const std::string& key) const;
  /// An array on the CPU in C order; undefined for None. Throws TypeError for a string.
  Array array(const std::string& key) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
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
  std::unique_ptr<State> state_;
};

/// Gathers what an object serializes. Keys are joined with '/', without a leading one: "l1/W".
/// Arrays are shared, not copied. chainer.serializers.DictionarySerializer.
class KUSARI_API DictionarySerializer final : public Serializer {
 public:
  DictionarySerializer();

  bool is_writer() const override { return true; }
  std::unique_ptr<Serializer> child(const std::string& name) override;
  bool contains(const std::string&) const override { return true; }
  void array(const std::string& name, Array& value) override;
  void number(const std::string& name, int64_t& value) override;
  void number(const std::string& name, double& value) override;
  void boolean(const std::string& name, bool& value) override;
  void text(const std::string& name, std::string& value) override;

  const NpzDictionary& dictionary() const noexcept { return *dictionary_; }

 private:
  DictionarySerializer(std::shared_ptr<NpzDictionary> dictionary, std::string prefix);
  void add(const std::string& name, NpzValue value);

  std::shared_ptr<NpzDictionary> dictionary_;
  std::string prefix_;
};

struct LoadNpzOptions {
  std::string path = {};  ///< load only the entries below this: "updater/model:main/predictor"
  bool strict = true;     ///< throw KeyError for an entry that the file lacks; else the object keeps its value
  std::vector<std::string> ignore_names = {};           ///< keys that are not loaded
  std::function<bool(const std::string&)> ignore = {};  ///< keys for which this is true are not loaded
};

/// Gives an object the values of an .npz file. Arrays are overwritten in place: dtypes are converted within their kind
/// or to a wider one (float64 to float32, integers to floats; TypeError for float to integer), shapes must be equal
/// (TypeError). chainer.serializers.NpzDeserializer.
class KUSARI_API NpzDeserializer final : public Serializer {
 public:
  explicit NpzDeserializer(const NpzReader& npz, LoadNpzOptions options = {});

  bool is_writer() const override { return false; }
  std::unique_ptr<Serializer> child(const std::string& name) override;
  bool contains(const std::string& name) const override;
  void array(const std::string& name, Array& value) override;
  void number(const std::string& name, int64_t& value) override;
  void number(const std::string& name, double& value) override;
  void boolean(const std::string& name, bool& value) override;
  void text(const std::string& name, std::string& value) override;

 private:
  NpzDeserializer(const NpzReader& npz, std::shared_ptr<const LoadNpzOptions> options, std::string prefix);
  bool is_wanted(const std::string& key) const;
  Array scalar(const std::string& key, Dtype widest) const;

  NpzReader npz_;
  std::shared_ptr<const LoadNpzOptions> options_;
  std::string prefix_;
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
/// options.strict is false), TypeError for one that does not fit, IoError for a damaged file.
/// chainer.serializers.load_npz.
template <class T>
void load_npz(const std::string& path, T& object, LoadNpzOptions options = {}) {
  NpzDeserializer serializer(NpzReader(path), std::move(options));
  object.serialize(serializer);
}

}  // namespace kusari::serializers
