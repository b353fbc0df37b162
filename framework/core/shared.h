#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/core/reference_count.h"

namespace kusari {

namespace detail {

/// What keeps the object of Shared alive.
class KUSARI_API Keeper {
 public:
  Keeper() = default;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  virtual ~Keeper();

  void retain() noexcept { add_references(references_, 1u); }
  void release() noexcept {
    if (drop_reference(references_)) delete this;
  }

 private:
  std::atomic<uint32_t> references_{0};
};

/// Keeps the object itself, or another owner of it.
template <class T>
class KeeperOf final : public Keeper {
 public:
  template <class U>
  explicit KeeperOf(U&& what) : kept(std::forward<U>(what)) {}
  T kept;
};

}  // namespace detail

/// One of the owners of an object, as std::shared_ptr is, in a form that costs a program that includes the header a
/// tenth of the time to compile; the type of the object may be one that the header only declares.
template <class T>
class Shared {
 public:
  Shared() noexcept = default;
  Shared(std::nullptr_t) noexcept {}
  /// Takes over what another owner has, such as std::shared_ptr, of a T or of a class that derives from it.
  template <class Pointer>
  requires requires(Pointer pointer, T*& raw) {
    raw = pointer.get();
    pointer.use_count();
  }
  Shared(Pointer pointer) : raw_{pointer.get()} {
    if (raw_ != nullptr) keeper_ = IntrusivePtr<detail::Keeper>(new detail::KeeperOf<Pointer>(std::move(pointer)));
  }
  Shared(const Shared&) noexcept = default;
  Shared(Shared&& other) noexcept : raw_{std::exchange(other.raw_, nullptr)}, keeper_{std::move(other.keeper_)} {}
  Shared& operator=(Shared other) noexcept {
    std::swap(raw_, other.raw_);
    std::swap(keeper_, other.keeper_);
    return *this;
  }
  ~Shared() = default;
  /// Refers to an object without owning it.
  static Shared to(T& object) noexcept {
    Shared result;
    result.raw_ = &object;
    return result;
  }
  /// Owns an object, which is moved.
  template <class D>
  static Shared of(D&& object) {
    auto* const keeper = new detail::KeeperOf<D>(std::move(object));
    Shared result;
    result.raw_ = &keeper->kept;
    result.keeper_ = IntrusivePtr<detail::Keeper>(keeper);
    return result;
  }

  T* get() const noexcept { return raw_; }
  T& operator*() const noexcept { return *raw_; }
  T* operator->() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return raw_ != nullptr; }
  friend bool operator==(const Shared& a, const Shared& b) noexcept { return a.raw_ == b.raw_; }

 private:
  T* raw_ = nullptr;
  IntrusivePtr<detail::Keeper> keeper_;
};

}  // namespace kusari
