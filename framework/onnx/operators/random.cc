#include <optional>

#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/noise/multinomial.h"
#include "kusari/framework/initializers/random_array.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

// Numbers come from the process's stream; a seed in the file is another library's and says nothing here.
namespace kusari::onnx {

namespace F = functions;

namespace {

/// The shape is an attribute, or that of the input.
template <class Draw>
Operation drawn(const NodeReader& node, Draw draw) {
  const auto attribute = node.integers("shape");
  const DataType dtype = node.wanted_type("dtype");
  return [=](const Call& call) -> Values {
    const Shape shape = attribute ? shape_of(*attribute) : call.shape(0);
    expect_size(shape);
    const Dtype wanted =
        dtype_for(dtype).value_or(attribute || !kusari::is_floating(call.dtype(0)) ? Dtype::float32 : call.dtype(0));
    return {Variable(draw(shape, wanted, call.device()), false)};
  };
}

Operation normal(const NodeReader& node) {
  const double mean = node.real("mean", 0), scale = node.real("scale", 1);
  return drawn(node, [=](const Shape& shape, Dtype dtype, const Device& device) {
    return random::normal(shape, {.mean = mean, .deviation = scale, .dtype = dtype, .device = device});
  });
}

Operation uniform(const NodeReader& node) {
  const double low = node.real("low", 0), high = node.real("high", 1);
  return drawn(node, [=](const Shape& shape, Dtype dtype, const Device& device) {
    return random::uniform(shape, {.low = low, .high = high, .dtype = dtype, .device = device});
  });
}

Operation bernoulli(const NodeReader& node) {
  const DataType dtype = node.wanted_type("dtype");
  return [dtype](const Call& call) -> Values {
    const Array p = call[0].array();
    // In 16 bits a draw may be rounded to 1, below which no probability is.
    const Dtype wide = promote(p.dtype(), Dtype::float32);
    const Array draws = random::uniform(p.shape(), {.dtype = wide, .device = p.device()});
    return {Variable((draws < p).astype(dtype_for(dtype).value_or(p.dtype())), false)};
  };
}

Operation multinomial(const NodeReader& node) {
  const int64_t count = node.integer("sample_size", 1);
  const Dtype dtype = node.dtype("dtype", DataType::int32);
  return [=](const Call& call) -> Values {
    const Variable places = F::multinomial(F::softmax(call[0], 1), count, {.replacement = true});
    return {F::cast(places, dtype)};
  };
}

}  // namespace

std::span<const Operator> random_operators() {
  static constexpr Operator kOperators[] = {
      {.name = "RandomNormal", .build = normal, .is_random = true},
      {.name = "RandomNormalLike", .build = normal, .is_random = true},
      {.name = "RandomUniform", .build = uniform, .is_random = true},
      {.name = "RandomUniformLike", .build = uniform, .is_random = true},
      {.name = "Bernoulli", .build = bernoulli, .is_random = true},
      {.name = "Multinomial", .build = multinomial, .is_random = true},
  };
  return kOperators;
}

}  // namespace kusari::onnx
