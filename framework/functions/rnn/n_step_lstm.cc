#include "kusari/framework/functions/rnn/n_step_lstm.h"

#include <utility>

#include "kusari/framework/functions/rnn/n_step.h"

namespace kusari::functions {
namespace {

n_step::Network lstm(bool is_bidirectional, int64_t n_layers, double dropout_ratio) {
  const auto cell = kernels::RecurrentCell::lstm;
  if (is_bidirectional) return {"F::n_step_bilstm", "n_step_bilstm", n_layers, 2, cell, dropout_ratio};
  return {"F::n_step_lstm", "n_step_lstm", n_layers, 1, cell, dropout_ratio};
}

}  // namespace

NStepLstmOutput n_step_lstm(int64_t n_layers, double dropout_ratio, const Variable& hx, const Variable& cx,
                            std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                            std::span<const Variable> xs) {
  auto out = n_step::run(lstm(false, n_layers, dropout_ratio), hx, cx, ws, bs, xs);
  return {out.hy, out.cy, std::move(out.ys)};
}

NStepLstmOutput n_step_bilstm(int64_t n_layers, double dropout_ratio, const Variable& hx, const Variable& cx,
                              std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                              std::span<const Variable> xs) {
  auto out = n_step::run(lstm(true, n_layers, dropout_ratio), hx, cx, ws, bs, xs);
  return {out.hy, out.cy, std::move(out.ys)};
}

PackedLstmOutput n_step_lstm(int64_t n_layers, double dropout_ratio, const Variable& hx, const Variable& cx,
                             std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                             const PackedSequence& xs) {
  auto out = n_step::run(lstm(false, n_layers, dropout_ratio), hx, cx, ws, bs, xs);
  return {out.hy, out.cy, std::move(out.ys)};
}

PackedLstmOutput n_step_bilstm(int64_t n_layers, double dropout_ratio, const Variable& hx, const Variable& cx,
                               std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                               const PackedSequence& xs) {
  auto out = n_step::run(lstm(true, n_layers, dropout_ratio), hx, cx, ws, bs, xs);
  return {out.hy, out.cy, std::move(out.ys)};
}

}  // namespace kusari::functions
