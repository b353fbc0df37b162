#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/links/rnn/gru.h"
#include "kusari/framework/links/rnn/lstm.h"
#include "kusari/framework/links/rnn/mgu.h"
#include "kusari/framework/links/rnn/n_step_gru.h"
#include "kusari/framework/links/rnn/n_step_lstm.h"
#include "kusari/framework/links/rnn/n_step_rnn.h"
#include "kusari/framework/links/rnn/peephole_lstm.h"
#include "kusari/framework/links/rnn/tree_lstm.h"
#include "kusari/framework/links/rnn/zoneout_lstm.h"
#include "kusari/tests/golden_runner/link_makers.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {
namespace {

Variables cell(const F::CellOutput& output) { return Variables(output.c, output.h); }

template <class T>
Variable state_of(T& link, const std::string& name) {
  if (name == "h") return link.h;
  if constexpr (requires { link.c; }) {
    if (name == "c") return link.c;
  }
  throw std::runtime_error("the runner knows no state " + name);
}
// One step for each call.
template <class T>
LinkUnderTest stateful(T link) {
  return link_under_test(
      std::move(link), "forward(x)", [](T& self, Args& a) { return self(a.var("x")); }, state_of<T>);
}

L::LstmOptions lstm_options(LinkArgs& a) {
  return {.lateral_init = initializer_argument(a, "lateral_init", {}),
          .upward_init = initializer_argument(a, "upward_init", {}),
          .bias_init = initializer_argument(a, "bias_init", 0),
          .forget_bias_init = initializer_argument(a, "forget_bias_init", 1)};
}
L::GruOptions gru_options(LinkArgs& a) {
  return {.init = initializer_argument(a, "init", {}),
          .inner_init = initializer_argument(a, "inner_init", {}),
          .bias_init = initializer_argument(a, "bias_init", 0)};
}

// The cells of the children, their h, and x.
template <class T>
LinkUnderTest tree(T link) {
  return link_under_test(std::move(link), "forward(*cshsx)", [](T& self, Args& a) {
    const std::vector<Variable> all = a.more_vars();
    const std::span<const Variable> inputs(all);
    const size_t children = inputs.size() / 2;
    return cell(self(inputs.first(children), inputs.subspan(children, children), inputs.back()));
  });
}

Variables all_of(const Variable& hy, const std::vector<Variable>& ys) {
  Variables all(hy);
  for (const Variable& y : ys) all.push_back(y);
  return all;
}
template <class T>
T n_step(LinkArgs& a) {
  return T(a.integer("n_layers"), a.optional_integer("in_size").value_or(kInfer), a.integer("out_size"),
           a.number("dropout"),
           {.initial_w = initializer_argument(a, "initialW", {}),
            .initial_bias = initializer_argument(a, "initial_bias", 0)});
}
template <class T>
LinkUnderTest n_step_lstm(LinkArgs& args) {
  return link_under_test(n_step<T>(args), "forward(hx, cx, xs)", [](T& self, Args& a) {
    const auto [hy, cy, ys] = self(a.var("hx"), a.var("cx"), a.vars("xs"));
    Variables all(hy, cy);
    for (const Variable& y : ys) all.push_back(y);
    return all;
  });
}
template <class T>
LinkUnderTest n_step_h(LinkArgs& args) {
  return link_under_test(n_step<T>(args), "forward(hx, xs)", [](T& self, Args& a) {
    const auto [hy, ys] = self(a.var("hx"), a.vars("xs"));
    return all_of(hy, ys);
  });
}

}  // namespace

void add_rnn_links(LinkTable& table) {
  table.insert({
      {"ChildSumTreeLSTM",
       [](LinkArgs& a) { return tree(L::ChildSumTreeLSTM(a.integer("in_size"), a.integer("out_size"))); }},
      {"GRU",
       [](LinkArgs& a) {
         return link_under_test(
             L::GRU(a.integer("in_size"), a.integer("out_size"), gru_options(a)), "forward(*args)",
             [](L::GRU& self, Args& given) { return self(given.more_vars().at(0)); }, state_of<L::GRU>);
       }},
      {"LSTM",
       [](LinkArgs& a) {
         const auto [in, out] = linear_sizes(a);
         return stateful(L::LSTM(in, out, lstm_options(a)));
       }},
      {"NStepBiGRU", n_step_h<L::NStepBiGRU>},
      {"NStepBiLSTM", n_step_lstm<L::NStepBiLSTM>},
      {"NStepBiRNNReLU", n_step_h<L::NStepBiRNNReLU>},
      {"NStepBiRNNTanh", n_step_h<L::NStepBiRNNTanh>},
      {"NStepGRU", n_step_h<L::NStepGRU>},
      {"NStepLSTM", n_step_lstm<L::NStepLSTM>},
      {"NStepRNNReLU", n_step_h<L::NStepRNNReLU>},
      {"NStepRNNTanh", n_step_h<L::NStepRNNTanh>},
      {"NaryTreeLSTM",
       [](LinkArgs& a) {
         return tree(L::NaryTreeLSTM(a.integer("in_size"), a.integer("out_size"), a.integer("n_ary")));
       }},
      {"StatefulGRU",
       [](LinkArgs& a) {
         return stateful(L::StatefulGRU(a.integer("in_size"), a.integer("out_size"), gru_options(a)));
       }},
      {"StatefulMGU",
       [](LinkArgs& a) { return stateful(L::StatefulMGU(a.integer("in_size"), a.integer("out_size"))); }},
      {"StatefulPeepholeLSTM",
       [](LinkArgs& a) { return stateful(L::StatefulPeepholeLSTM(a.integer("in_size"), a.integer("out_size"))); }},
      {"StatefulZoneoutLSTM",
       [](LinkArgs& a) {
         return stateful(L::StatefulZoneoutLSTM(a.integer("in_size"), a.integer("out_size"),
                                                {.c_ratio = a.number("c_ratio"), .h_ratio = a.number("h_ratio")}));
       }},
      {"StatelessGRU",
       [](LinkArgs& a) {
         return link_under_test(
             L::StatelessGRU(a.integer("in_size"), a.integer("out_size"), gru_options(a)), "forward(h, x)",
             [](L::StatelessGRU& self, Args& given) { return self(given.var("h"), given.var("x")); });
       }},
      {"StatelessLSTM",
       [](LinkArgs& a) {
         const auto [in, out] = linear_sizes(a);
         return link_under_test(L::StatelessLSTM(in, out, lstm_options(a)), "forward(c, h, x)",
                                [](L::StatelessLSTM& self, Args& given) {
                                  return cell(self(given.var("c"), given.var("h"), given.var("x")));
                                });
       }},
      {"StatelessMGU",
       [](LinkArgs& a) {
         return link_under_test(
             L::StatelessMGU(a.integer("n_inputs"), a.integer("n_units")), "forward(h, x)",
             [](L::StatelessMGU& self, Args& given) { return self(given.var("h"), given.var("x")); });
       }},
  });
}

}  // namespace kusari::golden
