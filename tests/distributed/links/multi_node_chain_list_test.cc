#include "kusari/framework/distributed/links/multi_node_chain_list.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/functions/send.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/tests/distributed/functions/collective_check.h"

namespace kusari {
namespace {

using distributed::Communicator;
using distributed::MultiNodeChainList;
using testing::on_ranks;
using testing::uniform;
namespace L = links;

using Numbers = std::vector<double>;

L::Linear layer(int64_t in, int64_t out, uint64_t seed) {
  L::Linear link(in, out);
  link.cleargrads();
  link.W.set_array(uniform({out, in}, -1, 1, seed));
  link.b.set_array(uniform({out}, -1, 1, seed + 1));
  return link;
}

/// tanh of a layer; a pair of outputs; and the sum of two inputs.
class Tanh : public Chain {
 public:
  explicit Tanh(L::Linear link) : l{*this, "l", std::move(link)} {}
  Variable operator()(const Variable& x) const { return F::tanh(l(x)); }
  Child<L::Linear> l;
};
class Pair : public Chain {
 public:
  explicit Pair(L::Linear link) : l{*this, "l", std::move(link)} {}
  Variables operator()(const Variable& x) const {
    const Variable y = l(x);
    return {y, y * y};
  }
  Child<L::Linear> l;
};
class Sum : public Chain {
 public:
  explicit Sum(L::Linear link) : l{*this, "l", std::move(link)} {}
  Variable operator()(const Variable& a, const Variable& b) const { return l(a + 2.0 * b); }
  Child<L::Linear> l;
};

Array gradient_of(Link& model, const char* path) { return model.param(path).grad(); }

void check_same(const Array& found, const Array& expected) {
  testing::check_close(found, expected.shape(), expected.to_vector<double>(), 10);
}

TEST_CASE("MultiNodeChainList: there and back between two ranks gives what one model gives") {
  const Array data = uniform({4, 3}, -1, 1, 50);
  Tanh first(layer(3, 5, 1)), second(layer(5, 4, 3)), third(layer(4, 2, 5));
  const Variable x(data);
  const Variable y = third(second(first(x)));
  F::sum(y * y).backward();

  on_ranks<int>(2, [&](Communicator& comm) {
    MultiNodeChainList model(comm);
    if (comm.is_root()) {
      model.add_link(Tanh(layer(3, 5, 1)), {.rank_out = 1});
      model.add_link(Tanh(layer(4, 2, 5)), {.rank_in = 1});
      const Variable own(data);
      const Variable result = model(own);
      check_same(result.array(), y.array());
      F::sum(result * result).backward();
      check_same(own.grad(), x.grad());
      check_same(gradient_of(model, "/0/l/W"), gradient_of(first, "/l/W"));
      check_same(gradient_of(model, "/1/l/b"), gradient_of(third, "/l/b"));
    } else {
      model.add_link(Tanh(layer(5, 4, 3)), {.rank_in = 0, .rank_out = 0});
      const Variable delegate = model();
      CHECK(delegate.shape() == Shape{});
      delegate.backward();
      check_same(gradient_of(model, "/0/l/W"), gradient_of(second, "/l/W"));
    }
    return 0;
  });
}

TEST_CASE("MultiNodeChainList: one to several, several to one, and what is sent as one message") {
  const Array data = uniform({4, 3}, -1, 1, 51);
  Tanh first(layer(3, 3, 1)), left(layer(3, 3, 3)), right(layer(3, 3, 5));
  Sum join(layer(3, 2, 7));
  const Variable x(data);
  const Variable h = first(x);
  const Variable y = join(left(h), right(h));
  F::sum(y * y * y).backward();
  on_ranks<int>(3, [&](Communicator& comm) {
    MultiNodeChainList model(comm);
    if (comm.is_root()) {
      model.add_link(Tanh(layer(3, 3, 1)), {.rank_out = {1, 2}});
      model.add_link(Sum(layer(3, 2, 7)), {.rank_in = {1, 2}});
      const Variable own(data);
      const Variable result = model(own);
      check_same(result.array(), y.array());
      F::sum(result * result * result).backward();
      check_same(own.grad(), x.grad());
      check_same(gradient_of(model, "/1/l/W"), gradient_of(join, "/l/W"));
    } else {
      model.add_link(Tanh(layer(3, 3, comm.rank() == 1 ? 3 : 5)), {.rank_in = 0, .rank_out = 0});
      model().backward();
      check_same(gradient_of(model, "/0/l/W"), gradient_of(comm.rank() == 1 ? left : right, "/l/W"));
    }
    return 0;
  });

  Pair pair(layer(3, 3, 1));
  const Variables two = pair(Variable(data, false));
  const Variable sum = join(two[0], two[1]);
  join.cleargrads();
  F::sum(sum).backward();
  on_ranks<int>(2, [&](Communicator& comm) {
    MultiNodeChainList model(comm);
    if (comm.is_root()) {
      model.add_link(Pair(layer(3, 3, 1)), {.rank_out = 1});
      model(Variable(data, false)).backward();
      check_same(gradient_of(model, "/0/l/W"), gradient_of(pair, "/l/W"));
    } else {
      model.add_link(Sum(layer(3, 2, 7)), {.rank_in = 0});
      const Variable result = model();
      check_same(result.array(), sum.array());
      F::sum(result).backward();
      check_same(gradient_of(model, "/0/l/W"), gradient_of(join, "/l/W"));
    }
    return 0;
  });
}

TEST_CASE("MultiNodeChainList: an output from the middle, messages to itself, and copies") {
  const Array data = uniform({2, 3}, -1, 1, 52);
  // Rank 0: its first component gives the output; the second sends to rank 1, whose loss counts too.
  Tanh a(layer(3, 3, 1)), b(layer(3, 3, 3)), c(layer(3, 2, 5));
  const Variable x(data);
  (F::sum(a(x)) + F::sum(c(b(x)))).backward();
  on_ranks<int>(2, [&](Communicator& comm) {
    MultiNodeChainList model(comm);
    if (comm.is_root()) {
      model.add_link(Tanh(layer(3, 3, 1)));
      model.add_link(Tanh(layer(3, 3, 3)), {.rank_out = 1});
      MultiNodeChainList copied(model);
      const Variable own(data);
      F::sum(copied(own)).backward();
      check_same(own.grad(), x.grad());
      check_same(gradient_of(copied, "/1/l/W"), gradient_of(b, "/l/W"));
      CHECK(!gradient_of(model, "/1/l/W").is_defined());
    } else {
      model.add_link(Tanh(layer(3, 2, 5)), {.rank_in = 0});
      F::sum(model()).backward();
      check_same(gradient_of(model, "/0/l/W"), gradient_of(c, "/l/W"));
    }
    return 0;
  });

  const Communicator alone;
  MultiNodeChainList model(alone);
  model.add_link(Tanh(layer(3, 3, 1)), {.rank_out = {0, 0}});
  model.add_link(Sum(layer(3, 3, 3)), {.rank_in = {0, 0}});
  const Variable h = a(x);
  check_same(model(x).array(), Sum(layer(3, 3, 3))(h, h).array());
}

TEST_CASE("MultiNodeChainList: errors") {
  const Communicator alone;
  MultiNodeChainList model(alone);
  CHECK_THROWS_WITH_AS(model(), "MultiNodeChainList: it has no components: add_link() adds them", StateError);
  CHECK_THROWS_WITH_AS(model.add_link(layer(2, 2, 1), {.rank_out = 1}),
                       "MultiNodeChainList::add_link: rank_out names rank 1: it must be in [0, 1), the ranks of the "
                       "communicator",
                       ValueError);
  model.add_link(layer(2, 2, 1));
  CHECK_THROWS_WITH_AS(model.add_link(layer(2, 2, 1)),
                       "MultiNodeChainList::add_link: a component without rank_out is there already: only one may give "
                       "the model's output",
                       ValueError);
  model.add_link(layer(2, 2, 1), {.rank_out = 0});
  const Variable x(ones({1, 2}, Dtype::float64));
  CHECK_THROWS_WITH_AS(model(x),
                       "MultiNodeChainList: rank 0 has sent itself 1 messages more than it has taken: each rank_out "
                       "that is this rank needs a later rank_in",
                       ValueError);
  MultiNodeChainList takes(alone);
  takes.add_link(layer(2, 2, 1), {.rank_in = 0});
  CHECK_THROWS_WITH_AS(takes(x),
                       "MultiNodeChainList: rank_in is 0, this rank, but no component before has sent anything to it",
                       ValueError);
  MultiNodeChainList pair(alone);
  pair.add_link(Pair(layer(2, 2, 1)));
  CHECK_THROWS_WITH_AS(
      pair(x), "MultiNodeChainList: the component without rank_out gives 2 variables: take them by call()", ValueError);
  CHECK(pair.call(std::vector<Variable>{x}).size() == 2);
}

}  // namespace
}  // namespace kusari
