#include "kusari/framework/datasets/scaled_bytes.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"

namespace kusari::datasets {

Array scaled_bytes(const char* call, const Array& bytes, double scale, Dtype dtype) {
  if (dtype == Dtype::uint8) return bytes;
  if (!is_floating(dtype)) {
    throw ValueError(std::string(call) + ": dtype is " + name(dtype) + ": it must be floating or uint8");
  }
  const bool is_double = dtype == Dtype::float64;
  const Array result = empty(bytes.shape(), is_double ? Dtype::float64 : Dtype::float32);
  const uint8_t* const from = bytes.data<uint8_t>();
  const auto fill = [&]<class T>(T* to, T factor) {
    parallel_for(result.size(), int64_t{1} << 20, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(from[i]) * factor;
    });
  };
  if (is_double) {
    fill(result.data<double>(), scale / 255.0);
  } else {
    fill(result.data<float>(), static_cast<float>(scale / 255.0));
  }
  return result.astype(dtype);
}

}  // namespace kusari::datasets
