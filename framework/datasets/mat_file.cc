#include "kusari/framework/datasets/mat_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <zlib.h>

#include "kusari/framework/core/deflate.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/datasets/reading.h"

namespace kusari::datasets {
namespace {

constexpr size_t kFileHeader = 128;

// Types of data elements (table 1-1) and classes of arrays (table 1-3).
enum : uint32_t { kInt8 = 1, kUint8, kInt16, kUint16, kInt32, kUint32, kSingle, kDouble = 9, kInt64 = 12, kUint64 };
enum : uint32_t { kMatrix = 14, kCompressed = 15 };
enum : uint32_t { kDoubleClass = 6, kSingleClass, kInt8Class, kUint8Class, kInt16Class, kUint16Class, kInt32Class };
enum : uint32_t { kUint32Class = 13, kInt64Class };
constexpr uint32_t kComplexFlag = 0x0800;

std::optional<Dtype> dtype_of_class(uint32_t array_class) {
  switch (array_class) {
    case kDoubleClass:
      return Dtype::float64;
    case kSingleClass:
      return Dtype::float32;
    case kInt8Class:
      return Dtype::int8;
    case kUint8Class:
      return Dtype::uint8;
    case kInt16Class:
    case kUint16Class:
    case kInt32Class:
      return Dtype::int32;
    case kUint32Class:
    case kInt64Class:
      return Dtype::int64;
    default:
      return std::nullopt;
  }
}

/// Calls f with a number of the type of a data element's values; false when it is no type of numbers.
template <class F>
bool with_number_type(uint32_t type, const F& f) {
  switch (type) {
    case kInt8:
      return f(int8_t{}), true;
    case kUint8:
      return f(uint8_t{}), true;
    case kInt16:
      return f(int16_t{}), true;
    case kUint16:
      return f(uint16_t{}), true;
    case kInt32:
      return f(int32_t{}), true;
    case kUint32:
      return f(uint32_t{}), true;
    case kSingle:
      return f(float{}), true;
    case kDouble:
      return f(double{}), true;
    case kInt64:
      return f(int64_t{}), true;
    case kUint64:
      return f(uint64_t{}), true;
    default:
      return false;
  }
}

/// Numbers that an integer cannot hold become its nearest.
template <class To, class From>
To converted(From value) {
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    if (std::cmp_less(value, Limits::min())) return Limits::min();
    if (std::cmp_greater(value, Limits::max())) return Limits::max();
  } else if constexpr (std::is_integral_v<To>) {
    if (!(value >= static_cast<From>(Limits::min()))) return Limits::min();
    if (value >= static_cast<From>(Limits::max())) return Limits::max();
  }
  return static_cast<To>(value);
}

struct Element {
  uint32_t type = 0;
  std::span<const uint8_t> data;
};

/// Elements one after the other; `where` names their place in the file.
class Elements {
 public:
  Elements(std::string where, std::span<const uint8_t> bytes) : where_{std::move(where)}, bytes_{bytes} {}

  bool empty() const { return at_ >= bytes_.size(); }
  const std::string& where() const { return where_; }

  Element next() {
    const size_t start = at_;
    const uint32_t first = number(at_), small_size = first >> 16;
    if (small_size != 0) {  // a small element: size and type in one number, then four bytes
      if (small_size > 4) fail(start, "says that it has " + std::to_string(small_size) + " bytes in four");
      const Element element{first & 0xffff, part(start + 4, small_size, start)};
      at_ = start + 8;
      return element;
    }
    const uint32_t size = number(start + 4);
    const Element element{first, part(start + 8, size, start)};
    // Compressed elements have no padding.
    at_ = start + 8 + (first == kCompressed ? size : (static_cast<size_t>(size) + 7) / 8 * 8);
    return element;
  }

  [[noreturn]] void fail(size_t at, const std::string& what) const {
    throw IoError("read_mat: " + where_ + ": the element at byte " + std::to_string(at) + " " + what);
  }

 private:
  uint32_t number(size_t at) const {
    uint32_t value = 0;
    std::memcpy(&value, part(at, sizeof(value), at).data(), sizeof(value));
    return value;
  }
  std::span<const uint8_t> part(size_t at, size_t size, size_t element) const {
    if (at > bytes_.size() || size > bytes_.size() - at) {
      fail(element, "is cut off: it needs " + std::to_string(size) + " bytes, but there are " +
                        std::to_string(bytes_.size() - std::min(at, bytes_.size())));
    }
    return bytes_.subspan(at, size);
  }

