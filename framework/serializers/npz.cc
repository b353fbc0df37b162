#include "kusari/framework/serializers/npz.h"

#include <algorithm>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npy.h"
#include "kusari/framework/serializers/zip.h"

namespace kusari::serializers {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr size_t kKeysInMessage = 8;

bool is_npy(const std::string& name) {
  return name.size() > kSuffix.size() && name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0;
}

/// "a/b" from "/a/b/": the form that joins.
std::string trim_slashes(const std::string& path) {
  const size_t begin = path.find_first_not_of('/');
  if (begin == path.npos) return "";
  return path.substr(begin, path.find_last_not_of('/') + 1 - begin);
}

std::string join(const std::string& prefix, const std::string& name) { return prefix + trim_slashes(name); }

std::string some_keys(const NpzReader& npz) {
  const std::vector<std::string> keys = npz.keys();
  std::string text = std::to_string(keys.size()) + " entries";
  for (size_t i = 0; i < std::min(keys.size(), kKeysInMessage); ++i) text += (i == 0 ? ": '" : ", '") + keys[i] + "'";
  return keys.size() > kKeysInMessage ? text + ", .." : text;
}

enum class Kind { boolean, integer, floating };
Kind kind_of(Dtype dtype) {
  if (dtype == Dtype::bool_) return Kind::boolean;
  return is_floating(dtype) ? Kind::floating : Kind::integer;
}

}  // namespace

struct NpzReader::State {
  explicit State(const std::string& path) : zip{path} {}
  ZipReader zip;
};

NpzReader::NpzReader(const std::string& path) : state_{std::make_shared<const State>(path)} {}

const std::string& NpzReader::path() const noexcept { return state_->zip.path(); }

std::vector<std::string> NpzReader::keys() const {
  std::vector<std::string> keys;
  for (const ZipEntry& entry : state_->zip.entries()) {
    if (is_npy(entry.name)) keys.push_back(entry.name.substr(0, entry.name.size() - kSuffix.size()));
  }
  return keys;
}

bool NpzReader::contains(const std::string& key) const {
  return state_->zip.find(key + std::string(kSuffix)) != nullptr;
}

NpzValue NpzReader::value(const std::string& key) const {
  const ZipEntry* entry = state_->zip.find(key + std::string(kSuffix));
  if (!entry) throw KeyError("npz: " + path() + " has no entry '" + key + "' but " + some_keys(*this));
  ZipStream stream = state_->zip.open(*entry);
  const NpyHeader header = read_npy_header(stream);
  NpzValue value;
  switch (header.kind) {
    case NpyKind::numbers:
      value.array = empty(header.shape, header.dtype);
      read_npy_numbers(stream, header, value.array.raw_data());
      break;
    case NpyKind::text:
      value.text = read_npy_text(stream, header);
      value.is_text = true;
      break;
    case NpyKind::none:
      read_npy_none(stream, header);
      break;
  }
  return value;
}

Array NpzReader::array(const std::string& key) const {
  NpzValue found = value(key);
  if (found.is_text) throw TypeError("npz: " + path() + ": entry '" + key + "' is a string, not an array");
  return found.array;
}

struct NpzWriter::State {
  State(const std::string& path, const SaveNpzOptions& options)
      : file{path}, zip{file, options.level}, method{options.compression ? ZipMethod::deflated : ZipMethod::stored} {}
  AtomicFile file;
  ZipWriter zip;
  ZipMethod method;
};

NpzWriter::NpzWriter(const std::string& path, const SaveNpzOptions& options)
    : state_{std::make_unique<State>(path, options)} {}
NpzWriter::~NpzWriter() = default;

void NpzWriter::add(const std::string& key, const Array& array) {
  const std::string name = key + std::string(kSuffix);
  if (!array.is_defined()) return state_->zip.add(name, npy_none(), state_->method);
  const Array host = array.to_device(Device()).contiguous();
  const std::string header = npy_header(npy_descr(host.dtype()), host.shape());
  const auto bytes = static_cast<size_t>(host.nbytes());
  state_->zip.begin(name, header.size() + bytes, state_->method);
  state_->zip.write(header.data(), header.size());
  state_->zip.write(host.raw_data(), bytes);
  state_->zip.end();
}

void NpzWriter::add_text(const std::string& key, const std::string& text) {
  state_->zip.add(key + std::string(kSuffix), npy_text(text), state_->method);
}

void NpzWriter::commit() {
  state_->zip.finish();
  state_->file.commit();
}

DictionarySerializer::DictionarySerializer() : dictionary_{std::make_shared<NpzDictionary>()} {}
DictionarySerializer::DictionarySerializer(std::shared_ptr<NpzDictionary> dictionary, std::string prefix)
    : dictionary_{std::move(dictionary)}, prefix_{std::move(prefix)} {}

