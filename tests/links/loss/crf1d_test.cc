#include "kusari/framework/links/loss/crf1d.h"

#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari::testing {
namespace {

using functions::Reduce;

// Three sequences of lengths 1, 3 and 2 with two labels.
std::vector<Variable> sequences() {
  return {Variable(array<float>({1, 2}, {1, 2})), Variable(array<float>({0, 1, -1, 2, 0.5, 0}, {3, 2})),
          Variable(array<float>({2, 0, 1, 0.5}, {2, 2}))};
}
std::vector<Variable> labels() { return {array<int>({0}), array<int>({1, 0, 1}), array<int>({0, 1})}; }

TEST_CASE("CRF1d starts without transition costs") {
  links::CRF1d crf(3);
  CHECK(crf.namedparams().at(0).first == "/cost");
  CHECK(crf.cost.to_vector<double>() == std::vector<double>(9, 0));
  CHECK(links::CRF1d(2, {.initial_cost = 0.5}).cost.to_vector<double>() == std::vector<double>(4, 0.5));
}

TEST_CASE("CRF1d of sequences") {
  links::CRF1d crf(2, {.initial_cost = array<float>({0.5, -1, 0.25, 1}, {2, 2})});
  // One array per position, the sequences in the order 1, 2, 0.
  const std::vector<Variable> xs = {Variable(array<float>({0, 1, 2, 0, 1, 2}, {3, 2})),
                                    Variable(array<float>({-1, 2, 1, 0.5}, {2, 2})),
                                    Variable(array<float>({0.5, 0}, {1, 2}))};
  const std::vector<Variable> ys = {array<int>({1, 0, 0}), array<int>({0, 1}), array<int>({1})};
  CHECK(crf(sequences(), labels(), {.transpose = true}).item<float>() == crf(xs, ys).item<float>());
  CHECK(crf(sequences(), labels(), {.reduce = Reduce::no, .transpose = true}).to_vector<float>() ==
        crf(xs, ys, {.reduce = Reduce::no}).to_vector<float>());

  const functions::CrfPath by_position = crf.argmax(xs), by_sequence = crf.argmax(sequences(), true);
  CHECK(by_sequence.score.to_vector<float>() == by_position.score.to_vector<float>());
  REQUIRE(by_sequence.path.size() == 3);
  const auto at = [&](size_t t, size_t i) { return by_position.path[t].to_vector<int>()[i]; };
  CHECK(by_sequence.path[0].to_vector<int>() == std::vector<int>{at(0, 2)});
  CHECK(by_sequence.path[1].to_vector<int>() == std::vector<int>{at(0, 0), at(1, 0), at(2, 0)});
  CHECK(by_sequence.path[2].to_vector<int>() == std::vector<int>{at(0, 1), at(1, 1)});
}

TEST_CASE("CRF1d of empty sequences") {
  links::CRF1d crf(2);
  const std::vector<Variable> whole = sequences(), whole_labels = labels();
  const std::vector<Variable> xs = {zeros({0, 2}), whole[0], zeros({0, 2}), whole[1]};
  const std::vector<Variable> ys = {zeros({0}, Dtype::int32), whole_labels[0], zeros({0}, Dtype::int32),
                                    whole_labels[1]};
  const Variable loss = crf({whole[0], whole[1]}, {whole_labels[0], whole_labels[1]}, {.transpose = true});
  CHECK(crf(xs, ys, {.transpose = true}).item<float>() == loss.item<float>());
  const functions::CrfPath best = crf.argmax(xs, true);
  CHECK(best.score.shape() == Shape{2});
  REQUIRE(best.path.size() == 4);
  for (const size_t i : {size_t{0}, size_t{2}}) {
    CHECK(best.path[i].shape() == Shape{0});
    CHECK(best.path[i].dtype() == Dtype::int32);
  }
  CHECK(best.path[1].to_vector<int>() == std::vector<int>{1});
  CHECK(best.path[3].to_vector<int>() == std::vector<int>{1, 1, 0});
}

TEST_CASE("CRF1d of what does not fit") {
  links::CRF1d crf(2);
  const std::vector<Variable> xs = sequences(), few = {array<int>({0})};
  CHECK_THROWS_WITH_AS(crf(xs, few, {.transpose = true}),
                       "L::CRF1d: xs has 3 sequences but ys has 1: they must be as many", ValueError);
  std::vector<Variable> ys = labels();
  std::swap(ys[1], ys[2]);
  CHECK_THROWS_WITH_AS(crf(xs, ys, {.transpose = true}),
                       "L::CRF1d: ys[1] has shape (2,) but xs[1] has shape (3, 2): ys must have a label per element",
                       TypeError);
  ys[0] = Variable();
  CHECK_THROWS_WITH_AS(crf(xs, ys, {.transpose = true}),
                       "L::CRF1d: ys[0] is undefined but xs[0] has shape (1, 2): ys must have a label per element",
                       TypeError);
  CHECK_THROWS_WITH_AS(crf.argmax({Variable()}, true), "L::CRF1d: xs[0] must be a sequence: an array with an axis",
                       TypeError);
}

}  // namespace
}  // namespace kusari::testing
