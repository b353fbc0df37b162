#include "kusari/framework/serializers/dictionary_message.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::serializers {
namespace {

/// Reads numbers and bytes one after the other.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_{bytes} {}
  int64_t number() {
    int64_t value;
    std::memcpy(&value, bytes(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::string_view bytes(uint64_t count) {
    if (count > rest_.size()) throw IoError("a message that should hold arrays is damaged, or another program's");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view text() { return bytes(static_cast<uint64_t>(number())); }
  bool is_at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

void put_number(std::string& message, int64_t value) {
  message.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
void put_text(std::string& message, std::string_view text) {
  put_number(message, static_cast<int64_t>(text.size()));
  message.append(text);
}
void put_array(std::string& message, const Array& array) {
  const Array host = array.to_device(Device()).contiguous();
  put_number(message, static_cast<int64_t>(host.dtype()));
  put_number(message, host.ndim());
  for (int axis = 0; axis < host.ndim(); ++axis) put_number(message, host.shape(axis));
  if (host.nbytes() > 0) message.append(static_cast<const char*>(host.raw_data()), static_cast<size_t>(host.nbytes()));
}

Array take_array(MessageReader& reader) {
  constexpr int64_t kMostAxes = 64;
  const int64_t dtype = reader.number(), ndim = reader.number();
  if (dtype < 0 || dtype >= kDtypeCount || ndim < 0 || ndim > kMostAxes) reader.bytes(~uint64_t{0});
  Shape shape;
  for (int64_t axis = 0; axis < ndim; ++axis) shape.push_back(reader.number());
  const Array array = empty(shape, static_cast<Dtype>(dtype));
  const std::string_view elements = reader.bytes(static_cast<uint64_t>(array.nbytes()));
  if (!elements.empty()) std::memcpy(array.raw_data(), elements.data(), elements.size());
  return array;
}

// What an entry is.
constexpr int64_t kIsNone = 0, kIsText = 1, kIsArray = 2;

class MemorySource final : public EntrySource {
 public:
  MemorySource(std::string name, Dictionary dictionary) : name_{std::move(name)}, dictionary_{std::move(dictionary)} {
    for (size_t i = 0; i < dictionary_.size(); ++i) places_.emplace(dictionary_[i].first, i);
  }
  const std::string& path() const noexcept override { return name_; }
  std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const auto& [key, entry] : dictionary_) keys.push_back(key);
    return keys;
  }
  bool contains(const std::string& key) const override { return places_.count(key) != 0; }
  Entry value(const std::string& key) const override {
    const auto found = places_.find(key);
    if (found == places_.end()) throw KeyError(name_ + " has no entry '" + key + "'");
    return dictionary_[found->second].second;
  }

 private:
  std::string name_;
  Dictionary dictionary_;
  std::unordered_map<std::string, size_t> places_;
};

}  // namespace

std::string pack_array(const Array& array) {
  std::string message;
  message.reserve(static_cast<size_t>(array.nbytes()) + sizeof(int64_t) * static_cast<size_t>(array.ndim() + 2));
  put_array(message, array);
  return message;
}

Array unpack_array(std::string_view bytes) {
  MessageReader reader(bytes);
  return take_array(reader);
}

std::string pack_dictionary(const Dictionary& dictionary) {
  size_t bytes = 0;
  for (const auto& [key, entry] : dictionary) {
    bytes += 128 + key.size() + entry.text.size() +
             (entry.array.is_defined() ? static_cast<size_t>(entry.array.nbytes()) : 0);
  }
  std::string message;
  message.reserve(bytes);
  for (const auto& [key, entry] : dictionary) {
    put_text(message, key);
    put_number(message, entry.is_text ? kIsText : entry.array.is_defined() ? kIsArray : kIsNone);
    if (entry.is_text) {
      put_text(message, entry.text);
    } else if (entry.array.is_defined()) {
      put_array(message, entry.array);
    }
  }
  return message;
}

Dictionary unpack_dictionary(std::string_view bytes) {
  Dictionary dictionary;
  MessageReader reader(bytes);
  while (!reader.is_at_end()) {
    std::string key(reader.text());
    const int64_t kind = reader.number();
    Entry entry;
    entry.is_text = kind == kIsText;
    if (kind == kIsText) entry.text = reader.text();
    if (kind == kIsArray) entry.array = take_array(reader);
    dictionary.emplace_back(std::move(key), std::move(entry));
  }
  return dictionary;
}

std::shared_ptr<const EntrySource> entries_in_memory(std::string name, Dictionary dictionary) {
  return std::make_shared<const MemorySource>(std::move(name), std::move(dictionary));
}

}  // namespace kusari::serializers
