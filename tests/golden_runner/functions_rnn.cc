#include <vector>

#include "kusari/framework/functions/rnn/lstm.h"
#include "kusari/framework/functions/rnn/n_step_gru.h"
#include "kusari/framework/functions/rnn/n_step_lstm.h"
#include "kusari/framework/functions/rnn/n_step_rnn.h"
#include "kusari/framework/functions/rnn/slstm.h"
#include "kusari/framework/functions/rnn/tree_lstm.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

using Lists = std::vector<std::vector<Variable>>;

// A list of lists of arrays.
Lists lists(Args& a, const std::string& name) {
  Lists all;
  for (const Json& list : a.raw(name)) {
    all.emplace_back();
    for (const Json& value : list) all.back().push_back(a.decode(value));
  }
  return all;
}

Variables cell(const F::CellOutput& output) { return Variables(output.c, output.h); }

Variables network(const F::NStepOutput& output) {
  Variables all(output.hy);
  for (const Variable& y : output.ys) all.push_back(y);
  return all;
}
Variables network(const F::NStepLstmOutput& output) {
  Variables all(output.hy, output.cy);
  for (const Variable& y : output.ys) all.push_back(y);
  return all;
}

F::RnnActivation activation(Args& a) {
  return a.choice<F::RnnActivation>("activation", {{"tanh", F::RnnActivation::tanh}, {"relu", F::RnnActivation::relu}});
}

// `function(n_layers, dropout_ratio, ws, bs)`, which goes on to read hx, cx and xs.
template <class Function>
Adapter network_of(Function function) {
  return [function](Args& a) {
    const Lists ws = lists(a, "ws"), bs = lists(a, "bs");
    return network(function(a, a.integer("n_layers"), a.number("dropout_ratio"), ws, bs));
  };
}

Variables tree_lstm(Args& a) {
  std::vector<Variable> inputs = a.more_vars();
  if (inputs.empty()) throw std::runtime_error("tree_lstm has no arguments");
  const Variable x = inputs.back();
  inputs.pop_back();
  return cell(F::tree_lstm(inputs, x));
}

}  // namespace

void add_rnn_functions(FunctionTable& table) {
  table.insert({
      {"lstm", [](Args& a) { return cell(F::lstm(a.var("c_prev"), a.var("x"))); }},
      {"n_step_bigru", network_of([](Args& a, int64_t n_layers, double ratio, const Lists& ws, const Lists& bs) {
         return F::n_step_bigru(n_layers, ratio, a.var("hx"), ws, bs, a.vars("xs"));
       })},
      {"n_step_bilstm", network_of([](Args& a, int64_t n_layers, double ratio, const Lists& ws, const Lists& bs) {
         return F::n_step_bilstm(n_layers, ratio, a.var("hx"), a.var("cx"), ws, bs, a.vars("xs"));
       })},
      {"n_step_birnn", network_of([](Args& a, int64_t n_layers, double ratio, const Lists& ws, const Lists& bs) {
         return F::n_step_birnn(n_layers, ratio, a.var("hx"), ws, bs, a.vars("xs"), activation(a));
       })},
      {"n_step_gru", network_of([](Args& a, int64_t n_layers, double ratio, const Lists& ws, const Lists& bs) {
         return F::n_step_gru(n_layers, ratio, a.var("hx"), ws, bs, a.vars("xs"));
       })},
      {"n_step_lstm", network_of([](Args& a, int64_t n_layers, double ratio, const Lists& ws, const Lists& bs) {
         return F::n_step_lstm(n_layers, ratio, a.var("hx"), a.var("cx"), ws, bs, a.vars("xs"));
       })},
      {"n_step_rnn", network_of([](Args& a, int64_t n_layers, double ratio, const Lists& ws, const Lists& bs) {
         return F::n_step_rnn(n_layers, ratio, a.var("hx"), ws, bs, a.vars("xs"), activation(a));
       })},
      {"slstm", [](Args& a) { return cell(F::slstm(a.var("c_prev1"), a.var("c_prev2"), a.var("x1"), a.var("x2"))); }},
      {"tree_lstm", tree_lstm},
  });
}

}  // namespace kusari::golden
