#include "kusari/iterators/batch_layout.h"

#include <cstring>
#include <type_traits>

#include "kusari/framework/core/config.h"

namespace kusari::iterators {
namespace {

using datasets::Example;

/// Whether a row is an image whose memory is (H, W, C), its lines any distance apart.
bool has_pixel_lines(const Array& row) noexcept {
  if (row.ndim() != 3) return false;
  const int64_t channels = row.shape()[0], width = row.shape()[2];
  return (channels == 1 || row.strides()[0] == 1) && (width == 1 || row.strides()[2] == channels);
}

void copy_pixel_lines(const Array& image, char* to) {
  const int64_t item = itemsize(image.dtype());
  const int64_t height = image.shape()[1], line = image.shape()[0] * image.shape()[2] * item;
  const int64_t pitch = height == 1 ? line : image.strides()[1] * item;
  const char* from = image.data<char>();
  if (pitch == line) {
    std::memcpy(to, from, static_cast<size_t>(height * line));
    return;
  }
  for (int64_t y = 0; y < height; ++y) std::memcpy(to + y * line, from + y * pitch, static_cast<size_t>(line));
}

Strides image_strides(const Shape& chw) { return {1, chw[0] * chw[2], chw[0]}; }

void nothing(void*) {}

}  // namespace

static_assert(std::is_trivially_copyable_v<BatchLayout>);

BatchLayout BatchLayout::of(const Example& example, int64_t batch_size) {
  BatchLayout layout;
  if (example.size() > static_cast<size_t>(kMaxComponents)) return layout;
  int64_t end = 0;
  for (size_t k = 0; k < example.size(); ++k) {
    const Array& row = example[k];
    if (!row.is_defined() || !row.device().is_cpu() || row.ndim() == kMaxNdim) return BatchLayout();
    Plane& plane = layout.planes_[k];
    plane.dtype = row.dtype();
    plane.is_image = config().channels_last && has_pixel_lines(row) && !row.is_contiguous();
    plane.shape = row.shape();
    plane.row_bytes = row.nbytes();
    plane.offset = end;
    int64_t bytes;
    if (__builtin_mul_overflow(batch_size, plane.row_bytes, &bytes) || __builtin_add_overflow(end, bytes, &bytes) ||
        __builtin_add_overflow(bytes, kAlignment - 1, &bytes)) {
      return BatchLayout();
    }
    end = bytes / kAlignment * kAlignment;
  }
  layout.components_ = static_cast<int32_t>(example.size());
  layout.batch_size_ = batch_size;
  layout.bytes_ = end;
  return layout;
}

bool BatchLayout::fits(const Example& example) const noexcept {
  if (example.size() != static_cast<size_t>(components_) || components_ == 0) return false;
  for (size_t k = 0; k < example.size(); ++k) {
    const Array& row = example[k];
    if (!row.is_defined() || row.dtype() != planes_[k].dtype || !(row.shape() == planes_[k].shape) ||
        !row.device().is_cpu()) {
      return false;
    }
  }
  return true;
}

void BatchLayout::write(const Example& example, void* block, int64_t row) const {
  void* planes[kMaxComponents];
  for (int k = 0; k < components_; ++k) planes[k] = static_cast<char*>(block) + planes_[k].offset;
  write(example, planes, row);
}

void BatchLayout::write(const Example& example, void* const* planes, int64_t row) const {
  for (int k = 0; k < components_; ++k) {
    const Plane& plane = planes_[k];
    const Array& from = example[static_cast<size_t>(k)];
    char* const to = static_cast<char*>(planes[k]) + row * plane.row_bytes;
    if (plane.is_image ? has_pixel_lines(from) : from.is_contiguous()) {
      if (plane.is_image) {
        copy_pixel_lines(from, to);
      } else {
        std::memcpy(to, from.raw_data(), static_cast<size_t>(plane.row_bytes));
      }
      continue;
    }
    const Strides strides = plane.is_image ? image_strides(plane.shape) : contiguous_strides(plane.shape);
    from_external(to, plane.shape, strides, plane.dtype, Device(), nothing, nullptr).copy_from(from);
  }
}

Example BatchLayout::allocate(const Device& device) const {
  Example planes;
  planes.reserve(static_cast<size_t>(components_));
  for (int k = 0; k < components_; ++k) {
    const Plane& plane = planes_[k];
    Shape shape = plane.shape;
    shape.insert(0, batch_size_);
    if (plane.is_image) shape = {shape[0], shape[2], shape[3], shape[1]};
    const Array whole = empty_pinned(shape, plane.dtype, device);
    planes.push_back(plane.is_image ? whole.transpose({0, 3, 1, 2}) : whole);
  }
  return planes;
}

Example BatchLayout::wrap(void* block, void (*release)(void* context), void* context) const {
  Example planes;
  planes.reserve(static_cast<size_t>(components_));
  for (int k = 0; k < components_; ++k) {
    const Plane& plane = planes_[k];
    Shape shape = plane.shape;
    shape.insert(0, batch_size_);
    const Strides strides = plane.is_image ? channels_last_strides(shape) : contiguous_strides(shape);
    planes.push_back(from_external(static_cast<char*>(block) + plane.offset, shape, strides, plane.dtype, Device(),
                                   release, context));
  }
  return planes;
}

Batch BatchLayout::rows(const Example& planes, int64_t count) {
  Batch batch(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    Example& example = batch[static_cast<size_t>(i)];
    example.reserve(planes.size());
    for (const Array& plane : planes) example.emplace_back(plane.at(i));
  }
  return batch;
}

}  // namespace kusari::iterators
