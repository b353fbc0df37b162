#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/flip.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/fft.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

/// x along its last axis with so many elements: cut off, or with zeros behind.
Variable with_length(const Variable& x, int64_t length) {
  const int64_t there = x.shape()[x.ndim() - 1];
  if (there >= length) return F::get_item(x, {kEllipsis, Slice{0, length}});
  std::vector<PadWidth::Pair> pairs(static_cast<size_t>(x.ndim()), {0, 0});
  pairs.back() = {0, length - there};
  return F::pad(x, PadWidth(std::span<const PadWidth::Pair>(pairs)));
}

/// The parts of complex numbers, which lie along the last axis of x.
Variables parts_of(const Variable& x) {
  const int64_t parts = x.shape()[x.ndim() - 1];
  if (x.ndim() < 2 || parts < 1 || parts > 2)
    throw TypeError("input has shape " + kusari::to_string(x.shape()) +
                    ": its last axis must have 1 or 2 elements, the parts of a number");
  const Variable real = F::get_item(x, {kEllipsis, Index(0)});
  const Variable imaginary =
      parts == 2 ? F::get_item(x, {kEllipsis, Index(1)}) : Variable(zeros(real.shape(), x.dtype(), x.device()), false);
  return {real, imaginary};
}

Operation dft(const NodeReader& node) {
  const bool inverse = node.flag("inverse", false), onesided = node.flag("onesided", false);
  const int64_t axis_attribute = node.integer("axis", node.opset() < 20 ? 1 : -2);
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    const int at = normalize_axis(call.has(2) ? call.integer(2, "axis") : axis_attribute, x.ndim(), "axis");
    const int64_t given = x.shape()[at], length = call.has(1)           ? call.integer(1, "dft_length")
                                                  : inverse && onesided ? 2 * (given - 1)
                                                                        : given;
    if (length < 1) throw ValueError("dft_length is " + std::to_string(length));
    expect_size({length});
    Variables parts = parts_of(x);
    for (Variable& part : parts) part = F::moveaxis(part, at, -1);
    if (inverse && onesided) {
      // The other half are the conjugates, the other way around.
      const int64_t half = length / 2 + 1;
      for (Variable& part : parts) part = with_length(part, half);
      const auto mirrored = [&](const Variable& part) {
        return F::flip(F::get_item(part, {kEllipsis, Slice{1, length - half + 1}}), -1);
      };
      parts[0] = F::concat({parts[0], mirrored(parts[0])}, -1);
      parts[1] = F::concat({parts[1], -mirrored(parts[1])}, -1);
      return {F::expand_dims(F::moveaxis(F::ifft({parts[0], parts[1]})[0], -1, at), -1)};
    }
    for (Variable& part : parts) part = with_length(part, length);
    Variables y = inverse ? F::ifft({parts[0], parts[1]}) : F::fft({parts[0], parts[1]});
    for (Variable& part : y) {
      if (onesided) part = F::get_item(part, {kEllipsis, Slice{0, length / 2 + 1}});
      part = F::moveaxis(part, -1, at);
    }
    return {F::stack({y[0], y[1]}, -1)};
  };
}

Operation stft(const NodeReader& node) {
  const bool onesided = node.flag("onesided", true);
  return [onesided](const Call& call) -> Values {
    // Exporters leave out the last axis of real signals, as ONNX Runtime lets them.
    const Variable signal = call[0].ndim() == 2 ? F::expand_dims(call[0], -1) : call[0];
    if (signal.ndim() != 3)
      throw TypeError("signal has shape " + kusari::to_string(signal.shape()) + ", expected (batch, samples[, parts])");
    const int64_t step = call.integer(1, "frame_step");
    const int64_t window = call.has(2) ? call.shape(2)[0] : call.integer(3, "frame_length");
    const int64_t length = call.has(3) ? call.integer(3, "frame_length") : window;
    const int64_t samples = signal.shape()[1];
    if (step < 1 || length < 1 || length > samples)
      throw ValueError("frames of " + std::to_string(length) + " samples, " + std::to_string(step) +
                       " apart, do not fit " + std::to_string(samples) + " samples");
    const int64_t frames = 1 + (samples - length) / step;
    expect_size({frames, length});
    const Array places = host_constant([&] {
      return (arange(frames, Dtype::int64, call.device()).reshape({frames, 1}) * step +
              arange(length, Dtype::int64, call.device()));
    });
    Variables parts = parts_of(signal);
    for (Variable& part : parts) {
      part = F::get_item(part, {Slice{}, places});  // (B, frames, length)
      if (call.has(2)) part = part * call[2];
    }
    Variables y = F::fft({parts[0], parts[1]});
    for (Variable& part : y) {
      if (onesided) part = F::get_item(part, {kEllipsis, Slice{0, length / 2 + 1}});
    }
    return {F::stack({y[0], y[1]}, -1)};
  };
}

