#include "kusari/framework/functions/loss/discriminative_loss.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

constexpr auto kLoss = F::discriminative_margin_based_clustering_loss;

// Two dimensions, so at most two instances; pixels (0, 0) and (2, 4) of the first, (6, 4) of the second, one of none.
Array embeddings() { return array<double>({0, 2, 6, 50, 0, 4, 4, 50}, {1, 2, 1, 4}, test_device()); }
Array labels() { return array<int32_t>({1, 1, 2, 0}, {1, 1, 4}, test_device()); }

TEST_CASE("discriminative_margin_based_clustering_loss") {
  // Centres (1, 2) and (6, 4). Distances of the pixels: 3 by the norm 1.
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    const auto [variance, distance, regularization] =
        kLoss(embeddings().astype(dtype), labels(), 1, 5, 2, {.alpha = 3, .beta = 5, .gamma = 7});
    CHECK(variance.dtype() == dtype);
    check_close(variance, {}, {3 * (2 * 4 / 2 + 0) / 2.0});
    check_close(distance, {}, {5 * 9.0});
    check_close(regularization, {}, {7 * (3 + 10) / 2.0});
    const auto two = kLoss(embeddings().astype(dtype), labels(), 1, 5, 2, {.norm = 2, .gamma = 1});
    check_close(two.variance, {}, {(std::sqrt(5.0) - 1) * (std::sqrt(5.0) - 1) / 2});
    check_close(two.distance, {}, {(10 - std::sqrt(29.0)) * (10 - std::sqrt(29.0))});
    check_close(two.regularization, {}, {(std::sqrt(5.0) + std::sqrt(52.0)) / 2});
  }
}

TEST_CASE("gradients of discriminative_margin_based_clustering_loss") {
  const Array e = uniform({2, 3, 2, 3}, -2, 2);
  const Array l = array<int32_t>({1, 1, 2, 2, 0, 1, 3, 1, 1, 3, 3, 5}, {2, 2, 3}, test_device());
  for (const int norm : {1, 2}) {
    CAPTURE(norm);
    for (const int part : {0, 1, 2}) {
      CAPTURE(part);
      check_gradients(
          [&](const Variable& x) {
            const F::DiscriminativeLoss all = kLoss(x, l, 0.3, 2, 3, {.norm = norm, .gamma = 1});
            return part == 0 ? all.variance : part == 1 ? all.distance : all.regularization;
          },
          e);
    }
  }
}

TEST_CASE("discriminative_margin_based_clustering_loss with wrong arguments") {
  const std::string call = "F::discriminative_margin_based_clustering_loss: ";
  CHECK_THROWS_WITH_AS(kLoss(embeddings(), labels(), 1, 1, 3, {}),
                       (call + "max_embedding_dim is 3 but embeddings has shape (1, 2, 1, 4): it must be "
                               "embeddings.shape[1] and positive")
                           .c_str(),
                       ValueError);
  CHECK_THROWS_WITH_AS(kLoss(embeddings(), labels(), 1, 1, 2, {.norm = 3}),
                       (call + "norm is 3: it must be 1 or 2").c_str(), ValueError);
  CHECK_THROWS_AS(kLoss(embeddings(), int_ones({1, 1, 3}), 1, 1, 2, {}), TypeError);
  CHECK_THROWS_AS(kLoss(embeddings(), ones({1, 1, 4}, Dtype::float32, test_device()), 1, 1, 2, {}), TypeError);
}

}  // namespace
}  // namespace kusari
