#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/inference/inference_testing.h"

// What passes fuse where the steps read each other's results in another order than they were written, and results that
// share memory.
namespace kusari::testing {
namespace {

namespace F = functions;

using Model = std::function<Variable(const std::vector<Variable>&)>;

void check_session(const char* what, const Model& model, const std::vector<Array>& inputs) {
  CAPTURE(what);
  std::vector<Variable> variables;
  for (const Array& input : inputs) variables.emplace_back(input, false);
  const std::vector<float> expected = model(variables).to_vector<float>();
  const auto found_by = [&](const InferenceSession& session) {
    Arrays arrays;
    for (const Array& input : inputs) arrays.push_back(input);
    return session.run(arrays)[0].to_vector<float>();
  };
  const std::vector<float> found =
      inputs.size() == 1 ? found_by(InferenceSession([&](const Variable& x) { return model({x}); }))
                         : found_by(InferenceSession([&](const Variable& q, const Variable& k, const Variable& v) {
                             return model({q, k, v});
                           }));
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-4));
}

constexpr int64_t kQueries = 4, kKeys = 6;

}  // namespace

TEST_CASE("inference sessions: a softmax over other rows than the keys is no attention") {
  random::seed(3);
  const Array q = random::normal({kQueries, 8}), k = random::normal({kKeys, 8}), v = random::normal({kKeys, 8});
  for (const Shape& rows : {Shape{1, kQueries * kKeys}, Shape{kKeys, kQueries}, Shape{2, 12}, Shape{kQueries, kKeys}}) {
    check_session("softmax",
                  [&](const std::vector<Variable>& in) {
                    const Variable scores = F::reshape(F::matmul(in[0], in[1], {.transb = true}), rows);
                    return F::matmul(F::reshape(F::softmax(scores, 1), {kQueries, kKeys}), in[2]);
                  },
                  {q, k, v});
  }
}

TEST_CASE("inference sessions: a GELU in which something is turned is none") {
  random::seed(4);
  const Array x = random::normal({4, 4});
  const auto inner = [](const Variable& v) { return F::erf(v * 0.70710678118654752); };
  const auto turned = [](const Variable& v) { return F::transpose(v); };
  const std::vector<Model> models = {
      [&](const std::vector<Variable>& in) { return turned(in[0] * (inner(in[0]) + 1.0)) * 0.5; },
      [&](const std::vector<Variable>& in) { return in[0] * turned(inner(in[0]) + 1.0) * 0.5; },
      [&](const std::vector<Variable>& in) { return in[0] * (turned(inner(in[0])) + 1.0) * 0.5; },
      [&](const std::vector<Variable>& in) { return turned((inner(in[0]) + 1.0) * 0.5) * in[0]; },
      [&](const std::vector<Variable>& in) { return in[0] * (inner(in[0]) + 1.0) * 0.5; }};
  for (const Model& model : models) check_session("GELU", model, {x});
}

TEST_CASE("inference sessions: excitations that read a turned matrix or beyond an image") {
  random::seed(5);
  const Array x = random::normal({4, 4, 3, 3});
  links::Linear l1(4, 4), l2(4, 4);
  links::Convolution2D padded(4, 4, 1, {.pad = 1}), strided(4, 4, 1, {.stride = 3});
  const auto scaled = [](const Variable& images, const Variable& factor) {
    return images * F::broadcast_to(F::reshape(factor, {4, 4, 1, 1}), images.shape());
  };
  const auto pooled = [](const Variable& images) { return F::average_pooling_2d(images, 3); };
  const std::vector<Model> models = {
      [&](const std::vector<Variable>& in) {
        const Variable rows = F::transpose(F::reshape(pooled(in[0]), {4, 4}));
        return scaled(in[0], F::sigmoid(l2(F::relu(l1(rows)))));
      },
      [&](const std::vector<Variable>& in) {
        const Variable rows = F::reshape(pooled(in[0]), {4, 4});
        return scaled(in[0], F::sigmoid(l2(F::transpose(F::relu(l1(rows))))));
      },
      [&](const std::vector<Variable>& in) {
        const Variable rows = F::reshape(pooled(in[0]), {4, 4});
        return scaled(in[0], F::transpose(F::sigmoid(l2(F::relu(l1(rows))))));
      },
      [&](const std::vector<Variable>& in) {
        return scaled(in[0], F::sigmoid(strided(F::relu(padded(pooled(in[0]))))));
      },
      [&](const std::vector<Variable>& in) {
        return scaled(in[0], F::sigmoid(l2(F::relu(l1(F::reshape(pooled(in[0]), {4, 4}))))));
      }};
  for (const Model& model : models) check_session("excitation", model, {x});
}

TEST_CASE("inference sessions: results that are inputs, written into the inputs' memory") {
  const auto numbers_of = [](const Array& a) { return a.to_vector<float>(); };
  const Array x = array<float>({-1, 2, 3}), keep = empty({3});
  const InferenceSession first([](const Variable& v) { return std::pair(F::relu(v) * 2.0 + 1.0, v); });
  first.run({x}, {x, keep});
  CHECK(numbers_of(x) == std::vector<float>{1, 5, 7});
  CHECK(numbers_of(keep) == std::vector<float>{-1, 2, 3});
  const Array a = array<float>({1, 2}), b = array<float>({3, 4});
  const InferenceSession exchanged([](const Variable& v, const Variable& w) { return std::pair(w, v); });
  exchanged.run({a, b}, {a, b});
  CHECK(numbers_of(a) == std::vector<float>{3, 4});
  CHECK(numbers_of(b) == std::vector<float>{1, 2});
}

TEST_CASE("inference sessions give no memory that others have") {
  Parameter W(Shape{3}, 2);
  for (const bool is_static : {true, false}) {
    CAPTURE(is_static);
    const auto recording = using_config(&Config::use_static_graph, is_static);
    const InferenceSession session([&](const Variable& x) {
      const Variable y = x + W;
      return std::vector<Variable>{y, y, W};
    });
    const Arrays results = session.run({ones({3})});
    for (const Array& result : results) result.fill(7 + static_cast<double>(&result - results.data()));
    CHECK(W.array().to_vector<float>() == std::vector<float>(3, 2));
    CHECK(results[0].to_vector<float>() == std::vector<float>(3, 7));
  }
}

TEST_CASE("inference sessions: an axis of one element has any stride") {
  InferenceMlp model;
  const InferenceSession session(std::move(model), {.shapes = {{{1, 6}}}, .release_parameters = true});
  for (const int64_t width : {6, 7, 100}) {
    const Array rows = full({2, width}, 0.5, Dtype::float32);
    CHECK_NOTHROW(session.run({rows.slice(0, 1, 1).slice(1, 0, 6)}));
  }
}

}  // namespace kusari::testing
