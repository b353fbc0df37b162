#include "kusari/framework/distributed/links/multi_node_n_step_rnn.h"

#include <doctest/doctest.h>

#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/links/rnn/n_step_gru.h"
#include "kusari/framework/links/rnn/n_step_lstm.h"
#include "kusari/tests/distributed/functions/collective_check.h"

namespace kusari {
namespace {

using distributed::Communicator;
using distributed::create_multi_node_n_step_rnn;
using testing::on_ranks;
using testing::uniform;
namespace L = links;

template <class Rnn>
Rnn made(uint64_t seed) {
  Rnn rnn(2, 3, 4, 0.0);
  rnn.to(Dtype::float64);
  rnn.cleargrads();
  for (const auto& [path, parameter] : rnn.namedparams()) {
    parameter->set_array(uniform(parameter->shape(), -1, 1, seed++));
  }
  return rnn;
}

std::vector<Variable> sequences(uint64_t seed) {
  std::vector<Variable> xs;
  for (const int64_t length : {3, 1, 2}) xs.emplace_back(uniform({length, 3}, -1, 1, seed++), false);
  return xs;
}

Variable sum_of(const std::vector<Variable>& ys) {
  Variable sum;
  for (const Variable& y : ys) sum = sum.is_defined() ? sum + F::sum(y * y) : F::sum(y * y);
  return sum;
}

void check_gradients_of(Link& found, Link& expected, const std::string& prefix) {
  for (const auto& [path, parameter] : expected.namedparams()) {
    CAPTURE(path);
    testing::check_close(found.param(prefix + path).grad(), parameter->shape(), parameter->grad().to_vector<double>(),
                         100);
  }
}

/// An encoder on rank 0, whose own outputs count, too, and a decoder on rank 1: as both in one process.
template <class Rnn, class RunAlone>
void check_encoder_and_decoder(const RunAlone& run_alone) {
  Rnn encoder = made<Rnn>(1), decoder = made<Rnn>(50);
  run_alone(encoder, decoder);
  on_ranks<int>(2, [&](Communicator& comm) {
    if (comm.is_root()) {
      auto own = create_multi_node_n_step_rnn(made<Rnn>(1), comm, {.rank_out = 1});
      const auto output = own(std::span<const Variable>(sequences(10)));
      (sum_of(output.ys) + F::cast(output.delegate_variable, Dtype::float64)).backward();
      check_gradients_of(own, encoder, "/actual_rnn");
    } else {
      auto own = create_multi_node_n_step_rnn(made<Rnn>(50), comm, {.rank_in = 0});
      const auto output = own(std::span<const Variable>(sequences(20)));
      CHECK(!output.delegate_variable.is_defined());
      sum_of(output.ys).backward();
      check_gradients_of(own, decoder, "/actual_rnn");
    }
    return 0;
  });
}

TEST_CASE("create_multi_node_n_step_rnn: an encoder and a decoder on two ranks") {
  check_encoder_and_decoder<L::NStepLSTM>([](L::NStepLSTM& encoder, L::NStepLSTM& decoder) {
    const auto first = encoder({}, {}, sequences(10));
    const auto second = decoder(first.hy, first.cy, sequences(20));
    (sum_of(first.ys) + sum_of(second.ys)).backward();
  });
  check_encoder_and_decoder<L::NStepGRU>([](L::NStepGRU& encoder, L::NStepGRU& decoder) {
    const auto first = encoder({}, sequences(10));
    const auto second = decoder(first.hy, sequences(20));
    (sum_of(first.ys) + sum_of(second.ys)).backward();
  });
}

TEST_CASE("create_multi_node_n_step_rnn: states of another kind of link are refused") {
  on_ranks<int>(2, [&](Communicator& comm) {
    if (comm.is_root()) {
      auto own = create_multi_node_n_step_rnn(made<L::NStepGRU>(1), comm, {.rank_out = 1});
      own(std::span<const Variable>(sequences(10)));
    } else {
      auto own = create_multi_node_n_step_rnn(made<L::NStepLSTM>(50), comm, {.rank_in = 0});
      CHECK_THROWS_WITH_AS(own(std::span<const Variable>(sequences(20))),
                           "MultiNodeNStepRNN: rank 0 sent 1 states but the link has 2", ValueError);
    }
    return 0;
  });
}

}  // namespace
}  // namespace kusari
