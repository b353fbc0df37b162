#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/core/shared.h"

namespace kusari::serializers {

/// What a file has under one key: an array, a string, or None (an undefined array). Numbers are 0-d arrays.
struct Entry {
  Array array = {};
  std::string text = {};
  bool is_text = false;
};
/// Entries in the order in which they are written.
using Dictionary = std::vector<std::pair<std::string, Entry>>;

/// Gathers what an object serializes. Keys are joined with '/', without a leading one: "l1/W".
/// Arrays are shared, not copied. chainer.serializers.DictionarySerializer.
class KUSARI_API DictionarySerializer final : public Serializer {
 public:
  DictionarySerializer();
  /// With `restores`, objects also write what only undoing a load needs.
  explicit DictionarySerializer(bool restores);

  bool restores() const override { return restores_; }
  bool is_writer() const override { return true; }
  std::unique_ptr<Serializer> child(const std::string& name) override;
  bool contains(const std::string&) const override { return true; }
  void array(const std::string& name, Array& value) override;
  void number(const std::string& name, int64_t& value) override;
  void number(const std::string& name, double& value) override;
  void boolean(const std::string& name, bool& value) override;
  void text(const std::string& name, std::string& value) override;

  const Dictionary& dictionary() const noexcept { return *dictionary_; }

 private:
  DictionarySerializer(const DictionarySerializer& parent, std::string prefix);
  void add(const std::string& name, Entry value);

  Shared<Dictionary> dictionary_;
  std::string prefix_;
  bool restores_ = false;
};

/// The entries in memory of their own, on the CPU: what they hold stays as it is.
KUSARI_API Dictionary copied(Dictionary entries);

/// A file of entries, whatever its format, as EntryDeserializer reads it.
class KUSARI_API EntrySource {
 public:
  virtual ~EntrySource();
  virtual const std::string& path() const noexcept = 0;
  /// In the order of the file.
  virtual std::vector<std::string> keys() const = 0;
  virtual bool contains(const std::string& key) const = 0;
  /// Throws KeyError when there is none of that key, IoError when it is damaged.
  virtual Entry value(const std::string& key) const = 0;

 protected:
  EntrySource() = default;
  EntrySource(const EntrySource&) = default;
  EntrySource& operator=(const EntrySource&) = default;
};

/// Opens a file of entries by its content: .npz, or else .safetensors. Throws IoError.
KUSARI_API std::shared_ptr<const EntrySource> open_entries(const std::string& path);

struct LoadOptions {
  std::string path = {};  ///< load only the entries below this: "updater/model:main/predictor"
  bool strict = true;     ///< throw KeyError for an entry that the file lacks; else the object keeps its value
  std::vector<std::string> ignore_names = {};      ///< keys that are not loaded
  Callable<bool(const std::string&)> ignore = {};  ///< keys for which this is true are not loaded
  /// Pass over entries whose shape or dtype does not fit, which else throw TypeError: the object keeps its values. A
  /// warning names them. With `strict = false`, for a model that has another head than the one that was saved.
  bool skip_mismatched = false;
};

/// What a load has left undone, in the order in which the object asked. Keys are those of the file.
struct LoadReport {
  struct Mismatch {
    std::string key;
    std::string reason;  ///< "has shape (10, 5) but the object's array has shape (3, 5)"
  };
  std::vector<std::string> missing = {};     ///< what the file lacks, with strict = false
  std::vector<Mismatch> mismatched = {};     ///< what did not fit, with skip_mismatched
  std::vector<std::string> unexpected = {};  ///< entries of the file below `path` for which nobody asked
};

/// Gives an object the values of a file. Arrays are overwritten in place: dtypes are converted within their kind
/// or to a wider one (float64 to float32, integers to floats; TypeError for float to integer), shapes must be equal
/// (TypeError). An object that throws has perhaps taken some of the values: load_entries() sees to that.
class KUSARI_API EntryDeserializer : public Serializer {
 public:
  /// `call` begins the messages of errors.
  EntryDeserializer(const char* call, std::shared_ptr<const EntrySource> source, LoadOptions options);

  bool is_writer() const override { return false; }
  std::unique_ptr<Serializer> child(const std::string& name) override;
  bool contains(const std::string& name) const override;
  void array(const std::string& name, Array& value) override;
  void number(const std::string& name, int64_t& value) override;
  void number(const std::string& name, double& value) override;
  void boolean(const std::string& name, bool& value) override;
  void text(const std::string& name, std::string& value) override;
  std::string place(const std::string& name) const override;
  /// With skip_mismatched, notes it instead of throwing.
  void mismatch(const std::string& name, const std::string& what) override;

  /// What was left undone so far.
  LoadReport report() const;
  /// "load_npz: model.npz: "
  std::string place_of_file() const;

 private:
  struct State;
  EntryDeserializer(const EntryDeserializer& parent, std::string prefix);
  bool is_wanted(const std::string& key) const;
  Array scalar(const std::string& name, Dtype widest);

  Shared<State> state_;
  std::string prefix_;
};

/// Calls `serialize` with the reader: the object takes all values, or, when an exception leaves `serialize`, is given
/// back those that it had, in place. Until then there is a copy of them in memory.
KUSARI_API LoadReport load_entries(EntryDeserializer& reader, const Callable<void(Serializer&)>& serialize);

}  // namespace kusari::serializers
