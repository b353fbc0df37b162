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
  DictionarySerializer(std::shared_ptr<Dictionary> dictionary, std::string prefix);
  void add(const std::string& name, Entry value);

  std::shared_ptr<Dictionary> dictionary_;
  std::string prefix_;
};

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
  std::vector<std::string> ignore_names = {};           ///< keys that are not loaded
  std::function<bool(const std::string&)> ignore = {};  ///< keys for which this is true are not loaded
};

/// Gives an object the values of a file. Arrays are overwritten in place: dtypes are converted within their kind
/// or to a wider one (float64 to float32, integers to floats; TypeError for float to integer), shapes must be equal
/// (TypeError).
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

 private:
  EntryDeserializer(const EntryDeserializer& parent, std::string prefix);
  bool is_wanted(const std::string& key) const;
  Array scalar(const std::string& key, Dtype widest) const;
  std::string place(const std::string& key) const;

  const char* call_;
  std::shared_ptr<const EntrySource> source_;
  std::shared_ptr<const LoadOptions> options_;
  std::string prefix_;
};

}  // namespace kusari::serializers
