#pragma once

#include <string>
#include <string_view>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/kernel.h"

// How the sources of this folder call differentiable functions, which are the only place of their formulas.
namespace kusari::xp {

/// "F::concat: xs is ..." in the name of `call`.
inline std::string renamed(const char* call, std::string_view text) {
  const size_t colon = text.find(": ");
  if (!text.starts_with("F::") || colon == text.npos) return std::string(text);
  return call + std::string(text.substr(colon));
}

/// What `function` returns, without a graph and without autocast; its errors are `call`'s.
template <class Function>
auto without_graph(const char* call, const Function& function) {
  const ScopedInputCaster no_caster(nullptr);
  const auto no_graph = no_backprop_mode();
  try {
    return function();
  } catch (const TypeError& e) {
    throw TypeError(renamed(call, e.what()));
  } catch (const ValueError& e) {
    throw ValueError(renamed(call, e.what()));
  } catch (const IndexError& e) {
    throw IndexError(renamed(call, e.what()));
  }
}

inline void expect_array(const char* call, const char* name, const Array& x) {
  if (!x.is_defined()) throw StateError(std::string(call) + ": " + name + " is an undefined array");
}

/// launch, with advice where the device has no such kernel.
template <class Kernel, class... Args>
void launch_for(const char* call, const Device& device, const Args&... args) {
  if (device.backend().find(kernel_id<Kernel>()) == nullptr) {
    throw DeviceError(std::string(call) + ": device '" + device.name() +
                      "' has no kernel for it; the CPU has: copy the array there with to_device(Device()) first");
  }
  launch<Kernel>(device, args...);
}

}  // namespace kusari::xp
