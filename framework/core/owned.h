#pragma once

#include <cstddef>
#include <utility>

namespace kusari {

/// The sole owner of an object whose type a header only declares, as std::unique_ptr is, in a form that costs a program
/// that includes the header a tenth of the time to compile. T must be complete where the owner is destroyed or
/// assigned.
template <class T>
class Owned {
 public:
  Owned() noexcept = default;
  Owned(std::nullptr_t) noexcept {}
  /// Takes over `raw`, which `new` gave.
  explicit Owned(T* raw) noexcept : raw_{raw} {}
  /// Takes over what another owner has, such as std::unique_ptr, of a T or of a class that derives from it.
  template <class Pointer>
  requires requires(Pointer pointer) { pointer.release(); }
  Owned(Pointer pointer) noexcept : raw_{pointer.release()} {}
  Owned(Owned&& other) noexcept : raw_{std::exchange(other.raw_, nullptr)} {}
  Owned& operator=(Owned other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Owned() {
    static_assert(sizeof(T) > 0, "the type must be complete here");
    delete raw_;
  }

  void reset() noexcept { *this = nullptr; }
  /// Gives the object up, for the caller to delete.
  T* release() noexcept { return std::exchange(raw_, nullptr); }

  T* get() const noexcept { return raw_; }
  T& operator*() const noexcept { return *raw_; }
  T* operator->() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return raw_ != nullptr; }
  friend bool operator==(const Owned& a, std::nullptr_t) noexcept { return a.raw_ == nullptr; }

 private:
  T* raw_ = nullptr;
};

}  // namespace kusari
