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

template <class Function>
Adapter lstm_network(Function function) {
  return [function](Args& a) {
    const Lists ws = lists(a, "ws"), bs = lists(a, "bs");
    return network(
        function(a.integer("n_layers"), a.number("dropout_ratio"), a.var("hx"), a.var("cx"), ws, bs, a.vars("xs")));
  };
}
template <class Function>
Adapter gru_network(Function function) {
  return [function](Args& a) {
    const Lists ws = lists(a, "ws"), bs = lists(a, "bs");
    return network(function(a.integer("n_layers"), a.number("dropout_ratio"), a.var("hx"), ws, bs, a.vars("xs")));
  };
}
template <class Function>
Adapter rnn_network(Function function) {
  return [function](Args& a) {
    const Lists ws = lists(a, "ws"), bs = lists(a, "bs");
    return network(
        function(a.integer("n_layers"), a.number("dropout_ratio"), a.var("hx"), ws, bs, a.vars("xs"), activation(a)));
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
      {"n_step_bigru", gru_network(F::n_step_bigru)},
      {"n_step_bilstm", lstm_network(F::n_step_bilstm)},
      {"n_step_birnn", rnn_network(F::n_step_birnn)},
      {"n_step_gru", gru_network(F::n_step_gru)},
      {"n_step_lstm", lstm_network(F::n_step_lstm)},
      {"n_step_rnn", rnn_network(F::n_step_rnn)},
      {"slstm", [](Args& a) { return cell(F::slstm(a.var("c_prev1"), a.var("c_prev2"), a.var("x1"), a.var("x2"))); }},
      {"tree_lstm", tree_lstm},
  });
}

}  // namespace kusari::golden
