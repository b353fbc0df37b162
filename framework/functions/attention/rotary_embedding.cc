#include "kusari/framework/functions/attention/rotary_embedding.h"

#include <cmath>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {

Variable rotary_embedding(const Variable& x, const RotaryOptions& options) {
  const char* const call = "F::rotary_embedding";
  expect_floating(x, call, "x");
  argument::not_negative(call, "first", options.first);
  argument::finite_positive(call, "base", options.base);
  const int ndim = x.ndim();
  if (ndim < 2 || x.shape()[ndim - 1] % 2 != 0) {
    throw TypeError(std::string(call) + ": x has shape " + to_string(x.shape()) +
                    ": it must have two axes at least, the last of an even size");
  }
  const int64_t times = x.shape()[ndim - 2], half = x.shape()[ndim - 1] / 2;
  // In shape (times, half), or for neighbours (times, half, 1).
  const auto table = [&](double (*function)(double)) {
    return Variable(host_constant([&] {
                      std::vector<double> values;
                      for (int64_t t = 0; t < times; ++t) {
                        for (int64_t i = 0; i < half; ++i) {
                          const double turn =
                              std::pow(options.base, -static_cast<double>(i) / static_cast<double>(half));
                          values.push_back(function(static_cast<double>(options.first + t) * turn));
                        }
                      }
                      const Array all = array(values, {times, half}, x.device()).astype(x.dtype());
                      return options.interleaved ? all.reshape({times, half, 1}) : all;
                    }),
                    false);
  };
  const Variable cosine = table(std::cos), sine = table(std::sin);
  Shape pairs = x.shape();
  if (options.interleaved) {
    pairs[ndim - 1] = half;
    pairs.push_back(2);
  }
  const int64_t axis = pairs.ndim() - 1;
  const Variables parts = split_axis(options.interleaved ? reshape(x, pairs) : x, 2, axis);
  const Variable y = concat({parts[0] * cosine - parts[1] * sine, parts[0] * sine + parts[1] * cosine}, axis);
  return options.interleaved ? reshape(y, x.shape()) : y;
}

}  // namespace kusari::functions
