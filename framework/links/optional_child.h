#pragma once

#include <cstddef>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "kusari/framework/links/link.h"

namespace kusari {

/// A child that may be left out: an absent one is neither registered nor saved, and is not to be called.
/// `fc6{*this, "fc6", options.fc6, Linear(512, 1000)}`.
template <class T>
class OptionalChild : public T {
 public:
  template <LinkType Parent>
  OptionalChild(Parent& child_parent, std::string_view child_name, bool is_present, T child)
      : T(std::move(child)), is_present_{is_present} {
    if (is_present) detail::enter_child(child_parent, child_name, static_cast<T&>(*this));
  }
  OptionalChild(const OptionalChild&) = default;
  OptionalChild(OptionalChild&&) noexcept = default;
  OptionalChild& operator=(const OptionalChild&) = default;
  OptionalChild& operator=(OptionalChild&&) noexcept = default;
  /// The values of a T.
  OptionalChild& operator=(const T& other) {
    T::operator=(other);
    return *this;
  }
  bool is_present() const noexcept { return is_present_; }

 protected:
  const std::type_info& link_type() const noexcept override { return typeid(T); }
  size_t object_size() const noexcept override {
    const size_t held = T::object_size();
    return held != 0 ? held : sizeof(T);
  }

 private:
  bool is_present_;
};

}  // namespace kusari
