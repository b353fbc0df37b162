#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/connection/parameter_link.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/links/models.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<double>;

L::Linear constant(double value) { return L::Linear(2, 2, {.initial_w = value}); }
double weight(L::Linear& link) { return link.W.to_vector<double>()[0]; }

TEST_CASE("ChainList has what lists have") {
  ChainList<L::Linear> list(constant(0), constant(1));
  list.add_link(constant(2));
  CHECK(list.size() == 3);
  CHECK(weight(list.at(-1)) == 2);
  CHECK(weight(list.at(0)) == 0);
  CHECK_THROWS_WITH_AS(list.at(3), "ChainList: there is no place 3 among 3", IndexError);
  CHECK_THROWS_WITH_AS(list.at(-4), "ChainList: there is no place -4 among 3", IndexError);

  list.insert(-1, constant(5));
  list.insert(4, constant(6));
  Numbers weights;
  for (L::Linear& link : list) weights.push_back(weight(link));
  CHECK(weights == Numbers{0, 1, 5, 2, 6});
  L::Linear popped = list.pop();
  CHECK(weight(popped) == 6);
  popped = list.pop(0);
  CHECK(weight(popped) == 0);
  list.erase(-1);
  CHECK(list.size() == 2);
  CHECK(weight(list[1]) == 5);
  list[1] = constant(9);
  CHECK(weight(list[1]) == 9);
  CHECK(paths(list) == Names{"/0/W", "/0/b", "/1/W", "/1/b"});
  list.extend(list);
  CHECK(list.size() == 4);
  CHECK(weight(list[3]) == 9);
  list[3].W.array().fill(1);
  CHECK(weight(list[1]) == 9);
  list.clear();
  CHECK_THROWS_AS(list.pop(), IndexError);

  ChainList<> mixed(L::Linear(2, 3), TwoLayers(3));
  CHECK(mixed.size() == 2);
  CHECK(mixed.at(-1).get<TwoLayers>() != nullptr);
}

/// A list with a parameter of its own, which Chainer's ChainList.copy always shares.
class Scaled : public ChainList<L::Linear> {
 public:
  Scaled() : scale{*this, "scale", {2}, initializers::Normal(1)} { append(L::Linear(2, 2)); }
  Parameter scale;
};

TEST_CASE("the modes of copies hold for a list's own parameters") {
  Scaled list;
  const auto numbers = [](Link& link) {
    Numbers all;
    for (Parameter* parameter : link.params()) {
      for (const double number : parameter->to_vector<double>()) all.push_back(number);
    }
    return all;
  };
  const Numbers before = numbers(list);
  Scaled shared = copy(list), copied = copy(list, CopyMode::copy), drawn = copy(list, CopyMode::init);
  CHECK(paths(copied) == Names{"/scale", "/0/W", "/0/b"});
  CHECK(numbers(shared) == before);
  CHECK(numbers(copied) == before);
  CHECK(drawn.scale.to_vector<double>() != list.scale.to_vector<double>());
  CHECK(drawn[0].W.to_vector<double>() != list[0].W.to_vector<double>());
  list.scale.array().fill(3);
  list[0].W.array().fill(4);
  CHECK(numbers(shared) == numbers(list));
  CHECK(numbers(copied) == before);
  // Gradients are nobody's but one's own.
  list.scale.set_grad(ones({2}));
  CHECK(!shared.scale.grad().is_defined());
}

Variable twice(const Variable& x) { return x * 2; }

TEST_CASE("Sequential has what lists have") {
  Sequential model(constant(1), twice, constant(2), functions::relu);
  Link& first = *model.get(0);
  Link& second = *model.get(-2);
  CHECK(model.get<L::Linear>(-4) == &first);
  CHECK(model.get(-5) == nullptr);
  CHECK(model.index(second) == 2);
  CHECK_THROWS_WITH_AS(model.index(second, 0, 2), "Sequential: the link is none of its layers", ValueError);
  CHECK(model.contains(first));
  CHECK(model.count_by_layer_type("Linear") == 2);
  CHECK(model.count_by_layer_type("TwoLayers") == 0);
  CHECK(model.count<L::Linear>() == 2);
  CHECK(model.count<Variable (*)(const Variable&)>() == 2);

  // (1 + 1) * 1 * 2 = 4 in both, then (4 + 4) * 2 = 16
  const Variable x(ones({1, 2}));
  CHECK(model(x).to_vector<double>() == Numbers{16, 16});
  CHECK(model.slice(0, 2)(x).to_vector<double>() == Numbers{4, 4});
  CHECK(model.slice(-2).size() == 2);
  CHECK(model.slice(1, -1).size() == 2);
  CHECK(model.slice(2, 100).size() == 2);
  CHECK(model.slice(3, 1).size() == 0);
  Sequential shares = model.slice(0, 1, CopyMode::share);
  shares.get<L::Linear>(0)->W.array().fill(3);
  CHECK(weight(*model.get<L::Linear>(0)) == 3);
  CHECK(weight(*model.reversed().get<L::Linear>(-1)) == 3);

  model.replace(1, L::Linear(2, 2, {.initial_w = 7}));
  CHECK(paths(model).size() == 6);
  CHECK(weight(static_cast<L::Linear&>(*model.links(true)[1])) == 7);
  CHECK_THROWS_WITH_AS(model.replace(4, twice), "Sequential: there is no place 4 among 4", IndexError);
  Sequential popped = model.pop();
  CHECK(popped.size() == 1);
  CHECK(popped.params().empty());
  CHECK(weight(*model.pop(-2).get<L::Linear>(0)) == 7);
  CHECK(model.size() == 2);
  model.remove(*model.get(0));
  CHECK(model.size() == 1);
  CHECK(weight(*model.get<L::Linear>(0)) == 2);
  CHECK_THROWS_AS(model.remove(*popped.links().front()), ValueError);
  model.insert(-1, twice);
  CHECK(model.get(0) == nullptr);
  model += model;
  CHECK(model.size() == 4);
  model.remove_by_layer_type("Linear");
  CHECK(model.size() == 2);
  CHECK(model.params().empty());
  CHECK_THROWS_AS(Sequential().pop(), IndexError);
}

