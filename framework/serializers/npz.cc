#include "kusari/framework/serializers/npz.h"

#include <memory>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/entries_read.h"
#include "kusari/framework/serializers/npy.h"
#include "kusari/framework/serializers/zip.h"

namespace kusari::serializers {
namespace {

constexpr std::string_view kSuffix = ".npy";

bool is_npy(const std::string& name) {
  return name.size() > kSuffix.size() && name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0;
}

}  // namespace

struct NpzReader::State {
  // An entry under a wrong name would be one that is not there.
  explicit State(const std::string& path) : zip{path} { zip.check_headers(); }
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
  if (!entry) throw KeyError("npz: " + path() + " has no entry '" + key + "' but " + some_keys(keys(), "entries"));
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

NpzDeserializer::NpzDeserializer(const NpzReader& npz, LoadNpzOptions options)
    : EntryDeserializer("load_npz", std::make_shared<const NpzReader>(npz), std::move(options)) {}

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
