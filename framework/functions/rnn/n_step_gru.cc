#include "kusari/framework/functions/rnn/n_step_gru.h"

#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/rnn/n_step.h"

namespace kusari::functions {
namespace {

n_step::State gru_step(const Variable& from_x, const Variable& from_h, const n_step::State& last) {
  const Variables x = split_axis(from_x, 3, 1), h = split_axis(from_h, 3, 1);  // r, z, g
  const Variable r = sigmoid(x[0] + h[0]), z = sigmoid(x[1] + h[1]), g = tanh(x[2] + r * h[2]);
  return {(1 - z) * g + z * last.h, Variable()};
}

NStepOutput run_gru(const n_step::Network& network, const Variable& hx, std::span<const std::vector<Variable>> ws,
                    std::span<const std::vector<Variable>> bs, std::span<const Variable> xs) {
  auto [hy, cy, ys] = n_step::run(network, hx, Variable(), ws, bs, xs, gru_step);
  return {hy, std::move(ys)};
}

}  // namespace

NStepOutput n_step_gru(int64_t n_layers, double dropout_ratio, const Variable& hx,
                       std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                       std::span<const Variable> xs) {
  return run_gru({"F::n_step_gru", "n_step_gru", n_layers, 1, 3, false, dropout_ratio}, hx, ws, bs, xs);
}

NStepOutput n_step_bigru(int64_t n_layers, double dropout_ratio, const Variable& hx,
                         std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                         std::span<const Variable> xs) {
  return run_gru({"F::n_step_bigru", "n_step_bigru", n_layers, 2, 3, false, dropout_ratio}, hx, ws, bs, xs);
}

}  // namespace kusari::functions
