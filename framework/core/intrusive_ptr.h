#pragma once

#include <cstddef>
#include <utility>

namespace kusari {

/// Owner of an object that counts its own references. T provides `void retain() noexcept` and
/// `void release() noexcept`; the latter destroys the object with its last reference.
template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() noexcept = default;
  IntrusivePtr(std::nullptr_t) noexcept {}
  /// Adds a reference.
  explicit IntrusivePtr(T* raw) noexcept : raw_{raw} {
    if (raw_ != nullptr) raw_->retain();
  }
  /// Takes over a reference that `raw` already counts.
  static IntrusivePtr adopt(T* raw) noexcept {
    IntrusivePtr p;
    p.raw_ = raw;
    return p;
  }
  IntrusivePtr(const IntrusivePtr& other) noexcept : IntrusivePtr(other.raw_) {}
  IntrusivePtr(IntrusivePtr&& other) noexcept : raw_{std::exchange(other.raw_, nullptr)} {}
  IntrusivePtr& operator=(const IntrusivePtr& other) noexcept {
    IntrusivePtr copy(other);
    std::swap(raw_, copy.raw_);
    return *this;
  }
  IntrusivePtr& operator=(IntrusivePtr&& other) noexcept {
    IntrusivePtr moved(std::move(other));
    std::swap(raw_, moved.raw_);
    return *this;
  }
  ~IntrusivePtr() {
    if (raw_ != nullptr) raw_->release();
  }

  T* get() const noexcept { return raw_; }
  /// Gives up the reference without releasing it.
  T* detach() noexcept { return std::exchange(raw_, nullptr); }
  T* operator->() const noexcept { return raw_; }
  T& operator*() const noexcept { return *raw_; }
  explicit operator bool() const noexcept { return raw_ != nullptr; }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) noexcept { return a.raw_ == b.raw_; }

 private:
  T* raw_ = nullptr;
};

}  // namespace kusari
