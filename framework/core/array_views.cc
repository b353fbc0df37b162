#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/storage.h"

// Arrays over the elements of others.
namespace kusari {

using detail::ArrayBody;

namespace {

// Strides of `shape` over the elements of an array with `old` shape and strides, if a view can have that shape.
bool reshape_strides(const Shape& old, const Strides& strides, const Shape& shape, Strides* result) {
  *result = shape;
  int from = old.ndim() - 1;
  int64_t chunk = 1;  // elements of old axes (from, ...) that move with one stride
  int64_t base = 1;
  const auto next_chunk = [&] {
    while (from >= 0 && old[from] == 1) --from;
    if (from < 0) {
      chunk = 1;
      return;
    }
    base = strides[from];
    chunk = old[from];
    int64_t expected = strides[from] * old[from];
    for (--from; from >= 0 && (old[from] == 1 || strides[from] == expected); --from) {
      chunk *= old[from];
      if (old[from] != 1) expected = strides[from] * old[from];
    }
  };
  next_chunk();
  int64_t used = 1;
  for (int i = shape.ndim() - 1; i >= 0; --i) {
    if (shape[i] == 1) {
      (*result)[i] = base * used;
      continue;
    }
    if (used == chunk) {
      next_chunk();
      used = 1;
    }
    if (chunk % (used * shape[i]) != 0) return false;
    (*result)[i] = base * used;
    used *= shape[i];
  }
  return true;
}

}  // namespace

Array Array::view(const char* call, const Shape& shape, const Strides& strides, void* data) const {
  const int64_t size = checked_numel(shape, itemsize(dtype()), call);
  auto* body = memory::create<ArrayBody>();
  body->dtype = dtype();
  body->storage = body_->storage;
  body->storage->retain();
  body->data = data;
  body->size = size;
  body->shape.assign(shape);
  body->strides.assign(strides);
  body->contiguous = detail::strides_contiguous(shape, strides);
  return Array(IntrusivePtr<ArrayBody>::adopt(body));
}

Array Array::reshape(const Shape& requested) const {
  Shape target = requested;
  int inferred = -1;
  int64_t known = 1;
  bool fits = true;
  for (int i = 0; i < target.ndim(); ++i) {
    if (target[i] == -1 && inferred < 0) {
      inferred = i;
      continue;
    }
    if (target[i] < 0) {
      throw TypeError("reshape: shape is " + to_string(requested) +
                      ": one size may be -1, and no other may be negative");
    }
    fits = fits && !__builtin_mul_overflow(known, target[i], &known);
  }
  if (inferred >= 0 && known == 0) {
    throw TypeError("reshape: shape is " + to_string(requested) + ": beside a size of 0 none may be -1");
  }
  if (fits && inferred >= 0) target[inferred] = size() / known;
  if (!fits || known * (inferred >= 0 ? target[inferred] : 1) != size()) {
    throw TypeError("reshape: the array has shape " + to_string(this->shape()) + " but shape is " +
                    to_string(requested) + ": it must hold as many elements (" + std::to_string(size()) + ")");
  }
  if (target == shape()) return *this;
  checked_numel(target, itemsize(dtype()), "reshape");
  if (is_contiguous()) return view("reshape", target, contiguous_strides(target), raw_data());
  Strides strides_of_view;
  if (size() > 0 && reshape_strides(shape(), strides(), target, &strides_of_view)) {
    return view("reshape", target, strides_of_view, raw_data());
  }
  return contiguous().reshape(target);
}

Array Array::transpose() const {
  Dims axes;
  for (int i = ndim() - 1; i >= 0; --i) axes.push_back(i);
  return transpose(std::span<const int64_t>(axes.begin(), axes.size()));
}

Array Array::transpose(std::initializer_list<int64_t> axes) const {
  return transpose(std::span(axes.begin(), axes.size()));
}

Array Array::transpose(std::span<const int64_t> axes) const {
  bool valid = static_cast<int>(axes.size()) == ndim();
  Shape target;
  Strides target_strides;
  unsigned seen = 0;
  for (int64_t requested : axes) {
    if (!valid) break;
    const int axis = normalize_axis(requested, ndim(), "transpose");
    valid = (seen >> axis & 1u) == 0;
    seen |= 1u << axis;
    target.push_back(shape()[axis]);
    target_strides.push_back(strides()[axis]);
  }
  if (!valid) {
    throw ValueError("transpose: axes " + to_string(Dims(axes)) + " are not a permutation of the " +
                     std::to_string(ndim()) + " axes");
  }
  return view("transpose", target, target_strides, raw_data());
}

Array Array::swapaxes(int64_t a, int64_t b) const {
  Shape target = shape();
  Strides target_strides = strides();
  const int i = normalize_axis(a, ndim(), "swapaxes"), j = normalize_axis(b, ndim(), "swapaxes");
  std::swap(target[i], target[j]);
  std::swap(target_strides[i], target_strides[j]);
  return view("swapaxes", target, target_strides, raw_data());
}

Array Array::slice(int64_t axis, int64_t start, int64_t count, int64_t step) const {
  const int k = normalize_axis(axis, ndim(), "slice");
  int64_t last = 0;
  const bool is_far =
      count > 0 && (__builtin_mul_overflow(count - 1, step, &last) || __builtin_add_overflow(start, last, &last));
  if (count < 0 || is_far || (count > 0 && (start < 0 || start >= shape()[k] || last < 0 || last >= shape()[k]))) {
    throw IndexError("slice: start is " + std::to_string(start) + ", count " + std::to_string(count) + " and step " +
                     std::to_string(step) + ": all elements must lie in axis " + std::to_string(k) + " of shape " +
                     to_string(shape()));
  }
  Shape target = shape();
  Strides target_strides = strides();
  target[k] = count;
  if (count > 1) target_strides[k] *= step;
  const int64_t skipped = count > 0 ? start * strides()[k] * itemsize(dtype()) : 0;
  return view("slice", target, target_strides, static_cast<char*>(raw_data()) + skipped);
}

Array Array::at(int64_t index) const {
  if (ndim() == 0) throw IndexError("at: a scalar array has no axis to index");
  const int64_t n = shape()[0];
  if (index < -n || index >= n) {
    throw IndexError("at: index " + std::to_string(index) + " is out of range for axis 0 of shape " +
                     to_string(shape()));
  }
  Shape target = shape();
  Strides target_strides = strides();
  target.erase(0);
  target_strides.erase(0);
  const int64_t row = index < 0 ? index + n : index;
  return view("at", target, target_strides, static_cast<char*>(raw_data()) + row * strides()[0] * itemsize(dtype()));
}

Array Array::broadcast_to(const Shape& target) const {
  if (target == shape()) return *this;
  const int added = target.ndim() - ndim();
  Strides target_strides = Strides::filled(target.ndim(), 0);
  checked_numel(target, itemsize(dtype()), "broadcast_to");
  bool valid = added >= 0;
  for (int i = 0; valid && i < ndim(); ++i) {
    if (shape()[i] == target[i + added]) {
      target_strides[i + added] = shape()[i] == 1 ? 0 : strides()[i];
    } else {
      valid = shape()[i] == 1;
    }
  }
  if (!valid) {
    throw TypeError("broadcast_to: shape " + to_string(shape()) + " does not broadcast to " + to_string(target));
  }
  return view("broadcast_to", target, target_strides, raw_data());
}

Array Array::expand_dims(int64_t axis) const {
  const int k = normalize_axis(axis, ndim() + 1, "expand_dims");
  Shape target = shape();
  Strides target_strides = strides();
  target.insert(k, 1);
  target_strides.insert(k, k < ndim() ? shape()[k] * strides()[k] : 1);
  return view("expand_dims", target, target_strides, raw_data());
}

Array Array::squeeze(int64_t axis) const {
  const int k = normalize_axis(axis, ndim(), "squeeze");
  if (shape()[k] != 1) {
    throw TypeError("squeeze: axis " + std::to_string(k) + " of shape " + to_string(shape()) + " has size " +
                    std::to_string(shape()[k]) + ", not 1");
  }
  Shape target = shape();
  Strides target_strides = strides();
  target.erase(k);
  target_strides.erase(k);
  return view("squeeze", target, target_strides, raw_data());
}

bool detail::may_share_memory(const Array& a, const Array& b) noexcept {
  const auto ends = [](const Array& x) {
    int64_t low = 0, high = 1;
    for (int i = 0; i < x.ndim(); ++i) (x.strides()[i] < 0 ? low : high) += (x.shape()[i] - 1) * x.strides()[i];
    const auto* const first = static_cast<const char*>(x.raw_data());
    return std::pair(first + low * itemsize(x.dtype()), first + high * itemsize(x.dtype()));
  };
  if (&a.storage() != &b.storage() || a.size() == 0 || b.size() == 0) return false;
  const auto [a_begin, a_end] = ends(a);
  const auto [b_begin, b_end] = ends(b);
  return a_begin < b_end && b_begin < a_end;
}

Array Array::as_strided(const Shape& target, const Strides& target_strides, int64_t first) const {
  checked_numel(target, itemsize(dtype()), "as_strided");
  if (target.ndim() != target_strides.ndim()) {
    throw ValueError("as_strided: shape is " + to_string(target) + " but strides is " + to_string(target_strides) +
                     ": there must be a stride for each axis");
  }
  int64_t low = 0, high = 0;
  bool fits = !__builtin_add_overflow(offset(), first, &low);
  high = low;
  bool is_empty = false;
  for (int i = 0; i < target.ndim(); ++i) {
    int64_t reach = 0, &end = target_strides[i] < 0 ? low : high;
    is_empty = is_empty || target[i] == 0;
    fits = fits && !__builtin_mul_overflow(target[i] - 1, target_strides[i], &reach) &&
           !__builtin_add_overflow(end, reach, &end);
  }
  const int64_t available = static_cast<int64_t>(storage().bytes) / itemsize(dtype());
  if (!is_empty && (!fits || low < 0 || high >= available)) {
    throw ValueError("as_strided: shape is " + to_string(target) + ", strides " + to_string(target_strides) +
                     " and offset " + std::to_string(first) + ": all elements must lie in the storage of " +
                     std::to_string(available));
  }
  return view("as_strided", target, target_strides,
              static_cast<char*>(raw_data()) + (is_empty ? 0 : first * itemsize(dtype())));
}

}  // namespace kusari
