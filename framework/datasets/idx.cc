#include "kusari/framework/datasets/idx.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/gzip.h"

namespace kusari::datasets {
namespace {

struct IdxElement {
  Dtype dtype;
  int64_t size;  // in the file
};

bool find_element(unsigned char code, IdxElement* element) {
  switch (code) {
    case 0x08:
      *element = {Dtype::uint8, 1};
      return true;
    case 0x09:
      *element = {Dtype::int8, 1};
      return true;
    case 0x0B:
      *element = {Dtype::int32, 2};
      return true;
    case 0x0C:
      *element = {Dtype::int32, 4};
      return true;
    case 0x0D:
      *element = {Dtype::float32, 4};
      return true;
    case 0x0E:
      *element = {Dtype::float64, 8};
      return true;
    default:
      return false;
  }
}

struct IdxHeader {
  IdxElement element = {};
  Shape shape;
  size_t bytes = 0;                 // of the header
  std::optional<uint64_t> content;  // bytes behind it; none when they have no number
};

/// `bytes` is the file's content, or at least its header.
IdxHeader read_idx_header(const std::string& path, std::string_view bytes) {
  const auto fail = [&](const std::string& what) { throw IoError("read_idx: " + path + " " + what); };
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  IdxHeader header;
  if (bytes.size() < 4 || at(0) != 0 || at(1) != 0 || !find_element(at(2), &header.element)) {
    fail("is no IDX file: it does not begin with 0, 0 and a type");
  }
  const size_t ndim = at(3);
  header.bytes = 4 + 4 * ndim;
  if (ndim > static_cast<size_t>(kMaxNdim))
    fail("has " + std::to_string(ndim) + " axes: at most " + std::to_string(kMaxNdim) + " can be read");
  if (bytes.size() < header.bytes) fail("is cut off in its header");
  uint64_t size = static_cast<uint64_t>(header.element.size), bound = size;
  bool fits = true;
  for (size_t axis = 0; axis < ndim; ++axis) {
    const size_t p = 4 + 4 * axis;
    const uint64_t n = uint64_t{at(p)} << 24 | uint64_t{at(p + 1)} << 16 | uint64_t{at(p + 2)} << 8 | at(p + 3);
    header.shape.push_back(static_cast<int64_t>(n));
    // Bounds the product of the sizes that are not 0 too, so that strides cannot overflow.
    fits = fits && bound <= (uint64_t{1} << 56) / std::max<uint64_t>(n, 1);
    if (fits) bound *= std::max<uint64_t>(n, 1), size *= n;
  }
  if (fits) header.content = size;
  return header;
}

}  // namespace

Array read_idx(const std::string& path) {
  constexpr size_t kLongestHeader = 4 + 4 * static_cast<size_t>(kMaxNdim);
  constexpr size_t kTooMuch = size_t{1} << 20;  // may follow what the header promises, before it is read in vain
  std::string bytes = read_maybe_gzip(path, kLongestHeader, [&](std::string_view head) {
    const IdxHeader header = read_idx_header(path, head);
    return header.bytes + static_cast<size_t>(header.content.value_or(0)) + kTooMuch;
  });
  const IdxHeader header = read_idx_header(path, bytes);
  const IdxElement& element = header.element;
  const size_t size = bytes.size() - header.bytes;
  if (header.content != size) {
    throw IoError("read_idx: " + path + " has shape " + to_string(header.shape) +
                  " in its header, which does not fit its " + std::to_string(size) + " bytes of data");
  }
  char* data = bytes.data() + header.bytes;
  if (element.size > 1) {
    for (char* p = data; p != data + size; p += element.size) std::reverse(p, p + element.size);
  }
  const Array result = empty(header.shape, element.dtype);
  if (element.size == itemsize(element.dtype)) {
    std::memcpy(result.raw_data(), data, size);
  } else {
    for (int64_t i = 0; i < result.size(); ++i) {
      int16_t value;
      std::memcpy(&value, data + 2 * i, 2);
      result.data<int32_t>()[i] = value;
    }
  }
  return result;
}

}  // namespace kusari::datasets
