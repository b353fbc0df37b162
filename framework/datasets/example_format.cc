#include "kusari/framework/datasets/example_format.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <zlib.h>

#include "kusari/framework/core/error.h"

namespace kusari::datasets::example_format {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");
static_assert(kDtypeCount == 9 && static_cast<int>(Dtype::float64) == 8, "files hold the values of Dtype");

constexpr std::string_view kMagic = "KUSARIEX", kEndMagic = "KUSARIIX";
constexpr uint32_t kVersion = 1;

template <class T>
void put(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Takes bytes from the front; remembers when there were too few.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_{bytes} {}

  template <class T>
  T number() {
    T value = 0;
    const auto part = take(sizeof(value));
    if (!part.empty()) std::memcpy(&value, part.data(), sizeof(value));
    return value;
  }
  std::span<const uint8_t> take(uint64_t size) {
    if (size > bytes_.size()) {
      is_cut_off_ = true;
      return {};
    }
    const auto part = bytes_.first(static_cast<size_t>(size));
    bytes_ = bytes_.subspan(part.size());
    return part;
  }
  size_t left() const { return bytes_.size(); }
  bool is_cut_off() const { return is_cut_off_; }

 private:
  std::span<const uint8_t> bytes_;
  bool is_cut_off_ = false;
};

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

bool starts_with(std::span<const uint8_t> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

/// An array that takes no more memory than `reader` has bytes left.
bool read_array(Reader* reader, Array* array, std::string* problem) {
  const int dtype = reader->number<uint8_t>(), ndim = reader->number<uint8_t>();
  if (dtype >= kDtypeCount || ndim > kMaxNdim) {
    *problem = "has an array of dtype number " + std::to_string(dtype) + " with " + std::to_string(ndim) +
               " axes: at most " + std::to_string(kDtypeCount - 1) + " and " + std::to_string(kMaxNdim) + " exist";
    return false;
  }
  Shape shape;
  const int64_t item = itemsize(static_cast<Dtype>(dtype));
  uint64_t size = static_cast<uint64_t>(item), bound = size;
  for (int axis = 0; axis < ndim; ++axis) {
    const int64_t n = reader->number<int64_t>();
    const uint64_t factor = static_cast<uint64_t>(std::max<int64_t>(n, 1));
    // Bounds the product of the sizes that are not 0 too, so that strides cannot overflow.
    if (n < 0 || bound > (uint64_t{1} << 56) / factor) {
      *problem = "has an array whose size on axis " + std::to_string(axis) + " is " + std::to_string(n);
      return false;
    }
    bound *= factor;
    size *= static_cast<uint64_t>(n);
    shape.push_back(n);
  }
  const size_t left = reader->left();
  const auto content = reader->take(size);
  if (reader->is_cut_off()) {
    *problem = "has an array of shape " + to_string(shape) + " that needs " + std::to_string(size) + " bytes, but " +
               std::to_string(left) + " are left";
    return false;
  }
  *array = empty(shape, static_cast<Dtype>(dtype));
  if (!content.empty()) std::memcpy(array->raw_data(), content.data(), content.size());
  return true;
}

}  // namespace

uint32_t crc_of(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

void write_header(const Keys& keys, std::string* out) {
  const size_t start = out->size();
  out->append(kMagic);
  put(kVersion, out);
  put(static_cast<uint32_t>(keys.size()), out);
  for (const std::string& key : keys) {
    put(static_cast<uint32_t>(key.size()), out);
    out->append(key);
  }
  put(crc_of(bytes_of(std::string_view(*out).substr(start))), out);
  if (out->size() - start > kMaxHeader) {
    throw ValueError("ExampleFileWriter: the keys take more than " + std::to_string(kMaxHeader) + " bytes");
  }
}

void write_record(const Example& example, std::string* out) {
  const size_t start = out->size();
  out->append(kRecordHeader, '\0');
  put(static_cast<uint32_t>(example.size()), out);
  for (const Array& component : example) {
    const Array array = component.to_device(Device()).contiguous();
    put(static_cast<uint8_t>(array.dtype()), out);
    put(static_cast<uint8_t>(array.ndim()), out);
    for (const int64_t n : array.shape()) put(n, out);
    const size_t size = static_cast<size_t>(array.size() * itemsize(array.dtype()));
    if (size > 0) out->append(static_cast<const char*>(array.raw_data()), size);
  }
  const std::string_view content = std::string_view(*out).substr(start + kRecordHeader);
  const uint64_t size = content.size();
  const uint32_t crc = crc_of(bytes_of(content));
  std::memcpy(out->data() + start, &size, sizeof(size));
  std::memcpy(out->data() + start + sizeof(size), &crc, sizeof(crc));
}

void write_index(std::span<const uint64_t> offsets, uint64_t index_offset, std::string* out) {
  const size_t start = out->size();
  for (const uint64_t offset : offsets) put(offset, out);
  put(static_cast<uint64_t>(offsets.size()), out);
  put(index_offset, out);
  put(crc_of(bytes_of(std::string_view(*out).substr(start))), out);
  out->append(kEndMagic);
}

bool read_header(std::span<const uint8_t> start, Header* header, std::string* problem) {
  if (!starts_with(start, kMagic)) {
    *problem = "is no file of examples: it does not begin with " + std::string(kMagic);
    return false;
  }
  Reader reader(start.subspan(kMagic.size()));
  const uint32_t version = reader.number<uint32_t>(), keys = reader.number<uint32_t>();
  header->keys.clear();
  for (uint32_t i = 0; i < keys && !reader.is_cut_off(); ++i) {
    const auto key = reader.take(reader.number<uint32_t>());
    header->keys.emplace_back(key.begin(), key.end());
  }
  const size_t size = start.size() - reader.left();
  const uint32_t crc = reader.number<uint32_t>();
  if (reader.is_cut_off()) {
    *problem = "is cut off or damaged in its header, in the first " + std::to_string(start.size()) + " bytes";
  } else if (crc != crc_of(start.first(size))) {
    *problem = "is damaged: the CRC-32 of its header, bytes 0 .. " + std::to_string(size) + ", is another";
  } else if (version != kVersion) {
    *problem = "has version " + std::to_string(version) + ": " + std::to_string(kVersion) + " can be read";
  } else {
    header->size = size + sizeof(crc);
    return true;
  }
  return false;
}

RecordHeader read_record_header(std::span<const uint8_t> bytes) {
  Reader reader(bytes);
  RecordHeader header;
  header.size = reader.number<uint64_t>();
  header.crc = reader.number<uint32_t>();
  return header;
}

bool read_record(std::span<const uint8_t> content, Example* example, std::string* problem) {
  Reader reader(content);
  const uint32_t arrays = reader.number<uint32_t>();
  example->clear();
  for (uint32_t i = 0; i < arrays; ++i) {
    Array array;
    if (!read_array(&reader, &array, problem)) return false;
    if (reader.is_cut_off()) break;
    example->push_back(std::move(array));
  }
  if (reader.is_cut_off() || reader.left() > 0) {
    *problem =
        "has " + std::to_string(arrays) + " arrays, which do not fit its " + std::to_string(content.size()) + " bytes";
    return false;
  }
  return true;
}

bool read_trailer(std::span<const uint8_t> bytes, Trailer* trailer, std::string* problem) {
  Reader reader(bytes);
  trailer->count = reader.number<uint64_t>();
  trailer->index_offset = reader.number<uint64_t>();
  trailer->crc = reader.number<uint32_t>();
  if (starts_with(reader.take(kEndMagic.size()), kEndMagic)) return true;
  *problem = "is cut off: it does not end with " + std::string(kEndMagic);
  return false;
}

std::vector<uint64_t> read_index(std::span<const uint8_t> index, uint64_t count) {
  std::vector<uint64_t> offsets(static_cast<size_t>(count));
  if (count > 0) std::memcpy(offsets.data(), index.data(), offsets.size() * sizeof(uint64_t));
  return offsets;
}

}  // namespace kusari::datasets::example_format
