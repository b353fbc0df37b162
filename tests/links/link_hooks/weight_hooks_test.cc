#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link_hooks/spectral_normalization.h"
#include "kusari/framework/links/link_hooks/timer_hook.h"
#include "kusari/framework/links/link_hooks/weight_standardization.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/links/models.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

using link_hooks::SpectralNormalization;
using link_hooks::WeightStandardization;
using Numbers = std::vector<double>;

Array& persistent(Link& link, const std::string& name) {
  for (const auto& entry : kusari::detail::LinkWalk::entries(link)) {
    if (entry.path == "/" + name) return *static_cast<Array*>(entry.at);
  }
  throw KeyError(name);
}

/// sigma after `n` steps of the power iteration from u, which it changes; W: rows x columns in C order.
double power_iteration(const Numbers& w, size_t rows, size_t columns, int n, Numbers& u, double eps = 1e-6) {
  Numbers v(columns);
  const auto divide = [&](Numbers& x) {
    double squares = 0;
    for (const double number : x) squares += number * number;
    for (double& number : x) number /= std::sqrt(squares) + eps;
  };
  for (int k = 0; k < n; ++k) {
    for (size_t j = 0; j < columns; ++j) {
      v[j] = 0;
      for (size_t i = 0; i < rows; ++i) v[j] += u[i] * w[i * columns + j];
    }
    divide(v);
    for (size_t i = 0; i < rows; ++i) {
      u[i] = 0;
      for (size_t j = 0; j < columns; ++j) u[i] += w[i * columns + j] * v[j];
    }
    divide(u);
  }
  double sigma = 0;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) sigma += u[i] * w[i * columns + j] * v[j];
  }
  return sigma;
}

Array identity(int64_t n) {
  Numbers numbers(static_cast<size_t>(n * n), 0.0);
  for (int64_t i = 0; i < n; ++i) numbers[static_cast<size_t>(i * n + i)] = 1;
  return array(numbers, {n, n});
}

/// The link in float64.
template <class T>
T wide(T link) {
  link.to(Dtype::float64);
  return link;
}

L::Linear float64_linear(int64_t in, int64_t out) {
  return wide(L::Linear(in, out, {.initial_w = uniform({out, in}, -1, 1)}));
}

TEST_CASE("spectral normalization divides by the power iteration's sigma") {
  for (const int n : {1, 3}) {
    CAPTURE(n);
    L::Linear link = float64_linear(4, 3);
    const Numbers w = link.W.to_vector<double>();
    link.add_hook(SpectralNormalization({.n_power_iteration = n}));
    Array& u = persistent(link, "W_u");
    REQUIRE(u.shape() == Shape{3});
    REQUIRE(u.dtype() == Dtype::float64);
    Numbers expected_u = u.to_vector<double>();
    for (int call = 0; call < 2; ++call) {
      const double sigma = power_iteration(w, 3, 4, n, expected_u);
      const Variable y = link(identity(4));  // the transposed weight
      Numbers expected;
      for (size_t j = 0; j < 4; ++j) {
        for (size_t i = 0; i < 3; ++i) expected.push_back(w[i * 4 + j] / sigma);
      }
      check_close(y, {4, 3}, expected);
      check_close(u, {3}, expected_u);
      CHECK(link.W.to_vector<double>() == w);  // the link still has its parameter
    }
    const auto test = using_config(&Config::train, false);
    link(identity(4));
    check_close(u, {3}, expected_u);
  }
}

TEST_CASE("the weight of spectral normalization gets its largest singular value") {
  // diag(3, 4): after many steps sigma is 4, so the link multiplies by diag(0.75, 1) times the factor.
  L::Linear link = wide(L::Linear(2, 2, {.initial_w = array<double>({3, 0, 0, 4}, {2, 2})}));
  link.add_hook(SpectralNormalization({.n_power_iteration = 200, .factor = 2}));
  const Numbers y = link(identity(2)).to_vector<double>();
  CHECK(y[0] == doctest::Approx(1.5).epsilon(1e-5));
  CHECK(y[3] == doctest::Approx(2).epsilon(1e-5));

  L::Linear learnt = wide(L::Linear(2, 2, {.initial_w = array<double>({3, 0, 0, 4}, {2, 2})}));
  learnt.add_hook(SpectralNormalization({.n_power_iteration = 200, .use_gamma = true}));
  CHECK(paths(learnt) == std::vector<std::string>{"/W", "/b", "/gamma"});
  CHECK(learnt.param("/gamma").shape() == Shape{});
  CHECK(learnt.param("/gamma").item<double>() == doctest::Approx(4));
  CHECK(learnt(identity(2)).to_vector<double>()[3] == doctest::Approx(4).epsilon(1e-5));
  optimizers::SGD optimizer(0.5);
  optimizer.setup(learnt);
  optimizer.update([&] { return functions::sum(learnt(identity(2))); });
  CHECK(learnt.param("/gamma").item<double>() == doctest::Approx(4 - 0.5 * 1.75).epsilon(1e-5));
}

