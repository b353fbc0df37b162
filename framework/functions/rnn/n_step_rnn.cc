#include "kusari/framework/functions/rnn/n_step_rnn.h"

#include <utility>

#include "kusari/framework/functions/rnn/n_step.h"

namespace kusari::functions {
namespace {

n_step::Network rnn(bool is_bidirectional, int64_t n_layers, double dropout_ratio, RnnActivation activation) {
  const auto cell = activation == RnnActivation::relu ? kernels::RecurrentCell::relu : kernels::RecurrentCell::tanh;
  if (is_bidirectional) return {"F::n_step_birnn", "n_step_birnn", n_layers, 2, cell, dropout_ratio};
  return {"F::n_step_rnn", "n_step_rnn", n_layers, 1, cell, dropout_ratio};
}

}  // namespace

NStepOutput n_step_rnn(int64_t n_layers, double dropout_ratio, const Variable& hx,
                       std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                       std::span<const Variable> xs, RnnActivation activation) {
  auto out = n_step::run(rnn(false, n_layers, dropout_ratio, activation), hx, Variable(), ws, bs, xs);
  return {out.hy, std::move(out.ys)};
}

NStepOutput n_step_birnn(int64_t n_layers, double dropout_ratio, const Variable& hx,
                         std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                         std::span<const Variable> xs, RnnActivation activation) {
  auto out = n_step::run(rnn(true, n_layers, dropout_ratio, activation), hx, Variable(), ws, bs, xs);
  return {out.hy, std::move(out.ys)};
}

PackedOutput n_step_rnn(int64_t n_layers, double dropout_ratio, const Variable& hx,
                        std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                        const PackedSequence& xs, RnnActivation activation) {
  auto out = n_step::run(rnn(false, n_layers, dropout_ratio, activation), hx, Variable(), ws, bs, xs);
  return {out.hy, std::move(out.ys)};
}

PackedOutput n_step_birnn(int64_t n_layers, double dropout_ratio, const Variable& hx,
                          std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                          const PackedSequence& xs, RnnActivation activation) {
  auto out = n_step::run(rnn(true, n_layers, dropout_ratio, activation), hx, Variable(), ws, bs, xs);
  return {out.hy, std::move(out.ys)};
}

}  // namespace kusari::functions
