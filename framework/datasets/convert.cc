#include "kusari/framework/datasets/convert.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/datasets/collated.h"

namespace kusari::datasets {
namespace {

constexpr int64_t kBytesPerThread = 1 << 20;  // below, starting a thread costs more than copying

[[noreturn]] void fail(size_t example, size_t component, const std::string& what) {
  throw TypeError("concat_examples: example " + std::to_string(example) + ", component " + std::to_string(component) +
                  " " + what);
}

/// The shape that all rows of a component get.
Shape row_shape(std::span<const Example> batch, size_t component, bool padded) {
  const Array& first = batch[0][component];
  Shape shape = first.shape();
  for (size_t i = 1; i < batch.size(); ++i) {
    const Array& row = batch[i][component];
    if (!row.is_defined()) fail(i, component, "is an undefined array");
    if (row.dtype() != first.dtype()) {
      fail(i, component, std::string("has dtype ") + name(row.dtype()) + " but example 0 has " + name(first.dtype()));
    }
    if (row.shape() == shape) continue;
    if (!padded || row.ndim() != shape.ndim()) {
      fail(i, component,
           "has shape " + to_string(row.shape()) + " but example 0 has shape " + to_string(first.shape()) +
               (padded ? ": padding needs equal numbers of axes" : ": give a padding to combine different shapes"));
    }
    for (int axis = 0; axis < shape.ndim(); ++axis) shape[axis] = std::max(shape[axis], row.shape()[axis]);
  }
  return shape;
}

void copy_row(const Array& row, const Array& out, int64_t index) {
  Array target = out.at(index);
  for (int axis = 0; axis < row.ndim(); ++axis) {
    if (row.shape()[axis] != target.shape()[axis]) target = target.slice(axis, 0, row.shape()[axis]);
  }
  target.copy_from(row);
}

/// Whether a row is an image whose memory is (H, W, C), its lines any distance apart.
bool has_pixel_lines(const Array& row) {
  if (row.ndim() != 3) return false;
  const int64_t channels = row.shape()[0], width = row.shape()[2];
  return (channels == 1 || row.strides()[0] == 1) && (width == 1 || row.strides()[2] == channels);
}

/// Calls copy(i) for the examples of a batch, on several threads where that pays.
template <class Copy>
void for_each_row(size_t rows, int64_t row_bytes, const Copy& copy) {
  const int64_t rows_per_thread = std::max<int64_t>(1, kBytesPerThread / std::max<int64_t>(1, row_bytes));
  parallel_for(static_cast<int64_t>(rows), rows_per_thread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) copy(i);
  });
}

void copy_pixel_lines(const Array& image, char* to, int64_t to_pitch) {
  const int64_t item = itemsize(image.dtype());
  const int64_t height = image.shape()[1], line = image.shape()[0] * image.shape()[2] * item;
  const int64_t pitch = height == 1 ? line : image.strides()[1] * item;
  const char* from = image.data<char>();
  if (pitch == line && to_pitch == line) {
    std::memcpy(to, from, static_cast<size_t>(height * line));
    return;
  }
  for (int64_t y = 0; y < height; ++y) std::memcpy(to + y * to_pitch, from + y * pitch, static_cast<size_t>(line));
}

/// Memory for a batch whose rows are on `origin`, on its way to `device`.
Array empty_batch(const Shape& shape, Dtype dtype, bool images, const Device& origin, const Device& device) {
  if (!origin.is_cpu() || device.is_cpu()) {
    return images ? empty_channels_last(shape, dtype, origin) : empty(shape, dtype, origin);
  }
  if (!images || !config().channels_last) return empty_pinned(shape, dtype, device);
  return empty_pinned({shape[0], shape[2], shape[3], shape[1]}, dtype, device).transpose({0, 3, 1, 2});
}