TEST_CASE("persistent values of all kinds") {
  class Kinds : public Chain {
   public:
    Kinds()
        : array{*this, "array", zeros({2})},
          count{*this, "count", 1},
          rate{*this, "rate", 0.5},
          flag{*this, "flag", false},
          text{*this, "text", "none"} {}
    Persistent array;
    PersistentScalar<int64_t> count;
    PersistentScalar<double> rate;
    PersistentScalar<bool> flag;
    PersistentScalar<std::string> text;
  };
  Kinds kinds;
  kinds.array.fill(3);
  kinds.count = 4;
  kinds.rate = 0.25;
  kinds.flag = true;
  kinds.text = "some";
  const auto check_same = [](const Kinds& other) {
    CHECK(other.array.to_vector<double>() == Numbers{3, 3});
    CHECK(other.count == 4);
    CHECK(other.rate == 0.25);
    CHECK(other.flag == true);
    CHECK(static_cast<const std::string&>(other.text) == "some");
  };
  const Kinds copied(kinds);
  check_same(copied);
  const ScratchDirectory dir;
  serializers::save_npz(dir / "kinds.npz", kinds);
  Names keys = serializers::NpzReader(dir / "kinds.npz").keys();
  std::sort(keys.begin(), keys.end());
  CHECK(keys == Names{"array", "count", "flag", "rate", "text"});
  Kinds loaded, taken, kept;
  serializers::load_npz(dir / "kinds.npz", loaded);
  check_same(loaded);
  taken.copyparams(kinds);
  check_same(taken);
  kept.copyparams(kinds, false);
  CHECK(kept.count == 1);
  CHECK(kept.flag == false);
}

template <class Left, class Right>
constexpr bool kHasArithmetic = requires(const Left& a, const Right& b) {
  { a + b } -> std::same_as<Variable>;
  { a - b } -> std::same_as<Variable>;
  { a* b } -> std::same_as<Variable>;
  { a / b } -> std::same_as<Variable>;
};
template <class Number>
constexpr bool kIsNumber = kHasArithmetic<Variable, Number>&& kHasArithmetic<Number, Variable>&&
    kHasArithmetic<Parameter, Number>&& kHasArithmetic<Number, Parameter>;

TEST_CASE("numbers beside variables, those of links too") {
  static_assert(kIsNumber<int> && kIsNumber<unsigned> && kIsNumber<size_t> && kIsNumber<float> && kIsNumber<double>);
  static_assert(kIsNumber<PersistentScalar<int64_t>> && kIsNumber<PersistentScalar<double>>);
  static_assert(!kIsNumber<PersistentScalar<std::string>>);
  class WithNumbers : public Chain {
   public:
    PersistentScalar<int64_t> count{*this, "count", 4};
    PersistentScalar<double> rate{*this, "rate", 0.5};
  } model;
  const Variable x(array<float>({1, 2}));
  CHECK((model.rate * x).to_vector<double>() == Numbers{0.5, 1});
  CHECK((x / model.count).to_vector<double>() == Numbers{0.25, 0.5});
  CHECK((model.count - x).to_vector<double>() == Numbers{3, 2});
  CHECK((model.rate + x.array()).dtype() == Dtype::float32);
  CHECK((x < model.count).all());
  CHECK(model.count + 1 == 5);
  CHECK(model.count * model.rate == 2);
}

