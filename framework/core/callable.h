#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/export.h"

namespace kusari {

template <class Signature>
class Callable;

namespace detail {

/// A function object of a type that only `manage` knows.
class AnyObject {
 public:
  AnyObject() noexcept = default;
  AnyObject(const AnyObject& other)
      : object_{other.object_ != nullptr ? other.manage_(other.object_, true) : nullptr}, manage_{other.manage_} {}
  AnyObject(AnyObject&& other) noexcept : object_{std::exchange(other.object_, nullptr)}, manage_{other.manage_} {}
  AnyObject& operator=(const AnyObject& other) { return *this = AnyObject(other); }
  AnyObject& operator=(AnyObject&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(manage_, other.manage_);
    return *this;
  }
  ~AnyObject() {
    if (object_ != nullptr) manage_(object_, false);
  }

  explicit operator bool() const noexcept { return object_ != nullptr; }

 protected:
  /// Gives a copy of the object, or deletes it and gives null.
  using Manage = void* (*)(void* object, bool copies);

  void hold(void* object, Manage manage) noexcept {
    object_ = object;
    manage_ = manage;
  }
  /// Throws StateError when there is none.
  void* object() const {
    if (object_ == nullptr) [[unlikely]]
      throw_empty();
    return object_;
  }

 private:
  [[noreturn]] KUSARI_API static void throw_empty();

  void* object_ = nullptr;
  Manage manage_ = nullptr;
};

/// Whether F may be empty, as a pointer to a function or a std::function may.
template <class F>
inline constexpr bool kMayBeEmpty = std::is_pointer_v<F> || requires(const F& f) {
  f.operator bool();
};

}  // namespace detail

/// A function as a value, as std::function is, in a form that costs a program that includes the header a tenth of the
/// time to compile: Callable<bool(int64_t)> is made of any object that an int64_t can call and that can be copied, but
/// of no pointer to a member; of an object whose operator bool says false it is an empty one. A copy has an object of
/// its own. Calling an empty one throws StateError.
template <class R, class... Args>
class Callable<R(Args...)> : public detail::AnyObject {
 public:
  Callable() noexcept = default;
  Callable(std::nullptr_t) noexcept {}
  template <class F>
  requires(!std::is_same_v<Callable, std::remove_cvref_t<F>> && !std::is_member_pointer_v<std::decay_t<F>> &&
           std::is_invocable_r_v<R, std::decay_t<F>&, Args...>) Callable(F&& f) {
    using Object = std::decay_t<F>;
    if constexpr (detail::kMayBeEmpty<Object>) {
      const Object& given = f;
      if (!given) return;
    }
    hold(new Object(std::forward<F>(f)), manage<Object>);
    call_ = call<Object>;
  }

  R operator()(Args... args) const { return call_(object(), std::forward<Args>(args)...); }

  friend bool operator==(const Callable& f, std::nullptr_t) noexcept { return !f; }

 private:
  template <class F>
  static void* manage(void* object, bool copies) {
    F* const f = static_cast<F*>(object);
    if (copies) return new F(*f);
    delete f;
    return nullptr;
  }
  template <class F>
  static R call(void* object, Args... args) {
    if constexpr (std::is_void_v<R>) {
      (*static_cast<F*>(object))(std::forward<Args>(args)...);
    } else {
      return (*static_cast<F*>(object))(std::forward<Args>(args)...);
    }
  }

  R (*call_)(void* object, Args... args) = nullptr;
};

}  // namespace kusari
