#include "kusari/framework/distributed/byte_messages.h"

#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/example_format.h"
#include "kusari/framework/serializers/dictionary.h"

namespace kusari::distributed {
namespace {

namespace format = datasets::example_format;

std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

enum class EntryKind : int64_t { none, array, text };

/// Entries that came in a message.
class ReceivedEntries final : public serializers::EntrySource {
 public:
  ReceivedEntries(const char* call, std::string_view bytes) : place_{std::string("what rank 0 has sent to ") + call} {
    MessageReader reader(call, bytes);
    for (int64_t left = reader.number(); left > 0; --left) {
      const std::string key = reader.text();
      const auto kind = static_cast<EntryKind>(reader.number());
      serializers::Entry entry;
      if (kind == EntryKind::text) {
        entry.text = reader.text();
        entry.is_text = true;
      } else if (kind == EntryKind::array) {
        const datasets::Example example = reader.example();
        if (!example.empty()) entry.array = example[0];
      }
      keys_.push_back(key);
      entries_.emplace(key, std::move(entry));
    }
  }
  const std::string& path() const noexcept override { return place_; }
  std::vector<std::string> keys() const override { return keys_; }
  bool contains(const std::string& key) const override { return entries_.contains(key); }
  serializers::Entry value(const std::string& key) const override {
    const auto found = entries_.find(key);
    if (found == entries_.end()) throw KeyError(place_ + ": there is no entry '" + key + "'");
    return found->second;
  }

 private:
  std::string place_;
  std::vector<std::string> keys_;
  std::map<std::string, serializers::Entry> entries_;
};

}  // namespace

void MessageWriter::number(int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
void MessageWriter::real(double value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
void MessageWriter::text(std::string_view value) {
  number(static_cast<int64_t>(value.size()));
  bytes_.append(value);
}
void MessageWriter::example(const datasets::Example& value) { format::write_record(value, &bytes_); }

void MessageReader::fail() const {
  throw StateError(std::string(call_) + ": another rank has sent something else: all ranks must make the same call");
}

std::string_view MessageReader::take(size_t size) {
  if (size > bytes_.size()) fail();
  const std::string_view part = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return part;
}

int64_t MessageReader::number() {
  int64_t value = 0;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

double MessageReader::real() {
  double value = 0;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string MessageReader::text() {
  const int64_t size = number();
  if (size < 0) fail();
  return std::string(take(static_cast<size_t>(size)));
}

datasets::Example MessageReader::example() {
  const format::RecordHeader header = format::read_record_header(as_bytes(take(format::kRecordHeader)));
  datasets::Example value;
  std::string problem;
  if (!format::read_record(as_bytes(take(static_cast<size_t>(header.size))), &value, &problem)) fail();
  return value;
}

std::string state_message(const std::function<void(Serializer&)>& serialize) {
  serializers::DictionarySerializer serializer;
  serialize(serializer);
  MessageWriter writer;
  writer.number(static_cast<int64_t>(serializer.dictionary().size()));
  for (const auto& [key, entry] : serializer.dictionary()) {
    writer.text(key);
    if (entry.is_text) {
      writer.number(static_cast<int64_t>(EntryKind::text));
      writer.text(entry.text);
    } else if (!entry.array.is_defined()) {
      writer.number(static_cast<int64_t>(EntryKind::none));
    } else {
      writer.number(static_cast<int64_t>(EntryKind::array));
      writer.example({entry.array});
    }
  }
  return writer.bytes();
}

void read_state_message(const char* call, std::string_view bytes, const std::function<void(Serializer&)>& serialize) {
  serializers::EntryDeserializer reader(call, std::make_shared<const ReceivedEntries>(call, bytes), {});
  serializers::load_entries(reader, serialize);
}

}  // namespace kusari::distributed
