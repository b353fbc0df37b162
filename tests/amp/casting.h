#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/tests/functions/testing.h"

// What the tests of autocast share.
namespace kusari::testing {

inline Array floats(const Shape& shape, Dtype dtype = Dtype::float32, uint64_t seed = 1) {
  return uniform(shape, 0.1, 0.9, seed).astype(dtype);
}
/// A parameter.
inline Variable weights(const Shape& shape, uint64_t seed = 7) {
  return Variable(uniform(shape, -0.5, 0.5, seed).astype(Dtype::float32));
}
inline Variable constant(const Shape& shape, Dtype dtype = Dtype::float32, uint64_t seed = 1) {
  return Variable(floats(shape, dtype, seed), false);
}
/// The 16-bit dtype of regions that are not given one.
inline Dtype default_dtype() { return test_device().is_cpu() ? Dtype::bfloat16 : Dtype::float16; }

/// Counts copies of float32 arrays into 16-bit ones.
class NarrowingCounter : public LaunchObserver {
 public:
  void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
    if (std::string(launch.name) == "copy") {
      const auto& from = *static_cast<const Array*>(launch.arguments[0].value);
      const auto& to = *static_cast<const Array*>(launch.arguments[1].value);
      if (from.dtype() == Dtype::float32 && is_half(to.dtype())) ++count_;
    }
    proceed(launch);
  }
  /// Since the last call.
  int take() { return std::exchange(count_, 0); }

 private:
  int count_ = 0;
};

/// The dtypes of the floating inputs of each function, forward.
class InputDtypes : public FunctionHook {
 public:
  void forward_preprocess(const FunctionNode& function, const ArrayRefs& in) override {
    std::vector<Dtype> dtypes;
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i].is_defined() && in[i].is_floating()) dtypes.push_back(in[i].dtype());
    }
    seen[function.name()].insert(dtypes);
  }
  std::map<std::string, std::set<std::vector<Dtype>>> seen;
};

}  // namespace kusari::testing
