#include "kusari/framework/distributed/byte_messages.h"

#include <cstring>
#include <span>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/example_format.h"
#include "kusari/framework/serializers/dictionary.h"
#include "kusari/framework/serializers/dictionary_message.h"

namespace kusari::distributed {
namespace {

namespace format = datasets::example_format;

std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

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

std::string state_message(const Callable<void(Serializer&)>& serialize) {
  serializers::DictionarySerializer serializer;
  serialize(serializer);
  return serializers::pack_dictionary(serializer.dictionary());
}

void read_state_message(const char* call, std::string_view bytes, const Callable<void(Serializer&)>& serialize) {
  serializers::EntryDeserializer reader(
      call, serializers::entries_in_memory("what rank 0 has sent", serializers::unpack_dictionary(bytes)), {});
  serializers::load_entries(reader, serialize);
}

}  // namespace kusari::distributed
