#include "kusari/framework/functions/rnn/n_step_gru.h"

#include <utility>

#include "kusari/framework/functions/rnn/n_step.h"

namespace kusari::functions {
namespace {

n_step::Network gru(bool is_bidirectional, int64_t n_layers, double dropout_ratio) {
  const auto cell = kernels::RecurrentCell::gru;
  if (is_bidirectional) return {"F::n_step_bigru", "n_step_bigru", n_layers, 2, cell, dropout_ratio};
  return {"F::n_step_gru", "n_step_gru", n_layers, 1, cell, dropout_ratio};
}

}  // namespace

NStepOutput n_step_gru(int64_t n_layers, double dropout_ratio, const Variable& hx,
                       std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                       std::span<const Variable> xs) {
  auto out = n_step::run(gru(false, n_layers, dropout_ratio), hx, Variable(), ws, bs, xs);
  return {out.hy, std::move(out.ys)};
}

NStepOutput n_step_bigru(int64_t n_layers, double dropout_ratio, const Variable& hx,
                         std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                         std::span<const Variable> xs) {
  auto out = n_step::run(gru(true, n_layers, dropout_ratio), hx, Variable(), ws, bs, xs);
  return {out.hy, std::move(out.ys)};
}

PackedOutput n_step_gru(int64_t n_layers, double dropout_ratio, const Variable& hx,
                        std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                        const PackedSequence& xs) {
  auto out = n_step::run(gru(false, n_layers, dropout_ratio), hx, Variable(), ws, bs, xs);
  return {out.hy, std::move(out.ys)};
}

PackedOutput n_step_bigru(int64_t n_layers, double dropout_ratio, const Variable& hx,
                          std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                          const PackedSequence& xs) {
  auto out = n_step::run(gru(true, n_layers, dropout_ratio), hx, Variable(), ws, bs, xs);
  return {out.hy, std::move(out.ys)};
}

}  // namespace kusari::functions
