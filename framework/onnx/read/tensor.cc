#include "kusari/framework/onnx/read/tensor.h"

#include <sys/stat.h>

#include <bit>
#include <cstring>
#include <span>
#include <system_error>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/core/input_file.h"

namespace kusari::onnx::read {
namespace {

namespace fs = std::filesystem;

class TensorReader {
 public:
  TensorReader(const Tensor& tensor, const TensorSource& source) : tensor_{tensor}, source_{source} {}

  Array read() {
    const std::optional<Dtype> dtype = dtype_for(tensor_.type);
    if (!dtype) {
      throw TypeError(describe() + " has the type " + to_string(tensor_.type) + ", of which Kusari has no dtype");
    }
    if (tensor_.dims.size() > static_cast<size_t>(kMaxNdim)) {
      throw TypeError(describe() + " has " + std::to_string(tensor_.dims.size()) + " axes: there may be at most " +
                      std::to_string(kMaxNdim));
    }
    const Shape shape(tensor_.dims.begin(), tensor_.dims.end());
    int64_t count = 0;
    try {
      count = checked_numel(shape, 8, "onnx");
    } catch (const ValueError&) {
      fail("its shape " + kusari::to_string(shape) + " is impossible");
    }
    if (tensor_.external) return from_raw(external_bytes(shape, count), shape, *dtype, count);
    if (tensor_.has_raw) {
      Array array = from_raw(tensor_.raw, shape, *dtype, count);
      if (source_.file != nullptr) source_.file->forget(tensor_.raw.data(), tensor_.raw.size());
      return array;
    }
    return from_lists(shape, *dtype, count);
  }

 private:
  std::string describe() const { return source_.name + ": the tensor '" + std::string(tensor_.name) + "'"; }
  [[noreturn]] void fail(const std::string& what) const { throw IoError(describe() + " is damaged: " + what); }

  /// Bits of an element in raw data.
  int64_t bits() const {
    switch (tensor_.type) {
      case DataType::uint2:
      case DataType::int2:
        return 2;
      case DataType::uint4:
      case DataType::int4:
        return 4;
      case DataType::bool_:
      case DataType::uint8:
      case DataType::int8:
        return 8;
      case DataType::uint16:
      case DataType::int16:
      case DataType::float16:
      case DataType::bfloat16:
        return 16;
      case DataType::int32:
      case DataType::uint32:
      case DataType::float32:
        return 32;
      default:
        return 64;
    }
  }

  /// Of elements in raw data. As many bits may be more than an int64 counts.
  int64_t bytes_of(int64_t count) const { return count / 8 * bits() + (count % 8 * bits() + 7) / 8; }

  Array from_raw(std::string_view raw, const Shape& shape, Dtype dtype, int64_t count) const {
    const int64_t expected = bytes_of(count);
    if (static_cast<int64_t>(raw.size()) != expected) {
      fail("it has " + std::to_string(raw.size()) + " bytes of data: its shape " + kusari::to_string(shape) +
           " takes " + std::to_string(expected));
    }
    switch (tensor_.type) {
      case DataType::int2:
        return unpacked<int8_t>(raw, shape, count, 2);
      case DataType::uint2:
        return unpacked<uint8_t>(raw, shape, count, 2);
      case DataType::int4:
        return unpacked<int8_t>(raw, shape, count, 4);
      case DataType::uint4:
        return unpacked<uint8_t>(raw, shape, count, 4);
      case DataType::int16:
        return widened<int16_t, int32_t>(raw, shape, count);
      case DataType::uint16:
        return widened<uint16_t, int32_t>(raw, shape, count);
      case DataType::uint32:
        return widened<uint32_t, int64_t>(raw, shape, count);
      case DataType::bool_: {
        // Any byte but 0 is true.
        std::vector<uint8_t> values(raw.begin(), raw.end());
        for (uint8_t& value : values) value = value != 0 ? 1 : 0;
        return from_host(values.data(), shape, dtype);
      }
      default: {
        Array mapped = source_.weights != nullptr ? source_.weights->array(raw, shape, dtype) : Array();
        return mapped.is_defined() ? mapped : from_host(raw.data(), shape, dtype);
      }
    }
  }

  template <class From, class To>
  static Array widened(std::string_view raw, const Shape& shape, int64_t count) {
    std::vector<To> values = host_vector<To>({count}, "onnx");
    for (size_t i = 0; i < values.size(); ++i) {
      From value;
      std::memcpy(&value, raw.data() + i * sizeof(From), sizeof(From));
      values[i] = value;
    }
    return from_host(values.data(), shape, dtype_of<To>);
  }

  /// Several elements in a byte, the first in its lowest bits.
  template <class To>
  static Array unpacked(std::string_view raw, const Shape& shape, int64_t count, int width) {
    std::vector<To> values = host_vector<To>({count}, "onnx");
    const int mask = (1 << width) - 1, sign = 1 << (width - 1);
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t bit = i * static_cast<size_t>(width);
      int value = (static_cast<uint8_t>(raw[bit / 8]) >> (bit % 8)) & mask;
      if (std::is_signed_v<To> && (value & sign) != 0) value -= 1 << width;
      values[i] = static_cast<To>(value);
    }
    return from_host(values.data(), shape, dtype_of<To>);
  }

