#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kusari.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari {
namespace {

Variable values(float first) { return Variable(array<float>({first, 2}), false); }

// h' = x + h, from nothing at the first call.
struct Accumulator {
  Variable h;
  Variable operator()(const Variable& x) {
    h = h.is_defined() ? x + h : x + 0;
    return h * 1;
  }
};

}  // namespace

TEST_CASE("static_graph: a call that keeps state for the next is never replayed") {
  Accumulator plain, model, refused;
  auto fast = static_graph([&](const Variable& x) { return model(x); }, {.name = "sum", .fallback = true});
  auto strict = static_graph([&](const Variable& x) { return refused(x); }, {.name = "sum"});
  for (int i = 0; i < 5; ++i) {
    const Variable x = values(static_cast<float>(i));
    CHECK(fast(x).to_vector<float>() == plain(x).to_vector<float>());
  }
  CHECK_NOTHROW(strict(values(1)));
  CHECK_THROWS_AS(strict(values(1)), StateError);
}

TEST_CASE("static_graph: what a call leaves in a member is stale after replays") {
  Variable seen;
  auto fast = static_graph(
      [&](const Variable& x) {
        seen = x * 3;
        return seen + 1;
      },
      {.name = "looking"});
  CHECK(fast(values(1)).to_vector<float>() == std::vector<float>{4, 7});
  CHECK(seen.to_vector<float>() == std::vector<float>{3, 6});
  CHECK(fast(values(2)).to_vector<float>() == std::vector<float>{7, 7});  // recorded once more: nobody read `seen`
  CHECK(seen.to_vector<float>() == std::vector<float>{6, 6});
  CHECK(fast(values(3)).to_vector<float>() == std::vector<float>{10, 7});
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