  std::string where_;
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

/// The element in a compressed one, with its tag.
std::vector<uint8_t> inflated(const Elements& place, std::span<const uint8_t> data) {
  z_stream z = {};
  struct End {
    z_stream& z;
    ~End() { inflateEnd(&z); }
  };
  if (data.size() > std::numeric_limits<uInt>::max()) throw IoError("read_mat: " + place.where() + " is too large");
  if (inflateInit(&z) != Z_OK) throw OutOfMemoryError("read_mat: zlib has no memory");
  const End end{z};
  z.next_in = const_cast<Bytef*>(data.data());  // zlib does not write to it
  z.avail_in = static_cast<uInt>(data.size());
  std::vector<uint8_t> bytes(8);
  const auto read = [&](size_t begin) {
    z.next_out = bytes.data() + begin;
    z.avail_out = static_cast<uInt>(bytes.size() - begin);
    const int status = inflate(&z, Z_SYNC_FLUSH);
    if ((status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) || z.avail_out > 0) {
      throw IoError("read_mat: " + place.where() + ": a compressed element is damaged or cut off" +
                    (z.msg ? std::string(": ") + z.msg : ""));
    }
  };
  read(0);
  uint32_t size = 0;
  std::memcpy(&size, bytes.data() + 4, sizeof(size));
  if (size > data.size() * kBestDeflateRatio) {
    throw IoError("read_mat: " + place.where() + ": a compressed element of " + std::to_string(data.size()) +
                  " bytes claims " + std::to_string(size));
  }
  bytes.resize(8 + static_cast<size_t>(size));
  read(8);
  return bytes;
}

template <class T>
std::vector<T> numbers(const Elements& place, const Element& element, uint32_t type, const char* what) {
  if (element.type != type || element.data.size() % sizeof(T) != 0) {
    throw IoError("read_mat: " + place.where() + ": " + what + " of an array have type " +
                  std::to_string(element.type) + " and " + std::to_string(element.data.size()) + " bytes");
  }
  std::vector<T> values(element.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), element.data.data(), element.data.size());
  return values;
}

/// Nothing for an array that is passed over.
std::optional<std::pair<std::string, Array>> read_matrix(const std::string& where, std::span<const uint8_t> data) {
  Elements parts(where, data);
  const std::vector<uint32_t> flags = numbers<uint32_t>(parts, parts.next(), kUint32, "the flags");
  const std::optional<Dtype> dtype = flags.empty() ? std::nullopt : dtype_of_class(flags[0] & 0xff);
  if (!dtype || (flags[0] & kComplexFlag)) return std::nullopt;
  const std::vector<int32_t> sizes = numbers<int32_t>(parts, parts.next(), kInt32, "the sizes");
  const std::vector<char> name = numbers<char>(parts, parts.next(), kInt8, "the name's letters");
  const Element content = parts.next();

  const std::string what = "the array '" + std::string(name.begin(), name.end()) + "'";
  const auto fail = [&](const std::string& problem) {
    throw IoError("read_mat: " + where + ": " + what + " " + problem);
  };
  if (sizes.size() > static_cast<size_t>(kMaxNdim)) {
    fail("has " + std::to_string(sizes.size()) + " axes: at most " + std::to_string(kMaxNdim) + " can be read");
  }
  Shape shape, strides;
  uint64_t size = 1;
  bool fits = true;
  for (const int32_t n : sizes) {
    strides.push_back(static_cast<int64_t>(size));
    shape.push_back(n);
    const uint64_t factor = static_cast<uint64_t>(std::max(n, 1));
    fits = fits && n >= 0 && size <= (uint64_t{1} << 40) / factor;
    if (fits) size *= factor;
  }
  const uint64_t count = fits && std::find(sizes.begin(), sizes.end(), 0) == sizes.end() ? size : 0;
  std::optional<Array> array;
  const bool is_number = with_number_type(content.type, [&](auto from) {
    using From = decltype(from);
    if (!fits || content.data.size() != count * sizeof(From)) return;
    array = empty_strided(shape, strides, *dtype);
    const auto copy = [&]<class To>(To* to) {
      for (uint64_t i = 0; i < count; ++i) {
        From value;
        std::memcpy(&value, content.data.data() + i * sizeof(From), sizeof(From));
        to[i] = converted<To>(value);
      }
    };
    if (*dtype == Dtype::float64) copy(array->data<double>());
    if (*dtype == Dtype::float32) copy(array->data<float>());
    if (*dtype == Dtype::int8) copy(array->data<int8_t>());
    if (*dtype == Dtype::uint8) copy(array->data<uint8_t>());
    if (*dtype == Dtype::int32) copy(array->data<int32_t>());
    if (*dtype == Dtype::int64) copy(array->data<int64_t>());
  });
  if (!is_number) fail("has elements of type " + std::to_string(content.type) + ", which are no numbers");
  if (!array)
    fail("has shape " + to_string(shape) + ", which does not fit its " + std::to_string(content.data.size()) +
         " bytes");
  return std::pair(std::string(name.begin(), name.end()), *array);
}

std::vector<std::pair<std::string, Array>> read_arrays(const std::string& path) {
  std::vector<uint8_t> buffer;
  const std::span<const uint8_t> bytes = read_whole("read_mat", path, buffer);
  const auto fail = [&](const std::string& what) { throw IoError("read_mat: " + path + " " + what); };
  if (bytes.size() < kFileHeader || std::memcmp(bytes.data(), "MATLAB", 6) != 0) {
    fail("is no MATLAB file: it does not begin with 128 bytes that say so");
  }
  const bool is_little_endian = bytes[126] == 'I' && bytes[127] == 'M';
  if (!is_little_endian) fail("is big-endian or damaged: bytes 126 and 127 are not 'I', 'M'");
  if (bytes[124] != 0 || bytes[125] != 1) {
    fail("has version " + std::to_string(bytes[125]) + "." + std::to_string(bytes[124]) +
         ": 1.0 can be read (MATLAB 7.3 files are HDF5: save with -v7)");
  }
  std::vector<std::pair<std::string, Array>> arrays;
  for (Elements elements(path, bytes.subspan(kFileHeader)); !elements.empty();) {
    const Element element = elements.next();
    std::vector<uint8_t> content;
    std::optional<std::pair<std::string, Array>> array;
    if (element.type == kMatrix) {
      array = read_matrix(path, element.data);
    } else if (element.type == kCompressed) {
      content = inflated(elements, element.data);
      const Element inner = Elements(path, content).next();
      if (inner.type == kMatrix) array = read_matrix(path, inner.data);
    }
    if (array) arrays.push_back(std::move(*array));
  }
  return arrays;
}

}  // namespace

std::vector<std::pair<std::string, Array>> read_mat(const std::string& path) {
  return reading("read_mat", path, [&] { return read_arrays(path); });
}

}  // namespace kusari::datasets
