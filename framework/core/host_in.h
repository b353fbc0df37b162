#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari {

/// An array in the host's memory that decides what a kernel gives to its device: read before, by any backend. A
/// recording keeps what it holds. A marker like In.
class HostIn {
 public:
  HostIn(const Array& array) noexcept : array_{&array} {}
  const Array& operator*() const noexcept { return *array_; }
  const Array* operator->() const noexcept { return array_; }

 private:
  const Array* array_;
};

inline void check_device(const char* kernel, const Device&, const HostIn& array) {
  detail::check_device(kernel, Device(), *array);
}

namespace detail {
template <>
struct ArgumentTraits<HostIn> : ArrayArgument<HostIn, LaunchArgument::Kind::in> {};
}  // namespace detail

}  // namespace kusari
