#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/core/reference_count.h"
#include "kusari/framework/core/shape.h"

namespace kusari {

/// A number of any arithmetic type, kept exactly: the constant operand of an operation or a fill. An integer of 2^63
/// and more, which no dtype holds, counts as a real number.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T value) noexcept
      : real_{static_cast<double>(value)}, integer_{to_integer(value)}, is_integral_{is_kept_as_integer(value)} {}

  constexpr double as_double() const noexcept { return real_; }
  constexpr int64_t as_int64() const noexcept { return integer_; }
  constexpr bool is_integral() const noexcept { return is_integral_; }
  /// The value as element type T, rounded as a cast does.
  template <class T>
  T as() const {
    return is_integral_ ? convert_element<T>(integer_) : convert_element<T>(real_);
  }

 private:
  template <class T>
  static constexpr bool is_kept_as_integer([[maybe_unused]] T value) noexcept {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(int64_t)) {
      return value <= static_cast<T>(std::numeric_limits<int64_t>::max());
    } else {
      return std::is_integral_v<T>;
    }
  }
  template <class T>
  static constexpr int64_t to_integer(T value) noexcept {
    if constexpr (std::is_integral_v<T>) return static_cast<int64_t>(value);
    // A real that no int64 can hold has no integer to offer.
    return value > static_cast<T>(-9.2e18) && value < static_cast<T>(9.2e18) ? static_cast<int64_t>(value) : 0;
  }

  double real_;
  int64_t integer_;
  bool is_integral_;
};

namespace detail {

/// What a backend keeps beside a block of memory, such as weights in the order that its library wants; freed with it.
struct KUSARI_API Attachment {
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  virtual ~Attachment();
};

struct Storage;
/// Tells the GraphCapture of storage.capture, if it still lives; defined in graph_capture.cc.
KUSARI_API void note_captured_storage_freed(const Storage& storage) noexcept;

/// A block of device memory, shared by the arrays that view it.
struct KUSARI_API Storage {
  explicit Storage(const Device& where) noexcept : device{where} {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (Attachment* const kept = attachment.load(std::memory_order_relaxed)) [[unlikely]]
      delete kept;
    if (capture != 0) [[unlikely]]
      note_captured_storage_freed(*this);
  }

  std::atomic<uint32_t> references{1};
  Device device;
  void* data = nullptr;
  size_t bytes = 0;
  uint64_t id = 0;                            // identity: never used twice, although pools reuse addresses
  void (*free)(Storage*) noexcept = nullptr;  // frees data and the Storage itself
  void* context = nullptr;                    // whatever `free` needs
  // Counts the kernels that may have written here, so that what was derived from the contents is known to be stale.
  std::atomic<uint64_t> generation{0};
  std::atomic<Attachment*> attachment{nullptr};  // owned; set once
  std::atomic<bool> is_exposed{false};           // somebody else may write here at any time
  // Why the contents are no longer what handles expect, as the end of a sentence about the array; a text that is never
  // freed. Null almost always: static graphs set it.
  const char* stale = nullptr;
  uint64_t capture = 0;  // id of the GraphCapture under which it was allocated, or 0

  void mark_written() noexcept {
    // Kernels that write to one block are never concurrent, so no locked instruction.
    generation.store(generation.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void retain() noexcept { add_references(references, 1u); }
  void release() noexcept {
    if (drop_reference(references)) free(this);
  }
};

/// What an Array handle points to.
struct KUSARI_API ArrayBody {
  std::atomic<uint32_t> references{1};
  Dtype dtype = Dtype::float32;
  bool contiguous = true;  // C order without gaps
  bool embedded = false;   // lives in its storage's block
  Storage* storage = nullptr;
  void* data = nullptr;  // first element
  int64_t size = 0;      // number of elements
  Shape shape;
  Strides strides;

  void retain() noexcept { add_references(references, 1u); }
  void release() noexcept {
    if (drop_reference(references)) destroy();
  }
  void destroy() noexcept;
};

}  // namespace detail

/// A handle to strided memory on a device: dtype, shape, strides. Copies share the elements; not differentiable.
/// Images are NCHW in `shape()` whatever their order in memory; reading back always gives logical C order.
class KUSARI_API Array {
 public:
  /// An undefined array: no elements, no shape. Every other member except is_defined and is_same throws StateError for
  /// it.
  Array() noexcept = default;
  explicit Array(IntrusivePtr<detail::ArrayBody> body) noexcept : body_{std::move(body)} {}

