#include "kusari/framework/functions/rnn/n_step_lstm.h"

#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/rnn/n_step.h"

namespace kusari::functions {
namespace {

n_step::State lstm_step(const Variable& from_x, const Variable& from_h, const n_step::State& last) {
  const Variables gates = split_axis(from_x + from_h, 4, 1);  // i, f, a, o
  const Variable c = sigmoid(gates[1]) * last.c + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(c), c};
}

NStepLstmOutput run_lstm(const n_step::Network& network, const Variable& hx, const Variable& cx,
                         std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                         std::span<const Variable> xs) {
  auto [hy, cy, ys] = n_step::run(network, hx, cx, ws, bs, xs, lstm_step);
  return {hy, cy, std::move(ys)};
}

}  // namespace

NStepLstmOutput n_step_lstm(int64_t n_layers, double dropout_ratio, const Variable& hx, const Variable& cx,
                            std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                            std::span<const Variable> xs) {
  return run_lstm({"F::n_step_lstm", "n_step_lstm", n_layers, 1, 4, true, dropout_ratio}, hx, cx, ws, bs, xs);
}

NStepLstmOutput n_step_bilstm(int64_t n_layers, double dropout_ratio, const Variable& hx, const Variable& cx,
                              std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                              std::span<const Variable> xs) {
  return run_lstm({"F::n_step_bilstm", "n_step_bilstm", n_layers, 2, 4, true, dropout_ratio}, hx, cx, ws, bs, xs);
}

}  // namespace kusari::functions
