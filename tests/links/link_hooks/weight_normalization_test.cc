#include "kusari/framework/links/link_hooks/weight_normalization.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/links/models.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::weight_normalization_test {
namespace {

using namespace testing;
using link_hooks::WeightNormalization;
using Numbers = std::vector<double>;

/// |w| over all axes but one; the shape is (before, size, after).
Numbers norms(const Numbers& w, size_t before, size_t size, size_t after) {
  Numbers result(size, 0.0);
  for (size_t i = 0; i < before; ++i) {
    for (size_t j = 0; j < size; ++j) {
      for (size_t k = 0; k < after; ++k) result[j] += std::pow(w[(i * size + j) * after + k], 2);
    }
  }
  for (double& number : result) number = std::sqrt(number);
  return result;
}

template <class T>
T prepared(T link) {
  link.to(Dtype::float64);
  link.to(test_device());
  return link;
}

/// A link whose bias is 0 and whose lengths were made g, and a plain one that has the weights that should follow.
template <class T>
void check_lengths(const char* what, T link, T plain, const Array& x, size_t before, size_t size, size_t after,
                   const Shape& shape_of_g) {
  CAPTURE(what);
  link.add_hook(WeightNormalization());
  const Numbers v = link.W.template to_vector<double>(), lengths = norms(v, before, size, after);
  Parameter& g = link.param("/W_g");
  check_close(g, shape_of_g, lengths);
  check_close(link(x), plain(x).shape(), plain(x).template to_vector<double>());  // nothing has changed yet

  Numbers given, expected = v;
  for (size_t j = 0; j < size; ++j) given.push_back(0.5 + static_cast<double>(j));
  g.array().copy_from(array(given, shape_of_g, test_device()));
  for (size_t i = 0; i < expected.size(); ++i) expected[i] *= given[i / after % size] / lengths[i / after % size];
  plain.W.array().copy_from(array(expected, plain.W.shape(), test_device()));
  const Numbers y = plain(x).template to_vector<double>();
  check_close(link(x), plain(x).shape(), y);
  CHECK(link.W.template to_vector<double>() == v);

  link.delete_hook("WeightNormalization");
  CHECK(paths(link) == std::vector<std::string>{"/W", "/b"});
  check_close(link.W, plain.W.shape(), expected);
  check_close(link(x), plain(x).shape(), y);
}

TEST_CASE("weight normalization: g v / |v|, for each output") {
  const L::Linear linear = prepared(L::Linear(4, 3, {.initial_w = uniform({3, 4}, -1, 1)}));
  check_lengths("linear", linear, linear, uniform({2, 4}, -1, 1, 2), 1, 3, 4, {3, 1});
  const L::Convolution2D convolution = prepared(L::Convolution2D(2, 3, 2, {.initial_w = uniform({3, 2, 2, 2}, -1, 1)}));
  check_lengths("convolution", convolution, convolution, uniform({2, 2, 4, 4}, -1, 1, 2), 1, 3, 8, {3, 1, 1, 1});
  const L::Deconvolution2D deconvolution =
      prepared(L::Deconvolution2D(2, 3, 2, {.initial_w = uniform({2, 3, 2, 2}, -1, 1)}));
  check_lengths("deconvolution", deconvolution, deconvolution, uniform({2, 2, 4, 4}, -1, 1, 2), 2, 3, 4, {1, 3, 1, 1});
}

TEST_CASE("weight normalization along another axis, and of a bias") {
  L::Linear link = prepared(L::Linear(4, 3, {.initial_w = uniform({3, 4}, -1, 1)}));
  link.add_hook(WeightNormalization({.axis = -1}));
  check_close(link.param("/W_g"), {1, 4}, norms(link.W.to_vector<double>(), 3, 4, 1));
  link.b.array().fill(-2);
  link.add_hook(WeightNormalization({.weight_name = "b"}), "of b");
  check_close(link.param("/b_g"), {3}, Numbers{2, 2, 2});
  const Array x = uniform({2, 4}, -1, 1, 2);
  L::Linear plain = prepared(L::Linear(4, 3, {.initial_w = link.W.array()}));
  plain.b.array().fill(-2);
  check_close(link(x), {2, 3}, plain(x).to_vector<double>());
}

TEST_CASE("weight normalization has gradients of v and g, of any order") {
  L::Linear link = prepared(L::Linear(3, 2, {.initial_w = uniform({2, 3}, -1, 1)}));
  link.add_hook(WeightNormalization());
  Parameter& g = link.param("/W_g");
  const auto function = [&](const Variable& w, const Variable& length, const Variable& in) {
    const Variable kept_w = link.W, kept_g = g;
    static_cast<Variable&>(link.W) = w;
    static_cast<Variable&>(g) = length;
    const Variable y = link(in);
    static_cast<Variable&>(link.W) = kept_w;
    static_cast<Variable&>(g) = kept_g;
    return y;
  };
  check_gradients([&](const Variables& v) { return Variables{function(v[0], v[1], v[2])}; }, link.W.array(), g.array(),
                  uniform({2, 3}, -1, 1, 7));

  // v = 0 has no direction: no NaN comes of it.
  link.W.array().fill(0);
  link.cleargrads();
  functions::sum(link(uniform({2, 3}, -1, 1, 7))).backward();
  for (const double number : link.W.grad().to_vector<double>()) CHECK(std::isfinite(number));
  for (const double number : g.grad().to_vector<double>()) CHECK(number == 0);
}

TEST_CASE("lengths of a lazy weight come with the first call, are trained and saved") {
  const ScratchDirectory dir;
  const Array x = uniform({2, 4}, -1, 1).astype(Dtype::float32);
  L::Linear link(3), loaded(3);
  for (L::Linear* each : {&link, &loaded}) {
    each->to(test_device());
    each->add_hook(WeightNormalization());
  }
  CHECK(!link.param("/W_g").is_initialized());
  optimizers::SGD optimizer(0.1);
  optimizer.setup(link);
  optimizer.update([&] { return functions::sum(link(x)); });
  const Numbers before = link.param("/W_g").to_vector<double>();
  optimizer.update([&] { return functions::sum(link(x)); });
  CHECK(link.param("/W_g").to_vector<double>() != before);

  serializers::save_npz(dir / "link.npz", link);
  std::vector<std::string> keys = serializers::NpzReader(dir / "link.npz").keys();
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::string>{"W", "W_g", "b"});
  serializers::load_npz(dir / "link.npz", loaded);
  CHECK(loaded(x).to_vector<float>() == link(x).to_vector<float>());
  L::Linear copied(link);
  CHECK(copied(x).to_vector<float>() == link(x).to_vector<float>());
}