/// A window as a sum of cosines.
Operation window(const NodeReader& node, double a0, double a1, double a2) {
  const bool periodic = node.flag("periodic", true);
  const Dtype dtype = node.dtype("output_datatype", DataType::float32);
  return [=](const Call& call) -> Values {
    const int64_t size = call.integer(0, "size");
    if (size < 0) throw ValueError("size is " + std::to_string(size));
    expect_size({size});
    std::vector<double> values;
    const double period = static_cast<double>(periodic ? size : size - 1);
    for (int64_t i = 0; i < size; ++i) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(i) / period;
      values.push_back(a0 - a1 * std::cos(turn) + a2 * std::cos(2 * turn));
    }
    return {Value::on_host(from_host(values.data(), {size}, Dtype::float64).astype(dtype))};
  };
}

/// How much each frequency adds to each mel band: triangles that are even on the mel scale.
Operation mel_weight_matrix(const NodeReader& node) {
  const Dtype dtype = node.dtype("output_datatype", DataType::float32);
  return [dtype](const Call& call) -> Values {
    const int64_t bands = call.integer(0, "num_mel_bins"), length = call.integer(1, "dft_length"),
                  rate = call.integer(2, "sample_rate");
    const double lower = call.real(3, "lower_edge_hertz"), upper = call.real(4, "upper_edge_hertz");
    const int64_t bins = length / 2 + 1;
    if (bands < 1 || bins < 1 || rate < 1)
      throw ValueError("num_mel_bins is " + std::to_string(bands) + ", dft_length " + std::to_string(length) +
                       ", sample_rate " + std::to_string(rate));
    expect_size({bins, bands});
    const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double low = mel(lower), step = (mel(upper) - low) / static_cast<double>(bands + 2);
    std::vector<int64_t> edges;
    for (int64_t i = 0; i < bands + 2; ++i) {
      const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
      const int64_t bin =
          static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate)));
      if (bin < 0 || bin >= bins) throw ValueError("the band edges lie outside of the spectrum");
      edges.push_back(bin);
    }
    std::vector<double> weights(static_cast<size_t>(bins * bands));
    for (int64_t i = 0; i < bands; ++i) {
      const int64_t left = edges[static_cast<size_t>(i)], center = edges[static_cast<size_t>(i + 1)],
                    right = edges[static_cast<size_t>(i + 2)];
      const auto at = [&](int64_t bin) -> double& { return weights[static_cast<size_t>(bin * bands + i)]; };
      if (left == center) at(center) = 1;
      for (int64_t j = left; center > left && j <= center; ++j)
        at(j) = static_cast<double>(j - left) / static_cast<double>(center - left);
      for (int64_t j = center; j < right; ++j)
        at(j) = static_cast<double>(right - j) / static_cast<double>(right - center);
    }
    return {Value::on_host(from_host(weights.data(), {bins, bands}, Dtype::float64).astype(dtype))};
  };
}

}  // namespace

std::span<const Operator> signal_operators() {
  static constexpr Operator kOperators[] = {
      {"DFT", dft},
      {"STFT", stft},
      {"HannWindow", [](const NodeReader& node) { return window(node, 0.5, 0.5, 0); }},
      {"HammingWindow", [](const NodeReader& node) { return window(node, 25.0 / 46, 21.0 / 46, 0); }},
      {"BlackmanWindow", [](const NodeReader& node) { return window(node, 0.42, 0.5, 0.08); }},
      {"MelWeightMatrix", mel_weight_matrix},
  };
  return kOperators;
}

}  // namespace kusari::onnx