std::unique_ptr<Serializer> DictionarySerializer::child(const std::string& name) {
  return std::unique_ptr<Serializer>(new DictionarySerializer(dictionary_, join(prefix_, name) + "/"));
}

void DictionarySerializer::add(const std::string& name, NpzValue value) {
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

NpzDeserializer::NpzDeserializer(const NpzReader& npz, LoadNpzOptions options) : npz_{npz} {
  prefix_ = trim_slashes(options.path);
  if (!prefix_.empty()) prefix_ += '/';
  options_ = std::make_shared<const LoadNpzOptions>(std::move(options));
}
NpzDeserializer::NpzDeserializer(const NpzReader& npz, std::shared_ptr<const LoadNpzOptions> options,
                                 std::string prefix)
    : npz_{npz}, options_{std::move(options)}, prefix_{std::move(prefix)} {}

std::unique_ptr<Serializer> NpzDeserializer::child(const std::string& name) {
  return std::unique_ptr<Serializer>(new NpzDeserializer(npz_, options_, join(prefix_, name) + "/"));
}

bool NpzDeserializer::contains(const std::string& name) const { return npz_.contains(join(prefix_, name)); }

bool NpzDeserializer::is_wanted(const std::string& key) const {
  const auto& names = options_->ignore_names;
  if (std::find(names.begin(), names.end(), key) != names.end()) return false;
  if (options_->ignore && options_->ignore(key)) return false;
  return options_->strict || npz_.contains(key);
}

void NpzDeserializer::array(const std::string& name, Array& value) {
  const std::string key = join(prefix_, name);
  if (!is_wanted(key)) return;
  const Array loaded = npz_.array(key);
  if (!loaded.is_defined() || !value.is_defined()) {
    value = loaded;
    return;
  }
  if (loaded.shape() != value.shape()) {
    throw TypeError("load_npz: " + npz_.path() + ": entry '" + key + "' has shape " + to_string(loaded.shape()) +
                    " but the object's array has shape " + to_string(value.shape()));
  }
  if (kind_of(loaded.dtype()) > kind_of(value.dtype())) {
    throw TypeError("load_npz: " + npz_.path() + ": entry '" + key + "' has dtype " + kusari::name(loaded.dtype()) +
                    " but the object's array has dtype " + kusari::name(value.dtype()));
  }
  value.copy_from(loaded);
}

Array NpzDeserializer::scalar(const std::string& key, Dtype widest) const {
  const NpzValue found = npz_.value(key);
  const std::string place = "load_npz: " + npz_.path() + ": entry '" + key + "' ";
  const std::string wanted = std::string(" but the object wants a ") + kusari::name(widest) + " number";
  if (found.is_text) throw TypeError(place + "is a string" + wanted);
  if (!found.array.is_defined()) throw TypeError(place + "is None" + wanted);
  if (found.array.size() != 1) throw TypeError(place + "has shape " + to_string(found.array.shape()) + wanted);
  if (kind_of(found.array.dtype()) > kind_of(widest)) {
    throw TypeError(place + "has dtype " + kusari::name(found.array.dtype()) + wanted);
  }
  return found.array;
}

void NpzDeserializer::number(const std::string& name, int64_t& value) {
  const std::string key = join(prefix_, name);
  if (is_wanted(key)) value = scalar(key, Dtype::int64).item<int64_t>();
}
void NpzDeserializer::number(const std::string& name, double& value) {
  const std::string key = join(prefix_, name);
  if (is_wanted(key)) value = scalar(key, Dtype::float64).item<double>();
}
void NpzDeserializer::boolean(const std::string& name, bool& value) {
  const std::string key = join(prefix_, name);
  if (is_wanted(key)) value = scalar(key, Dtype::bool_).item<bool>();
}
void NpzDeserializer::text(const std::string& name, std::string& value) {
  const std::string key = join(prefix_, name);
  if (!is_wanted(key)) return;
  NpzValue found = npz_.value(key);
  if (!found.is_text) {
    throw TypeError("load_npz: " + npz_.path() + ": entry '" + key + "' is no string but the object wants one");
  }
  value = std::move(found.text);
}

void save_npz_dictionary(const std::string& path, const NpzDictionary& dictionary, const SaveNpzOptions& options) {
  NpzWriter writer(path, options);
  for (const auto& [key, value] : dictionary) {
    if (value.is_text) {
      writer.add_text(key, value.text);
    } else {
      writer.add(key, value.array);
    }
  }
  writer.commit();
}

}  // namespace kusari::serializers
