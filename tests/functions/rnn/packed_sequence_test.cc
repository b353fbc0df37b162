#include "kusari/framework/functions/rnn/packed_sequence.h"

#include <vector>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/rnn/n_step_gru.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::packed_sequence_test {
namespace {

using namespace testing;
using Sizes = std::vector<int64_t>;

std::vector<Variable> sequences(const Sizes& lengths) {
  std::vector<Variable> xs;
  double first = 0;
  for (const int64_t length : lengths) {
    std::vector<double> values;
    for (int64_t i = 0; i < 2 * length; ++i) values.push_back(first + static_cast<double>(i));
    xs.push_back(Variable(array(values, {length, 2}, test_device())));
    first += 100;
  }
  return xs;
}

}  // namespace

TEST_CASE("pack_sequence: rows by time, longest sequence first") {
  const PackedSequence packed = F::pack_sequence(sequences({1, 3, 0, 2}));
  CHECK(packed.data().to_vector<double>() ==
        std::vector<double>{100, 101, 300, 301, 0, 1, 102, 103, 302, 303, 104, 105});
  CHECK(packed.batch_sizes() == Sizes{3, 2, 1});
  CHECK(packed.order() == Sizes{1, 3, 0, 2});
  CHECK(packed.size() == 4);
  CHECK(packed.count() == 6);
  CHECK(packed.lengths() == Sizes{1, 3, 0, 2});
  CHECK(!packed.is_sorted());
  CHECK(F::pack_sequence(sequences({2, 2, 1})).is_sorted());
}

TEST_CASE("unpack_sequence undoes pack_sequence") {
  for (const Sizes& lengths : {Sizes{1, 3, 0, 2}, {4}, {0}, {2, 2}, {0, 0}, {1, 2, 3}}) {
    const std::vector<Variable> xs = sequences(lengths);
    const std::vector<Variable> back = F::unpack_sequence(F::pack_sequence(xs));
    REQUIRE(back.size() == xs.size());
    for (size_t i = 0; i < xs.size(); ++i) {
      CHECK(back[i].shape() == xs[i].shape());
      CHECK(back[i].to_vector<double>() == xs[i].to_vector<double>());
    }
  }
}

TEST_CASE("gradients through packed sequences") {
  check_gradients(
      [](const Variable& a, const Variable& b) {
        const PackedSequence packed = F::pack_sequence(std::vector<Variable>{a, b});
        const std::vector<Variable> ys = F::unpack_sequence(packed.map([](const Variable& x) { return x * x * x; }));
        return F::sum(ys[0] * ys[0]) + F::sum(ys[1]);
      },
      uniform({1, 2}, -1, 1), uniform({3, 2}, -1, 1, 2));
}

TEST_CASE("sequences that are too long to be packed") {
  const Variable x(array(std::vector<float>{1}).broadcast_to({int64_t{1} << 31}), false);
  CHECK_THROWS_WITH_AS(F::pack_sequence(std::vector<Variable>{x}),
                       "F::pack_sequence: xs[0] has a length of 2147483648: it must be at most 100000000", ValueError);
  CHECK_THROWS_AS(PackedSequence::from_lengths(x, array(std::vector<int64_t>{int64_t{1} << 31})), ValueError);
}

TEST_CASE("n_step functions take packed sequences in any order") {
  const std::vector<Variable> xs = sequences({2, 3, 0});
  std::vector<std::vector<Variable>> ws(2), bs(2);
  uint64_t seed = 5;
  for (size_t k = 0; k < 2; ++k) {
    for (int g = 0; g < 6; ++g) {
      ws[k].push_back(Variable(uniform({2, 2}, -0.1, 0.1, ++seed)));
      bs[k].push_back(Variable(uniform({2}, -0.1, 0.1, ++seed)));
    }
  }
  const Variable hx(uniform({2, 3, 2}, -1, 1, 77));
  const auto [hy, ys] = F::n_step_bigru(1, 0, hx, ws, bs, F::pack_sequence(xs));
  const std::vector<Variable> of_list = F::unpack_sequence(ys);
  // Each sequence by itself gives the same.
  for (int64_t i = 0; i < 3; ++i) {
    const auto at = static_cast<size_t>(i);
    const Variable own_h(hx.array().slice(1, i, 1).copy());
    const auto [own_hy, own_ys] = F::n_step_bigru(1, 0, own_h, ws, bs, F::pack_sequence(std::vector{xs[at]}));
    check_close(hy.array().slice(1, i, 1).copy(), {2, 1, 2}, own_hy.to_vector<double>());
    check_close(of_list[at].array(), own_ys.data().shape(), own_ys.data().to_vector<double>());
  }
}

TEST_CASE("packed sequences that cannot be") {
  const Variable data(ones({3, 2}, Dtype::float64, test_device()));
  CHECK_THROWS_WITH_AS(F::pack_sequence(std::vector<Variable>{}),
                       "F::pack_sequence: xs is empty: there must be at least one sequence", ValueError);
  CHECK_THROWS_WITH_AS(F::pack_sequence(std::vector<Variable>{Variable()}),
                       doctest::Contains("F::pack_sequence: xs[0] is not given"), TypeError);
  CHECK_THROWS_WITH_AS(PackedSequence(data, {1, 2}, {0, 1}),
                       doctest::Contains("batch_sizes[1] is 2: it must be in [0, 1]"), ValueError);
  CHECK_THROWS_WITH_AS(PackedSequence(data, {2, 2}, {0, 1}),
                       doctest::Contains("data has shape (3, 2): it must have 4 rows"), ValueError);
  CHECK_THROWS_WITH_AS(PackedSequence(data, {2, 1}, {0, 0}), doctest::Contains("order has 0: it must be a permutation"),
                       ValueError);
  const PackedSequence packed(data, {2, 1}, {1, 0});
  CHECK_THROWS_WITH_AS(packed.with(Variable(ones({2}, Dtype::float64, test_device()))),
                       doctest::Contains("PackedSequence::with: data has shape (2,): it must have 3 rows"), ValueError);
}

}  // namespace kusari::packed_sequence_test