  bool is_defined() const noexcept { return static_cast<bool>(body_); }
  explicit operator bool() const noexcept { return is_defined(); }

  const Shape& shape() const { return body().shape; }
  int64_t shape(int64_t axis) const { return body().shape[normalize_axis(axis, ndim(), "Array::shape")]; }
  const Strides& strides() const { return body().strides; }
  int ndim() const { return body().shape.ndim(); }
  /// Number of elements.
  int64_t size() const { return body().size; }
  int64_t nbytes() const { return body().size * itemsize(body().dtype); }
  Dtype dtype() const { return body().dtype; }
  const Device& device() const { return body().storage->device; }
  bool is_floating() const { return kusari::is_floating(body().dtype); }
  /// C order without gaps. Axes of size 1 match any stride.
  bool is_contiguous() const { return body().contiguous; }
  /// Channels innermost (N, spatial..., C) without gaps; false below 3 axes.
  bool is_channels_last() const;
  /// Some order of the axes without gaps or overlaps: the elements are one flat range.
  bool is_dense() const;

  // --- views: they share the elements ---

  /// The same elements in C order under another shape; one size may be -1 (inferred). A view where strides allow it,
  /// else a copy. Throws TypeError when the sizes do not match.
  Array reshape(const Shape& shape) const;
  /// Axes permuted; without axes, reversed.
  Array transpose() const;
  Array transpose(std::span<const int64_t> axes) const;
  Array transpose(std::initializer_list<int64_t> axes) const;
  Array swapaxes(int64_t a, int64_t b) const;
  /// Elements start, start+step, ... of one axis, `count` of them, in range; step may be negative.
  Array slice(int64_t axis, int64_t start, int64_t count, int64_t step = 1) const;
  /// Element `index` of the first axis, with that axis removed. Negative counts from the end.
  Array at(int64_t index) const;
  /// Repeats axes of size 1 (stride 0) and adds leading axes, by NumPy's rules.
  Array broadcast_to(const Shape& shape) const;
  Array expand_dims(int64_t axis) const;
  /// Drops axis `axis`, which must have size 1.
  Array squeeze(int64_t axis) const;
  /// Any view inside the storage; `offset` in elements from this array's first. Throws ValueError when it reaches
  /// outside.
  Array as_strided(const Shape& shape, const Strides& strides, int64_t offset = 0) const;

  // --- copies and conversions ---

  /// A new array with the same elements and, when dense, the same memory order.
  Array copy() const;
  /// This array when it is C-contiguous, else a C-contiguous copy.
  Array contiguous() const;
  /// This array when its channels are innermost, else such a copy. Below 3 axes, or with config.channels_last off:
  /// contiguous().
  Array channels_last() const;
  /// Converted elements in a new array; this array itself when the dtype is already right (and `copy` is false).
  Array astype(Dtype dtype, bool copy = false) const;
  /// On another device; this array itself when it is already there.
  Array to_device(const Device& device) const;
  /// The same; from page-locked memory (empty_pinned, Backend::pin) the copy runs beside the device's work, and the
  /// caller does not wait: the elements must not be overwritten before work that uses the result is done. The array
  /// itself may go at once. See also DeferredCopies.
  Array to_device_beside(const Device& device) const;

  // --- writing ---

  void fill(Scalar value) const;
  /// Overwrites the elements, converting dtype and device and broadcasting. The source may be another view of the same
  /// memory: it is read first. Throws ValueError where one element stands for several, as broadcast_to gives them.
  void copy_from(const Array& source) const;

  // --- host access: waits for the device, always logical C order ---