TEST_CASE("weight normalization in 16 bits computes norms in 32, whose squares float16 has no room for") {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    L::Linear link(2, 2, {.initial_w = array<double>({300, 400, -0.0003, 0.0004}, {2, 2})});
    link.to(dtype);
    link.to(test_device());
    link.add_hook(WeightNormalization());
    Parameter& g = link.param("/W_g");
    CHECK(g.dtype() == dtype);
    CHECK(g.to_vector<float>()[0] == doctest::Approx(500).epsilon(0.01));
    g.array().fill(1);
    const Variable y = link(array<float>({1, 0}, {1, 2}, test_device()).astype(dtype));
    CHECK(y.dtype() == dtype);
    CHECK(y.to_vector<float>()[0] == doctest::Approx(0.6).epsilon(0.01));
    CHECK(y.to_vector<float>()[1] == doctest::Approx(-0.6).epsilon(0.01));
    functions::sum(y).backward();
    CHECK(g.grad().dtype() == dtype);
  }
}

TEST_CASE("a static graph of a link whose lazy weight is normalized") {
  const auto run = [](auto& model, L::Linear& link) {
    random::seed(3);
    link.cleargrads();
    Numbers numbers;
    for (int i = 0; i < 5; ++i) {
      const Variable y = model(full({2, 3}, 0.25 * (i + 1), Dtype::float32, test_device()));
      functions::sum(y * y).backward();
      for (const double number : y.to_vector<double>()) numbers.push_back(number);
      for (const double number : link.param("/W_g").grad().to_vector<double>()) numbers.push_back(number);
      link.param("/W_g").array().fill(i + 1);
    }
    return numbers;
  };
  L::Linear plain(4), recorded(4);
  for (L::Linear* each : {&plain, &recorded}) {
    each->to(test_device());
    each->add_hook(WeightNormalization());
  }
  auto graph = static_graph(recorded);
  const Numbers expected = run(plain, plain);
  CHECK(run(graph, recorded) == expected);
  CHECK(graph.summary().find("not recorded") == std::string::npos);
}

TEST_CASE("what weight normalization refuses") {
  L::Linear link(3, 2);
  CHECK_THROWS_WITH_AS(link.add_hook(WeightNormalization({.weight_name = "V"})),
                       "WeightNormalization: the link Linear has no parameter 'V'", ValueError);
  CHECK_THROWS_WITH_AS(link.add_hook(WeightNormalization({.axis = 2})), doctest::Contains("WeightNormalization: axis"),
                       IndexError);
  CHECK(paths(link) == std::vector<std::string>{"/W", "/b"});
  CHECK(link.local_link_hooks().empty());
  WeightNormalization hook;
  CHECK_THROWS_WITH_AS(ScopedLinkHook{hook}, "WeightNormalization belongs to a link: add it with Link::add_hook",
                       StateError);
  L::Linear lazy(2);
  lazy.add_hook(WeightNormalization({.axis = 2}));
  CHECK_THROWS_AS(lazy(Variable(ones({1, 3}))), IndexError);
}

}  // namespace
}  // namespace kusari::weight_normalization_test