TEST_CASE("spectral normalization of images: filters by axis 0, those of deconvolutions by axis 1") {
  const auto noise = [](const Shape& shape) { return uniform(shape, -1, 1, 5); };
  SUBCASE("convolution") {
    L::Convolution2D link = wide(L::Convolution2D(2, 3, 2, {.initial_w = noise({3, 2, 2, 2})}));
    link.add_hook(SpectralNormalization());
    Numbers u = persistent(link, "W_u").to_vector<double>();
    REQUIRE(u.size() == 3);
    const double sigma = power_iteration(link.W.to_vector<double>(), 3, 8, 1, u);
    L::Convolution2D plain = wide(L::Convolution2D(2, 3, 2, {.initial_w = link.W.array()}));
    const Array x = uniform({2, 2, 4, 4}, -1, 1, 2);
    Numbers expected = plain(x).to_vector<double>();
    for (double& number : expected) number /= sigma;
    check_close(link(x), {2, 3, 3, 3}, expected);
  }
  SUBCASE("deconvolution") {
    L::Deconvolution2D link = wide(L::Deconvolution2D(2, 3, 2, {.initial_w = noise({2, 3, 2, 2})}));
    link.add_hook(SpectralNormalization());
    Numbers u = persistent(link, "W_u").to_vector<double>();
    REQUIRE(u.size() == 3);
    const Array matrix = link.W.array().swapaxes(0, 1).contiguous();
    const double sigma = power_iteration(matrix.to_vector<double>(), 3, 8, 1, u);
    L::Deconvolution2D plain = wide(L::Deconvolution2D(2, 3, 2, {.initial_w = link.W.array()}));
    const Array x = uniform({2, 2, 4, 4}, -1, 1, 2);
    Numbers expected = plain(x).to_vector<double>();
    for (double& number : expected) number /= sigma;
    check_close(link(x), {2, 3, 5, 5}, expected);
  }
}

TEST_CASE("spectral normalization is differentiable twice, u and v being constants") {
  L::Linear link = float64_linear(3, 2);
  link.add_hook(SpectralNormalization({.use_gamma = true}));
  const Array x = uniform({2, 3}, -1, 1, 7);
  link(x);
  const Numbers u = persistent(link, "W_u").to_vector<double>();
  const auto recomputing = using_config(&Config::in_recomputing, true);
  Parameter& gamma = link.param("/gamma");
  const auto function = [&](const Variable& w, const Variable& g, const Variable& in) {
    const Variable kept_w = link.W, kept_gamma = gamma;
    static_cast<Variable&>(link.W) = w;
    static_cast<Variable&>(gamma) = g;
    const Variable y = link(in);
    static_cast<Variable&>(link.W) = kept_w;
    static_cast<Variable&>(gamma) = kept_gamma;
    return y;
  };
  check_gradients([&](const Variables& v) { return Variables{function(v[0], v[1], v[2])}; }, link.W.array(),
                  gamma.array(), x);
  CHECK(persistent(link, "W_u").to_vector<double>() == u);
}

TEST_CASE("a lazy weight is normalized from the first call on, and snapshots have Chainer's names") {
  const ScratchDirectory dir;
  L::Linear link(3);
  link.add_hook(SpectralNormalization({.use_gamma = true}));
  L::Linear loaded(3);
  loaded.add_hook(SpectralNormalization({.use_gamma = true}));
  CHECK(!persistent(link, "W_u").is_defined());
  link(Variable(ones({2, 4})));
  CHECK(persistent(link, "W_u").shape() == Shape{3});
  serializers::save_npz(dir / "link.npz", link);
  std::vector<std::string> keys = serializers::NpzReader(dir / "link.npz").keys();
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::string>{"W", "W_u", "b", "gamma"});
  serializers::load_npz(dir / "link.npz", loaded);
  const auto test = using_config(&Config::train, false);
  const Array x = uniform({2, 4}, -1, 1).astype(Dtype::float32);
  CHECK(loaded(x).to_vector<float>() == link(x).to_vector<float>());
  CHECK(persistent(loaded, "W_u").to_vector<float>() == persistent(link, "W_u").to_vector<float>());
}

TEST_CASE("spectral normalization goes with its link, and can be taken away") {
  L::Linear link(3, 2);
  const Numbers plain = link(Variable(ones({1, 3}))).to_vector<double>();
  link.add_hook(SpectralNormalization({.use_gamma = true}));
  L::Linear copied(link);
  copied(Variable(ones({1, 3})));
  CHECK(persistent(copied, "W_u").to_vector<float>() != persistent(link, "W_u").to_vector<float>());
  link.delete_hook("SpectralNormalization");
  CHECK(paths(link) == std::vector<std::string>{"/W", "/b"});
  CHECK_THROWS_AS(persistent(link, "W_u"), KeyError);
  CHECK(link(Variable(ones({1, 3}))).to_vector<double>() == plain);
  CHECK(paths(copied) == std::vector<std::string>{"/W", "/b", "/gamma"});
}

