#include "kusari/framework/links/chain_dict.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/links/models.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("ChainDict has children by name") {
  ChainDict<> net;
  net.add_link("res2", TwoLayers(2));
  net.add_link("conv1", L::Linear(2, 2, {.initial_w = 1}));
  CHECK(paths(net) == Names{"/conv1/W", "/conv1/b", "/res2/l1/W", "/res2/l1/b", "/res2/l2/W"});
  CHECK(net.size() == 2);
  CHECK(net.contains("conv1"));
  CHECK(!net.contains("conv"));
  const Variable x(ones({1, 2}));
  CHECK(net["conv1"](x).to_vector<double>() == std::vector<double>{2, 2});
  CHECK(net["res2"].get<TwoLayers>() != nullptr);
  CHECK_THROWS_WITH_AS(net["res3"], "ChainDict: no link named 'res3'; there are conv1 res2", KeyError);
  CHECK_THROWS_WITH_AS(net.add_link("res2", L::Linear(2, 2)), "ChainDict: there is a link named 'res2'", ValueError);
  CHECK_THROWS_WITH_AS(net.add_link("a/b", L::Linear(2, 2)),
                       "ChainDict: 'a/b' is no name for a link: it must not be empty or contain '/'", ValueError);
  CHECK(
      to_string(net) ==
      "ChainDict(\n  (conv1): Linear(in_size=2, out_size=2, nobias=False),\n  (res2): TwoLayers(\n"
      "    (l1): Linear(in_size=2, out_size=3, nobias=False),\n    (l2): Linear(in_size=3, out_size=2, nobias=True),\n"
      "  ),\n)");
  CHECK_THROWS_WITH_AS(net.add_param("conv1", Parameter(ones({1}))), "Link: there is already a member named 'conv1'",
                       ValueError);
  CHECK_THROWS_AS(net.add_persistent("res2", Array()), ValueError);
  net.erase("res2");
  CHECK(paths(net).size() == 2);
  CHECK_THROWS_AS(net.erase("res2"), KeyError);
  net.clear();
  CHECK(net.empty());
  CHECK_THROWS_WITH_AS(net.at("x"), "ChainDict: no link named 'x'; there are none", KeyError);
}

TEST_CASE("ChainDict is a value that is trained and saved") {
  ChainDict<L::Linear> net;
  for (const char* const name : {"c", "a", "b"}) net.add_link(name, L::Linear(2, 2));
  ChainDict<L::Linear> copied(net), other;
  copied["a"].W.array().fill(3);
  CHECK(net["a"].W.to_vector<double>() != copied["a"].W.to_vector<double>());
  const Variable kept = net["a"].W;
  copied.erase("b");
  copied.add_link("d", L::Linear(2, 2));
  net = copied;
  CHECK(is_same(net["a"].W, kept));
  CHECK(kept.to_vector<double>()[0] == 3);
  CHECK(paths(net) == Names{"/a/W", "/a/b", "/c/W", "/c/b", "/d/W", "/d/b"});
  other = std::move(copied);
  CHECK(other.size() == 3);

  optimizers::SGD optimizer(1);
  optimizer.setup(net);
  for (Parameter* parameter : net.params()) parameter->set_grad(ones(parameter->shape()));
  optimizer.update();
  CHECK(net["a"].W.to_vector<double>()[0] == 2);
  const ScratchDirectory dir;
  serializers::save_npz(dir / "net.npz", net);
  Names keys = serializers::NpzReader(dir / "net.npz").keys();
  std::sort(keys.begin(), keys.end());
  CHECK(keys == Names{"a/W", "a/b", "c/W", "c/b", "d/W", "d/b"});
  serializers::load_npz(dir / "net.npz", other);
  CHECK(other["a"].W.to_vector<double>()[0] == 2);
}

}  // namespace
}  // namespace kusari::testing