/// Where the first row is, in page-locked memory if that is the CPU and `device` is not.
Array stack(std::span<const Example> batch, size_t component, const std::optional<Scalar>& padding,
            const Device& device) {
  const Array together = collated(batch, component);
  if (together && (together.is_contiguous() || (together.is_channels_last() && config().channels_last)))
    return together;
  const auto all_rows = [&](const auto& condition) {
    return std::all_of(batch.begin(), batch.end(),
                       [&](const Example& example) { return condition(example[component]); });
  };
  Shape shape = row_shape(batch, component, padding.has_value());
  const int64_t row_size = numel(shape);
  shape.insert(0, static_cast<int64_t>(batch.size()));
  const Dtype dtype = batch[0][component].dtype();
  const int64_t row_bytes = row_size * itemsize(dtype);
  const bool whole = all_rows([&](const Array& row) { return row.size() == row_size; });
  const bool on_host = all_rows([](const Array& row) { return row.device().is_cpu(); });
  const bool images = has_pixel_lines(batch[0][component]);
  const Array out = empty_batch(shape, dtype, images, batch[0][component].device(), device);

  const auto is_lines = [&](const Array& row) { return has_pixel_lines(row) && row.shape()[0] == shape[1]; };
  if (on_host && images && out.is_channels_last() && all_rows(is_lines)) {
    if (!whole) out.fill(*padding);
    const int64_t pitch = shape[1] * shape[3] * itemsize(dtype);
    for_each_row(batch.size(), row_bytes, [&](int64_t i) {
      copy_pixel_lines(batch[static_cast<size_t>(i)][component], out.data<char>() + i * row_bytes, pitch);
    });
    return out;
  }
  if (on_host && whole && out.is_contiguous() && all_rows([](const Array& row) { return row.is_contiguous(); })) {
    for_each_row(batch.size(), row_bytes, [&](int64_t i) {
      const void* from = batch[static_cast<size_t>(i)][component].raw_data();
      std::memcpy(out.data<char>() + i * row_bytes, from, static_cast<size_t>(row_bytes));
    });
    return out;
  }
  if (!whole) out.fill(*padding);
  for (size_t i = 0; i < batch.size(); ++i) copy_row(batch[i][component], out, static_cast<int64_t>(i));
  return out;
}

/// The components of a batch in their own dtypes, stacked and sent.
Example send(std::span<const Example> batch, const std::optional<Device>& device, const Padding& padding) {
  if (batch.empty()) throw ValueError("concat_examples: the batch is empty");
  const size_t components = batch[0].size();
  for (size_t i = 1; i < batch.size(); ++i) {
    if (batch[i].size() != components) {
      throw TypeError("concat_examples: example " + std::to_string(i) + " has " + std::to_string(batch[i].size()) +
                      " components but example 0 has " + std::to_string(components));
    }
  }
  Example result;
  result.reserve(components);
  for (size_t k = 0; k < components; ++k) {
    if (!batch[0][k].is_defined()) fail(0, k, "is an undefined array");
    const Device& target = device ? *device : batch[0][k].device();
    result.push_back(stack(batch, k, padding.of(k), target).to_device_beside(target));
  }
  return result;
}

/// Floating arrays in config().dtype.
Example cast(Example arrays) {
  const Dtype floating = get_dtype();
  for (Array& array : arrays) {
    if (array.is_floating()) array = array.astype(floating);
  }
  return arrays;
}

}  // namespace

Padding::Padding(const Keys& keys, std::initializer_list<std::pair<std::string, Scalar>> values)
    : values_(keys.size()) {
  for (const auto& [key, value] : values) {
    const auto found = std::find(keys.begin(), keys.end(), key);
    if (found == keys.end()) {
      std::string message = "Padding: there is no key '" + key + "', only";
      for (const std::string& name : keys) message += " '" + name + "'";
      throw KeyError(message);
    }
    values_[static_cast<size_t>(found - keys.begin())] = value;
  }
}

Example Converter::upload(std::span<const Example> batch, const Device& device) const {
  if (!upload_) throw StateError("Converter: it is empty, give it a function before use");
  return upload_(batch, device);
}

Example Converter::finish(Example uploaded) const {
  return finish_ ? finish_(std::move(uploaded)) : std::move(uploaded);
}

Example concat_examples(std::span<const Example> batch, const std::optional<Device>& device, const Padding& padding) {
  return cast(send(batch, device, padding));
}

Example to_device(const std::optional<Device>& device, Example arrays) {
  if (!device) return arrays;
  for (Array& array : arrays) {
    if (array.is_defined()) array = array.to_device(*device);
  }
  return arrays;
}

Converter concat_converter(Padding padding) {
  return Converter([padding = std::move(padding)](std::span<const Example> batch,
                                                  const Device& device) { return send(batch, device, padding); },
                   cast);
}

}  // namespace kusari::datasets
