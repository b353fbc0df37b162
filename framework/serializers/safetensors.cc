#include "kusari/framework/serializers/safetensors.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/serializers/crc32.h"
#include "kusari/framework/serializers/entries_read.h"
#include "kusari/framework/serializers/safetensors_checksums.h"
#include "kusari/framework/serializers/safetensors_header.h"

namespace kusari::serializers {
namespace {

constexpr uint64_t kSafetensorsAlignment = 8;  // of the data in the file
constexpr const char* kText = "kusari.text.";
constexpr const char* kNone = "kusari.none.";

std::string quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw ValueError("save_safetensors: a key or a string of the metadata is not UTF-8");
  }
}

struct Tensor {
  std::string key;
  Array array;
};

/// The Python package's order: the larger elements first, so that each is aligned.
int rank_of(Dtype dtype) {
  constexpr Dtype kOrder[] = {Dtype::int64,   Dtype::float64, Dtype::float32, Dtype::int32, Dtype::bfloat16,
                              Dtype::float16, Dtype::int8,    Dtype::uint8,   Dtype::bool_};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), dtype) - std::begin(kOrder));
}

/// What the header says, places counted from its end.
SafetensorsHeader header_of(const std::vector<Tensor>& tensors, const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header{{}, metadata};
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    const Shape& shape = tensor.array.shape();
    const uint64_t end = offset + static_cast<uint64_t>(tensor.array.nbytes());
    header.entries.push_back(
        {tensor.key, std::string(safetensors_type(tensor.array.dtype())), {shape.begin(), shape.end()}, offset, end});
    offset = end;
  }
  return header;
}

std::string header_text(const SafetensorsHeader& header) {
  std::string json = "{", separator;
  if (!header.metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, text] : header.metadata) {
      json += separator + quoted(key) + ":" + quoted(text);
      separator = ",";
    }
    json += "}";
  }
  for (const SafetensorsEntry& entry : header.entries) {
    json += separator + quoted(entry.key) + ":{\"dtype\":\"" + entry.dtype + "\",\"shape\":[";
    for (size_t i = 0; i < entry.shape.size(); ++i) json += (i > 0 ? "," : "") + std::to_string(entry.shape[i]);
    json += "],\"data_offsets\":[" + std::to_string(entry.begin) + "," + std::to_string(entry.end) + "]}";
    separator = ",";
  }
  json += "}";
  json.append((kSafetensorsAlignment - json.size() % kSafetensorsAlignment) % kSafetensorsAlignment, ' ');
  return json;
}

}  // namespace

struct SafetensorsReader::State {
  explicit State(const std::string& path) : file{"safetensors", path} {
    const std::string place = "safetensors: " + path + ": ";
    uint8_t length[8];
    if (file.size() < sizeof(length)) {
      throw IoError(place + "the file has " + std::to_string(file.size()) + " bytes, fewer than any has");
    }
    file.read(0, length);
    const uint64_t size = safetensors_length(length);
    const uint64_t rest = file.size() - sizeof(length);
    if (size > rest || size > kMaxSafetensorsHeader) {
      throw IoError(place + "the header has " + std::to_string(size) + " bytes: there are " + std::to_string(rest) +
                    ", and it may have " + std::to_string(kMaxSafetensorsHeader));
    }
    std::string json(static_cast<size_t>(size), '\0');
    file.read(sizeof(length), {reinterpret_cast<uint8_t*>(json.data()), json.size()});
    header = parse_safetensors_header(json, rest - size, place);
    checksums = read_checksums(header, place);
    for (size_t i = 0; i < header.entries.size(); ++i) {
      header.entries[i].begin += sizeof(length) + size;
      header.entries[i].end += sizeof(length) + size;
      index.emplace(header.entries[i].key, i);
    }
  }

  const SafetensorsEntry* find(const std::string& key) const {
    auto found = index.find(key);
    if (found == index.end()) found = index.find(with_dots(key));
    return found == index.end() ? nullptr : &header.entries[found->second];
  }
  const std::string* find_metadata(const char* prefix, const std::string& key) const {
    const auto found = header.metadata.find(prefix + with_dots(key));
    return found == header.metadata.end() ? nullptr : &found->second;
  }

  Array read(const SafetensorsEntry& entry) const {
    const std::string place = "safetensors: " + file.path() + ": tensor '" + entry.key + "' ";
    const SafetensorsType& type = *find_safetensors_type(entry.dtype);
    if (!type.dtype) throw IoError(place + "has dtype " + entry.dtype + ", which cannot be read");
    if (entry.shape.size() > kMaxNdim) {
      throw IoError(place + "has " + std::to_string(entry.shape.size()) + " axes: at most " + std::to_string(kMaxNdim) +
                    " can be read");
    }
    const Array array = empty(Shape(entry.shape.begin(), entry.shape.end()), *type.dtype);
    auto* const out = static_cast<uint8_t*>(array.raw_data());
    const size_t size = static_cast<size_t>(entry.end - entry.begin);
    if (type.size == itemsize(*type.dtype)) {
      file.read(entry.begin, {out, size});
      check(entry, crc32_of(out, size));
      if (*type.dtype == Dtype::bool_) {
        for (size_t i = 0; i < size; ++i) out[i] = out[i] != 0;  // other values are no bool in C++
      }
      return array;
    }
    std::vector<uint8_t> raw(size);
    file.read(entry.begin, raw);
    check(entry, crc32_of(raw.data(), size));
    if (type.name == "I16") widen<int16_t, int32_t>(raw.data(), array.size(), out);
    if (type.name == "U16") widen<uint16_t, int32_t>(raw.data(), array.size(), out);
    if (type.name == "U32") widen<uint32_t, int64_t>(raw.data(), array.size(), out);
    return array;
  }

