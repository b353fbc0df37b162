#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/logical.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"
#include "kusari/framework/onnx/operators/quantized.h"

// Weights in blocks, each with a scale of its own, as language models have them.
namespace kusari::onnx {

namespace F = functions;

namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;

int64_t bits_of(const NodeReader& node) {
  const int64_t bits = node.integer("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8)
    throw ValueError("its attribute bits is " + std::to_string(bits) + ": it must be 2, 4 or 8");
  return bits;
}

int64_t checked_block(int64_t size) {
  if (size < 16 || size > kMostElements || (size & (size - 1)) != 0) {
    throw ValueError("its attribute block_size is " + std::to_string(size) +
                     ": it must be a power of two, at least 16");
  }
  return size;
}

/// Integers of so many bits that share the bytes of x along its last axis, the first in the lowest bits.
Variable unpacked(const Variable& x, int64_t bits) {
  if (bits == 8) return x;
  const auto bytes = [&](const std::vector<uint8_t>& values, const Shape& shape) {
    return Variable(host_constant([&] { return from_host(values.data(), shape, Dtype::uint8, x.device()); }), false);
  };
  std::vector<uint8_t> shifts;
  for (int64_t shift = 0; shift < 8; shift += bits) shifts.push_back(static_cast<uint8_t>(shift));
  const int64_t count = static_cast<int64_t>(shifts.size());
  const Variable low = bytes({static_cast<uint8_t>((1 << bits) - 1)}, {});
  const Variable parts = F::bitwise_and(F::right_shift(F::expand_dims(x, x.ndim()), bytes(shifts, {count})), low);
  Shape shape = x.shape();
  shape[shape.ndim() - 1] *= count;
  return F::reshape(parts, shape);
}

/// The first numbers of the last axis: those behind them fill its last byte up.
Variable first_of_rows(const Variable& x, int64_t count) {
  return x.shape()[x.ndim() - 1] == count ? x : F::get_item(x, {kEllipsis, Slice{0, count}});
}

/// The zero point of numbers without a sign.
Variable middle(int64_t bits, const Device& device) {
  return Variable(host_constant([&] { return full({}, static_cast<double>(1 << (bits - 1)), Dtype::uint8, device); }),
                  false);
}

Operation matmul_nbits(const NodeReader& node) {
  node.expect_inputs(3);
  const int64_t k = node.integer("K"), n = node.integer("N"), bits = bits_of(node);
  const int64_t block = checked_block(node.integer("block_size"));
  if (k < 1 || n < 1 || k > kMostElements || n > kMostElements) {
    throw ValueError("its attribute K is " + std::to_string(k) + ", N " + std::to_string(n) + ": both must be 1 to " +
                     std::to_string(kMostElements));
  }
  if (node.has_input(4)) throw ValueError("its input g_idx is given: blocks in another order are not supported");
  if (node.flag("weight_prepacked", false)) {
    throw ValueError("its attribute weight_prepacked is " + std::to_string(node.integer("weight_prepacked")) +
                     ": it must be 0");
  }
  const int64_t blocks = (k + block - 1) / block;
  return [=](const Call& call) -> Values {
    const Shape packed{n, blocks, block * bits / 8};
    if (call.shape(1) != packed || call.dtype(1) != Dtype::uint8) {
      throw TypeError("B has shape " + kusari::to_string(call.shape(1)) + " and dtype " +
                      kusari::to_string(call.dtype(1)) + ": it must have shape " + kusari::to_string(packed) +
                      " and dtype uint8");
    }
    Variable zero = middle(bits, call.device());
    if (call.has(3)) {
      const bool is_packed = call.dtype(3) == Dtype::uint8;
      zero = is_packed ? first_of_rows(unpacked(F::reshape(call[3], {n, -1}), bits), blocks) : call[3];
      zero = F::reshape(zero, {n, blocks, 1});
    }
    const Variable weights = dequantized(unpacked(call[1], bits), F::reshape(call[2], {n, blocks, 1}), zero);
    const Variable w = F::cast(first_of_rows(F::reshape(weights, {n, blocks * block}), k), call.dtype(0));
    return {F::linear(call[0], w, call[5], {.n_batch_axes = call.ndim(0) - 1})};
  };
}

Operation gather_block_quantized(const NodeReader& node) {
  node.expect_inputs(3);
  const int64_t block = checked_block(node.integer("block_size", 128));
  const int64_t gather_axis = node.integer("gather_axis", 0), quantize_axis = node.integer("quantize_axis", 1);
  // Types of fewer bits are unpacked when the file is read.
  const bool is_packed = node.input_type(0) == DataType::uint8;
  const int64_t bits = is_packed ? bits_of(node) : 8;
  return [=](const Call& call) -> Values {
    Variable x = call[0], scale = call[2], zero = call[3];
    if (scale.ndim() != x.ndim() || (zero.is_defined() && zero.ndim() != x.ndim())) {
      throw TypeError("data has shape " + kusari::to_string(x.shape()) + ", scales " +
                      kusari::to_string(scale.shape()) + ": scales and zero points must have as many axes");
    }
    int from = normalize_axis(gather_axis, x.ndim(), "gather_axis");
    int blocks_of = normalize_axis(quantize_axis, x.ndim(), "quantize_axis");
    if (bits < 8 && (from == x.ndim() - 1 || from == blocks_of)) {
      throw ValueError("numbers of " + std::to_string(bits) + " bits are gathered along axis " + std::to_string(from) +
                       ": it must be neither the last one nor quantize_axis");
    }
    const auto rows = [&](const Variable& all) {
      std::vector<Index> indices(static_cast<size_t>(from), Index(Slice{}));
      indices.emplace_back(call[1].array());
      return F::get_item(all, indices);
    };
    const auto numbers = [&] {
      const Variable q = unpacked(x, bits);
      Variable offset = zero.is_defined() ? unpacked(zero, bits) : is_packed ? middle(bits, call.device()) : zero;
      if (zero.is_defined()) offset = first_of_rows(offset, scale.shape()[scale.ndim() - 1]);
      return F::cast(dequantized(q, beside(scale, q, blocks_of, block), beside(offset, q, blocks_of, block)),
                     scale.dtype());
    };
    if (from == blocks_of) return {rows(numbers())};
    x = rows(x);
    scale = rows(scale);
    if (zero.is_defined()) zero = rows(zero);
    if (from < blocks_of) blocks_of += call.ndim(1) - 1;
    return {numbers()};
  };
}

}  // namespace

std::span<const Operator> microsoft_block_operators() {
  static constexpr Operator kOperators[] = {
      {"MatMulNBits", matmul_nbits},
      {"GatherBlockQuantized", gather_block_quantized},
  };
  return kOperators;
}

}  // namespace kusari::onnx
