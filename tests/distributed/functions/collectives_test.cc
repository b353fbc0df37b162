#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/functions/allgather.h"
#include "kusari/framework/distributed/functions/allreduce.h"
#include "kusari/framework/distributed/functions/alltoall.h"
#include "kusari/framework/distributed/functions/bcast.h"
#include "kusari/framework/distributed/functions/gather.h"
#include "kusari/framework/distributed/functions/reduce.h"
#include "kusari/framework/distributed/functions/reduce_scatter.h"
#include "kusari/framework/distributed/functions/scatter.h"
#include "kusari/tests/distributed/functions/collective_check.h"

namespace kusari {
namespace {

namespace D = distributed::functions;
using distributed::Communicator;
using testing::check_between_ranks;
using testing::on_ranks;
using Lists = std::vector<std::vector<Variable>>;

Shape same_shape(int) { return {2, 3}; }
Shape shape_by_rank(int rank) { return {2, rank + 1}; }

std::vector<Variable> listed(const Variables& variables) { return {variables.begin(), variables.end()}; }

/// What a rank gives to each: multiples of its x that differ.
std::vector<Variable> parts_for(const Variable& x, size_t n) {
  std::vector<Variable> parts;
  for (size_t i = 0; i < n; ++i) parts.push_back(x * (1.0 + static_cast<double>(i)));
  return parts;
}
std::vector<Variable> parts_of(const Communicator& comm, const Variable& x) {
  return parts_for(x, static_cast<size_t>(comm.size()));
}

Variable sum_of(const std::vector<Variable>& xs) {
  Variable sum = xs[0];
  for (size_t i = 1; i < xs.size(); ++i) sum = sum + xs[i];
  return sum;
}

TEST_CASE("distributed functions: allgather") {
  check_between_ranks([](Communicator& comm, const Variable& x) { return listed(D::allgather(comm, x)); },
                      [](const std::vector<Variable>& xs) { return Lists(xs.size(), xs); }, shape_by_rank);
}

TEST_CASE("distributed functions: allreduce") {
  check_between_ranks(
      [](Communicator& comm, const Variable& x) { return std::vector<Variable>{D::allreduce(comm, x)}; },
      [](const std::vector<Variable>& xs) { return Lists(xs.size(), {sum_of(xs)}); }, same_shape);
}

TEST_CASE("distributed functions: alltoall") {
  check_between_ranks(
      [](Communicator& comm, const Variable& x) { return listed(D::alltoall(comm, parts_of(comm, x))); },
      [](const std::vector<Variable>& xs) {
        Lists outputs(xs.size());
        for (const Variable& x : xs) {
          const std::vector<Variable> parts = parts_for(x, xs.size());
          for (size_t rank = 0; rank < xs.size(); ++rank) outputs[rank].push_back(parts[rank]);
        }
        return outputs;
      },
      shape_by_rank);
}

TEST_CASE("distributed functions: reduce_scatter") {
  check_between_ranks(
      [](Communicator& comm, const Variable& x) {
        return std::vector<Variable>{D::reduce_scatter(comm, parts_of(comm, x))};
      },
      [](const std::vector<Variable>& xs) {
        Lists outputs;
        for (size_t rank = 0; rank < xs.size(); ++rank) {
          std::vector<Variable> given;
          for (const Variable& x : xs) given.push_back(parts_for(x, xs.size())[rank]);
          outputs.push_back({sum_of(given)});
        }
        return outputs;
      },
      same_shape);
}

TEST_CASE("distributed functions: bcast and scatter from any root, gather and reduce to any") {
  for (const bool last : {false, true}) {
    CAPTURE(last);
    const auto root_of = [last](size_t size) { return last ? static_cast<int>(size) - 1 : 0; };
    const auto root = [&](const Communicator& comm) { return root_of(static_cast<size_t>(comm.size())); };

    // On the other ranks x connects the graph and gets zeros; it is used besides.
    check_between_ranks(
        [&](Communicator& comm, const Variable& x) {
          return std::vector<Variable>{D::bcast(comm, x, root(comm)), x * 2.0};
        },
        [&](const std::vector<Variable>& xs) {
          Lists outputs;
          for (const Variable& x : xs) outputs.push_back({xs[static_cast<size_t>(root_of(xs.size()))], x * 2.0});
          return outputs;
        },
        shape_by_rank);

    check_between_ranks(
        [&](Communicator& comm, const Variable& x) {
          const bool is_root = comm.rank() == root(comm);
          const std::vector<Variable> xs = is_root ? parts_of(comm, x) : std::vector<Variable>{x};
          return std::vector<Variable>{D::scatter(comm, xs, root(comm)), x * 2.0};
        },
        [&](const std::vector<Variable>& xs) {
          const std::vector<Variable> parts = parts_for(xs[static_cast<size_t>(root_of(xs.size()))], xs.size());
          Lists outputs;
          for (size_t rank = 0; rank < xs.size(); ++rank) outputs.push_back({parts[rank], xs[rank] * 2.0});
          return outputs;
        },
        shape_by_rank);

    check_between_ranks([&](Communicator& comm, const Variable& x) { return listed(D::gather(comm, x, root(comm))); },
                        [&](const std::vector<Variable>& xs) {
                          Lists outputs(xs.size());
                          outputs[static_cast<size_t>(root_of(xs.size()))] = xs;
                          return outputs;
                        },
                        shape_by_rank);

    check_between_ranks(
        [&](Communicator& comm, const Variable& x) { return std::vector<Variable>{D::reduce(comm, x, root(comm))}; },
        [&](const std::vector<Variable>& xs) {
          Lists outputs(xs.size());
          outputs[static_cast<size_t>(root_of(xs.size()))] = {sum_of(xs)};
          return outputs;
        },
        same_shape);
  }
}

TEST_CASE("distributed functions: gradients are right where some ranks' losses are linear, or ignore an output") {
  const auto penalties = on_ranks<std::vector<double>>(3, [](Communicator& comm) {
    const Variable x(testing::input_of_rank({2}, comm.rank()));
    const Variables all = D::allgather(comm, x);
    // Rank 0 takes rank 1's cube, the others are linear in what rank 0 gave.
    const Variable loss = F::sum(comm.is_root() ? all[1] * all[1] * all[1] : 2.0 * all[0]);
    loss.backward({.enable_double_backprop = true});
    const Variable gx = x.grad_var();
    Variable(x).cleargrad();
    F::sum(gx * gx).backward();
    return x.grad().to_vector<double>();
  });
  const std::vector<double> x1 = testing::input_of_rank({2}, 1).to_vector<double>();
  CHECK(penalties[0] == std::vector<double>{0, 0});
  for (size_t i = 0; i < 2; ++i) {  // of (3 x^2)^2
    CHECK(penalties[1][i] == doctest::Approx(36 * x1[i] * x1[i] * x1[i]).epsilon(1e-12));
  }
  CHECK(penalties[2] == std::vector<double>{0, 0});
}

TEST_CASE("distributed functions: raw arrays take part in backward, integers and test mode do not need it") {
  on_ranks<int>(3, [](Communicator& comm) {
    // Only rank 1 wants a gradient.
    const Array data = testing::input_of_rank({2, 2}, comm.rank());
    const Variable x(data, comm.rank() == 1);
    F::sum(D::allreduce(comm, x) * 3.0).backward();
    if (comm.rank() == 1) CHECK(x.grad().to_vector<double>() == std::vector<double>(4, 9.0));
    if (comm.rank() != 1) CHECK(!x.grad().is_defined());

    const Variables labels = D::allgather(comm, Variable(array<int32_t>({comm.rank(), 7}), false));
    CHECK(labels[2].to_vector<int32_t>() == std::vector<int32_t>{2, 7});
    CHECK(!labels[2].requires_grad());
    const auto no_graph = no_backprop_mode();
    CHECK(D::allreduce(comm, x).creator() == nullptr);
    CHECK(D::bcast(comm, comm.rank() == 2 ? x : Variable(), 2).to_vector<double>() ==
          testing::input_of_rank({2, 2}, 2).to_vector<double>());
    return 0;
  });
}

TEST_CASE("distributed functions: 16-bit numbers are summed in float32") {
  on_ranks<int>(4, [](Communicator& comm) {
    // 2048 + 1 is no float16: one after the other the ones would be lost.
    const Variable x(full({2}, comm.is_root() ? 2048 : 1, Dtype::float16));
    CHECK(D::allreduce(comm, x).array().astype(Dtype::float64).to_vector<double>()[0] == 2052);  // 2051 rounded
    return 0;
  });
}

TEST_CASE("distributed functions: errors name the call and what was wrong") {
  const Communicator alone;
  const Variable x(ones({2}));
  const std::vector<Variable> two{x, x};
  CHECK_THROWS_WITH_AS(D::bcast(alone, x, 1),
                       "F::bcast: root is 1: it must be in [0, 1), the ranks of the communicator", ValueError);
  CHECK_THROWS_WITH_AS(D::gather(alone, x, -1),
                       "F::gather: root is -1: it must be in [0, 1), the ranks of the communicator", ValueError);
  CHECK_THROWS_WITH_AS(D::bcast(alone, Variable()), "F::bcast: x is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(D::allgather(alone, Variable()), "F::allgather: x is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(D::reduce(alone, Variable()), "F::reduce: x is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(D::alltoall(alone, two), "F::alltoall: xs has 2 variables: there must be 1, one for each rank",
                       ValueError);
  CHECK_THROWS_WITH_AS(D::scatter(alone, two), "F::scatter: xs has 2 variables: there must be 1, one for each rank",
                       ValueError);
  CHECK_THROWS_WITH_AS(D::reduce_scatter(alone, {Variable()}), "F::reduce_scatter: xs[0] is not given: it is required",
                       TypeError);
  CHECK_THROWS_AS(
      distributed::run_ranks(2, [](Communicator& comm) { D::allreduce(comm, Variable(ones({comm.rank() + 1}))); }),
      TypeError);
}

}  // namespace
}  // namespace kusari
