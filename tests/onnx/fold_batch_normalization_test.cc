#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/kusari.h"
#include "kusari/framework/onnx/export_model.h"
#include "kusari/framework/onnx/load.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

// A convolution with a bias, one without, one in groups whose result two read, and one behind whose ReLU a
// normalization stands.
class Folding : public Chain {
 public:
  Folding()
      : a{*this, "a", 3, 8, 3},
        b{*this, "b", 8, 8, 3, {.pad = 1, .nobias = true}},
        c{*this, "c", 8, 8, 1, {.groups = 2}},
        d{*this, "d", 8, 4, 1},
        bn_a{*this, "bn_a", 8},
        bn_b{*this, "bn_b", 8},
        bn_c{*this, "bn_c", 8},
        bn_d{*this, "bn_d", 4} {
    for (L::BatchNormalization* bn : {&bn_a, &bn_b, &bn_c, &bn_d}) {
      for (const Array& numbers :
           std::initializer_list<Array>{bn->gamma.array(), bn->beta.array(), bn->avg_mean, bn->avg_var}) {
        numbers.copy_from(random::uniform(numbers.shape(), {.low = 0.5, .high = 2}));
      }
    }
  }
  Variable operator()(const Variable& x) const {
    const Variable h = F::relu(bn_b(b(F::relu(bn_a(a(x))))));
    const Variable both = c(h);
    return bn_d(F::relu(d(bn_c(both) + both)));
  }

  Child<L::Convolution2D> a, b, c, d;
  Child<L::BatchNormalization> bn_a, bn_b, bn_c, bn_d;
};

int64_t normalizations(const onnx::Model& model) {
  const std::vector<std::string> all = model.operations();
  return std::count_if(all.begin(), all.end(), [](const std::string& operation) {
    return operation.find(": BatchNormalization") != std::string::npos;
  });
}

TEST_CASE("batch normalizations behind convolutions are folded into their weights") {
  const ScratchDirectory folder;
  random::seed(5);
  Folding net;
  const Variable x(random::uniform({2, 3, 9, 9}, {.low = -1, .high = 1}), false);
  const auto no_training = using_config(&Config::train, false);
  const std::vector<float> expected = net(x).to_vector<float>();
  const std::vector<float> weights = net.a.W.to_vector<float>();
  for (const bool dynamic_batch : {false, true}) {
    CAPTURE(dynamic_batch);
    onnx::export_model(net, {x}, folder / "net.onnx",
                       {.dynamic_batch = dynamic_batch, .fold_batch_normalization = true});
    onnx::Model loaded = onnx::load(folder / "net.onnx");
    CHECK(normalizations(loaded) == 2);  // bn_c and bn_d
    const std::vector<float> found = loaded(x).to_vector<float>();
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-4).scale(1));

    // By the formula, and without changing the model itself.
    CHECK(net.a.W.to_vector<float>() == weights);
    const auto parameters = loaded.namedparams();
    const auto named = [&](const std::string& path) {
      const auto found_one =
          std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.first == path; });
      REQUIRE(found_one != parameters.end());
      return found_one->second->array().template to_vector<double>();
    };
    const auto at = [](const Array& array, int64_t i) { return array.at(i).item<double>(); };
    const double factor = at(net.bn_b.gamma.array(), 3) / std::sqrt(at(net.bn_b.avg_var, 3) + 2e-5);
    CHECK(named("/b/W")[3 * 72 + 5] == doctest::Approx(net.b.W.to_vector<double>()[3 * 72 + 5] * factor));
    CHECK(named("/bn_b/beta")[3] == doctest::Approx(at(net.bn_b.beta.array(), 3) - at(net.bn_b.avg_mean, 3) * factor));
  }

  // Weights that two convolutions read stay what they are for the other.
  const auto shared = [&](const Variable& v) { return net.bn_a(net.a(v)) + net.a(v); };
  onnx::export_model(shared, {x}, folder / "shared.onnx", {.fold_batch_normalization = true, .model = &net});
  const onnx::Model twice = onnx::load(folder / "shared.onnx");
  CHECK(normalizations(twice) == 0);
  const std::vector<float> wanted = shared(x).to_vector<float>(), found = twice(x).to_vector<float>();
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(wanted[i]).epsilon(1e-4).scale(1));

  onnx::export_model(net, {x}, folder / "plain.onnx");
  CHECK(normalizations(onnx::load(folder / "plain.onnx")) == 4);
  CHECK_THROWS_WITH_AS(
      onnx::export_model(net, {x}, folder / "no.onnx", {.train = true, .fold_batch_normalization = true}),
      "onnx::export_model: fold_batch_normalization needs fixed statistics: train must be off", ValueError);
}

}  // namespace
}  // namespace kusari::testing
