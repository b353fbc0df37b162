#include "kusari/framework/serializers/dictionary.h"

#include <algorithm>

#include "kusari/framework/core/error.h"

namespace kusari::serializers {
namespace {

/// "a/b" from "/a/b/": the form that joins.
std::string trim_slashes(const std::string& path) {
  const size_t begin = path.find_first_not_of('/');
  if (begin == path.npos) return "";
  return path.substr(begin, path.find_last_not_of('/') + 1 - begin);
}

std::string join(const std::string& prefix, const std::string& name) { return prefix + trim_slashes(name); }

enum class Kind { boolean, integer, floating };
Kind kind_of(Dtype dtype) {
  if (dtype == Dtype::bool_) return Kind::boolean;
  return is_floating(dtype) ? Kind::floating : Kind::integer;
}

}  // namespace

EntrySource::~EntrySource() = default;

DictionarySerializer::DictionarySerializer() : dictionary_{std::make_shared<Dictionary>()} {}
DictionarySerializer::DictionarySerializer(std::shared_ptr<Dictionary> dictionary, std::string prefix)
    : dictionary_{std::move(dictionary)}, prefix_{std::move(prefix)} {}

std::unique_ptr<Serializer> DictionarySerializer::child(const std::string& name) {
  return std::unique_ptr<Serializer>(new DictionarySerializer(dictionary_, join(prefix_, name) + "/"));
}

void DictionarySerializer::add(const std::string& name, Entry value) {
  dictionary_->emplace_back(join(prefix_, name), std::move(value));
}
void DictionarySerializer::array(const std::string& name, Array& value) { add(name, {value, {}, false}); }
void DictionarySerializer::number(const std::string& name, int64_t& value) {
  add(name, {kusari::array<int64_t>({value}, Shape{}), {}, false});
}
void DictionarySerializer::number(const std::string& name, double& value) {
  add(name, {kusari::array<double>({value}, Shape{}), {}, false});
}
void DictionarySerializer::boolean(const std::string& name, bool& value) {
  add(name, {kusari::array<bool>({value}, Shape{}), {}, false});
}
void DictionarySerializer::text(const std::string& name, std::string& value) { add(name, {Array(), value, true}); }

EntryDeserializer::EntryDeserializer(const char* call, std::shared_ptr<const EntrySource> source, LoadOptions options)
    : call_{call}, source_{std::move(source)} {
  prefix_ = trim_slashes(options.path);
  if (!prefix_.empty()) prefix_ += '/';
  options_ = std::make_shared<const LoadOptions>(std::move(options));
}
EntryDeserializer::EntryDeserializer(const EntryDeserializer& parent, std::string prefix)
    : call_{parent.call_}, source_{parent.source_}, options_{parent.options_}, prefix_{std::move(prefix)} {}

std::unique_ptr<Serializer> EntryDeserializer::child(const std::string& name) {
  return std::unique_ptr<Serializer>(new EntryDeserializer(*this, join(prefix_, name) + "/"));
}

bool EntryDeserializer::contains(const std::string& name) const { return source_->contains(join(prefix_, name)); }

bool EntryDeserializer::is_wanted(const std::string& key) const {
  const auto& names = options_->ignore_names;
  if (std::find(names.begin(), names.end(), key) != names.end()) return false;
  if (options_->ignore && options_->ignore(key)) return false;
  return options_->strict || source_->contains(key);
}

std::string EntryDeserializer::place(const std::string& key) const {
  return std::string(call_) + ": " + source_->path() + ": entry '" + key + "' ";
}

void EntryDeserializer::array(const std::string& name, Array& value) {
  const std::string key = join(prefix_, name);
  if (!is_wanted(key)) return;
  const Entry entry = source_->value(key);
  if (entry.is_text) throw TypeError(place(key) + "is a string but the object wants an array");
  const Array& loaded = entry.array;
  if (!loaded.is_defined() || !value.is_defined()) {
    value = loaded;
    return;
  }
  if (loaded.shape() != value.shape()) {
    throw TypeError(place(key) + "has shape " + to_string(loaded.shape()) + " but the object's array has shape " +
                    to_string(value.shape()));
  }
  if (kind_of(loaded.dtype()) > kind_of(value.dtype())) {
    throw TypeError(place(key) + "has dtype " + kusari::name(loaded.dtype()) + " but the object's array has dtype " +
                    kusari::name(value.dtype()));
  }
  value.copy_from(loaded);
}

Array EntryDeserializer::scalar(const std::string& key, Dtype widest) const {
  const Entry found = source_->value(key);
  const std::string wanted = std::string(" but the object wants a ") + kusari::name(widest) + " number";
  if (found.is_text) throw TypeError(place(key) + "is a string" + wanted);
  if (!found.array.is_defined()) throw TypeError(place(key) + "is None" + wanted);
  if (found.array.size() != 1) throw TypeError(place(key) + "has shape " + to_string(found.array.shape()) + wanted);
  if (kind_of(found.array.dtype()) > kind_of(widest)) {
    throw TypeError(place(key) + "has dtype " + kusari::name(found.array.dtype()) + wanted);
  }
  return found.array;
}

void EntryDeserializer::number(const std::string& name, int64_t& value) {
  const std::string key = join(prefix_, name);
  if (is_wanted(key)) value = scalar(key, Dtype::int64).item<int64_t>();
}
void EntryDeserializer::number(const std::string& name, double& value) {
  const std::string key = join(prefix_, name);
  if (is_wanted(key)) value = scalar(key, Dtype::float64).item<double>();
}
void EntryDeserializer::boolean(const std::string& name, bool& value) {
  const std::string key = join(prefix_, name);
  if (is_wanted(key)) value = scalar(key, Dtype::bool_).item<bool>();
}
void EntryDeserializer::text(const std::string& name, std::string& value) {
  const std::string key = join(prefix_, name);
  if (!is_wanted(key)) return;
  Entry found = source_->value(key);
  if (!found.is_text) throw TypeError(place(key) + "is no string but the object wants one");
  value = std::move(found.text);
}

}  // namespace kusari::serializers