  /// All elements, converted to T. Throws OutOfMemoryError when the host has no room for them.
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> values = host_vector<T>({size()}, "to_vector");
    if constexpr (std::is_same_v<T, bool>) {
      const std::vector<uint8_t> bytes = to_vector<uint8_t>();
      for (size_t i = 0; i < bytes.size(); ++i) values[i] = bytes[i] != 0;
    } else {
      read(dtype_of<T>, values.data());
    }
    return values;
  }
  /// The only element, converted to T. Throws ValueError when there is not exactly one.
  template <class T>
  T item() const {
    T value{};
    read_item(dtype_of<T>, &value);
    return value;
  }

  // --- for backends ---

  /// First element in device memory. Kernels and interop only: recorders do not see what is done with it. Who changes
  /// elements that a kernel may have read before calls mark_written() afterwards, or expose() once.
  void* raw_data() const { return body().data; }
  template <class T>
  T* data() const {
    return static_cast<T*>(body().data);
  }
  const detail::Storage& storage() const { return *body().storage; }
  /// The elements may have changed: nothing that a backend derived from them holds any longer. Kernels need not say so.
  void mark_written() const { body().storage->mark_written(); }
  /// The elements may change at any time from now on, because a map or another library holds their address.
  void expose() const { body().storage->is_exposed.store(true, std::memory_order_relaxed); }
  /// Attaches what a backend keeps beside the elements, unless something is attached already; returns what is.
  detail::Attachment* attach(std::unique_ptr<detail::Attachment> kept) const;
  /// Elements from the storage's start to the first element.
  int64_t offset() const;
  /// Whether no other array or handle can see these elements.
  bool is_unique() const {
    return body().references.load(std::memory_order_acquire) == 1 &&
           body().storage->references.load(std::memory_order_acquire) == 1;
  }
  /// Same elements, viewed alike: the two handles share one body.
  bool is_same(const Array& other) const noexcept { return body_ == other.body_; }

 private:
  // A null handle costs one predicted branch to notice.
  const detail::ArrayBody& body() const {
    if (!body_) [[unlikely]]
      throw_undefined();
    return *body_;
  }
  [[noreturn]] static void throw_undefined();
  // Throws ValueError naming `call` for a shape that no array can have.
  Array view(const char* call, const Shape& shape, const Strides& strides, void* data) const;
  void read(Dtype dtype, void* to) const;
  void read_item(Dtype dtype, void* to) const;