  void check(const SafetensorsEntry& entry, uint32_t checksum) const {
    const auto place = static_cast<size_t>(&entry - header.entries.data());
    if (!checksums || (*checksums)[place] == checksum) return;
    throw IoError("safetensors: " + file.path() + ": tensor '" + entry.key + "' is damaged: its CRC-32 does not match");
  }

  [[noreturn]] void fail_missing(const std::string& key) const {
    std::vector<std::string> keys;
    for (const SafetensorsEntry& entry : header.entries) keys.push_back(entry.key);
    throw KeyError("safetensors: " + file.path() + " has no entry '" + key + "' but " + some_keys(keys, "tensors"));
  }

  InputFile file;
  SafetensorsHeader header;
  std::optional<std::vector<uint32_t>> checksums;  // of the entries
  std::unordered_map<std::string, size_t> index;
};

SafetensorsReader::SafetensorsReader(const std::string& path) : state_{std::make_shared<const State>(path)} {}

const std::string& SafetensorsReader::path() const noexcept { return state_->file.path(); }
const std::vector<SafetensorsEntry>& SafetensorsReader::entries() const noexcept { return state_->header.entries; }
const std::map<std::string, std::string>& SafetensorsReader::metadata() const noexcept {
  return state_->header.metadata;
}

std::vector<std::string> SafetensorsReader::keys() const {
  std::vector<std::string> keys;
  for (const SafetensorsEntry& entry : entries()) keys.push_back(entry.key);
  return keys;
}

bool SafetensorsReader::contains(const std::string& key) const {
  return state_->find(key) != nullptr || state_->find_metadata(kText, key) != nullptr ||
         state_->find_metadata(kNone, key) != nullptr;
}

Entry SafetensorsReader::value(const std::string& key) const {
  if (const SafetensorsEntry* entry = state_->find(key)) return {state_->read(*entry), {}, false};
  if (const std::string* text = state_->find_metadata(kText, key)) return {Array(), *text, true};
  if (state_->find_metadata(kNone, key) == nullptr) state_->fail_missing(key);
  return {};
}

Array SafetensorsReader::array(const std::string& key) const {
  const SafetensorsEntry* const entry = state_->find(key);
  if (entry == nullptr) state_->fail_missing(key);
  return state_->read(*entry);
}

bool SafetensorsReader::has_checksums() const noexcept { return state_->checksums.has_value(); }

void SafetensorsReader::verify() const {
  constexpr uint64_t kPiece = uint64_t{1} << 24;
  std::vector<uint8_t> piece;
  for (const SafetensorsEntry& entry : entries()) {
    uint32_t checksum = 0;
    for (uint64_t at = entry.begin; at < entry.end; at += piece.size()) {
      piece.resize(static_cast<size_t>(std::min(kPiece, entry.end - at)));
      state_->file.read(at, piece);
      checksum = crc32_of(piece.data(), piece.size(), checksum);
    }
    state_->check(entry, checksum);
  }
}

SafetensorsDeserializer::SafetensorsDeserializer(const SafetensorsReader& file, LoadOptions options)
    : EntryDeserializer("load_safetensors", std::make_shared<const SafetensorsReader>(file), std::move(options)) {}

void save_safetensors_dictionary(const std::string& path, const Dictionary& dictionary,
                                 const SaveSafetensorsOptions& options) {
  std::map<std::string, std::string> metadata = options.metadata;
  std::vector<Tensor> tensors;
  std::set<std::string> keys = {"__metadata__"};
  for (const auto& [name, entry] : dictionary) {
    const std::string key = with_dots(name);
    if (!keys.insert(key).second) {
      throw ValueError("save_safetensors: '" + name + "' would be written as '" + key + "', which is taken");
    }
    if (entry.is_text) {
      metadata[kText + key] = entry.text;
    } else if (entry.array.is_defined()) {
      tensors.push_back({key, entry.array});
    } else {
      metadata[kNone + key] = "";
    }
  }
  std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
    return std::pair(rank_of(a.array.dtype()), std::string_view(a.key)) <
           std::pair(rank_of(b.array.dtype()), std::string_view(b.key));
  });
  metadata.erase(kHeaderChecksum);  // of the file from which the metadata came
  metadata.erase(kTensorChecksums);
  if (options.checksums) {
    metadata[kHeaderChecksum] = checksums_placeholder(1);
    metadata[kTensorChecksums] = checksums_placeholder(tensors.size());
  }
  SafetensorsHeader contents = header_of(tensors, metadata);
  std::string header = header_text(contents);
  if (header.size() > kMaxSafetensorsHeader) {
    throw ValueError("save_safetensors: the header of " + path + " would have " + std::to_string(header.size()) +
                     " bytes, with all strings in it: readers refuse more than " +
                     std::to_string(kMaxSafetensorsHeader));
  }
  char length[8];
  for (size_t i = 0; i < sizeof(length); ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  AtomicFile file(path);
  file.write(length, sizeof(length));
  file.write(header);
  std::vector<uint32_t> checksums;
  for (const Tensor& tensor : tensors) {
    const Array host = tensor.array.to_device(Device()).contiguous();
    const auto size = static_cast<size_t>(host.nbytes());
    file.write(host.raw_data(), size);
    if (options.checksums) checksums.push_back(crc32_of(host.raw_data(), size));
  }
  if (options.checksums) {
    contents.metadata[kTensorChecksums] = checksums_text(checksums);
    contents.metadata[kHeaderChecksum] = checksums_text({checksum_of(contents)});
    header = header_text(contents);
    file.overwrite(sizeof(length), header.data(), header.size());
  }
  file.commit();
}

}  // namespace kusari::serializers
