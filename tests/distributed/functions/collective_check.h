#pragma once

#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/functions/testing.h"

// Functions between ranks, compared with the same computation in one process.
namespace kusari::testing {

/// What a rank computes from its own x.
using OfRank = std::function<std::vector<Variable>(distributed::Communicator& comm, const Variable& x)>;
/// What all ranks compute, from all x: one list for each rank.
using OfAll = std::function<std::vector<std::vector<Variable>>(const std::vector<Variable>& xs)>;

/// Outputs, gradient and gradient of a gradient of one rank.
struct RankNumbers {
  std::vector<std::vector<double>> outputs;
  std::vector<double> gradient, second;
};

/// Something of which no derivative up to the third is zero, and another one for each rank and output.
inline Variable loss_of(const std::vector<Variable>& outputs, int rank) {
  Variable loss;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Variable& y = outputs[i];
    const Variable term = functions::sum((1.0 + 0.5 * rank + 0.25 * static_cast<double>(i)) * (y * y * y + y));
    loss = loss.is_defined() ? loss + term : term;
  }
  return loss;
}

inline Array input_of_rank(const Shape& shape, int rank) {
  return uniform(shape, -1, 1, static_cast<uint64_t>(rank) + 1);
}

/// f on 2, 3 and 4 ranks, with x of `shape(rank)` in float64: values, and gradients of first and second order, of the
/// sum of what the ranks make of their outputs.
/// Outputs may differ by `output_tolerance`, relative to 1 and to themselves.
inline void check_between_ranks(const OfRank& f, const OfAll& in_one_process,
                                const std::function<Shape(int rank)>& shape, double output_tolerance = 0) {
  for (const int n : {1, 2, 3, 4}) {
    CAPTURE(n);
    const auto found = on_ranks<RankNumbers>(n, [&](distributed::Communicator& comm) {
      RankNumbers numbers;
      const Variable x(input_of_rank(shape(comm.rank()), comm.rank()));
      const std::vector<Variable> outputs = f(comm, x);
      for (const Variable& y : outputs) numbers.outputs.push_back(y.to_vector<double>());
      loss_of(outputs, comm.rank()).backward({.enable_double_backprop = true});
      const Variable gx = x.grad_var();
      numbers.gradient = gx.to_vector<double>();
      Variable(x).cleargrad();
      functions::sum(gx * gx * gx).backward();
      numbers.second = x.grad().to_vector<double>();
      return numbers;
    });

    std::vector<Variable> xs;
    for (int rank = 0; rank < n; ++rank) xs.emplace_back(input_of_rank(shape(rank), rank));
    const std::vector<std::vector<Variable>> outputs = in_one_process(xs);
    Variable total(zeros({}, Dtype::float64));
    for (int rank = 0; rank < n; ++rank) {
      const std::vector<Variable>& own = outputs[static_cast<size_t>(rank)];
      if (!own.empty()) total = total + loss_of(own, rank);
    }
    total.backward({.enable_double_backprop = true});
    Variable penalty(zeros({}, Dtype::float64));
    std::vector<Variable> gradients;
    for (Variable& x : xs) {
      const Variable gx = x.grad_var();
      gradients.push_back(gx);
      penalty = penalty + functions::sum(gx * gx * gx);
      x.cleargrad();
    }
    penalty.backward();

    for (size_t rank = 0; rank < xs.size(); ++rank) {
      CAPTURE(rank);
      const RankNumbers& numbers = found[rank];
      for (size_t i = 0; i < outputs[rank].size(); ++i) {
        const std::vector<double> expected = outputs[rank][i].to_vector<double>();
        if (output_tolerance == 0) {
          CHECK(numbers.outputs[i] == expected);
        } else {
          check_close(array(numbers.outputs[i]), {outputs[rank][i].size()}, expected, output_tolerance / 1e-13);
        }
      }
      check_close(array(numbers.gradient), {xs[rank].size()}, gradients[rank].to_vector<double>(), 100);
      check_close(array(numbers.second), {xs[rank].size()}, xs[rank].grad().to_vector<double>(), 100);
    }
  }
}

}  // namespace kusari::testing