TEST_CASE("spectral normalization in 16 bits computes sigma in 32") {
  L::Linear link(2, 2, {.initial_w = array<double>({3, 0, 0, 4}, {2, 2})});
  link.to(Dtype::float16);
  link.add_hook(SpectralNormalization({.n_power_iteration = 100}));
  const Variable y = link(identity(2).astype(Dtype::float16));
  CHECK(y.dtype() == Dtype::float16);
  CHECK(y.to_vector<float>()[3] == 1);
  CHECK(y.to_vector<float>()[0] == 0.75);
}

TEST_CASE("what spectral normalization refuses") {
  L::Linear link(3, 2);
  CHECK_THROWS_WITH_AS(link.add_hook(SpectralNormalization({.weight_name = "V"})),
                       "SpectralNormalization: the link Linear has no parameter 'V'", ValueError);
  CHECK_THROWS_WITH_AS(SpectralNormalization({.n_power_iteration = 0}),
                       "SpectralNormalization: n_power_iteration is 0 but must be at least 1", ValueError);
  SpectralNormalization hook;
  CHECK_THROWS_WITH_AS(ScopedLinkHook{hook}, "SpectralNormalization belongs to a link: add it with Link::add_hook",
                       StateError);
  L::Linear empty(0, 2);
  CHECK_THROWS_WITH_AS(empty.add_hook(SpectralNormalization()),
                       "SpectralNormalization: 'W' has shape (2, 0) but must have elements and an axis 0", ValueError);
  CHECK(paths(empty) == std::vector<std::string>{"/W", "/b"});
  CHECK(empty.local_link_hooks().empty());
}

TEST_CASE("weight standardization") {
  L::Convolution2D link =
      wide(L::Convolution2D(2, 3, 2, {.nobias = true, .initial_w = uniform({3, 2, 2, 2}, -1, 3, 5)}));
  link.add_hook(WeightStandardization({.eps = 1e-3}));
  const Numbers w = link.W.to_vector<double>();
  // Each filter's sum over a 2 x 2 image of which one pixel of channel 0 is 1: the standardized weight itself.
  Numbers pixel(8, 0.0);
  pixel[0] = 1;
  Numbers expected;
  for (size_t filter = 0; filter < 3; ++filter) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < 8; ++i) mean += w[filter * 8 + i] / 8;
    for (size_t i = 0; i < 8; ++i) variance += std::pow(w[filter * 8 + i] - mean, 2) / 8;
    expected.push_back((w[filter * 8] - mean) / std::sqrt(variance + 1e-3));
  }
  check_close(link(array(pixel, {1, 2, 2, 2})), {1, 3, 1, 1}, expected);
  CHECK(link.W.to_vector<double>() == w);

  const Array x = uniform({1, 2, 3, 3}, -1, 1, 4);
  check_gradients(
      [&](const Variables& v) {
        const Variable kept = link.W;
        static_cast<Variable&>(link.W) = v[0];
        const Variable y = link(v[1]);
        static_cast<Variable&>(link.W) = kept;
        return Variables{y};
      },
      link.W.array(), x);

  L::Linear lazy(3);
  lazy.add_hook(WeightStandardization());
  lazy(Variable(ones({2, 4})));
  L::Linear both(4, 3);
  both.add_hook(WeightStandardization()).add_hook(SpectralNormalization());
  const Numbers before = both.W.to_vector<double>();
  both(Variable(ones({2, 4})));
  CHECK(both.W.to_vector<double>() == before);
  CHECK_THROWS_WITH_AS(both.add_hook(WeightStandardization({.weight_name = "V"}), "second"),
                       "WeightStandardization: the link Linear has no parameter 'V'", ValueError);
  both.add_hook(WeightStandardization({.weight_name = "b"}), "of b");
  CHECK_THROWS_WITH_AS(both(Variable(ones({2, 4}))),
                       "WeightStandardization: 'b' has shape (3,) but must have at least 2 axes", ValueError);
  CHECK(both.W.to_vector<double>() == before);
}

TEST_CASE("the timer of links") {
  link_hooks::TimerHook timer;
  Sequential model(L::Linear(3, 4), functions::relu, L::Linear(4, 2));
  {
    const ScopedLinkHook scope(timer);
    model(Variable(ones({2, 3})));
    model(Variable(ones({2, 3})));
  }
  model(Variable(ones({2, 3})));
  REQUIRE(timer.call_history().size() == 6);
  CHECK(timer.call_history()[0].first == "Linear");
  CHECK(timer.call_history()[2].first == "Sequential");
  CHECK(timer.total_time() == doctest::Approx(timer.call_history()[2].second + timer.call_history()[5].second));
  const auto summary = timer.summary();
  REQUIRE(summary.size() == 2);
  CHECK(summary[0].name == "Linear");
  CHECK(summary[0].occurrence == 4);
  CHECK(summary[1].occurrence == 2);
  CHECK(summary[1].elapsed_time >= summary[0].elapsed_time);
  std::ostringstream out;
  timer.print_report(out);
  CHECK(out.str().substr(0, out.str().find('\n')) == "  LinkName  ElapsedTime  Occurrence");
  CHECK(out.str().find("Sequential") != std::string::npos);
}

}  // namespace
}  // namespace kusari::testing