TEST_CASE("from_params") {
  const Array b = array<double>({1, 2, 3});
  L::Linear linear = L::Linear::from_params(uniform({3, 2}, -1, 1), b);
  CHECK(linear.W.to_vector<float>() == uniform({3, 2}, -1, 1).to_vector<float>());
  CHECK(linear.b.to_vector<double>() == Numbers{1, 2, 3});
  CHECK(L::Linear::from_params(uniform({3, 2}, -1, 1)).b.to_vector<double>() == Numbers{0, 0, 0});
  CHECK(!L::Linear::from_params(uniform({3, 2}, -1, 1), b, true).b.is_defined());
  CHECK_THROWS_WITH_AS(L::Linear::from_params(uniform({2, 2}, -1, 1), b),
                       "L::Linear::from_params: b has shape (3,) but W has 2 outputs: b.shape must be (2,)",
                       ValueError);
  CHECK_THROWS_WITH_AS(L::Linear::from_params(b), "L::Linear::from_params: W has shape (3,) but must have 2 axes",
                       ValueError);
  CHECK_THROWS_WITH_AS(L::Linear::from_params({}), "L::Linear::from_params: W has no numbers but must have 2 axes",
                       ValueError);

  L::EmbedID embed = L::EmbedID::from_params(uniform({4, 2}, -1, 1), -1);
  CHECK(embed.ignore_label == -1);
  CHECK(embed.W.shape() == Shape{4, 2});

  L::Convolution2D convolution = L::Convolution2D::from_params(uniform({3, 2, 3, 1}, -1, 1), b, {.pad = 1});
  CHECK(convolution.W.to_vector<float>() == uniform({3, 2, 3, 1}, -1, 1).to_vector<float>());
  CHECK(convolution(Variable(ones({1, 2, 5, 5}))).shape() == Shape{1, 3, 5, 7});
  L::ConvolutionND grouped = L::ConvolutionND::from_params(uniform({4, 1, 3}, -1, 1), {}, {.groups = 2});
  CHECK(grouped(Variable(ones({1, 2, 5}))).shape() == Shape{1, 4, 3});
  CHECK_THROWS_WITH_AS(L::Convolution2D::from_params(uniform({3, 2, 3}, -1, 1)),
                       "L::Convolution2D::from_params: W has shape (3, 2, 3) but must have 4 axes", ValueError);

  L::Deconvolution2D deconvolution = L::Deconvolution2D::from_params(uniform({2, 3, 2, 2}, -1, 1), b, {.stride = 2});
  CHECK(deconvolution(Variable(ones({1, 2, 3, 3}))).shape() == Shape{1, 3, 6, 6});
  L::DeconvolutionND wide = L::DeconvolutionND::from_params(uniform({2, 3, 2}, -1, 1), {}, {.groups = 2});
  CHECK(wide(Variable(ones({1, 2, 3}))).shape() == Shape{1, 6, 4});
  CHECK_THROWS_WITH_AS(L::DeconvolutionND::from_params(uniform({2, 2, 2}, -1, 1), b),
                       "L::Deconvolution1D::from_params: b has shape (3,) but W has 2 outputs: b.shape must be (2,)",
                       ValueError);
}

TEST_CASE("a link that is one parameter") {
  L::ParameterLink link(array<float>({1, 2}));
  CHECK(paths(link) == Names{"/W"});
  CHECK(link().to_vector<double>() == Numbers{1, 2});
  optimizers::SGD optimizer(0.5);
  optimizer.setup(link);
  Variable y = link();
  y.set_grad(ones({2}));
  y.backward();
  optimizer.update();
  CHECK(link.W.to_vector<double>() == Numbers{0.5, 1.5});
}

TEST_CASE("addgrads and the switches of updates") {
  TwoLayers model(2), other(2);
  for (Parameter* parameter : model.params()) parameter->set_grad(ones(parameter->shape()));
  other.l1.W.set_grad(full(other.l1.W.shape(), 2.0, Dtype::float32, Device()));
  other.l2.W.cleargrad();
  other.l1.b.cleargrad();
  model.addgrads(other);
  CHECK(model.l1.W.grad().to_vector<double>()[0] == 3);
  CHECK(model.l2.W.grad().to_vector<double>()[0] == 1);
  L::Linear stranger(2, 3);
  CHECK_THROWS_WITH_AS(model.addgrads(stranger), "Link::addgrads: this link has /l1/W where the other has /W",
                       KeyError);

  CHECK(!model.update_enabled());
  optimizers::SGD optimizer(1.0);
  optimizer.setup(model);
  CHECK(model.update_enabled());
  model.l1.disable_update();
  CHECK(!model.l1.update_enabled());
  CHECK(model.update_enabled());
  const Numbers fixed = model.l1.W.to_vector<double>(), moving = model.l2.W.to_vector<double>();
  optimizer.update();
  CHECK(model.l1.W.to_vector<double>() == fixed);
  CHECK(model.l2.W.to_vector<double>() != moving);
  model.enable_update();
  optimizer.update();
  CHECK(model.l1.W.to_vector<double>() != fixed);
}

}  // namespace
}  // namespace kusari::testing
