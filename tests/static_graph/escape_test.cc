#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/kusari.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari {
namespace {

Variable two_values(float first) { return Variable(array<float>({first, 2}), false); }

// h' = x + h, from nothing at the first call.
struct Accumulator {
  Variable h;
  Variable operator()(const Variable& x) {
    h = h.is_defined() ? x + h : x + 0;
    return h * 1;
  }
};

// State in the same memory as a result or an argument.
struct KeepsArray {
  Array h;
  Variable operator()(const Variable& x) {
    const Variable y = h.is_defined() ? F::tanh(x + h) : F::tanh(x);
    h = y.array();
    return y;
  }
};
struct KeepsViewOfArray {
  Array h;
  Variable operator()(const Variable& x) {
    const Variable y = h.is_defined() ? F::tanh(x + h.reshape({2})) : F::tanh(x);
    h = y.array().reshape({2, 1});
    return y;
  }
};
struct KeepsBeforeReshape {
  Variable h;
  Variable operator()(const Variable& x) {
    h = h.is_defined() ? F::tanh(x + Variable(h.array(), false)) : F::tanh(x);
    return F::reshape(h, {2, 1});
  }
};
struct KeepsDetached {
  Variable h;
  Variable operator()(const Variable& x) {
    const Variable y = h.is_defined() ? F::tanh(x + h) : F::tanh(x);
    h = Variable(y.array(), false);
    return y;
  }
};
struct KeepsArgument {
  Variable last;
  Variable operator()(const Variable& x) {
    const Variable y = last.is_defined() ? x * 2 + Variable(last.array(), false) : x * 2;
    last = x;
    return y;
  }
};
struct KeepsArrayOfArgument {
  Array last;
  Variable operator()(const Variable& x) {
    const Variable y = last.is_defined() ? x * 2 + last : x * 2;
    last = x.array();
    return y;
  }
};

struct KeepsReported {
  Array last;
  Variable operator()(const Variable& x) {
    const Variable h = last.is_defined() ? x * 2 + Variable(last, false) : x * 2;
    last = h.array();
    report({{"h", h}});
    return h + 1;
  }
};

/// Right numbers and gradients for ever, or an error.
template <class Model>
void check_stateful(bool backprop, bool fallback) {
  const auto mode = using_config(&Config::enable_backprop, backprop);
  Model plain, model;
  auto fast = static_graph([&](const Variable& x) { return model(x); }, {.name = "stateful", .fallback = fallback});
  bool is_refused = false;
  for (int i = 0; i < 5 && !is_refused; ++i) {
    const Variable x(array<float>({static_cast<float>(i + 1), 2}), backprop), z(x.array(), backprop);
    try {
      const Variable y = fast(x), expected = plain(z);
      CHECK(y.to_vector<float>() == expected.to_vector<float>());
      if (!backprop) continue;
      F::sum(y * y).backward();
      F::sum(expected * expected).backward();
      CHECK(x.grad().to_vector<float>() == z.grad().to_vector<float>());
    } catch (const StateError&) {
      is_refused = true;
    }
  }
  CHECK(is_refused != fallback);
}

}  // namespace

TEST_CASE_TEMPLATE("static_graph: state in the memory of results and arguments is seen", Model, KeepsArray,
                   KeepsViewOfArray, KeepsBeforeReshape, KeepsDetached, KeepsArgument, KeepsArrayOfArgument,
                   KeepsReported) {
  for (const bool backprop : {false, true}) {
    for (const bool fallback : {false, true}) {
      CAPTURE(backprop);
      CAPTURE(fallback);
      check_stateful<Model>(backprop, fallback);
    }
  }
}

TEST_CASE("static_graph: observations hold what is reported, and nothing is recorded twice for it") {
  int calls = 0;
  auto fast = static_graph([&](const Variable& x) {
    ++calls;
    const Variable y = F::sum(x * 2);
    report({{"y", y.array()}});
    return y;
  });
  Reporter reporter;
  std::vector<Observation> observations(4);
  for (int i = 0; i < 4; ++i) {
    const auto scope = reporter.scope(observations[static_cast<size_t>(i)]);
    fast(Variable(array<float>({static_cast<float>(i), 2}), true)).backward();
  }
  for (int i = 0; i < 4; ++i) CHECK(observations[static_cast<size_t>(i)].at("y") == 2 * i + 4);
  CHECK(calls == 1);
}

TEST_CASE("static_graph: an argument that the callable keeps says that it is old") {
  Variable last;
  auto fast = static_graph(
      [&](const Variable& x) {
        last = x;
        return x * 2;
      },
      {.name = "keeping"});
  const auto guard = no_backprop_mode();
  for (int i = 0; i < 4; ++i) {
    const Variable x = two_values(static_cast<float>(i));
    CHECK(fast(x).to_vector<float>() == (x * 2).to_vector<float>());
    CHECK(x.to_vector<float>() == two_values(static_cast<float>(i)).to_vector<float>());
  }
  CHECK_THROWS_AS(last.to_vector<float>(), StateError);
}

TEST_CASE("static_graph: a call that keeps state for the next is never replayed") {
  Accumulator plain, model, refused;
  auto fast = static_graph([&](const Variable& x) { return model(x); }, {.name = "sum", .fallback = true});
  auto strict = static_graph([&](const Variable& x) { return refused(x); }, {.name = "sum"});
  for (int i = 0; i < 5; ++i) {
    const Variable x = two_values(static_cast<float>(i));
    CHECK(fast(x).to_vector<float>() == plain(x).to_vector<float>());
  }
  CHECK_NOTHROW(strict(two_values(1)));
  CHECK_THROWS_AS(strict(two_values(1)), StateError);
}

TEST_CASE("static_graph: what a call leaves in a member is stale after replays") {
  Variable seen;
  auto fast = static_graph(
      [&](const Variable& x) {
        seen = x * 3;
        return seen + 1;
      },
      {.name = "looking"});
  CHECK(fast(two_values(1)).to_vector<float>() == std::vector<float>{4, 7});
  CHECK(seen.to_vector<float>() == std::vector<float>{3, 6});
  CHECK(fast(two_values(2)).to_vector<float>() == std::vector<float>{7, 7});  // recorded once more: nobody read `seen`
  CHECK(seen.to_vector<float>() == std::vector<float>{6, 6});
  CHECK(fast(two_values(3)).to_vector<float>() == std::vector<float>{10, 7});
  CHECK_THROWS_AS(seen.to_vector<float>(), StateError);
}

TEST_CASE("static_graph: gradients do not get lost behind a variable that escaped") {
  Variable inner;
  auto fast = static_graph(
      [&](const Variable& x) {
        inner = x * 3;
        return inner + 1;
      },
      {.name = "leaky"});
  const Variable x(array<float>({1, 2}), true);
  const Variable y = F::sum(fast(x * 1));
  CHECK_THROWS_WITH_AS(F::sum(inner).backward(),
                       "static_graph 'leaky': backward reaches an argument of the call from a variable that is none of "
                       "its results; return that variable from the call, too",
                       StateError);
  y.backward();
  CHECK(x.grad().to_vector<float>() == std::vector<float>{3, 3});
}

}  // namespace kusari
