#pragma once

// Force-included where NVRTC's texts are compiled (nvrtc.cc). It is precompiled: a text is a few lines, and most of its
// compiler's time would go to this.

#include <functional>
#include <tuple>
#include <utility>

#include "emulated.h"

namespace kusari::cuda::emulated {

template <class... P, size_t... kIndex>
std::function<void()> bind_at(void (*kernel)(P...), void** at, std::index_sequence<kIndex...>) {
  return [kernel, copies = std::tuple<P...>(*static_cast<P*>(at[kIndex])...)] { std::apply(kernel, copies); };
}
/// Copies a kernel's parameters from their addresses, as cudaLaunchKernel does.
template <class... P>
std::function<void()> bind_kernel(void (*kernel)(P...), void** at) {
  return bind_at(kernel, at, std::index_sequence_for<P...>{});
}

}  // namespace kusari::cuda::emulated
