#include <doctest/doctest.h>

#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/functions/pseudo_connect.h"
#include "kusari/framework/distributed/functions/recv.h"
#include "kusari/framework/distributed/functions/send.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/tests/distributed/functions/collective_check.h"

namespace kusari {
namespace {

namespace D = distributed::functions;
using distributed::Communicator;
using testing::check_between_ranks;
using testing::input_of_rank;
using testing::on_ranks;

TEST_CASE("distributed functions: send and recv in a ring") {
  // Each gives x to its neighbour and takes from the other. What recv gives goes into the loss with x, and the delegate
  // connects the send.
  check_between_ranks(
      [](Communicator& comm, const Variable& x) {
        if (comm.size() == 1) return std::vector<Variable>{x};
        const int next = (comm.rank() + 1) % comm.size(), previous = (comm.rank() + comm.size() - 1) % comm.size();
        const Variable sent = D::send(x, comm, next, 5);
        const Variable got = D::recv(comm, previous, {.delegate_variable = sent, .tag = 5});
        return std::vector<Variable>{got * got, got};
      },
      [](const std::vector<Variable>& xs) {
        if (xs.size() == 1) return std::vector<std::vector<Variable>>{xs};
        std::vector<std::vector<Variable>> outputs;
        for (size_t rank = 0; rank < xs.size(); ++rank) {
          const Variable& got = xs[(rank + xs.size() - 1) % xs.size()];
          outputs.push_back({got * got, got});
        }
        return outputs;
      },
      [](int rank) { return Shape{rank + 1}; });
}

TEST_CASE("distributed functions: a pipeline of two stages, there and back, with gradients of gradients") {
  // Rank 0: h = x^2; rank 1: L = sum(w exp(h)); gradients of |dL/dx|^2 by both.
  struct Numbers {
    std::vector<double> gradient, second;
  };
  const Array x_data = input_of_rank({3}, 0), w_data = input_of_rank({3}, 1);
  const auto found = on_ranks<Numbers>(2, [&](Communicator& comm) {
    Numbers numbers;
    if (comm.is_root()) {
      const Variable x(x_data);
      const Variable delegate = D::send(x * x, comm, 1);
      CHECK(delegate.shape() == Shape{});
      CHECK(delegate.item<float>() == 0);
      delegate.backward({.enable_double_backprop = true});
      const Variable gx = x.grad_var();
      numbers.gradient = gx.to_vector<double>();
      Variable(x).cleargrad();
      F::sum(gx * gx).backward();
      numbers.second = x.grad().to_vector<double>();
      return numbers;
    }
    const Variable w(w_data), connection(zeros({}, Dtype::float32));
    const Variable h = D::recv(comm, 0, {.delegate_variable = connection});
    F::sum(w * F::exp(h)).backward({.enable_double_backprop = true});
    numbers.gradient = w.grad().to_vector<double>();
    Variable(w).cleargrad();
    const Variable back = connection.grad_var();  // stands for the gradient that was sent
    back.backward();
    numbers.second = w.grad().to_vector<double>();
    return numbers;
  });

  const Variable x(x_data), w(w_data);
  F::sum(w * F::exp(x * x)).backward({.enable_double_backprop = true});
  const Variable gx = x.grad_var();
  testing::check_close(array(found[0].gradient), {3}, gx.to_vector<double>(), 10);
  testing::check_close(array(found[1].gradient), {3}, w.grad().to_vector<double>(), 10);
  Variable(x).cleargrad();
  Variable(w).cleargrad();
  F::sum(gx * gx).backward();
  testing::check_close(array(found[0].second), {3}, x.grad().to_vector<double>(), 10);
  testing::check_close(array(found[1].second), {3}, w.grad().to_vector<double>(), 10);
}

TEST_CASE("distributed functions: several variables as one message, of several dtypes") {
  on_ranks<int>(2, [](Communicator& comm) {
    const Array ids = array<int32_t>({4, 5});
    if (comm.is_root()) {
      const Variable a(ones({2}, Dtype::float64)), b(ones({3}, Dtype::float16)), unused(ones({1}));
      D::send({a, Variable(ids, false), b, unused}, comm, 1, 3).backward();
      CHECK(a.grad().to_vector<double>() == std::vector<double>{2, 2});
      CHECK(b.grad().dtype() == Dtype::float16);
      CHECK(b.grad().astype(Dtype::float64).to_vector<double>() == std::vector<double>{5, 5, 5});
      CHECK(unused.grad().to_vector<float>() == std::vector<float>{0});
      D::send({a, b}, comm, 1);
    } else {
      const Variables got = D::recv_all(comm, 0, {.tag = 3});
      REQUIRE(got.size() == 4);
      CHECK(got[1].to_vector<int32_t>() == std::vector<int32_t>{4, 5});
      CHECK(got[2].dtype() == Dtype::float16);
      (F::sum(got[0]) * 2.0 + F::sum(F::cast(got[2], Dtype::float64)) * 5.0).backward();
      CHECK_THROWS_WITH_AS(D::recv(comm, 0), "F::recv: rank 0 has sent 2 variables as one message: take it by recv_all",
                           ValueError);
    }
    return 0;
  });
}

TEST_CASE("distributed functions: recv of integers alone sends no gradient, and backward goes on behind it") {
  on_ranks<int>(2, [](Communicator& comm) {
    if (comm.is_root()) {
      const Variable h = D::recv(comm, 1);
      D::send(Variable(array<int32_t>({1, 0}), false), comm, 1);
      (F::sum(h) * 3.0).backward();
      return 0;
    }
    const Variable x(ones({2}, Dtype::float64)), w(full({2}, 2.0, Dtype::float64));
    const Variable sent = D::send(x, comm, 0);
    const Variable ids = D::recv(comm, 0, {.delegate_variable = sent});
    F::sum(D::pseudo_connect(ids, w)).backward();
    CHECK(w.grad().to_vector<double>() == std::vector<double>{1, 1});
    CHECK(x.grad().to_vector<double>() == std::vector<double>{3, 3});
    return 0;
  });
}

TEST_CASE("pseudo_connect: actual variables pass, and backward reaches the delegate after them") {
  const Variable x(array<double>({1, 2})), y(array<double>({3})), other(array<double>({4, 5, 6}));
  const Variable delegate = other * 2.0;
  const Variables connected = D::pseudo_connect(delegate, {x, y});
  REQUIRE(connected.size() == 2);
  CHECK(connected[0].to_vector<double>() == std::vector<double>{1, 2});
  CHECK(connected[1].to_vector<double>() == std::vector<double>{3});
  const Variable loss = F::sum(connected[0] * connected[0]);  // the other one is not used
  loss.backward({.enable_double_backprop = true});
  CHECK(x.grad().to_vector<double>() == std::vector<double>{2, 4});
  CHECK(!y.grad().is_defined());
  CHECK(other.grad().to_vector<double>() == std::vector<double>{0, 0, 0});
  const Variable gx = x.grad_var();
  Variable(x).cleargrad();
  F::sum(gx * gx).backward();
  CHECK(x.grad().to_vector<double>() == std::vector<double>{8, 16});

  CHECK(is_same(D::pseudo_connect(Variable(), x), x));
  CHECK_THROWS_WITH_AS(D::pseudo_connect(delegate, {x, Variable()}),
                       "F::pseudo_connect: xs[1] is not given: it is required", TypeError);
}

TEST_CASE("distributed functions: send and recv refuse ranks, tags and messages that cannot be") {
  const Variable x(ones({2}));
  on_ranks<int>(2, [&](Communicator& comm) {
    const std::string self = std::to_string(comm.rank());
    CHECK_THROWS_WITH_AS(
        D::send(x, comm, comm.rank()),
        ("F::send: rank is " + self + ", this rank itself: it must be another one, nobody else would answer").c_str(),
        ValueError);
    CHECK_THROWS_WITH_AS(D::recv(comm, 2), "F::recv: rank is 2: it must be in [0, 2), the ranks of the communicator",
                         ValueError);
    CHECK_THROWS_WITH_AS(D::send(x, comm, 1 - comm.rank(), 32768), "F::send: tag is 32768: it must be in [0, 32768)",
                         ValueError);
    CHECK_THROWS_WITH_AS(D::send(std::vector<Variable>(), comm, 1 - comm.rank()),
                         "F::send: xs has no variables: there must be at least one", ValueError);
    CHECK_THROWS_AS(D::send(Variable(), comm, 1 - comm.rank()), TypeError);
    comm.barrier();
    if (comm.is_root()) {
      comm.send_obj("no function's message", 1);
    } else {
      CHECK_THROWS_AS(D::recv(comm, 0), StateError);
    }
    return 0;
  });
}

}  // namespace
}  // namespace kusari
