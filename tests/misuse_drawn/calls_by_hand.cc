#include "calls_by_hand.h"

// What generate_calls.py cannot make up: callables.
namespace kusari::misuse_drawn {

static void call_forget(Draw& draw) {
  const auto x = draw.make<Variable>("x"), y = draw.make<Variable>("y");
  const auto function = draw.make<Callable<Variable(const Variable&)>>("function");
  draw.call([&] { return functions::forget([&](const Variable& a) { return function ? function(a) : a; }, x); });
  draw.call([&] { return functions::forget([](const Variable& a, const Variable& b) { return a * b; }, x, y); });
}

static void ask_distribution(Draw& draw, const distributions::Distribution& d) {
  const auto x = draw.make<Variable>("x");
  const auto shape = draw.make<Dims>("shape");
  draw.call([&] { return d.sample(shape); });
  draw.call([&] { return d.log_prob(x); });
  draw.call([&] { return d.prob(x); });
  draw.call([&] { return d.cdf(x); });
  draw.call([&] { return d.log_survival_function(x); });
  draw.call([&] { return d.icdf(x); });
  draw.call([&] { return d.median(); });
  draw.call([&] { return d.entropy(); });
  draw.call([&] { return distributions::kl_divergence(d, d); });
  draw.call([&] { return distributions::cross_entropy(d, d); });
}

template <class D>
static void call_distribution(Draw& draw) {
  const auto a = draw.make<distributions::ParameterValue>("a"), b = draw.make<distributions::ParameterValue>("b");
  const auto axes = draw.make<std::optional<int64_t>>("reinterpreted_batch_ndims");
  draw.call([&] {
    const auto d = [&] {
      if constexpr (std::is_constructible_v<D, decltype(a), decltype(b)>) {
        return D(a, b);
      } else {
        return D(a);
      }
    }();
    ask_distribution(draw, d);
    ask_distribution(draw, distributions::Independent(d, axes));
    return d.mean();
  });
}

std::vector<Entry> calls_by_hand() {
  namespace D = distributions;
  return {{"F::forget(function, xs)", call_forget, false},
          {"D::Normal", call_distribution<D::Normal>, false},
          {"D::Gamma", call_distribution<D::Gamma>, false},
          {"D::Beta", call_distribution<D::Beta>, false},
          {"D::Poisson", call_distribution<D::Poisson>, false},
          {"D::Geometric", call_distribution<D::Geometric>, false},
          {"D::Pareto", call_distribution<D::Pareto>, false},
          {"D::Dirichlet", call_distribution<D::Dirichlet>, false},
          {"D::OneHotCategorical", call_distribution<D::OneHotCategorical>, false}};
}

}  // namespace kusari::misuse_drawn
