#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link_hooks/spectral_normalization.h"
#include "kusari/framework/links/link_hooks/weight_normalization.h"
#include "kusari/framework/links/link_hooks/weight_standardization.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/static_graph/static_graph_testing.h"

namespace kusari::testing {
namespace {

class HookedNet : public Chain {
 public:
  HookedNet() : l1{*this, "l1", 3, 4}, l2{*this, "l2", 4, 3}, l3{*this, "l3", kInfer, 2} {
    l1.add_hook(link_hooks::SpectralNormalization({.use_gamma = true}));
    l2.add_hook(link_hooks::WeightStandardization());
    l3.add_hook(link_hooks::WeightNormalization());
  }
  Variable operator()(const Variable& x) {
    ++calls;
    return l3(functions::relu(l2(functions::relu(l1(x)))));
  }
  Child<L::Linear> l1, l2, l3;
  int calls = 0;
};

TEST_CASE("what hooks do to weights is replayed") {
  random::seed(5);
  HookedNet plain;
  plain(full({2, 3}, 0.25, Dtype::float32, Device()));
  HookedNet recorded(plain);
  plain.calls = recorded.calls = 0;
  auto graph = static_graph(recorded);
  optimizers::MomentumSGD one(0.1), other(0.1);
  one.setup(plain);
  other.setup(recorded);
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    const Array x = full({2, 3}, 0.25 * (i + 1), Dtype::float32, Device());
    one.update([&] { return functions::sum(plain(x)); });
    other.update([&] { return functions::sum(graph(x)); });
    std::vector<float> expected, got;
    append_all(expected, plain);
    append_all(got, recorded);
    CHECK(got == expected);
  }
  CHECK(plain.calls == 6);
  CHECK(recorded.calls < 4);
}

TEST_CASE("a graph is not replayed for a link with other hooks") {
  const auto inference = no_backprop_mode();
  L::Linear link(3, 4);
  auto graph = static_graph(link);
  const Array x = full({2, 3}, 0.25, Dtype::float32, Device());
  const auto check = [&] {
    for (int i = 0; i < 4; ++i) CHECK(graph(x).to_vector<float>() == link(x).to_vector<float>());
  };
  check();
  link.add_hook(link_hooks::WeightStandardization());
  check();
  link.delete_hook("WeightStandardization");
  link.add_hook(link_hooks::WeightStandardization({.eps = 1}));
  check();
  L::Linear other(link);
  other.delete_hook("WeightStandardization");
  link = other;
  check();
}

TEST_CASE("the first vector of a lazy weight is drawn outside of the recording") {
  const auto run = [](auto& model, Link& link) {
    const auto inference = no_backprop_mode();
    random::seed(3);
    link.cleargrads();
    std::vector<float> numbers;
    for (int i = 0; i < 5; ++i) {
      const Variable y = model(full({2, 3}, 0.25 * (i + 1), Dtype::float32, Device()));
      append(numbers, y.array());
      append_all(numbers, link);
    }
    return numbers;
  };
  L::Linear plain(4), recorded(4);
  plain.add_hook(link_hooks::SpectralNormalization({.use_gamma = true}));
  recorded.add_hook(link_hooks::SpectralNormalization({.use_gamma = true}));
  auto graph = static_graph(recorded);
  const std::vector<float> expected = run(plain, plain);
  CHECK(run(graph, recorded) == expected);
  CHECK(graph.summary().find("not recorded") == std::string::npos);
}

}  // namespace
}  // namespace kusari::testing
