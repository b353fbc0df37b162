#include "kusari/framework/functions/rnn/n_step_rnn.h"

#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/rnn/n_step.h"

namespace kusari::functions {
namespace {

NStepOutput run_rnn(const n_step::Network& network, const Variable& hx, std::span<const std::vector<Variable>> ws,
                    std::span<const std::vector<Variable>> bs, std::span<const Variable> xs, RnnActivation activation) {
  const auto step = [activation](const Variable& from_x, const Variable& from_h, const n_step::State&) {
    const Variable sum = from_x + from_h;
    return n_step::State{activation == RnnActivation::tanh ? tanh(sum) : relu(sum), Variable()};
  };
  auto [hy, cy, ys] = n_step::run(network, hx, Variable(), ws, bs, xs, step);
  return {hy, std::move(ys)};
}

}  // namespace

NStepOutput n_step_rnn(int64_t n_layers, double dropout_ratio, const Variable& hx,
                       std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                       std::span<const Variable> xs, RnnActivation activation) {
  return run_rnn({"F::n_step_rnn", "n_step_rnn", n_layers, 1, 1, false, dropout_ratio}, hx, ws, bs, xs, activation);
}

NStepOutput n_step_birnn(int64_t n_layers, double dropout_ratio, const Variable& hx,
                         std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                         std::span<const Variable> xs, RnnActivation activation) {
  return run_rnn({"F::n_step_birnn", "n_step_birnn", n_layers, 2, 1, false, dropout_ratio}, hx, ws, bs, xs, activation);
}

}  // namespace kusari::functions
