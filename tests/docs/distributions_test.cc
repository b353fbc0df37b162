// The programs of docs/distributions.md, compiled and run. tests/docs/blocks_test.cc compares the texts.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kusari.h"

namespace kusari {
namespace {

TEST_CASE("docs/distributions.md: samples, their logarithms and divergences") {
  const Variable loc(zeros({3}, Dtype::float64)), log_scale(ones({3}, Dtype::float64));
  const D::Normal q(loc, {.log_scale = log_scale});  // or D::Normal(loc, scale)
  const Variable z = q.sample({16});                 // (16, batch_shape...), connected to loc and log_scale
  const Variable log_q = q.log_prob(z);
  const Variable kl = D::kl_divergence(q, D::Normal(zeros_like(loc.array()), 1));
  CHECK(log_q.shape() == Shape{16, 3});
  CHECK(kl.to_vector<double>()[0] == doctest::Approx((std::exp(2.0) - 1) / 2 - 1));
  CHECK(grad({F::sum(z)}, {loc})[0].to_vector<double>()[0] == 16);
}

TEST_CASE("docs/distributions.md: pixels of images") {
  const Variable logits(zeros({2, 4})), images(ones({2, 4}), false);
  const D::Independent pixels(D::Bernoulli({.logit = logits}), 1);  // logits: (n, pixels)
  const Variable log_p = pixels.log_prob(images);                   // (n)
  CHECK(log_p.shape() == Shape{2});
  CHECK(log_p.to_vector<double>()[0] == doctest::Approx(4 * std::log(0.5)));
}

class Point final : public D::DistributionOf<Point> {
 public:
  explicit Point(const Variable& at) : DistributionOf("Point", at, at.shape()), at_{at} {}
  const Variable& at() const { return at_; }
  std::vector<std::pair<std::string, Variable>> params() const override { return {{"at", at_}}; }
  std::string support() const override { return "{at}"; }
  Variable mean() const override { return at_; }

 private:
  Variable do_sample(const Shape& shape) const override { return F::broadcast_to(at_, shape); }

  Variable at_;
};

void register_divergences() {
  D::register_kl<Point, D::Normal>([](const Point& p, const D::Normal& q) { return -q.log_prob(p.at()); });
}

TEST_CASE("docs/distributions.md: a distribution of one's own") {
  register_divergences();
  const Point point(Variable(array<float>({1, 2})));
  CHECK(point.sample({3}).shape() == Shape{3, 2});
  CHECK(D::kl_divergence(point, D::Normal(0, 1)).shape() == Shape{2});
}

TEST_CASE("docs/distributions.md: arrays") {
  const Array x = arange(15).reshape({3, 5}) - 3;
  xp::at(x, 0, Slice{1, 3}) = 5;
  xp::at(x, x < 0) = 0;
  xp::at(x, kEllipsis, array<int64_t>({2, 0})) += 1;
  const Array last_rows = xp::at(x, Slice{-2, {}});  // a view
  CHECK(x.to_vector<int>() == std::vector<int>{1, 5, 6, 0, 1, 3, 3, 5, 5, 6, 8, 8, 10, 10, 11});
  CHECK(last_rows.shape() == Shape{2, 5});

  const Array features = random::normal({20, 3}, {.dtype = Dtype::float64}), targets = xp::sum(features, 1);
  const Array weights = xp::lstsq(features, targets).x;
  const auto [values, vectors] = xp::eigh(xp::einsum("ni,nj->ij", {features, features}));
  for (const double w : weights.to_vector<double>()) CHECK(w == doctest::Approx(1));
  CHECK(values.shape() == Shape{3});
  CHECK(vectors.shape() == Shape{3, 3});
}

}  // namespace
}  // namespace kusari