  IntrusivePtr<detail::ArrayBody> body_;
};

/// New arrays. `empty` leaves the elements undefined. These throw ValueError naming the shape when a size is negative
/// or the elements would take 2^63 bytes or more, OutOfMemoryError when there are not as many bytes.
KUSARI_API Array empty(const Shape& shape, Dtype dtype = Dtype::float32, const Device& device = Device());
/// `strides` must be dense: some order of the axes without gaps.
KUSARI_API Array empty_strided(const Shape& shape, const Strides& strides, Dtype dtype,
                               const Device& device = Device());
/// On the CPU, in page-locked memory that `device` copies without the host's help; plain memory when `device` is the
/// CPU.
KUSARI_API Array empty_pinned(const Shape& shape, Dtype dtype, const Device& device);
/// (N, C, spatial...) with the channels innermost in memory; C order below 3 axes or with config.channels_last off.
KUSARI_API Array empty_channels_last(const Shape& shape, Dtype dtype, const Device& device = Device());
/// Shape, memory order (when dense), dtype and device of `like`.
KUSARI_API Array empty_like(const Array& like);
KUSARI_API Array empty_like(const Array& like, Dtype dtype);
KUSARI_API Array full(const Shape& shape, Scalar value, Dtype dtype, const Device& device = Device());
KUSARI_API Array zeros(const Shape& shape, Dtype dtype = Dtype::float32, const Device& device = Device());
KUSARI_API Array ones(const Shape& shape, Dtype dtype = Dtype::float32, const Device& device = Device());
KUSARI_API Array full_like(const Array& like, Scalar value);
KUSARI_API Array zeros_like(const Array& like);
KUSARI_API Array ones_like(const Array& like);
/// 0, 1, .., n-1.
KUSARI_API Array arange(int64_t n, Dtype dtype = Dtype::float32, const Device& device = Device());
/// Copies `bytes` of host memory in C order.
KUSARI_API Array from_host(const void* data, const Shape& shape, Dtype dtype, const Device& device = Device());
/// Wraps memory that someone else owns; release(context) is called with the last view. Strides in elements.
KUSARI_API Array from_external(void* data, const Shape& shape, const Strides& strides, Dtype dtype,
                               const Device& device, void (*release)(void* context), void* context);

namespace detail {
/// Whether some byte may be part of both: the ranges of memory that they span meet.
KUSARI_API bool may_share_memory(const Array& a, const Array& b) noexcept;

/// Throws TypeError unless `count` values fill an array of that shape.
KUSARI_API void check_value_count(size_t count, const Shape& shape);
[[noreturn]] KUSARI_API void throw_ragged(size_t expected, size_t found);
/// A C++ type that a Dtype stands for.
template <class T>
concept ElementType = requires {
  DtypeOf<T>::value;
};

}  // namespace detail

/// An array from C++ values, in C order: array<float>({1, 2, 3, 4}, {2, 2}). Without a shape it has one axis:
/// array<float>({1, 2, 3}). A list of rows has two: array<float>({{1, 2}, {3, 4}}); rows of different lengths throw
/// TypeError. A single value is a scalar, an array without axes: array<int32_t>(7), array(1.5f).
template <class T>
Array array(std::span<const T> values, const Shape& shape, const Device& device = Device()) {
  detail::check_value_count(values.size(), shape);
  return from_host(values.data(), shape, dtype_of<T>, device);
}
template <class T>
Array array(std::initializer_list<T> values, const Shape& shape, const Device& device = Device()) {
  return array(std::span<const T>(values.begin(), values.size()), shape, device);
}
template <class T>
Array array(std::initializer_list<T> values) {
  return array(values, Shape{static_cast<int64_t>(values.size())});
}
template <class T>
Array array(std::initializer_list<std::initializer_list<T>> rows, const Device& device = Device()) {
  const size_t length = rows.size() > 0 ? rows.begin()->size() : 0;
  const auto values = std::make_unique<T[]>(rows.size() * length);
  T* next = values.get();
  for (const auto& row : rows) {
    if (row.size() != length) detail::throw_ragged(length, row.size());
    for (const T value : row) *next++ = value;
  }
  Shape shape{static_cast<int64_t>(rows.size())};
  if (rows.size() > 0) shape.push_back(static_cast<int64_t>(length));
  return array(std::span<const T>(values.get(), next), shape, device);
}
// The device is deduced, so that a `{}` here is the shape of a scalar.
template <class T, std::same_as<Device> D>
Array array(std::initializer_list<T> values, const D& device) {
  return array(values, Shape{static_cast<int64_t>(values.size())}, device);
}
template <class T>
Array array(const std::vector<T>& values, const Shape& shape, const Device& device = Device()) {
  return array(std::span<const T>(values.data(), values.size()), shape, device);
}
template <class T>
Array array(const std::vector<T>& values) {
  return array(values, Shape{static_cast<int64_t>(values.size())});
}
template <class T, std::same_as<Device> D>
Array array(const std::vector<T>& values, const D& device) {
  return array(values, Shape{static_cast<int64_t>(values.size())}, device);
}
template <detail::ElementType T>
Array array(T value, const Device& device = Device()) {
  return from_host(&value, {}, dtype_of<T>, device);
}

/// The elements as NumPy's str() prints them, long arrays abbreviated.
KUSARI_API std::string to_string(const Array& array);
/// The same as text that follows `prefix`, on whose last line the array begins: further lines are indented by its
/// length. An array without axes is written like an element ("3."). numpy.array2string.
KUSARI_API std::string array2string(const Array& array, const std::string& prefix);
KUSARI_API std::ostream& operator<<(std::ostream& stream, const Array& array);

}  // namespace kusari
