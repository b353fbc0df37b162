// Losses of sequences and over large vocabularies inside recorded calls: labels, lengths and drawn samples are read
// again by each replay.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/loss/connectionist_temporal_classification.h"
#include "kusari/framework/functions/loss/crf1d.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/loss/binary_hierarchical_softmax.h"
#include "kusari/framework/links/loss/black_out.h"
#include "kusari/framework/links/loss/negative_sampling.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari {
namespace F = functions;
namespace L = links;
namespace {

Array numbers(const Shape& shape, int64_t seed) {
  const Array result = empty(shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    result.data<float>()[i] = 0.3f * static_cast<float>((i * 5 + seed * 3) % 11 - 5);
  }
  return result;
}

/// Labels in [low, high).
Array labels(int64_t n, int64_t seed, int64_t low, int64_t high) {
  const Array result = empty({n}, Dtype::int32);
  for (int64_t i = 0; i < n; ++i) {
    result.data<int32_t>()[i] = static_cast<int32_t>(low + (i * 7 + seed * 5) % (high - low));
  }
  return result;
}

/// What four calls, each with other numbers and labels, give: losses and gradients.
template <class Call, class LinkT>
std::vector<float> train_link(Call& call, LinkT& link) {
  random::seed(5);
  std::vector<float> all;
  for (int64_t i = 0; i < 4; ++i) {
    Variable x(numbers({6, 3}, i));
    link.cleargrads();
    const Variable loss = call(x, Variable(labels(6, i, 0, 5), false));
    loss.backward();
    for (const Array& part : {loss.array(), x.grad(), link.W.grad()}) {
      const std::vector<float> values = part.template to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

template <class LinkT>
void check_link_replays(const LinkT& link) {
  LinkT plain = link, recorded = link;
  plain.W.array().copy_from(numbers(plain.W.shape(), 9));
  recorded.W.array().copy_from(numbers(recorded.W.shape(), 9));
  const auto call_plain = [&](const Variable& x, const Variable& t) { return plain(x, t); };
  auto graph = static_graph([&](const Variable& x, const Variable& t) { return recorded(x, t); });
  CHECK(train_link(graph, recorded) == train_link(call_plain, plain));
  CHECK(graph.summary().find("define-by-run") == std::string::npos);
}

std::vector<Variable> frames(const Variable& x) {
  const Variables parts = F::separate(x, 0);
  return {parts.begin(), parts.end()};
}

const std::vector<int64_t> kCounts = {5, 2, 1, 1, 3};

TEST_CASE("static graphs replay losses over large vocabularies") {
  check_link_replays(L::NegativeSampling(3, kCounts, 4));
  check_link_replays(L::BlackOut(3, kCounts, 4));
  check_link_replays(L::BinaryHierarchicalSoftmax(3, L::BinaryTree({{0, 1}, 2}, {3, 4})));
}

TEST_CASE("static graphs replay connectionist_temporal_classification") {
  const auto loss_of = [](const Variable& x, const Variable& t) {
    return F::connectionist_temporal_classification(frames(x), F::reshape(t, {2, 2}), 0);
  };
  auto graph = static_graph(loss_of);
  for (int64_t i = 0; i < 4; ++i) {
    const Variable x(numbers({5, 2, 4}, i)), same(numbers({5, 2, 4}, i)), t(labels(4, i, 1, 4), false);
    const Variable loss = graph(x, t), expected = loss_of(same, t);
    loss.backward();
    expected.backward();
    CHECK(loss.item<float>() == expected.item<float>());
    CHECK(x.grad().to_vector<float>() == same.grad().to_vector<float>());
  }
}

TEST_CASE("static graphs replay crf1d and argmax_crf1d") {
  // The second of two sequences is shorter.
  const auto shorten = [](std::vector<Variable> xs) {
    xs.back() = F::get_item(xs.back(), {Slice{0, 1}});
    return xs;
  };
  const auto loss_of = [&](const Variable& cost, const Variable& x, const Variable& t) {
    return F::crf1d(cost, shorten(frames(x)), shorten(frames(F::reshape(t, {5, 2}))));
  };
  const auto best_of = [&](const Variable& cost, const Variable& x) {
    const F::CrfPath best = F::argmax_crf1d(cost, shorten(frames(x)));
    return F::cast(best.path[1], Dtype::float32) + best.score;
  };
  auto loss_graph = static_graph(loss_of);
  auto best_graph = static_graph(best_of);
  for (int64_t i = 0; i < 4; ++i) {
    const Variable x(numbers({5, 2, 4}, i)), cost(numbers({4, 4}, i + 3)), t(labels(10, i, 0, 4), false);
    const Variable same_x(numbers({5, 2, 4}, i)), same_cost(numbers({4, 4}, i + 3));
    const Variable loss = loss_graph(cost, x, t), expected = loss_of(same_cost, same_x, t);
    loss.backward();
    expected.backward();
    CHECK(loss.item<float>() == expected.item<float>());
    CHECK(x.grad().to_vector<float>() == same_x.grad().to_vector<float>());
    CHECK(cost.grad().to_vector<float>() == same_cost.grad().to_vector<float>());
    CHECK(best_graph(cost, x).to_vector<float>() == best_of(same_cost, same_x).to_vector<float>());
  }
}

}  // namespace
}  // namespace kusari
