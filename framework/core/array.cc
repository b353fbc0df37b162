#include "kusari/framework/core/array.h"

#include <cstring>
#include <new>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/deferred_copies.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/storage.h"

namespace kusari {
namespace detail {

namespace {

// Host block of a fresh array: its storage, its first body and, when small and on the host, its elements.
struct alignas(64) Block {
  explicit Block(const Device& device) noexcept : storage{device} {}

  Storage storage;
  ArrayBody body;
};
constexpr size_t kInlineBytes = 1024;

void free_inline(Storage* storage) noexcept {
  const size_t bytes = sizeof(Block) + storage->bytes;
  storage->~Storage();
  memory::deallocate(storage, bytes);
}

void free_separate(Storage* storage) noexcept {
  storage->device.backend().deallocate(storage->device.index(), storage->data, storage->bytes);
  storage->~Storage();
  memory::deallocate(storage, sizeof(Block));
}

// Page-locked host memory of the backend that is the storage's context.
void free_pinned(Storage* storage) noexcept {
  static_cast<Backend*>(storage->context)->deallocate_pinned(storage->data, storage->bytes);
  storage->~Storage();
  memory::deallocate(storage, sizeof(Block));
}

struct External {
  void (*release)(void*);
  void* context;
};

void free_external(Storage* storage) noexcept {
  auto* external = static_cast<External*>(storage->context);
  if (external->release != nullptr) external->release(external->context);
  memory::destroy(external);
  storage->~Storage();
  memory::deallocate(storage, sizeof(Block));
}

// The storage's block is the first member of Block, so freeing the storage frees the body inside it too.
static_assert(offsetof(Block, storage) == 0);

// Where the elements of a new array lie.
enum class Place : uint8_t { usual, pinned, beside };

// `pinning`: the backend whose page-locked memory a pinned array of the CPU has.
Block* new_block(const Shape& shape, Dtype dtype, const Device& device, Place place = Place::usual,
                 Backend* pinning = nullptr) {
  const int64_t n = checked_numel(shape, itemsize(dtype), "empty");
  const size_t bytes = static_cast<size_t>(n * itemsize(dtype));
  const bool is_inline = device.is_cpu() && bytes <= kInlineBytes && place == Place::usual;
  void* memory = memory::allocate(is_inline ? sizeof(Block) + bytes : sizeof(Block));
  Block* block = ::new (memory) Block(device);
  block->storage.bytes = bytes;
  block->storage.id = next_storage_id();
  if (is_inline) {
    block->storage.data = block + 1;
    block->storage.free = free_inline;
  } else {
    try {
      block->storage.data = place == Place::usual    ? device.backend().allocate(device.index(), bytes)
                            : place == Place::pinned ? pinning->allocate_pinned(bytes)
                                                     : device.backend().allocate_beside(device.index(), bytes);
    } catch (const OutOfMemoryError& error) {
      memory::deallocate(memory, sizeof(Block));
      throw OutOfMemoryError("empty: an array of shape " + to_string(shape) + " and dtype " + name(dtype) +
                             " does not fit into the memory: " + error.what());
    } catch (...) {
      memory::deallocate(memory, sizeof(Block));
      throw;
    }
    block->storage.free = place == Place::pinned ? free_pinned : free_separate;
    block->storage.context = pinning;
  }
  block->body.embedded = true;
  block->body.dtype = dtype;
  block->body.size = n;
  block->body.storage = &block->storage;
  block->body.data = block->storage.data;
  block->body.shape.assign(shape);
  if (GraphCapture* const capture = GraphCapture::current()) [[unlikely]]
    capture->allocated(block->storage);
  return block;
}

Array handle(Block* block) { return Array(IntrusivePtr<ArrayBody>::adopt(&block->body)); }

}  // namespace

Attachment::~Attachment() = default;

void ArrayBody::destroy() noexcept {
  Storage* const owner = storage;
  if (!embedded) memory::destroy(this);
  owner->release();
}

}  // namespace detail

void Array::throw_undefined() {
  throw StateError(
      "Array: an undefined array (made by Array() or moved from) has no elements, shape or dtype; is_defined() tells");
}

bool Array::is_channels_last() const {
  if (ndim() < 3) return false;
  const Strides expected = channels_last_strides(shape());
  for (int i = 0; i < ndim(); ++i) {
    if (shape()[i] != 1 && strides()[i] != expected[i]) return false;
  }
  return true;
}

detail::Attachment* Array::attach(std::unique_ptr<detail::Attachment> kept) const {
  detail::Attachment* present = nullptr;
  if (body().storage->attachment.compare_exchange_strong(present, kept.get(), std::memory_order_acq_rel)) {
    return kept.release();
  }
  return present;
}

bool Array::is_dense() const { return body().contiguous || detail::strides_dense(shape(), strides()); }

int64_t Array::offset() const {
  return (static_cast<const char*>(body().data) - static_cast<const char*>(storage().data)) / itemsize(dtype());
}

Array Array::copy() const {
  Array result = empty_like(*this);
  launch<kernels::Copy>(device(), *this, result);
  return result;
}

Array Array::contiguous() const {
  if (is_contiguous()) return *this;
  Array result = empty(shape(), dtype(), device());
  launch<kernels::Copy>(device(), *this, result);
  return result;
}

Array Array::channels_last() const {
  if (ndim() < 3 || !config().channels_last) return contiguous();
  if (is_channels_last()) return *this;
  Array result = empty_channels_last(shape(), dtype(), device());
  launch<kernels::Copy>(device(), *this, result);
  return result;
}

Array Array::astype(Dtype to, bool always_copy) const {
  if (to == dtype() && !always_copy) return *this;
  Array result = empty_like(*this, to);
  launch<kernels::Copy>(device(), *this, result);
  return result;
}

namespace {

void require_fresh(const char* call, const Array& array) {
  if (array.storage().stale != nullptr) [[unlikely]]
    detail::throw_stale(call, array);
}

// Between devices; both are dense and lie alike.
void copy_bytes(const Array& from, const Array& to) {
  if (GraphCapture* const capture = GraphCapture::current()) [[unlikely]]
    capture->copied_between_devices(from, to);
  const auto bytes = static_cast<size_t>(from.nbytes());
  const Device &source = from.device(), &target = to.device();
  if (bytes == 0) return;
  if (source.is_cpu()) {
    target.backend().copy_from_host(target.index(), to.raw_data(), from.raw_data(), bytes);
  } else if (target.is_cpu()) {
    source.backend().copy_to_host(source.index(), to.raw_data(), from.raw_data(), bytes);
  } else {
    target.backend().copy_from_peer(target.index(), to.raw_data(), source.index(), from.raw_data(), bytes);
  }
}

}  // namespace

Array Array::to_device(const Device& to) const {
  if (to == device()) return *this;
  require_fresh("Array::to_device", *this);
  if (!is_dense()) return contiguous().to_device(to);
  Array result = empty_strided(shape(), strides(), dtype(), to);
  copy_bytes(*this, result);
  return result;
}

Array Array::to_device_beside(const Device& to) const {
  if (to == device()) return *this;
  if (!device().is_cpu() || size() == 0) return to_device(to);
  DeferredCopies* const deferred = DeferredCopies::current();
  Array source = *this;
  if (!is_dense() || !to.backend().is_pinned(raw_data(), static_cast<size_t>(nbytes()))) {
    if (deferred == nullptr) return to_device(to);
    source = detail::handle(detail::new_block(shape(), dtype(), Device(), detail::Place::pinned, &to.backend()));
    source.body_->strides.assign(is_dense() ? strides() : contiguous_strides(shape()));
    source.body_->contiguous = !is_dense() || is_contiguous();
    launch<kernels::Copy>(device(), *this, source);
  }
  detail::Block* const block = detail::new_block(shape(), dtype(), to, detail::Place::beside);
  block->body.strides.assign(source.strides());
  block->body.contiguous = source.is_contiguous();
  Array result = detail::handle(block);
  if (GraphCapture* const capture = GraphCapture::current()) [[unlikely]]
    capture->copied_between_devices(*this, result);
  const auto bytes = static_cast<size_t>(nbytes());
  if (deferred != nullptr) {
    deferred->copy(to, result.raw_data(), source.raw_data(), bytes);
  } else {
    to.backend().copy_from_host_beside(to.index(), result.raw_data(), source.raw_data(), bytes);
  }
  return result;
}

void Array::fill(Scalar value) const { launch<kernels::Fill>(device(), value, *this); }

void Array::copy_from(const Array& source) const {
  for (int i = 0; i < ndim(); ++i) {
    if (strides()[i] == 0 && shape()[i] > 1 && size() > 0) {
      throw ValueError("copy_from: an array of shape " + to_string(shape()) + " repeats its elements along axis " +
                       std::to_string(i) + ": copy() it first");
    }
  }
  if (source.device() != device() && source.dtype() == dtype() && source.shape() == shape() &&
      source.strides() == strides() && is_dense()) {
    copy_bytes(source, *this);
    mark_written();
    return;
  }
  Array there = source.to_device(device());
  if (&there.storage() == &storage() && !there.is_same(*this) && detail::may_share_memory(there, *this)) {
    there = there.copy();
  }
  launch<kernels::Copy>(device(), there.shape() == shape() ? there : there.broadcast_to(shape()), *this);
}

void Array::read(Dtype to, void* values) const {
  require_fresh("Array::to_vector", *this);
  if (GraphCapture* const capture = GraphCapture::current()) [[unlikely]]
    capture->host_reads("Array::to_vector", *this);
  if (size() == 0) return;  // memcpy must not see the null pointer of an empty vector
  const Array host = to_device(Device()).astype(to).contiguous();
  std::memcpy(values, host.raw_data(), static_cast<size_t>(host.nbytes()));
}

void Array::read_item(Dtype to, void* value) const {
  if (size() != 1) {
    throw ValueError("item: the array has shape " + to_string(shape()) + ", not exactly one element");
  }
  require_fresh("Array::item", *this);
  if (GraphCapture* const capture = GraphCapture::current()) [[unlikely]]
    capture->host_reads("Array::item", *this);
  // A loss that is read at every step: no arrays on the way.
  if (device().is_cpu() && dtype() == to) {
    std::memcpy(value, raw_data(), static_cast<size_t>(itemsize(to)));
  } else if (device().is_cpu() && dtype() == Dtype::float32 && to == Dtype::float64) {
    *static_cast<double*>(value) = static_cast<double>(*data<float>());
  } else {
    read(to, value);
  }
}

Array empty(const Shape& shape, Dtype dtype, const Device& device) {
  detail::Block* block = detail::new_block(shape, dtype, device);
  block->body.strides.assign_contiguous_strides(shape);
  return detail::handle(block);
}

Array empty_strided(const Shape& shape, const Strides& strides, Dtype dtype, const Device& device) {
  checked_numel(shape, itemsize(dtype), "empty_strided");
  if (shape.ndim() != strides.ndim() || !detail::strides_dense(shape, strides)) {
    throw ValueError("empty_strided: strides " + to_string(strides) + " leave gaps or overlap in shape " +
                     to_string(shape));
  }
  detail::Block* block = detail::new_block(shape, dtype, device);
  block->body.strides.assign(strides);
  block->body.contiguous = detail::strides_contiguous(shape, strides);
  return detail::handle(block);
}

Array empty_pinned(const Shape& shape, Dtype dtype, const Device& device) {
  if (device.is_cpu()) return empty(shape, dtype);
  detail::Block* block = detail::new_block(shape, dtype, Device(), detail::Place::pinned, &device.backend());
  block->body.strides.assign_contiguous_strides(shape);
  return detail::handle(block);
}

Array empty_channels_last(const Shape& shape, Dtype dtype, const Device& device) {
  if (shape.ndim() < 3 || !config().channels_last) return empty(shape, dtype, device);
  checked_numel(shape, itemsize(dtype), "empty");
  return empty_strided(shape, channels_last_strides(shape), dtype, device);
}

Array empty_like(const Array& like) { return empty_like(like, like.dtype()); }

Array empty_like(const Array& like, Dtype dtype) {
  if (like.is_contiguous() || !like.is_dense()) return empty(like.shape(), dtype, like.device());
  return empty_strided(like.shape(), like.strides(), dtype, like.device());
}

Array full(const Shape& shape, Scalar value, Dtype dtype, const Device& device) {
  checked_numel(shape, itemsize(dtype), "full");
  Array result = empty(shape, dtype, device);
  result.fill(value);
  return result;
}

Array zeros(const Shape& shape, Dtype dtype, const Device& device) {
  checked_numel(shape, itemsize(dtype), "zeros");
  return full(shape, 0, dtype, device);
}
Array ones(const Shape& shape, Dtype dtype, const Device& device) {
  checked_numel(shape, itemsize(dtype), "ones");
  return full(shape, 1, dtype, device);
}

Array full_like(const Array& like, Scalar value) {
  Array result = empty_like(like);
  result.fill(value);
  return result;
}
Array zeros_like(const Array& like) { return full_like(like, 0); }
Array ones_like(const Array& like) { return full_like(like, 1); }

Array arange(int64_t n, Dtype dtype, const Device& device) {
  argument::not_negative("arange", "n", n);
  Array result = empty({n}, dtype, device);
  launch<kernels::Arange>(device, result);
  return result;
}

void detail::throw_ragged(size_t expected, size_t found) {
  throw TypeError("array: a row has " + std::to_string(found) + " values but the first has " +
                  std::to_string(expected));
}

void detail::check_value_count(size_t count, const Shape& shape) {
  if (static_cast<int64_t>(count) != checked_numel(shape, 1, "array")) {
    throw TypeError("array: " + std::to_string(count) + " values do not fill shape " + to_string(shape));
  }
}

Array from_host(const void* data, const Shape& shape, Dtype dtype, const Device& device) {
  Array result = empty(shape, dtype, device);
  if (GraphCapture* const capture = GraphCapture::current()) [[unlikely]]
    capture->host_writes("from_host", result);
  if (result.size() > 0) {
    device.backend().copy_from_host(device.index(), result.raw_data(), data, static_cast<size_t>(result.nbytes()));
  }
  return result;
}

Array from_external(void* data, const Shape& shape, const Strides& strides, Dtype dtype, const Device& device,
                    void (*release)(void* context), void* context) {
  const int64_t size = checked_numel(shape, itemsize(dtype), "from_external");
  bool fits = shape.ndim() == strides.ndim();
  int64_t low = 0, high = 0, bytes = 0;
  for (int i = 0; fits && i < shape.ndim(); ++i) {
    int64_t reach = 0, &end = strides[i] < 0 ? low : high;
    fits = !__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) && !__builtin_add_overflow(end, reach, &end);
  }
  fits = fits && !__builtin_sub_overflow(high, low, &bytes) && !__builtin_add_overflow(bytes, int64_t{1}, &bytes) &&
         !__builtin_mul_overflow(bytes, int64_t{itemsize(dtype)}, &bytes);
  if (!fits && size > 0) {
    throw ValueError("from_external: shape is " + to_string(shape) + " but strides is " + to_string(strides) +
                     ": there must be a stride for each axis, and memory that has an address for each element");
  }
  auto* external = memory::create<detail::External>(release, context);
  auto* block = ::new (memory::allocate(sizeof(detail::Block))) detail::Block(device);
  detail::Storage& storage = block->storage;
  storage.data = static_cast<char*>(data) + (size == 0 ? 0 : low * itemsize(dtype));
  storage.bytes = size == 0 ? 0 : static_cast<size_t>(bytes);
  storage.id = detail::next_storage_id();
  storage.free = detail::free_external;
  storage.context = external;
  storage.is_exposed.store(true, std::memory_order_relaxed);
  detail::ArrayBody& body = block->body;
  body.embedded = true;
  body.dtype = dtype;
  body.size = size;
  body.storage = &storage;
  body.data = data;
  body.shape = shape;
  body.strides = strides;
  body.contiguous = detail::strides_contiguous(shape, strides);
  return detail::handle(block);
}

}  // namespace kusari