  Array from_lists(const Shape& shape, Dtype dtype, int64_t count) const {
    if (tensor_.number_lists > 1) fail("it has numbers of more than one type");
    switch (tensor_.type) {
      case DataType::float32:
        expect_count(tensor_.floats.size(), count, shape);
        break;
      case DataType::float64:
        expect_count(tensor_.doubles.size(), count, shape);
        break;
      default: {
        const int64_t per_entry = bits() < 8 ? 8 / bits() : 1;
        expect_count(tensor_.integers.size(), (count + per_entry - 1) / per_entry, shape);
      }
    }
    switch (tensor_.type) {
      case DataType::float32:
        return from_host(tensor_.floats.data(), shape, dtype);
      case DataType::float64:
        return from_host(tensor_.doubles.data(), shape, dtype);
      case DataType::int64:
      case DataType::uint64:
      case DataType::uint32:
        return from_host(tensor_.integers.data(), shape, Dtype::int64);
      case DataType::float16:
      case DataType::bfloat16:
        return narrowed<uint16_t>(shape, dtype);
      case DataType::bool_: {
        std::vector<uint8_t> values;
        for (const int64_t value : tensor_.integers) values.push_back(value != 0 ? 1 : 0);
        return from_host(values.data(), shape, dtype);
      }
      case DataType::uint8:
        return narrowed<uint8_t>(shape, dtype);
      case DataType::int8:
        return narrowed<int8_t>(shape, dtype);
      case DataType::int4:
      case DataType::uint4:
      case DataType::int2:
      case DataType::uint2: {
        std::string bytes;
        for (const int64_t value : tensor_.integers) bytes.push_back(static_cast<char>(value));
        return from_raw(bytes, shape, dtype, count);
      }
      default:
        return narrowed<int32_t>(shape, dtype);
    }
  }

  void expect_count(size_t found, int64_t expected, const Shape& shape) const {
    if (static_cast<int64_t>(found) == expected) return;
    fail("it has " + std::to_string(found) + " numbers: its shape " + kusari::to_string(shape) + " takes " +
         std::to_string(expected));
  }

  template <class T>
  Array narrowed(const Shape& shape, Dtype dtype) const {
    std::vector<T> values;
    values.reserve(tensor_.integers.size());
    for (const int64_t value : tensor_.integers) values.push_back(static_cast<T>(value));
    return from_host(values.data(), shape, dtype);
  }

  /// The tensor's bytes of a file beside the model. A model that somebody else wrote must not read any other file: no
  /// way up, no links.
  std::string_view external_bytes(const Shape& shape, int64_t count) {
    const ExternalData& external = *tensor_.external;
    const fs::path location(external.location);
    const auto refuse = [&](const std::string& why) {
      throw IoError(describe() + ": its external data is in '" + external.location + "', which " + why);
    };
    if (external.location.empty()) refuse("is no file");
    if (location.is_absolute() || location.has_root_path()) refuse("must be a path relative to the model");
    fs::path path = source_.folder;
    for (const fs::path& part : location) {
      if (part == "..") refuse("must not lead out of the model's folder");
      path /= part;
      struct stat status {};
      if (::lstat(path.c_str(), &status) != 0) refuse("cannot be read: " + std::generic_category().message(errno));
      if (S_ISLNK(status.st_mode)) refuse("must not be, or lie behind, a symbolic link");
      if (!S_ISDIR(status.st_mode) && (!S_ISREG(status.st_mode) || status.st_nlink > 1)) {
        refuse("must be a plain file with one name");
      }
    }
    const InputFile file("onnx::load", path.string());
    const uint64_t expected = static_cast<uint64_t>(bytes_of(count));
    if (external.length.value_or(expected) != expected) {
      fail("it has " + std::to_string(*external.length) + " bytes of external data: its shape " +
           kusari::to_string(shape) + " takes " + std::to_string(expected));
    }
    if (external.offset > file.size() || file.size() - external.offset < expected) {
      fail("its external data ends behind the end of '" + external.location + "', which has " +
           std::to_string(file.size()) + " bytes");
    }
    if (source_.weights != nullptr) {
      return source_.weights->file("onnx::load", path.string()).bytes().substr(external.offset, expected);
    }
    external_.resize(expected);
    file.read(external.offset, {reinterpret_cast<uint8_t*>(external_.data()), external_.size()});
    return external_;
  }

  const Tensor& tensor_;
  const TensorSource& source_;
  std::string external_;
};

static_assert(std::endian::native == std::endian::little, "ONNX stores numbers little endian");

}  // namespace

Array to_array(const Tensor& tensor, const TensorSource& source) { return TensorReader(tensor, source).read(); }

}  // namespace kusari::onnx::read
